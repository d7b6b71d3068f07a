"""The README's tables of instrumentations and providers are those of `loopguard doctor` and of the tests."""

from __future__ import annotations

from pathlib import Path

from otel_loopguard.cli.diagnosis import INSTRUMENTATIONS
from tests.readme_instrumentations import PROVIDERS, with_instrumentations


def test_the_readme_has_them(root: Path) -> None:
    """Both tables stand there as they are (`python -m tests.readme_instrumentations`)."""
    text = (root / "README.md").read_text(encoding="utf-8")
    assert with_instrumentations(text) == text
    assert text.count("<!-- instrumentations -->") == text.count("<!-- providers -->") == 1


def test_what_was_tried_is_what_is_pinned(root: Path) -> None:
    """An instrumentation that is tried with real packages is tried in the version that the table names."""
    folder = root / "tests" / "vendors" / "requirements"
    pins = {line for file in folder.glob("*.txt") for line in file.read_text(encoding="utf-8").splitlines()}
    tried = [one for one in INSTRUMENTATIONS if one.tested == "real packages"]
    assert [f"{one.distribution}=={one.tried}" for one in tried if f"{one.distribution}=={one.tried}" not in pins] == []
    assert len(tried) > 4


def test_every_environment_is_told(root: Path) -> None:
    """Each environment of packages is a row, but for that of the servers, which make no provider."""
    folder = root / "tests" / "vendors" / "requirements"
    assert {file.stem for file in folder.glob("*.txt")} == {*PROVIDERS, "servers"}
