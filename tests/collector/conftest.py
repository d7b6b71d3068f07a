"""Collectors that several tests share: starting one takes a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.collector import Collector


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
