"""A scripted agent that makes the spans of any instrumented agent, and knows nothing of otel-loopguard.

Started as a user starts theirs: `opentelemetry-instrument python -m demo.agent stuck CUSTOMER`. The spans are those
of the gen-AI semantic conventions with content captured: without redaction its tool spans are readable.
"""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from demo.scripts import SCRIPTS, Step

PROMPT_TOKENS: Final = 3_000
"""Instructions and tool definitions, which head every request: a small agent's."""
CHARACTERS_A_TOKEN: Final = 4
"""What English and JSON come to with current tokenizers, roughly."""

_tracer = trace.get_tracer("demo")


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)


def decide(step: Step, transcript: int) -> int:
    """One request to the model: all `transcript` characters go in. The characters that came out."""
    out = len(step.thought) + len(step.tool) + len(step.arguments)
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.usage.input_tokens": PROMPT_TOKENS + _tokens(transcript),
        "gen_ai.usage.output_tokens": _tokens(out),
    }
    with _tracer.start_as_current_span("chat scripted", kind=SpanKind.CLIENT, attributes=attributes):
        return out


def act(step: Step, call_id: str) -> int:
    """One tool call. The characters of its result."""
    result = json.dumps(step.result)
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": step.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": step.arguments,
    }
    with _tracer.start_as_current_span(f"execute_tool {step.tool}", attributes=attributes) as span:
        span.set_attribute("gen_ai.tool.call.result", result)
    return len(result)


def run_span(name: str) -> AbstractContextManager[Span]:
    """The span around a whole run."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.conversation.id": f"demo-{name}",
    }
    return _tracer.start_as_current_span(f"invoke_agent {name}", attributes=attributes)


def work(script: str, customer: str) -> None:
    """One run from the first decision to the last answer; everything said so far is sent again at every step."""
    transcript = 0
    with run_span(script):
        for number, step in enumerate(SCRIPTS[script](customer), start=1):
            transcript += decide(step, transcript)
            transcript += act(step, f"call-{number}")


if __name__ == "__main__":
    work(*sys.argv[1:])
