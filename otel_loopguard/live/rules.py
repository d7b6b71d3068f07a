"""The policy and keys in force: an engine and readers, made anew when a file changes.

Not the watching of files: sources do that, and are asked at most once a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, KeyScope, fingerprinter
from otel_loopguard.core.identifier import bounded
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader

from .run_state import RunState

__all__ = ["KeySource", "PolicySource", "Rules", "Sources"]

_ASK_EVERY_NS: Final = 1_000_000_000
_SERVICES: Final = 64
"""Services of one process whose keys are kept at a time: a process seldom has more than one."""


class PolicySource(Protocol):
    """Where the policy comes from."""

    def policy(self, now_ns: int) -> Policy:
        """The policy in force: the same object until it changes. Never raises."""
        ...


class KeySource(Protocol):
    """Where the keys come from."""

    def keyring(self, now_ns: int) -> Keyring:
        """The keys in force: the same object until they change. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Sources:
    """Where policy and keys come from, and how far the keys reach."""

    policies: PolicySource
    keys: KeySource
    key_scope: KeyScope = "environment"


class Rules:
    """What calls are read and judged by now."""

    __slots__ = ("_ask_at", "_keyring", "_keys", "_made_from", "_policies", "_readers", "_scope", "engine")

    def __init__(self, sources: Sources, now_ns: int) -> None:
        self._policies = sources.policies
        self._keys = sources.keys
        self._scope = sources.key_scope
        self._readers: dict[str, CallReader] = {}
        self._keyring = self._keys.keyring(now_ns)
        self.engine = Engine(self._policies.policy(now_ns))
        self._ask_at = now_ns + _ASK_EVERY_NS
        self._made_from = object()

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.engine.policy

    def refresh(self, now_ns: int) -> None:
        """Ask the sources again where a second has passed since they were asked."""
        if now_ns < self._ask_at:
            return
        self._ask_at = now_ns + _ASK_EVERY_NS
        policy, keyring = self._policies.policy(now_ns), self._keys.keyring(now_ns)
        if policy is not self.engine.policy or keyring is not self._keyring:
            self._keyring = keyring
            self._readers = {}
            self._made_from = object()
            if policy is not self.engine.policy:
                self.engine = Engine(policy)

    def reader(self, run: RunState | None, service: object, key_run: str | None = None) -> CallReader:
        """The reader for a call: with its run's or its service's own key where the key scope says so.

        ``run`` None is for the other scopes; ``service`` is the resource's `service.name`. ``key_run`` is what the
        run's key is derived from (`Place.key_run`); None: what it was derived from last.
        """
        if run is not None:
            held = run.reader
            if held is None or held[0] is not self._made_from or key_run not in (None, run.key_run):
                run.key_run = key_run or run.key_run
                held = run.reader = (self._made_from, self._read_with(run.key_run))
            return held[1]
        value = bounded(str(service or "")) if self._scope == "service" else ""
        reader = self._readers.get(value)
        if reader is None:
            if len(self._readers) >= _SERVICES:
                self._readers = {}
            reader = self._readers[value] = self._read_with(value)
        return reader

    def _read_with(self, value: str) -> CallReader:
        return CallReader(self.engine.policy, fingerprinter(self._keyring, self._scope, value))
