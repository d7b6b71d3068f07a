"""MLflow: spans whose attributes are all JSON texts, quotes included.

Not its traces in its own store: only spans that reach a processor or an exporter.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import failure, first_name, members, name_of, python_value, result_of, tool_message, unwrapped, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["MLflow"]

_TYPE: Final = "mlflow.spanType"
_INPUTS: Final = "mlflow.spanInputs"
_OUTPUTS: Final = "mlflow.spanOutputs"
_SESSIONS: Final = ("session.id", "mlflow.trace.session")


class MLflow:
    """The family."""

    name = "mlflow"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([_INPUTS, _OUTPUTS]),
        events=frozenset(["mlflow.chunk.value"]),
        messages=frozenset(["mlflow.traceInputs", "mlflow.traceOutputs", "mlflow.trace.intermediate_outputs"]),
    )
    markers: ClassVar[frozenset[str]] = frozenset([_TYPE])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """A span of type TOOL; its inputs are named by the function's parameters."""
        attributes = record.attributes
        if _unquoted(attributes.get(_TYPE)) != "TOOL":
            return None
        written = attributes.get(_INPUTS, ABSENT)
        answer = attributes.get(_OUTPUTS, ABSENT)
        message = tool_message(answer)
        result = message.content if message else answer
        failed = failure(record, flagged=message is not None and message.is_error, text=result)
        return RawCall(
            family=self.name,
            tool=_unquoted(attributes.get("mlflow.spanFunctionName")) or record.name,
            arguments=python_value(unwrapped(written)),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=message.call_id if message else None,
            conversation_id=_session(record),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """Spans of type AGENT and of the two kinds of models; all others are steps."""
        kind = _unquoted(record.attributes.get(_TYPE))
        if kind is None or kind == "TOOL":
            return None
        if kind == "AGENT":
            return Role("agent", agent=record.name or None, conversation_id=_session(record))
        return Role("model" if kind in ("LLM", "CHAT_MODEL") else "step", conversation_id=_session(record))


def _session(record: Record) -> str | None:
    return _unquoted(first_name(record.attributes, _SESSIONS))


def _unquoted(value: object) -> str | None:
    if isinstance(value, str) and value.startswith('"'):
        parts = members(f'{{"value":{value}}}')
        value = parts["value"] if parts else value
    return name_of(value)
