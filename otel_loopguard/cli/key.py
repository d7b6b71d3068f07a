"""The commands `loopguard key new` and `loopguard key id`: secret keys and their public ids.

Not the decoding of keys (`keys`). A key is printed only by `new`, and only when it is not written to a file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from pathlib import Path

    from otel_loopguard.core.fingerprint import Keyring

__all__ = ["key"]


_NEW_HELP: Final = """Make a new key from the operating system's randomness.

    Without --file the key itself is printed: put it where your secrets are, and set
    LOOPGUARD_KEY to it in every agent of the environment. With --file it is added to a key
    file for LOOPGUARD_KEY_FILE; agents read it again within a second.

    \b
    Rotating without losing a loop that spans the change:
      loopguard key new --file keys.yaml --inactive --id autumn   every process learns the key
      then set `active: autumn` in the file                       it makes fingerprints now
      then remove the old key                                     when the longest run has ended
    """


@click.group()
def key() -> None:
    """Secret keys: make one, and see which is in use.

    \b
    Examples:
      loopguard key new --file loopguard.key
      loopguard key id loopguard.key
    """  # noqa: D301 - click reads the mark


@key.command(help=_NEW_HELP)
@click.option("--file", "path", metavar="FILE", help="Write to this key file (made for its owner alone), print the id.")
@click.option("--id", "name", metavar="ID", help="Name the key in the file; else its id is derived from it.")
@click.option(
    "--active/--inactive", default=True, show_default=True, help="Whether the new key makes fingerprints now."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(*, path: str | None, name: str | None, active: bool, as_json: bool) -> None:
    """Make a key; print it, or add it to a key file."""
    from pathlib import Path

    from otel_loopguard.core.fingerprint import SecretKey
    from otel_loopguard.keys import decode_secret, new_secret, with_key

    secret = new_secret()
    if path is None:
        if name is not None or not active:
            raise click.UsageError("`--id` and `--inactive` need `--file`: a key alone has no name")
        found = SecretKey(decode_secret(secret, "key")).id
        click.echo(json.dumps({"id": found, "key": secret}) if as_json else secret)
        return
    file = Path(path).resolve()  # behind a link, the file itself is replaced
    text, found = with_key(_existing(file), path, secret, name, active=active)
    _write_privately(file, text)
    click.echo(json.dumps({"id": found, "file": path, "active": active}) if as_json else found)


@key.command("id")
@click.argument("path", metavar="[FILE]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: active id, all ids.")
def id_(*, path: str | None, as_json: bool) -> None:
    """Print the id of the active key, then those of the others, one a line.

    Of FILE where it is given, else of the key that LOOPGUARD_KEY_FILE or LOOPGUARD_KEY set.
    Spans carry the id as `loopguard.key.id`; it tells nothing about the key.

    \b
    Example:
      loopguard key id --json loopguard.key
    """  # noqa: D301 - click reads the mark
    ring = _keyring(path)
    others = sorted(name for name in ring.keys if name != ring.active.id)
    if as_json:
        click.echo(json.dumps({"active": ring.active.id, "ids": [ring.active.id, *others]}))
    else:
        click.echo("\n".join([ring.active.id, *others]))


def _keyring(path: str | None) -> Keyring:
    import os

    from otel_loopguard import names
    from otel_loopguard.config import Settings
    from otel_loopguard.errors import KeySettingError
    from otel_loopguard.keys import load_keyring

    settings = Settings(key_file=path) if path is not None else Settings.read(os.environ)
    if settings.key is None and settings.key_file is None:
        raise KeySettingError(
            f"no key is set: set `{names.KEY}` or `{names.KEY_FILE}`, or name a key file", name=names.KEY
        )
    return load_keyring(settings, lambda message: click.echo(f"warning: {message}", err=True))


def _existing(file: Path) -> str:
    from otel_loopguard.keys import text_of

    return text_of(file) if file.exists() else ""


def _write_privately(file: Path, text: str) -> None:
    """Replace the file in one step, so that no agent reads half of it, readable by its owner alone."""
    import os
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(temporary, file)  # noqa: PTH105 - beside mkstemp, which gives a text
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108 - as above
        raise
