"""What our own variables ask for: whether we are on, with which key, what is removed, under which policy.

Nothing of the key but its id is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import KeySettingError, PolicyError
from otel_loopguard.keys import load_keyring, text_of

from .check import Check

if TYPE_CHECKING:
    from otel_loopguard.core.policy import Policy

__all__ = ["check_settings"]


def check_settings(environ: Mapping[str, str]) -> Iterator[Check]:
    """All of them, in the order in which they matter."""
    settings = Settings.read(environ)
    if settings.enabled:
        yield Check("switch", "ok", f"{names.ENABLED} is on")
    else:
        yield Check("switch", "error", f"{names.ENABLED} is not on", f"{names.ENABLED}=true")
    for warning in settings.warnings:
        yield Check("setting", "warning", warning)
    yield from _key(settings)
    yield _redaction(settings)
    yield from _policy(settings)
    yield _baggage(settings, environ)


def _key(settings: Settings) -> Iterator[Check]:
    way_out = f"`loopguard key new --file loopguard.key`, then {names.KEY_FILE}=loopguard.key"
    if settings.key is None and settings.key_file is None:
        text = "no key is set: fingerprints can be compared within one process alone (key id `ephemeral`)"
        yield Check("key", "warning", text, way_out)
        return
    told: list[str] = []
    try:
        ring = load_keyring(settings, told.append)
    except (KeySettingError, OSError) as error:
        text = str(error) if isinstance(error, KeySettingError) else f"{settings.key_file}: {error.strerror}"
        yield Check("key", "error", f"{text}; agents use a key of one process alone", way_out)
        return
    others = len(ring.keys) - 1
    more = f", {others} more in the file" if others else ""
    yield Check("key", "ok", f"key id `{ring.active.id}`{more}, scope `{settings.key_scope}`")
    for text in told:
        yield Check("key", "warning", text)


def _redaction(settings: Settings) -> Check:
    reach = {
        "redact": "arguments and results are removed from tool spans",
        "redact_all": "content is removed from all spans",
        "keep": "arguments and results stay on tool spans",
    }[settings.content]
    exceptions = "stay" if settings.exceptions == "keep" and settings.content != "redact_all" else "are removed"
    text = f"{names.CONTENT}={settings.content}: {reach}; exception texts {exceptions}"
    return Check("redaction", "info" if settings.content == "keep" else "ok", text)


def _policy(settings: Settings) -> Iterator[Check]:
    if settings.policy_file is None:
        yield Check("policy", "info", "the built-in policy: it knows none of your tools", f"{names.POLICY}=policy.yaml")
    else:
        yield _policy_file(settings.policy_file)
    if settings.mode is not None:
        yield Check("policy", "info", f"mode `{settings.mode}` for every tool, by {names.MODE} or {names.GUARD}")


def _policy_file(name: str) -> Check:
    way_out = f"`loopguard policy check {name}`; agents use the built-in policy meanwhile"
    try:
        policy: Policy = parse_policy(text_of(Path(name)))
    except PolicyError as error:
        return Check("policy", "error", f"{name}: {error}", way_out)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        return Check("policy", "error", f"{name}: {reason}", way_out)
    revision = f", revision `{policy.revision}`" if policy.revision else ""
    return Check("policy", "ok", f"{name}: {len(policy.tools)} tools{revision}")


def _baggage(settings: Settings, environ: Mapping[str, str]) -> Check:
    if settings.baggage == "off":
        return Check("baggage", "info", "run id and agent are not sent to other processes", f"{names.BAGGAGE}=on")
    propagators = {word.strip() for word in environ.get("OTEL_PROPAGATORS", "tracecontext,baggage").split(",")}
    if "baggage" in propagators:
        return Check("baggage", "ok", "run id and agent are sent as W3C baggage")
    way_out = "add `baggage` to OTEL_PROPAGATORS"
    return Check("baggage", "warning", f"{names.BAGGAGE}=on, and OTEL_PROPAGATORS has no `baggage`", way_out)
