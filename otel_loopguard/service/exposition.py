"""Numbers as the text that Prometheus reads (exposition format 0.0.4).

Not the numbers: names, units and help come from `names`, dots become underscores, counters end in `_total`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from otel_loopguard import names
from otel_loopguard.emit import COUNTERS
from otel_loopguard.service.numbers import Histogram, Numbers

__all__ = ["Gauge", "exposition"]

Gauge = tuple[str, Mapping[str, str], float]
"""Name, attributes and value."""

_HELP: Final = {item.name: item for item in names.METRICS}
_UNITS: Final = {"s": "_seconds", "By": "_bytes"}


def exposition(numbers: Numbers, gauges: Iterable[Gauge]) -> str:
    """Everything that is counted, and some gauges."""
    lines: list[str] = []
    for counter in COUNTERS:
        found = numbers.counters.read(counter)
        _head(lines, counter, "counter")
        lines.extend(_line(_name(counter, "_total"), attributes, total) for total, attributes in found)
    _head(lines, names.SERVER_REQUESTS, "counter")
    for answer, count in sorted(numbers.answers.items()):
        lines.append(_line(_name(names.SERVER_REQUESTS, "_total"), {names.SERVER_ANSWER: answer}, count))
    _head(lines, names.SERVER_ITEMS, "counter")
    lines.append(_line(_name(names.SERVER_ITEMS, "_total"), {}, numbers.items))
    for name, histogram in (
        (names.SERVER_LATENCY, numbers.latency),
        (names.DETECTION_CALLS, numbers.detection),
        (names.WASTED_CALLS, numbers.wasted),
    ):
        _head(lines, name, "histogram")
        lines.extend(_histogram(_name(name), histogram))
    seen: set[str] = set()
    for name, attributes, value in gauges:
        if name not in seen:
            seen.add(name)
            _head(lines, name, "gauge")
        lines.append(_line(_name(name), attributes, value))
    return "\n".join(lines) + "\n"


def _name(name: str, ending: str = "") -> str:
    item = _HELP[name]
    return name.replace(".", "_") + _UNITS.get(item.type, "") + ending


def _head(lines: list[str], name: str, kind: str) -> None:
    full = _name(name, "_total" if kind == "counter" else "")
    lines.append(f"# HELP {full} {_HELP[name].meaning}")
    lines.append(f"# TYPE {full} {kind}")


def _histogram(name: str, histogram: Histogram) -> Iterable[str]:
    total = 0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        total += count
        yield _line(f"{name}_bucket", {"le": f"{bound:g}"}, total)
    total += histogram.counts[-1]
    yield _line(f"{name}_bucket", {"le": "+Inf"}, total)
    yield _line(f"{name}_sum", {}, histogram.sum)
    yield _line(f"{name}_count", {}, total)


def _line(name: str, attributes: Mapping[str, object], value: float) -> str:
    if not attributes:
        return f"{name} {value!r}"
    labels = ",".join(f'{key.replace(".", "_")}="{_escaped(text)}"' for key, text in attributes.items())
    return f"{name}{{{labels}}} {value!r}"


def _escaped(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
