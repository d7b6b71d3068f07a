"""What all tests share: where the shared test data lies and how property tests draw examples.

No data and no stand-ins for our own code.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

ROOT = Path(__file__).resolve().parent.parent


def _serves() -> bool:
    """Whether what the extra `serve` asks for is installed."""
    return find_spec("h11") is not None and "event_name" in LogRecord.DESCRIPTOR.fields_by_name


# No deadline anywhere: a slow machine is no failure. In CI the same examples are drawn every time, so that a
# failure there can be repeated and a change is never blamed for another one's luck. `brief` is for the second and
# further Pythons, which differ in syntax and libraries rather than in what the examples look for.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("brief", settings.get_profile("ci"), max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local"))

# The server needs newer OTLP messages than the oldest SDK that agents may have, and a package that they do not need;
# the tests with a real Collector talk to a server.
collect_ignore = [] if _serves() else ["collector", "service"]


def pytest_report_header() -> str | None:
    """Say what is left out."""
    return "not collected: tests/collector and tests/service need the extra `serve`" if collect_ignore else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded spans, behaviour cases and corpora: `LOOPGUARD_SHARED`, else `../shared`."""
    folder = Path(os.environ.get("LOOPGUARD_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"no shared test data at `{folder}`; set LOOPGUARD_SHARED to the folder that holds it")
    return folder


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project: README, Makefile and the rest."""
    return ROOT
