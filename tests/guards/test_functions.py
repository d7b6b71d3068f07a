"""What may be decorated, and what becomes of it."""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import pickle
from collections.abc import Awaitable, Generator
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.errors import LoopDetected, SettingError
from otel_loopguard.guards import Guard
from otel_loopguard.guards.functions import guarded
from tests.guards.script import guard_for, process_for


def desk_of(guard: Guard) -> Any:  # noqa: ANN401 - a class of each kind of method
    """A class whose methods are tools, and count how often they run."""

    class Desk:
        ran = 0

        @guarded(guard, name="search")
        def search(self, query: str) -> str:
            type(self).ran += 1
            return f"hits for {query}"

        @classmethod
        @guarded(guard, name="search")
        def search_all(cls, query: str) -> str:
            cls.ran += 1
            return f"hits for {query}"

        @staticmethod
        @guarded(guard, name="search")
        def search_here(query: str) -> str:
            Desk.ran += 1
            return f"hits for {query}"

    return Desk


@pytest.mark.parametrize("method", ["search", "search_all", "search_here"])
def test_methods_are_guarded(method: str) -> None:
    """The object of a method is no argument: its repeats are found as a function's are."""
    desk = desk_of(guard_for(process_for()))
    call = getattr(desk(), method)
    with otel_loopguard.run("r1"):
        answers = [call("x") for _ in range(3)]
        assert call("y") == "hits for y"
    assert desk.ran == 2
    assert [text.partition("[loopguard]")[1] for text in answers] == ["", "[loopguard]", "[loopguard]"]


def test_bound_methods_are_guarded() -> None:
    """A method that is decorated when it is bound already has no object among its parameters."""

    class Desk:
        def search(self, query: str) -> str:
            return f"hits for {query}"

    search = guarded(guard_for(process_for()))(Desk().search)
    with otel_loopguard.run("r1"):
        assert [("[loopguard]" in search(query)) for query in "xxy"] == [False, True, False]


def test_arguments_that_are_collected_are_arguments_like_others() -> None:
    """A parameter `**body` is no argument itself: a changed request id in it hides no repeat."""

    def search(**body: object) -> str:
        return f"hits for {body['query']}"

    asked = guarded(guard_for(process_for()))(search)
    with otel_loopguard.run("r1"):
        assert ["[loopguard]" in asked(query="x", request_id=number) for number in range(2)] == [False, True]


def test_what_stopped_an_agent_can_be_copied_and_sent() -> None:
    """Frameworks copy outputs, and a supervisor is another process."""
    loop = LoopDetected("stuck", tool="search", kind="identical", count=3, run_id="r1", agent="a", finding_id="f")
    for made in (copy.copy(loop), copy.deepcopy(loop), pickle.loads(pickle.dumps(loop))):  # noqa: S301 - our own
        assert (str(made), vars(made)) == ("stuck", vars(loop))


def test_arguments_that_are_no_data_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """A call that cannot be told from another one goes through, and one warning names the tool."""
    search = guarded(guard_for(process_for()), name="search")(lambda _query: "nothing")
    with caplog.at_level(logging.WARNING, logger="otel_loopguard"), otel_loopguard.run("r1"):
        assert [search(object()) for _ in range(6)] == ["nothing"] * 6
    assert ["`search`" in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("is_task", [False, True])
@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_a_plain_function_may_return_an_awaitable(mode: str, *, is_task: bool) -> None:
    """Its caller awaits every answer: results, words, refusals and the stop."""

    async def find(query: str) -> str:
        return f"hits for {query}"

    def search(query: str) -> Awaitable[str]:
        return asyncio.ensure_future(find(query)) if is_task else find(query)

    asked = guarded(guard_for(process_for(), mode=mode))(search)

    async def loop() -> list[str]:
        with otel_loopguard.run("r1"):
            heard = [await asked("x") for _ in range(3)]
            waiting = asked("x")
            if mode == "enforce":
                with pytest.raises(LoopDetected):
                    await waiting
            else:
                await waiting
            return heard

    heard = asyncio.run(loop())
    assert ["[loopguard]" in text for text in heard] == ([False, True, True] if mode == "enforce" else [False] * 3)


class Opening:
    """What is awaited or entered, as a request of aiohttp."""

    def __init__(self, query: str) -> None:
        self.query = query

    def __await__(self) -> Generator[None, None, str]:
        yield from asyncio.sleep(0).__await__()
        return f"hits for {self.query}"

    async def __aenter__(self) -> str:
        return f"hits for {self.query}"

    async def __aexit__(self, *_: object) -> None:
        """Closed."""


@pytest.mark.parametrize("is_entered", [False, True])
@pytest.mark.parametrize("mode", ["observe", "nudge", "enforce"])
def test_what_is_awaited_or_entered_is_handed_on(mode: str, *, is_entered: bool) -> None:
    """The caller gets the object itself in every mode; a refused call gives its answer in either of the two ways."""
    process, made = process_for(), list[Opening]()

    def refund(order: str) -> Opening:
        made.append(Opening(order))
        return made[-1]

    asked = guarded(guard_for(process, mode=mode))(refund)

    async def read(opening: Opening) -> str:
        if not is_entered:
            return await opening
        async with opening as content:
            return content

    async def loop() -> list[str]:
        heard = []
        with otel_loopguard.run("r1"):
            for place in range(3):
                opening = asked("A1")
                if place == 0 or mode != "enforce":
                    assert opening is made[place]
                heard.append(await read(opening))
        return heard

    if mode == "enforce":
        with pytest.raises(LoopDetected) as stop:
            asyncio.run(loop())
        assert (stop.value.tool, stop.value.kind, len(made)) == ("refund", "indeterminate", 1)
    else:
        assert asyncio.run(loop()) == ["hits for A1"] * 3
        assert len(made) == 3
    assert process.live.counters.total(names.TOOL_CALLS) == (2 if mode == "enforce" else 3)


def test_what_has_no_name_needs_one() -> None:
    """A partial is refused with the way out, and guarded under the name that it is given."""

    def search(user: str, query: str) -> str:
        return f"hits for {query} of {user}"

    guard = guard_for(process_for())
    with pytest.raises(SettingError, match="name="):
        guarded(guard)(functools.partial(search, "alice"))
    asked = guarded(guard, name="search")(functools.partial(search, "alice"))
    with otel_loopguard.run("r1"):
        assert asked("x") == "hits for x of alice"
        assert "[loopguard]" in asked("x")


def test_descriptors_are_refused() -> None:
    """Decorators in the wrong order are an error that names the right one."""
    with pytest.raises(SettingError, match="below `@classmethod`"):
        guarded(guard_for(process_for()))(staticmethod(len))


def test_a_result_that_cannot_be_asked_passes() -> None:
    """A result whose attributes raise reaches the caller as what it is."""

    class Closed:
        def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
            raise RuntimeError(name)

    closed = Closed()
    opened = guarded(guard_for(process_for(), mode="observe"), name="search")(lambda: closed)
    with otel_loopguard.run("r1"):
        assert opened() is closed


def test_a_function_without_known_parameters_is_said() -> None:
    """A built-in that does not tell its parameters cannot be guarded by itself, and the words name the way out."""
    with pytest.raises(SettingError, match="parameters of `dict` are not known; guard a function of your own"):
        guarded(guard_for(process_for()))(dict)
