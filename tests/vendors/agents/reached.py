"""Prints the tracer providers of this process as JSON: class, how often our processor is on it, whether it is first."""

import gc
import json

from opentelemetry.sdk.trace import TracerProvider


def report() -> None:
    """Print the line `PROVIDERS [...]`."""
    found = []
    for one in gc.get_objects():
        if isinstance(one, TracerProvider):
            multi = getattr(one, "_active_span_processor", None)
            kinds = [type(held).__name__ for held in getattr(multi, "_span_processors", ())]
            ours = kinds.count("LoopGuardSpanProcessor")
            found.append([type(one).__module__, ours, kinds[:1] == ["LoopGuardSpanProcessor"]])
    print("PROVIDERS " + json.dumps(found))
