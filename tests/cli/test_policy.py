"""`loopguard policy`: check, show, schema, builtin."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from otel_loopguard.cli import main
from otel_loopguard.core.policy_file.advice import advice
from otel_loopguard.core.policy_file.document import MAX_CHARACTERS
from otel_loopguard.core.policy_file.schema import policy_schema
from otel_loopguard.core.policy_file.text import read_policy

GOOD = """\
version: 1
revision: r7
tools:
  search: {kind: read}
match: {"*_search": search}
"""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of ours, and no colours."""
    for name in ("LOOPGUARD_POLICY", "LOOPGUARD_MODE", "LOOPGUARD_GUARD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """A good policy on disk."""
    file = tmp_path / "policy.yaml"
    file.write_text(GOOD, "utf-8")
    return file


def ran(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """`loopguard policy` with these arguments."""
    runner = CliRunner(**({} if version("click") >= "8.2" else {"mix_stderr": False}))  # separate since click 8.2
    return runner.invoke(main, ["policy", *map(str, arguments)], input=stdin)


def test_a_good_policy_passes(policy_file: Path) -> None:
    """One line on standard output, exit code 0."""
    result = ran("check", policy_file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{policy_file}: good, 1 tool, 1 pattern, revision r7\n"


def test_every_problem_is_a_line_that_editors_can_follow() -> None:
    """File, line and column first; exit code 2; nothing on standard output."""
    result = ran("check", "-", stdin="tools: {a: {kind: rad}}\nwidnow: 1\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "-:1:19: error: expected one of `read`, `write`, `poll`, `none`, `unknown` - at `$.tools.a.kind`",
        "-:2:1: error: unknown key `widnow`, did you mean `window`? - at `$.widnow`",
    ]


def test_warnings_do_not_fail() -> None:
    """What works but is probably not meant is told on standard error."""
    result = ran("check", "-", "--shortest-gap", "9", stdin="tools: {a: {kind: poll}}")
    assert (result.exit_code, result.stdout) == (0, "-: good, 1 tool, 0 patterns\n")
    gap, poller = result.stderr.splitlines()
    assert gap.startswith("-: warning: equal calls 9 turns apart are useful, and a window of 12 turns counts them")
    assert poller.startswith("-:1:12: warning: a poller without a budget may poll for ever, write ")
    assert (gap[-14:], poller[-17:]) == (" at `$.window`", " - at `$.tools.a`")


def test_check_for_programs() -> None:
    """One object on standard output and nothing else, good or bad."""
    bad = ran("check", "--json", "-", stdin="widnow: 1")
    assert (bad.exit_code, bad.stderr) == (2, "")
    problem = {"message": "unknown key `widnow`, did you mean `window`?", "path": "$.widnow", "line": 1, "column": 1}
    assert json.loads(bad.stdout) == {"file": "-", "valid": False, "problems": [problem], "warnings": []}
    good = ran("check", "--json", "-", stdin="window: 6")
    assert good.exit_code == 0
    found = json.loads(good.stdout)
    assert (found["valid"], found["problems"]) == (True, [])
    assert [(item["path"], item["line"], item["column"]) for item in found["warnings"]] == [("$.window", 1, 9)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "-:1:1: error: expected a mapping (`{}` for an empty one), got nothing - at `$`"),
        (b"a: 1\nb: \xff\xfe", "-:2:4: error: not UTF-8 text, save the file as UTF-8 - at `$`"),
        (GOOD.encode("utf-16"), "-:1:1: error: not UTF-8 text, save the file as UTF-8 - at `$`"),
        (b"\xef\xbb\xbfwidnow: 1", "-:1:1: error: unknown key `widnow`"),
        (b"x" * (4 * MAX_CHARACTERS + 99), f"-: error: expected at most {MAX_CHARACTERS} characters"),
        ("\N{EURO SIGN}".encode() * 2 * MAX_CHARACTERS, f"-: error: expected at most {MAX_CHARACTERS} characters"),
        (b"a: [", "-:1:5: error: not YAML: "),
    ],
)
def test_files_that_are_no_policies(content: bytes, words: str) -> None:
    """Empty, binary, in another encoding, too large, not YAML: two lines at most, exit code 2."""
    result = ran("check", "-", stdin=content)
    assert result.exit_code == 2
    assert result.stderr.startswith(words)
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_file_that_is_not_there(command: str, tmp_path: Path) -> None:
    """One line that names it."""
    result = ran(command, tmp_path / "none.yaml")
    assert result.exit_code == 2
    assert result.stderr == f"error: {tmp_path / 'none.yaml'}: No such file or directory\n"


def test_show_says_where_a_value_came_from(policy_file: Path) -> None:
    """A table for people: setting, value, source with its line."""
    result = ran("show", policy_file, "--tool", "web_search")
    assert result.exit_code == 0
    rows = {line.split()[0]: " ".join(line.split()) for line in result.stdout.splitlines() if line.strip()}
    assert rows["revision"] == "revision r7 policy, line 2"
    assert rows["web_search:"] == "web_search: fits `*_search`, takes the settings of search"
    assert rows["kind"] == "kind read match `*_search`, line 4"
    assert rows["identical.stop"] == "identical.stop 3 `kind: read`"
    assert rows["cycle.stop"] == "cycle.stop 3 built-in"


@pytest.mark.parametrize(
    ("tool", "title"),
    [
        ([], "tools that are not named"),
        (["--tool", "search"], "search"),
        (["--tool", "other"], "other: not named, no pattern fits"),
        (["--tool", "[bold]odd[/bold]"], "[bold]odd[/bold]: not named, no pattern fits"),
    ],
)
def test_show_says_whose_settings_they_are(policy_file: Path, tool: list[str], title: str) -> None:
    """A named tool's own, a pattern's, or everybody's; names are shown as they are."""
    assert title in [line.strip() for line in ran("show", policy_file, *tool).stdout.splitlines()]


def test_show_says_what_the_window_lowered(tmp_path: Path) -> None:
    """A small window leaves its mark on built-in values."""
    file = tmp_path / "small.yaml"
    file.write_text("window: 4", "utf-8")
    (line,) = [line for line in ran("show", file).stdout.splitlines() if line.startswith("identical.stop")]
    assert line.split(maxsplit=2) == ["identical.stop", "4", "built-in, lowered to the window"]


def test_show_for_programs(policy_file: Path) -> None:
    """Plain data, by setting."""
    found = json.loads(ran("show", "--json", policy_file, "--tool", "web_search").stdout)
    assert (found["tool"], found["pattern"], found["settings_of"]) == ("web_search", "*_search", "search")
    assert found["settings"]["identical.nudge"] == {
        "value": 2, "source": "kind", "clamped": False, "path": None, "line": None, "column": None,
    }  # fmt: skip
    assert found["settings"]["kind"] == {
        "value": "read", "source": "match", "clamped": False, "path": "$.tools.search.kind", "line": 4, "column": 18,
    }  # fmt: skip
    assert found["policy"]["window"]["value"] == 12


def test_show_without_a_file_is_what_this_environment_would_use(
    policy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The built-in policy, or that of LOOPGUARD_POLICY, under the mode that the environment sets."""
    assert json.loads(ran("show", "--json").stdout)["policy"]["revision"]["value"] is None
    monkeypatch.setenv("LOOPGUARD_POLICY", str(policy_file))
    monkeypatch.setenv("LOOPGUARD_GUARD", "nudge")
    found = json.loads(ran("show", "--json", "--tool", "search").stdout)
    assert found["policy"]["revision"]["value"] == "r7"
    assert (found["settings"]["mode"]["value"], found["settings"]["mode"]["source"]) == ("nudge", "LOOPGUARD_GUARD")
    monkeypatch.setenv("LOOPGUARD_MODE", "enforce")
    found = json.loads(ran("show", "--json", "--tool", "search").stdout)
    assert (found["policy"]["mode"]["value"], found["policy"]["mode"]["source"]) == ("enforce", "LOOPGUARD_MODE")
    monkeypatch.setenv("LOOPGUARD_MODE", "full")
    refused = ran("show")
    assert refused.exit_code == 2
    assert "`LOOPGUARD_MODE` has an unknown value, expected one of `observe`, `nudge`, `enforce`" in refused.stderr


def test_show_refuses_a_wrong_policy(tmp_path: Path) -> None:
    """There is nothing effective to show."""
    file = tmp_path / "bad.yaml"
    file.write_text("widnow: 1", "utf-8")
    result = ran("show", file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {file}: unknown key `widnow`, did you mean `window`? - at `$.widnow`")


def test_schema_prints_the_schema() -> None:
    """The JSON Schema and nothing else."""
    assert json.loads(ran("schema").stdout) == policy_schema()


POLICIES = {
    entry.name.removesuffix(".yaml"): entry.read_text("utf-8")
    for entry in files("otel_loopguard").joinpath("policies").iterdir()
}


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_built_in_policies_are_good(name: str) -> None:
    """Each starts with a line that says what it is for, has no problem and no warning, and is printed as it is."""
    text = POLICIES[name]
    assert text.startswith("# ")
    assert (read_policy(text).problems, advice(read_policy(text))) == ((), ())
    assert ran("builtin", name).stdout == text


def test_built_in_policies_are_listed() -> None:
    """Name and purpose; a name that does not exist is refused with those that do."""
    lines = ran("builtin").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(POLICIES)
    assert len(POLICIES) >= 6
    result = ran("builtin", "mcp_filesytem")
    assert result.exit_code == 2
    assert "there is no built-in policy `mcp_filesytem`, did you mean `mcp_filesystem`?" in result.stderr


def test_patterns_of_built_in_policies_fit_the_names_that_clients_make() -> None:
    """MCP clients put the server's name before the tool's."""
    policy = read_policy(POLICIES["mcp_filesystem"]).sound().policy
    assert policy.for_tool("mcp__filesystem__read_text_file").kind == "read"
    assert policy.for_tool("mcp__files__list_directory_with_sizes").arguments.defaults == {"sortBy": "name"}
    assert policy.for_tool("mcp__filesystem__write_file").duplicate_after_success == "nudge"
