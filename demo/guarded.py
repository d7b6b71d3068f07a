"""The stuck agent once more, with a guard around its tools: what `demo.agent` plays, and ten lines.

Not another script: the model decides what it decided without the guard, and does not listen either.
"""

from __future__ import annotations

import sys
from typing import Final

from demo.agent import act, decide, run_span
from demo.scripts import SCRIPTS
from otel_loopguard.guards import Allow, Guard, Nudge, Refuse

NAME: Final = "guarded"


def work(customer: str) -> None:
    """The run, up to the step in which the guard stops it."""
    guard = Guard(mode="enforce")
    transcript = 0
    with run_span(NAME):
        for number, step in enumerate(SCRIPTS["stuck"](customer), start=1):
            transcript += decide(step, transcript)
            answer = guard.before(step.tool, step.arguments, call_id=f"call-{number}", run=f"demo-{NAME}", agent=NAME)
            if isinstance(answer, Allow):
                with guard.inside(answer.call):
                    transcript += act(step, f"call-{number}")
                answer = guard.after(answer.call, step.result)
            if isinstance(answer, Nudge | Refuse):
                transcript += len(answer.text)
            if isinstance(answer, Refuse) and answer.stop is not None:
                guard.ended(answer.stop)
                return
        guard.finish("turn_limit", run=f"demo-{NAME}")


if __name__ == "__main__":
    work(*sys.argv[2:])
