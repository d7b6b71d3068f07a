"""The edge: our errors are counted and told of once, without what they say."""

from __future__ import annotations

import pytest

from otel_loopguard import names
from otel_loopguard.emit import Counters
from otel_loopguard.live import Edge


def raised(error: Exception) -> Exception:
    """An error with a place."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_errors_are_counted_and_logged_once_a_type(caplog: pytest.LogCaptureFixture) -> None:
    """Every error counts, the first of a type is logged with its place, never with its message."""
    counters = Counters()
    edge = Edge(counters)
    for _ in range(3):
        edge.caught(raised(ValueError("canary")))
    edge.caught(raised(KeyError("canary")))
    edge.caught(TypeError("raised nowhere: canary"))
    assert counters.read(names.ERRORS) == [
        (3, {"error.type": "ValueError"}),
        (1, {"error.type": "KeyError"}),
        (1, {"error.type": "TypeError"}),
    ]
    assert len(caplog.records) == 3
    assert "test_edge.py" in caplog.text
    assert "unknown place" in caplog.text
    assert "canary" not in caplog.text


def test_logging_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """Not even a thousand kinds of error fill a log."""
    edge = Edge(Counters())
    for index in range(1000):
        edge.caught(type(f"Error{index}", (Exception,), {})())
    assert len(caplog.records) == 64
