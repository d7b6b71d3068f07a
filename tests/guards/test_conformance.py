"""Every adapter keeps every rule, and every rule fails for a guard that is broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module

import pytest

from otel_loopguard.core import results
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.guards import Allow, Call, Guard, Nudge, Refuse, _ended
from otel_loopguard.guards._in_flight import InFlight

pytest.register_assert_rewrite("tests.guards.conformance")

from tests.guards import conformance, script  # noqa: E402 - its assertions explain themselves
from tests.guards.script import Driver  # noqa: E402

DRIVERS: dict[str, tuple[str, ...]] = {
    "functions.Functions": (),
    "functions.Coroutines": (),
    "anthropic_loop.Sync": ("anthropic",),
    "anthropic_loop.Async": ("anthropic",),
    "openai_loop.Chat": ("openai",),
    "openai_loop.ChatAsync": ("openai",),
    "openai_loop.Responses": ("openai",),
    "mcp.Session": ("mcp",),
    "langchain.Sync": ("langchain",),
    "langchain.Async": ("langchain",),
    "langchain.Streamed": ("langchain",),
    "openai_agents.Async": ("agents",),
    "openai_agents.Sync": ("agents",),
    "openai_agents.Streamed": ("agents",),
    "pydantic_ai.Async": ("pydantic_ai",),
    "pydantic_ai.Sync": ("pydantic_ai",),
    "pydantic_ai.Streamed": ("pydantic_ai",),
}
"""Every driver, with the packages that its framework needs."""


def load(path: str) -> Driver:
    """A driver, or a skip that says how to install what it needs."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:  # `make test-guards` sets it: there nothing may be missing
        for package in DRIVERS[path]:
            pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")
    module, name = path.split(".")
    driver: Driver = getattr(import_module(f"tests.guards.drivers.{module}"), name)()
    return driver


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", DRIVERS)
def test_adapter(path: str, check: Callable[[Driver], None]) -> None:
    """The rule holds, whichever framework loops."""
    check(load(path))


# Guards that are broken -------------------------------------------------------------------------------------------


class DispatchesFirst(Guard):
    """Lets the call run, and asks afterwards."""

    def before(self, tool: str, arguments: object, **more: object) -> Allow | Nudge | Refuse:
        """Whatever the answer is, the call has been dispatched already."""
        super().before(tool, arguments, **more)  # type: ignore[arg-type]
        return Allow(Call(tool, arguments, None, None))


class NeverInDoubt(Guard):
    """Forgets that the telemetry of a run told two stories."""

    def before(self, tool: str, arguments: object, **more: object) -> Allow | Nudge | Refuse:
        """Judge the call as if all of them were to be trusted."""
        for run in self._live._ledger._runs.values():
            run.doubts.clear()
        return super().before(tool, arguments, **more)  # type: ignore[arg-type]


def failing(driver: Driver, make: Callable[..., Guard] = Guard) -> set[str]:
    """The rules that a guard does not keep."""

    def is_kept(check: Callable[..., None]) -> bool:
        try:
            check(driver, make)
        except AssertionError:
            return False
        return True

    return {check.__name__ for check in conformance.CHECKS if not is_kept(check)}


def test_the_suite_sees_a_dispatch_before_the_check() -> None:
    """A guard that comes after the dispatch breaks every rule about refusals."""
    assert {"told_once_then_stopped", "undeclared_is_run_until_the_fifth", "first_refusal_may_stop"} <= failing(
        load("functions.Functions"), DispatchesFirst
    )


@pytest.mark.parametrize("off", [-1, 1])
def test_the_suite_sees_thresholds_off_by_one(off: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop one call early or late is a failure."""
    nudge, stop = 3 + off, 5 + off
    shifted = script.POLICY + f"defaults: {{identical: {{nudge: {nudge}, stop: {stop}}}}}\n"
    parse_policy(shifted)
    monkeypatch.setattr(conformance, "process_for", lambda: script.process_for(shifted))
    assert "undeclared_is_run_until_the_fifth" in failing(load("functions.Functions"))


def test_the_suite_sees_a_write_answered_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that keeps the results of writes is found out."""
    monkeypatch.setattr(results, "may_keep", lambda settings: True)  # noqa: ARG005 - the broken rule
    assert "writes_are_never_answered_from_memory" in failing(load("functions.Functions"))


def test_the_suite_sees_a_write_that_is_taken_for_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard to which every failure means that nothing happened sends the write again."""
    monkeypatch.setattr(_ended, "error_type_of", lambda error: "validation")  # noqa: ARG005
    assert failing(load("functions.Functions")) == {"a_write_of_unknown_outcome_is_not_sent_again"}


def test_the_suite_sees_a_write_that_is_not_known_to_be_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that knows ended calls alone sends the write beside itself."""
    monkeypatch.setattr(InFlight, "enter_write", lambda *_: True)
    assert failing(load("functions.Functions")) == {
        "a_write_under_way_is_not_sent_again",
        "a_nested_call_leaves_the_outer_one_open",
    }


def test_the_suite_sees_sub_agents_that_are_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard to which all agents of a name are one refuses what the third of them reads first."""
    monkeypatch.setattr(Guard, "call_around", lambda _: None)
    assert failing(load("functions.Functions")) == {"fresh_sub_agents_begin_anew"}


def test_the_suite_sees_enforcement_in_doubt() -> None:
    """A guard that goes on refusing where telemetry tells two stories is found out."""
    assert failing(load("functions.Functions"), NeverInDoubt) == {"doubt_turns_enforcement_off"}


def test_the_suite_passes_a_guard_that_works() -> None:
    """What the broken ones fail, the real one does not."""
    assert failing(load("functions.Functions")) == set()
