"""An instrumented agent that acts when it is told to, a line of JSON for each step. It knows nothing of otel-loopguard.

`opentelemetry-instrument python -m tests.support.stepwise_agent SEED`. A line is a list of tool calls (`run`, `tool`,
`arguments`, `result`), each after a decision of the model; once they are made and exported a line comes back. Ids of
spans follow from the seed alone, so that two runs of a test can be compared by them.
"""

from __future__ import annotations

import json
import random
import sys

from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator

EXPORT_MILLIS = 60_000
"""A Collector that starts anew meanwhile is no reason to give up."""


class Seeded(IdGenerator):
    """Ids that are the same in every process with the same seed."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)

    def generate_span_id(self) -> int:
        """Another one each time."""
        return self._chance.getrandbits(64) | 1

    def generate_trace_id(self) -> int:
        """Another one each time."""
        return self._chance.getrandbits(128) | 1


def main(seed: str) -> None:
    """Until the lines end."""
    provider, logs = trace.get_tracer_provider(), _logs.get_logger_provider()
    assert isinstance(provider, TracerProvider)
    assert isinstance(logs, LoggerProvider)
    provider.id_generator = Seeded(seed)
    tracer = provider.get_tracer("agent")
    for line in sys.stdin:
        for call in json.loads(line):
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call["tool"],
                "gen_ai.conversation.id": call["run"],
                "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
                "gen_ai.tool.call.result": json.dumps(call["result"]),
            }
            with tracer.start_as_current_span("work"):
                with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
                    pass
                with tracer.start_as_current_span(f"execute_tool {call['tool']}", attributes=attributes):
                    pass
        exported = provider.force_flush(EXPORT_MILLIS) and logs.force_flush(EXPORT_MILLIS)
        print("exported" if exported else "not exported", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
