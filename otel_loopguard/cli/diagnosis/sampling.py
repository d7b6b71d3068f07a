"""What of the spans reaches the processor: samplers that drop them, and limits that cut what they hold.

Read from the variables; what code sets in their place is seen on the providers (`provider`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from .check import Check

__all__ = ["check_sampling"]

_SAMPLER: Final = "OTEL_TRACES_SAMPLER"
_ARGUMENT: Final = "OTEL_TRACES_SAMPLER_ARG"
_LENGTHS: Final = ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
_COUNTS: Final = ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")
_ENOUGH: Final = 64
"""Attributes of a tool span with ours: some thirty of each at most."""


def check_sampling(environ: Mapping[str, str]) -> Iterator[Check]:
    """The sampler, then the limits."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Check("sampling", "error", "OTEL_SDK_DISABLED=true: no span is made", "unset OTEL_SDK_DISABLED")
    if environ.get("OTEL_CONFIG_FILE"):
        yield Check("sampling", "info", "OTEL_CONFIG_FILE is set: its sampler and limits hold, not those of variables")
        return
    yield _sampler(environ)
    yield from _limits(environ)


def _sampler(environ: Mapping[str, str]) -> Check:
    name = environ.get(_SAMPLER, "").strip().lower()
    if name in {"always_off", "parentbased_always_off"}:
        return Check("sampling", "error", f"{_SAMPLER}={name} drops the spans", f"unset {_SAMPLER}")
    if name in {"traceidratio", "parentbased_traceidratio"}:
        share = _share(environ.get(_ARGUMENT, ""))
        if share < 1:
            text = f"{_SAMPLER}={name} keeps {share:.4g} of the traces: loops in the others are not seen"
            way_out = f"{_SAMPLER}=always_on, and sample in the Collector, behind the detector"
            return Check("sampling", "warning" if share else "error", text, way_out)
    if name and name not in {"always_on", "parentbased_always_on", "traceidratio", "parentbased_traceidratio"}:
        return Check(
            "sampling", "warning", f"{_SAMPLER} names a sampler that is not known here: what it drops is not seen"
        )
    return Check("sampling", "ok", "no sampler is set that drops spans")


def _share(text: str) -> float:
    """As the SDK reads it: all, where it is no number between nought and one."""
    try:
        share = float(text)
    except ValueError:
        return 1.0
    return share if 0 <= share <= 1 else 1.0


def _limits(environ: Mapping[str, str]) -> Iterator[Check]:
    length = _limit(environ, _LENGTHS)
    if length is not None:
        name, value = length
        text = f"{name}={value} cuts arguments: calls with longer ones are unknown, never taken for equal"
        yield Check("limits", "warning", text, f"unset {name}, and cut in the Collector")
    count = _limit(environ, _COUNTS)
    if count is not None and count[1] < _ENOUGH:
        text = (
            f"{count[0]}={count[1]}: the oldest attributes of a span are lost to the newest, the call's own among them"
        )
        yield Check("limits", "warning", text, f"{count[0]}=128, the default")
    if length is None and count is None:
        yield Check("limits", "ok", "no attribute limit is set that cuts arguments")


def _limit(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, int] | None:
    """The first of some variables that holds a number."""
    for name in names:
        text = environ.get(name, "").strip()
        if text.isdecimal():
            return name, int(text)
    return None
