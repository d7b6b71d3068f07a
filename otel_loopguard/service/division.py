"""Dividing what is kept anew, when the detector starts with another number of workers.

Not the workers. Everything is taken up as a restart does, brought to one moment, and written to new files, each with
the runs and the recent spans of one worker. Then a marker is written, and then the new files take the places of the
old ones: a crash before the marker leaves the old files, one after it is made good at the next start.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import groupby
from pathlib import Path
from typing import Final

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import StoreError
from otel_loopguard.runtimes import Arrival, Limits, LocalRuntime, Said
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.journal import pack_arrivals
from otel_loopguard.service.keeper import Keeper, Pace
from otel_loopguard.service.message import message_of
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Changes, Outbox, Row
from otel_loopguard.service.partition import Share, state_path
from otel_loopguard.service.store import Entry, Mark, Saved, Store

__all__ = ["divide", "parts_of"]

_NEXT: Final = ".next"
_MARKER: Final = ".dividing"
_BESIDE: Final = ("-wal", "-shm")
"""Files that SQLite keeps beside one while it is open."""


def parts_of(path: str) -> list[str]:
    """The files of a set, of which ``path`` is the first; raises `StoreError` where one is missing."""
    with closing(Store(path)) as store:
        share = store.share
    files = [state_path(path, number) for number in range(share.workers)] if not share.worker else [path]
    for number, file in enumerate(files):
        if not Path(file).exists():
            raise StoreError(file, "missing", f"part {number + 1} of {share.workers}")
    return files


def divide(  # noqa: PLR0913 - what judging needs
    path: str, workers: int, *, policy: Policy, limits: Limits, sinks: Sequence[str], tell: Callable[[str], None]
) -> None:
    """Make the files at ``path`` those of so many workers. Raises `StoreError`."""
    _take_places(path)
    if not Path(path).exists():
        return
    files = parts_of(path)
    if len(files) == workers:
        return
    tell(f"the state is that of {len(files)} workers, it is divided anew for {workers}")
    _write(path, files, workers, policy, limits, sinks)
    _mark(path, workers, len(files))
    _take_places(path)


class _Part:
    """What one old file holds."""

    def __init__(self, store: Store, policy: Policy, limits: Limits, sinks: Sequence[str]) -> None:
        self.store = store
        self.share = store.share
        self.runtime = LocalRuntime(Engine(policy), limits, owns=self.share.owns)
        self.outbox = Outbox(sinks, 1 << 30)
        clock = Clock(time.time_ns, 1)
        self._version = policy.revision or ""
        self._keeper = Keeper(self.runtime, self.outbox, Numbers(), clock, time.time_ns, Pace(), store, None)
        self.say(self._keeper.recover())

    def say(self, said: Iterable[Said]) -> None:
        """Put what runs say into the outbox."""
        now = time.time_ns()
        found = (message_of(one, self._version, now) for one in said)
        self.outbox.add([message for message in found if message is not None])

    def save(self, now: int) -> None:
        """Write everything to the old file. Raises `StoreError`."""
        if not self._keeper.commit(now, None, everything=True) and self._keeper.trouble is not None:
            raise self._keeper.trouble

    def undelivered(self) -> list[bytes]:
        """Messages that some sink has not had."""
        rows, cursors = self.store.outbox()
        return [row.data for row in rows if row.position > min(cursors.values(), default=0)]


def _write(  # noqa: PLR0913, PLR0917 - as `divide`
    path: str, files: Sequence[str], workers: int, policy: Policy, limits: Limits, sinks: Sequence[str]
) -> None:
    with ExitStack() as stack:
        parts: list[_Part] = []
        for file in files:
            store = Store(file)
            stack.callback(store.close)
            parts.append(_Part(store, policy, limits, sinks))
        now = max(part.runtime.time for part in parts)
        _bring_to(now, parts)
        for part in parts:
            part.save(now)
        shares = [Share(number, workers) for number in range(workers)]
        for share in shares:
            file = state_path(path, share.worker) + _NEXT
            for stale in (file, *(file + ending for ending in _BESIDE)):
                Path(stale).unlink(missing_ok=True)
            with closing(Store(file, share)) as store:
                _fill(store, share, parts, now)


def _bring_to(now: int, parts: Sequence[_Part]) -> None:
    """Do what is due, and bring calls to their runs."""
    for part in parts:
        part.say(part.runtime.on_time(now))
    while any(part.runtime.handovers for part in parts):
        for part in parts:
            handovers, part.runtime.handovers = part.runtime.handovers, []
            for call in handovers:
                owner = parts[part.share.owner(call.tenant, call.record.run_id)]
                owner.say(owner.runtime.take([Arrival(call.tenant, call.record)], now))


def _fill(store: Store, share: Share, parts: Sequence[_Part], now: int) -> None:
    """Write one worker's share."""
    entries = [
        Entry(number, at, pack_arrivals(arrivals)) for number, (at, arrivals) in enumerate(_recent(share, parts), 1)
    ]
    mark = Mark(now, len(entries), now)
    mine = [part for number, part in enumerate(parts) if number % share.workers == share.worker]
    messages = [data for part in mine for data in part.undelivered()]
    rows = [Row(position, data) for position, data in enumerate(messages, 1)]
    saved = (Saved(one.key, one.packed, mark) for part in parts for one in part.store.runs() if share.owns(one.key))
    store.commit(mark, Changes(rows, 0, {}), None, saved)
    for entry in entries:
        store.commit(mark, Changes([], 0, {}), entry)


def _recent(share: Share, parts: Iterable[_Part]) -> Iterator[tuple[int, list[Arrival]]]:
    """The spans that may still have an effect, by the time when they came."""
    kept = [
        (at, Arrival(tenant, span))
        for part in parts
        for at, tenant, span in part.runtime.window.contents()
        if share.owns((tenant, span.trace_id))
    ]
    kept.sort(key=lambda one: one[0])
    for at, group in groupby(kept, key=lambda one: one[0]):
        yield at, [arrival for _, arrival in group]


def _mark(path: str, workers: int, before: int) -> None:
    """From here on the new files count."""
    written = Path(path + _MARKER + _NEXT)
    with written.open("w", encoding="utf-8") as file:
        json.dump({"workers": workers, "before": before}, file)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path + _MARKER)
    _sync_folder(path)


def _take_places(path: str) -> None:
    """Put new files into the places of old ones, where a marker says that they are whole."""
    marker = Path(path + _MARKER)
    if not marker.exists():
        return
    told = json.loads(marker.read_text(encoding="utf-8"))
    for number in range(max(told["workers"], told["before"])):
        file = Path(state_path(path, number))
        new = Path(f"{file}{_NEXT}")
        if number < told["workers"] and not new.exists():
            continue  # it has taken its place already
        for ending in _BESIDE:
            Path(f"{file}{ending}").unlink(missing_ok=True)
        if new.exists():
            new.replace(file)
        else:
            file.unlink(missing_ok=True)
    _sync_folder(path)
    marker.unlink()


def _sync_folder(path: str) -> None:
    folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
