"""Requests into arrivals: OTLP is decoded, calls are read and fingerprinted, and content ends here.

Not a receiver and not the detector: it is given bytes and knows the policy and the keys in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from otel_loopguard import names
from otel_loopguard.conventions import Record
from otel_loopguard.core.fingerprint import Keyring, KeyScope
from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import RecordError
from otel_loopguard.service.flood import (
    UNCOUNTED,
    TooManyError,
    drop_log_floods,
    drop_span_floods,
    refuse_json_flood,
)
from otel_loopguard.service.intake import Request
from otel_loopguard.stream.glance import Glance
from otel_loopguard.stream.mended import mended
from otel_loopguard.stream.otlp import log_records, resource_attributes, span_record
from otel_loopguard.stream.otlp_json import records
from otel_loopguard.stream.reader import Ending, RecordReader, read_ending, service_of
from otel_loopguard.stream.trace import Span, placed_alone
from otel_loopguard.stream.trace_request import Holder, TraceRequest, trace_request

__all__ = ["OWN_SERVICE", "MalformedError", "Read", "Reading", "TooManyError"]

_Parsed = TypeVar("_Parsed")

OWN_SERVICE: Final = "otel-loopguard"
"""Service name of what the detector itself sends: it must not hear its own voice."""
_MOST_ITEMS: Final = 65_536
"""Spans of a request. One that has ids and times has more than 64 bytes, so 4 MiB of real ones are fewer; empty ones
take two bytes each and cost as much time as others."""
_LONGEST: Final = 256
"""Characters of an id or a name that are kept: those of every instrumentation are shorter."""


class MalformedError(ValueError):
    """The body is no OTLP; the message never quotes it."""


@dataclass(slots=True)
class Read:
    """What a request told, without content."""

    spans: list[Span] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    items: int = 0
    """Spans and log records, whatever they were."""
    rejected: int = 0
    """Those whose run id, trace id or name is too long to be one, and those with too many parts."""
    why: str = ""
    """What to tell the sender of the first with too many parts."""

    def drop(self, told: list[str]) -> None:
        """Items with too many parts are not read; the others of their request are."""
        _count(self, len(told))
        self.rejected += len(told)
        self.why = self.why or (told[0] if told else "")


class Reading:
    """Reads requests under the policy and keys in force."""

    def __init__(
        self,
        policy: Callable[[], Policy],
        keyring: Callable[[], Keyring],
        key_scope: KeyScope = "environment",
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        """``policy`` and ``keyring`` give the same object until it changes; ``failed`` hears of a record that could
        not be read, by a mistake of ours.
        """
        self._failed = failed
        self._policy = policy
        self._keyring = keyring
        self._scope = key_scope
        self._renew((policy(), keyring()))

    def read(self, request: Request) -> Read:
        """What a request tells; raises `MalformedError` or `TooManyError`."""
        sources = self._policy(), self._keyring()
        if sources[0] is not self._made_from[0] or sources[1] is not self._made_from[1]:
            self._renew(sources)
        read = Read()
        if request.signal == "traces" and not request.is_json:
            for holder in _decoded(request, read).resource_spans:
                self._take_holder(holder, read)
            return read
        for record in _json(request) if request.is_json else _logs(request, read):
            _count(read, 1)
            if record.signal == "span" or not self._take_log(record, read):
                self._take(record, read)
        return read

    def _renew(self, sources: tuple[Policy, Keyring]) -> None:
        self._made_from = sources
        self._reader = RecordReader(*sources, self._scope)
        self._glance = Glance(self._reader.reader_of, is_scoped=bool(sources[0].scope))

    def _take_holder(self, holder: Holder, read: Read) -> None:
        """The spans of one process, those that a glance is not enough for the long way."""
        resource = resource_attributes(holder.resource)
        service = service_of(resource)
        glance = None if names.RUN_ID in resource else self._glance
        for scoped in holder.scope_spans:
            spans = scoped.spans
            _count(read, len(spans))
            at = 0
            while at < len(spans):
                before = len(read.spans)
                try:
                    seen = 0 if glance is None else glance.read_on(spans, at, service, read.spans)
                except Exception as error:  # noqa: BLE001 - one span must not take the others of its request with it
                    self._failed(error)
                    read.rejected += 1
                    at += len(read.spans) - before + 1
                    continue
                at += seen
                if at < len(spans):
                    self._take(span_record(spans[at], resource, scoped.scope.name), read)
                    at += 1

    @staticmethod
    def _take_log(record: Record, read: Read) -> bool:
        """Whether a log record is an end of a run, or our own voice."""
        if record.scope == names.SCOPE and record.resource.get("service.name") == OWN_SERVICE:
            return True
        ending = read_ending(record)
        if ending is None:
            return False
        if len(ending.reason) > _LONGEST:
            read.rejected += 1
        else:
            read.endings.append(ending)
        return True

    def _take(self, record: Record, read: Read) -> None:
        try:
            span = self._reader.read(record)
        except Exception as error:  # noqa: BLE001 - one span must not take the others of its request with it
            self._failed(error)
            read.rejected += 1
            return
        if span is not None:
            read.spans.append(placed_alone(span))


def _count(read: Read, items: int) -> None:
    read.items += items
    if read.items > _MOST_ITEMS:
        raise TooManyError(f"more than {_MOST_ITEMS:,} spans or log records in one request")


def _decoded(request: Request, read: Read) -> TraceRequest:
    found = _parsed(request.body, "traces", trace_request)
    if len(request.body) > UNCOUNTED:
        read.drop(drop_span_floods(found.resource_spans))
    return found


def _parsed(body: bytes, signal: Literal["traces", "logs"], parse: Callable[[bytes], _Parsed]) -> _Parsed:
    """The message; one text that is no UTF-8 must not take all that came with it."""
    with suppress(DecodeError):
        return parse(body)
    right = mended(body, signal)
    with suppress(DecodeError):
        if right is not None:
            return parse(right)
    raise MalformedError(f"the body is no protobuf message of OTLP {signal}")


def _logs(request: Request, read: Read) -> Iterator[Record]:
    found = _parsed(request.body, "logs", ExportLogsServiceRequest.FromString)
    if len(request.body) > UNCOUNTED:
        read.drop(drop_log_floods(found.resource_logs))
    return log_records(found)


def _json(request: Request) -> Iterator[Record]:
    wanted = ("resourceSpans", "resource_spans") if request.signal == "traces" else ("resourceLogs", "resource_logs")
    try:
        document = msgspec.json.decode(request.body)
        if not isinstance(document, dict):
            raise MalformedError("the body is no JSON object")
        if len(request.body) > UNCOUNTED:
            refuse_json_flood(document)
        return iter(list(records({name: document[name] for name in wanted if name in document})))
    except RecordError as error:
        raise MalformedError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedError("the body is no JSON text in UTF-8") from None
    except RecursionError:
        raise MalformedError("values are nested too deep") from None
