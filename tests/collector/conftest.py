"""Collectors that several tests share: starting one takes a second. And where none of these tests is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.collector import Collector


class Elsewhere(pytest.Module):
    """A file of tests that another Python runs: its programs and files are the same for all of them."""

    def collect(self) -> NoReturn:
        """Say so."""
        pytest.skip("another Python runs these: LOOPGUARD_TEST_COLLECTOR=false", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Elsewhere | None:
    """Stand in for the files of this folder where the environment asks for it; CI does on all Pythons but one."""
    if os.environ.get("LOOPGUARD_TEST_COLLECTOR") != "false":
        return None
    found: Elsewhere = Elsewhere.from_parent(parent, path=module_path)
    return found


@dataclass(frozen=True)
class Gateway:
    """A gateway between a backend and, in the detector's place, a second backend that shows what would reach it."""

    gateway: Collector
    backend: Collector
    detector: Collector


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The three of them, running."""
    folder = tmp_path_factory.mktemp("gateway")
    with (
        Collector(folder / "backend", "files_backend.yaml") as backend,
        Collector(folder / "detector", "files_backend.yaml") as detector,
        Collector(
            folder / "gateway", "gateway.yaml", BACKEND_ENDPOINT=backend.grpc, DETECTOR_ENDPOINT=detector.grpc
        ) as gateway,
    ):
        yield Gateway(gateway, backend, detector)
