"""What an exception says of a declared write: that it was rejected, or that nobody knows."""

from __future__ import annotations

import asyncio
import binascii
import concurrent.futures
import json
from collections.abc import Callable
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import msgspec
import pytest

import otel_loopguard
from otel_loopguard.guards import Allow, Refuse
from otel_loopguard.guards._failure import error_type_of
from tests.guards.script import guard_for, process_for


class SlowGatewayError(TimeoutError):
    """The application's own name of a timeout."""


class DroppedLineError(ConnectionResetError):
    """And of a connection that was lost."""


class TransportError(Exception):
    """As httpx calls the base of them all."""


class BrokenReadError(TransportError):
    """Something that a client library made of it."""


class RejectedOrderError(ValueError):
    """The application's own name of a rejection."""


class LockedError(PermissionError):
    """And of another."""


class WeirdError(Exception):
    """A type that nobody knows."""


class AnsweredError(Exception):
    """An error of a client library that holds the response."""

    def __init__(self, status: object) -> None:
        super().__init__("the server says no")
        self.response = SimpleNamespace(status_code=status)


class HostileError(Exception):
    """Its attributes raise."""

    @property
    def status_code(self) -> int:
        """No status."""
        raise RuntimeError("none")


class TOMLDecodeError(ValueError):
    """As the standard library calls it, from Python 3.11."""


class OrderParserError(ValueError):
    """The application's own name of what it could not read."""


def caught(read: Callable[..., object], *args: object, **more: object) -> Callable[[], Exception]:
    """What a reader raises."""

    def make() -> Exception:
        try:
            read(*args, **more)
        except Exception as error:  # noqa: BLE001 - that is what is asked for
            return error
        raise AssertionError(read)

    return make


def unlike_its_model() -> Exception:
    """A reply that is JSON and not what was expected, as pydantic says it."""
    error = type("ValidationError", (ValueError,), {"__module__": "pydantic_core._pydantic_core"})
    return error("1 validation error for Receipt")


def behind(error: Exception, hidden: Exception, *, is_named: bool = True) -> Exception:
    """An exception that was raised while another was handled, from it or without a word."""
    error.__context__ = hidden
    if is_named:
        error.__cause__ = hidden
    return error


UNKNOWN: list[tuple[str, Callable[[], BaseException], str]] = [
    ("timeout", SlowGatewayError, "TimeoutError"),
    ("connection", DroppedLineError, "ConnectionResetError"),
    ("transport", BrokenReadError, "TransportError"),
    ("cancelled", asyncio.CancelledError, "cancelled"),
    ("cancelled future", concurrent.futures.CancelledError, "CancelledError"),
    ("interrupt", KeyboardInterrupt, "cancelled"),
    ("exit", SystemExit, "cancelled"),
    ("unknown", WeirdError, "WeirdError"),
    ("plain", lambda: Exception("x"), "Exception"),
    ("runtime", lambda: RuntimeError("x"), "RuntimeError"),
    ("system", lambda: OSError(5, "input/output error"), "OSError"),
    ("lookup", lambda: KeyError("id"), "KeyError"),
    ("undecodable", lambda: json.JSONDecodeError("x", "y", 0), "JSONDecodeError"),
    ("no text", lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), "UnicodeDecodeError"),
    ("no base64", caught(binascii.a2b_base64, "a"), "Error"),
    ("no xml", caught(ET.fromstring, "<a"), "ParseError"),
    ("no toml", lambda: TOMLDecodeError("x"), "TOMLDecodeError"),
    ("own parser", lambda: OrderParserError("x"), "OrderParserError"),
    ("broken for msgspec", caught(msgspec.json.decode, b"{"), "DecodeError"),
    ("wrong for msgspec", caught(msgspec.json.decode, b"1", type=str), "DecodeError"),
    ("wrong for pydantic", unlike_its_model, "DecodeError"),
    ("hides a wrong reply", lambda: behind(RejectedOrderError("x"), unlike_its_model()), "DecodeError"),
    ("hostile", HostileError, "HostileError"),
    ("http 500", lambda: AnsweredError(500), "500"),
    ("http 502", lambda: AnsweredError(502), "502"),
    ("http 504", lambda: AnsweredError(504), "504"),
    ("http 429", lambda: AnsweredError(429), "429"),
    ("http 599", lambda: AnsweredError(599), "AnsweredError"),
    ("no status", lambda: AnsweredError(None), "AnsweredError"),
    ("hides a timeout", lambda: behind(RejectedOrderError("x"), SlowGatewayError("y")), "TimeoutError"),
    (
        "hides it without a word",
        lambda: behind(RejectedOrderError("x"), SlowGatewayError("y"), is_named=False),
        "TimeoutError",
    ),
]
REJECTED: list[tuple[str, Callable[[], BaseException], str]] = [
    ("value", lambda: ValueError("no such order"), "ValueError"),
    ("rejection", lambda: RejectedOrderError("no such order"), "ValueError"),
    ("own validation", lambda: type("ValidationError", (Exception,), {})("no such order"), "ValidationError"),
    ("permission", lambda: LockedError("not yours"), "PermissionError"),
    ("not found", lambda: FileNotFoundError("x"), "FileNotFoundError"),
    ("not there yet", lambda: NotImplementedError("x"), "NotImplementedError"),
    ("http 400", lambda: AnsweredError(400), "400"),
    ("http 404", lambda: AnsweredError(404), "404"),
    ("http 409", lambda: AnsweredError(409), "validation"),
    ("http 503", lambda: AnsweredError(503), "503"),
    ("from a lookup", lambda: behind(ValueError("no such order"), KeyError("A1")), "ValueError"),
]


@pytest.mark.parametrize(
    ("make", "error_type"), [case[1:] for case in UNKNOWN + REJECTED], ids=[case[0] for case in UNKNOWN + REJECTED]
)
def test_types(make: Callable[[], BaseException], error_type: str) -> None:
    """The nearest class that says what kind of failure it is, else its own."""
    assert error_type_of(make()) == error_type


@pytest.mark.parametrize("make", [case[1] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN])
def test_a_write_that_may_have_happened_is_not_sent_again(make: Callable[[], BaseException]) -> None:
    """The agent is stopped at once, for a person to look."""
    guard = guard_for(process_for(), refusals=5)
    with otel_loopguard.run("r1"):
        guard.failed(guard.before("refund", {"order": "A1"}).call, make())
        again = guard.before("refund", {"order": "A1"})
    assert isinstance(again, Refuse)
    assert again.stop is not None
    assert again.stop.kind == "indeterminate"


@pytest.mark.parametrize("make", [case[1] for case in REJECTED], ids=[case[0] for case in REJECTED])
def test_a_write_that_was_rejected_may_be_sent_again(make: Callable[[], BaseException]) -> None:
    """It has not happened."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        guard.failed(guard.before("refund", {"order": "A1"}).call, make())
        assert isinstance(guard.before("refund", {"order": "A1"}), Allow)


def test_exceptions_without_a_text_are_the_same_error() -> None:
    """Their type alone does, whatever the arguments: the third is told, the sixth refused."""
    guard = guard_for(process_for())
    said = []
    with otel_loopguard.run("r1"):
        for place in range(6):
            decision = guard.before("fetch", {"page": place}, turn=f"t{place}")
            said.append(type(decision).__name__)
            if isinstance(decision, Allow):
                guard.failed(decision.call, AssertionError())
    assert said == ["Allow"] * 5 + ["Refuse"]
