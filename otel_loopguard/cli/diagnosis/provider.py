"""Which tracer providers of a process our processor is on: seen in a fresh process, as an agent's would be.

Not in this one: what counts is what happens at start-up. A command of the user's may be that process.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from otel_loopguard.cli.run import environment
from otel_loopguard.otel.reach import REPORT

from .check import Check

__all__ = ["check_providers"]

HOOK: Final = "otel_loopguard.pth"
_TIMEOUT: Final = 60
"""Seconds for a start-up; frameworks take some."""
_ROOT: Final = re.compile(r"^ParentBased\{root:")
_PROBE: Final = """
import os, sys
sys.stdout = sys.stderr
from opentelemetry import trace
try:
    from opentelemetry.instrumentation.auto_instrumentation import initialize
    initialize()
except ImportError:
    pass
if not hasattr(trace.get_tracer_provider(), "add_span_processor"):
    from opentelemetry.sdk.trace import TracerProvider
    TracerProvider(shutdown_on_exit=False)
os._exit(0)
"""


def check_providers(environ: Mapping[str, str], command: Sequence[str] = ()) -> Iterator[Check]:
    """The start-up hook, then each provider that a process makes: the command's, else one of ours that makes one."""
    if Path(sysconfig.get_path("purelib"), HOOK).exists():
        yield Check("start-up", "ok", f"{HOOK} is installed: processes of this Python are watched when they start")
    else:
        text = f"{HOOK} is not installed beside the package: start-up does not watch anything"
        yield Check("start-up", "warning", text, "`loopguard run -- COMMAND`, or `opentelemetry-instrument COMMAND`")
    handle, name = tempfile.mkstemp(prefix="loopguard-doctor-")
    os.close(handle)
    report = Path(name)
    try:
        yield from _run({**environ, REPORT: name}, command)
        lines = report.read_text(encoding="utf-8").splitlines()
    finally:
        report.unlink(missing_ok=True)
    seen = [json.loads(line) for line in dict.fromkeys(lines)]
    if not seen:
        text = "no tracer provider of the SDK was made where it could be seen"
        yield Check("provider", "error", text, "is LOOPGUARD_ENABLED on, and does the agent set up OpenTelemetry?")
    for provider in seen:
        yield _check(provider)


def _run(environ: Mapping[str, str], command: Sequence[str]) -> Iterator[Check]:
    """Let a process make its providers; what goes wrong with it is a check."""
    if command:
        done = subprocess.run(command, env=environment(environ), check=False)  # noqa: S603 - the user's own command
        if done.returncode:
            yield Check("command", "warning", f"`{command[0]}` ended with {done.returncode}")
        return
    quiet = dict.fromkeys(("OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"), "none")
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _PROBE], env={**environ, **quiet}, capture_output=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        yield Check("provider", "error", f"OpenTelemetry was not set up within {_TIMEOUT} s")
        return
    if done.returncode or b"Failed to auto initialize" in done.stderr or b"Failed to initialize" in done.stderr:
        way_out = "run `opentelemetry-instrument python -c pass` and read what it says"
        yield Check("provider", "error", "OpenTelemetry's automatic set-up fails in this environment", way_out)


def _check(provider: Mapping[str, Any]) -> Check:
    who = f"{provider['class']}, made by {provider['maker'] or 'an unknown module'}"
    if provider["vendors_own"]:
        return Check("provider", "info", f"{who}: the vendor's own telemetry, left alone")
    if not provider["watched"]:
        return Check("provider", "error", f"{who}: our processor is not on it", "`otel_loopguard.instrument(provider)`")
    sampler = _ROOT.sub("", provider["sampler"]).partition(",")[0]
    if sampler.startswith(("AlwaysOff", "TraceIdRatio")) and "{1.0}" not in sampler:
        text = f"{who}: watched, and its sampler {sampler} drops spans: loops in those are not seen"
        return Check("provider", "warning", text, "sample in the Collector, behind the detector")
    if provider["length_limit"] is not None:
        text = f"{who}: watched, and cuts attributes at {provider['length_limit']} characters: longer calls are unknown"
        return Check("provider", "warning", text, "leave the span limits' attribute length unset")
    return Check("provider", "ok", f"{who}: watched")
