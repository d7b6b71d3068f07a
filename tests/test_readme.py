"""The README says what the code does: its tables are the registry's, its examples run, its links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import get_args

import pytest

from otel_loopguard.cli.main import COMMANDS
from otel_loopguard.conventions import CONVENTIONS
from otel_loopguard.core.decision import Kind
from otel_loopguard.names import FINDING, SPAN_ATTRIBUTES
from tests.readme_tables import TABLES, with_tables

TEXT = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([a-z]*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
EXAMPLES = re.findall(r"^(?:<!-- needs: (\w+) -->\n)?```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
"""Python examples, with the framework that each needs, if any."""
OUR_OWN = "otel_loopguard.conventions.loopguard"
"""Not a family: it lays our own marks over what any of them wrote."""


def test_tables_equal_the_registry() -> None:
    """Every name and setting is in the README exactly as `names.py` has it (`python -m tests.readme_tables`)."""
    assert with_tables(TEXT) == TEXT
    assert re.findall(r"<!-- names: ([a-z ]+) -->", TEXT) == list(TABLES)


@pytest.mark.parametrize(("framework", "code"), EXAMPLES)
def test_python_example_runs(framework: str, code: str, tmp_path: Path) -> None:
    """Every Python example runs as it stands, without a warning and without a word (a framework may have some)."""
    if framework:
        pytest.importorskip(framework, reason=f"needs `{framework}`: make test-guards")
    environ = {**os.environ, "LOOPGUARD_KEY": "00112233445566778899aabbccddeeff" * 2}
    command = [sys.executable, "-W", "default" if framework else "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert framework or not done.stderr


def test_policy_example_is_valid() -> None:
    """Every policy shown is one that loads."""
    from otel_loopguard.core.policy_file.text import parse_policy

    policies = [text for language, text in BLOCKS if language == "yaml"]
    assert policies
    for text in policies:
        parse_policy(text)


def test_span_example_holds_known_names() -> None:
    """Every attribute of ours in the example span is one that the processor writes."""
    (span,) = (json.loads(text) for language, text in BLOCKS if language == "json")
    ours = {name for name in span["attributes"] if name.startswith("loopguard.")}
    assert ours <= {name.name for name in SPAN_ATTRIBUTES}
    assert [event["name"] for event in span["events"]] == [FINDING]


def test_commands_exist() -> None:
    """Every `loopguard` command of the README is one of the program's."""
    shown = {
        line.split()[1]
        for language, text in BLOCKS
        if language == "console"
        for line in text.splitlines()
        if line.startswith("loopguard ")
    }
    assert shown == set(COMMANDS)


def test_every_kind_of_finding_is_explained() -> None:
    """The table of what is found has a row for each kind, in no other spelling."""
    found = TEXT.split("## What is found", 1)[1].split("\n## ", 1)[0]
    assert sorted(re.findall(r"^\| `([a-z_]+)` \|", found, re.MULTILINE)) == sorted(get_args(Kind))


def test_every_convention_has_a_row() -> None:
    """What is read is what there is a convention for, each by the name that its file gives it."""
    rows = TEXT.split("## What is read", 1)[1].split("\n## ", 1)[0]
    read = [sys.modules[type(convention).__module__] for convention in CONVENTIONS]
    families = {str(module.__doc__).split(":", 1)[0] for module in read if module.__name__ != OUR_OWN}
    assert set(re.findall(r"^\| ([A-Z][^|,]+?(?: \([^)]+\))?)(?:,[^|]*)? \|", rows, re.MULTILINE)) == families


def test_links_lead_somewhere(root: Path) -> None:
    """Every relative link points at a file of the project."""
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in target]
    assert [target for target in targets if not (root / target).exists()] == []


def test_every_dependency_has_a_reason() -> None:
    """Each runtime dependency stands in the README's list, and nothing else does."""
    required = [text for text in requires("otel-loopguard") or () if "extra ==" not in text]
    listed = TEXT.split("## Dependencies", 1)[1].split("\n## ", 1)[0]
    assert {name.lower() for name in re.findall(r"^\| `([A-Za-z-]+)`", listed, re.MULTILINE)} == {
        re.split(r"[<>=;! ]", text, maxsplit=1)[0].lower() for text in required
    }
