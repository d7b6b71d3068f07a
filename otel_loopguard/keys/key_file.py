"""The text of a key file: several keys by id, one of them active, or nothing but one key.

Not the file itself: reading, writing and watching it is its callers' business. YAML, so JSON too::

    active: autumn
    keys:
      autumn: 3q2+7wAA...
      spring: 0f1e2d3c...

`active` may be left out where there is one key. No message repeats a line of the text.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from otel_loopguard.core.fingerprint import EPHEMERAL, Keyring, SecretKey
from otel_loopguard.errors import KeySettingError

from .secret_text import decode_secret

__all__ = ["read_key_file", "with_key"]

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_LENGTH: Final = 256 * 1024
"""Characters: more than two thousand keys."""

_Members = dict[str, yaml.Node]


def read_key_file(text: str, source: str) -> Keyring:
    """The keys that ``text`` holds; ``source`` names the file in messages.

    Raises `KeySettingError` for what is no key file, naming file, place and the way out.
    """
    active, secrets = _read(text, source)
    keys = {name: SecretKey(secret, name or None) for name, secret in secrets.items()}
    return Keyring(keys[active], keys.values())


def with_key(text: str, source: str, secret: str, name: str | None, *, active: bool) -> tuple[str, str]:
    """A key file's text with one more key, and the key's id; ``text`` may be empty.

    Raises `KeySettingError` where ``text`` is no key file or holds that id already.
    """
    key = SecretKey(decode_secret(secret, "key"), _checked_id(name, source) if name else None)
    written: dict[str, str] = {}
    now_active = key.id
    if text.strip():
        ring = read_key_file(text, source)
        if key.id in ring.keys:
            raise KeySettingError(f"`{source}` has a key `{key.id}` already, give another `--id`", name=source)
        written = {name or ring.active.id: value for name, value in _texts(text, source)[1].items()}
        now_active = key.id if active else ring.active.id
    lines = [f"active: {_quoted(now_active)}", "keys:"]
    lines += [f"  {_quoted(name)}: {_quoted(value)}" for name, value in {**written, key.id: secret}.items()]
    return "\n".join(lines) + "\n", key.id


def _quoted(text: str) -> str:
    return f'"{text}"'


def _read(text: str, source: str) -> tuple[str, dict[str, bytes]]:
    active, texts = _texts(text, source)
    del text
    secrets = {name: decode_secret(texts.pop(name), f"{source}: {name}" if name else source) for name in list(texts)}
    return active, secrets


def _texts(text: str, source: str) -> tuple[str, dict[str, str]]:
    """The active id and the keys as they are written; the id "" stands for a key without a name."""
    if len(text) > _MAX_LENGTH:
        raise KeySettingError(f"`{source}` is longer than {_MAX_LENGTH:,} characters, it is no key file", name=source)
    root = _composed(text, source)
    if isinstance(root, yaml.ScalarNode):
        return "", {"": root.value}
    members = _members(root, source, "a mapping with `active` and `keys`, or one key alone")
    for name, node in members.items():
        if name not in ("active", "keys"):
            raise _wrong("unknown setting, expected `active` or `keys`", source, node)
    if "keys" not in members:
        raise KeySettingError(f"`{source}` has no `keys`, write one as `keys: {{ID: KEY}}`", name=source)
    keys = _members(members["keys"], source, "a mapping of ids to keys at `keys`")
    if not keys:
        raise _wrong("`keys` is empty, `loopguard key new --file` adds one", source, members["keys"])
    texts = {_checked_id(name, source): _scalar(node, source, f"a key at `keys.{name}`") for name, node in keys.items()}
    return _active(members.get("active"), texts, source), texts


def _composed(text: str, source: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" in line {mark.line + 1}, column {mark.column + 1}"
    del text
    raise KeySettingError(f"`{source}` is not YAML{place}", name=source)


def _active(node: yaml.Node | None, texts: dict[str, str], source: str) -> str:
    if node is not None:
        active = _scalar(node, source, "an id at `active`")
        if active not in texts:
            raise _wrong(f"`active` names no key, expected one of {_listed(texts)}", source, node)
        return active
    if len(texts) > 1:
        raise KeySettingError(f"`{source}` has several keys, say which is `active`: {_listed(texts)}", name=source)
    return next(iter(texts))


def _listed(names: dict[str, str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _members(node: yaml.Node | None, source: str, expected: str) -> _Members:
    if not isinstance(node, yaml.MappingNode):
        if node is None:
            raise KeySettingError(f"`{source}` is empty, `loopguard key new --file` adds a key", name=source)
        raise _wrong(f"expected {expected}", source, node)
    found: _Members = {}
    for key, value in node.value:
        name = _scalar(key, source, "a name")
        if name in found:
            raise _wrong(f"`{name}` is named twice", source, key)
        found[name] = value
    return found


def _scalar(node: yaml.Node, source: str, expected: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        raise _wrong(f"expected {expected}", source, node)
    return str(node.value)


def _checked_id(name: str, source: str) -> str:
    if name == EPHEMERAL or not _ID.fullmatch(name):
        shown = f" `{name}`" if name == EPHEMERAL else ""  # a key may stand where an id belongs
        raise KeySettingError(
            f"`{source}`: a key id{shown} must be up to 64 letters, digits, `.`, `_` or `-`, and not `{EPHEMERAL}`",
            name=source,
        )
    return name


def _wrong(problem: str, source: str, node: yaml.Node) -> KeySettingError:
    mark = node.start_mark
    return KeySettingError(f"{problem} - in `{source}` (line {mark.line + 1}, column {mark.column + 1})", name=source)
