"""`loopguard replay`: tables for people, objects for programs, exit codes for CI."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_loopguard.cli import main

Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Runs `loopguard replay` in this process: exit code, standard output, standard error."""
    for name in ("LOOPGUARD_KEY", "LOOPGUARD_KEY_FILE", "LOOPGUARD_POLICY", "LOOPGUARD_KEY_SCOPE", "LOOPGUARD_MODE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as left:
            main(["replay", *(str(argument) for argument in arguments)])
        written = capsys.readouterr()
        return int(left.value.code or 0), written.out, written.err

    return run


def loop(run: str, times: int, **fields: object) -> list[dict[str, Any]]:
    """The same call in so many turns."""
    return [
        {
            "run_id": run, "sequence": n, "turn": n, "call_id": f"c{n}", "tool": "look", "arguments": {"id": 5},
            "observation": "blue", **fields,
        }
        for n in range(1, times + 1)
    ]  # fmt: skip


def lines(*calls: dict[str, Any]) -> bytes:
    """Call records as lines."""
    return b"".join(json.dumps(call).encode() + b"\n" for call in calls)


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """Three runs: one is stuck, one was told, one is well."""
    path = tmp_path / "stuck.jsonl"
    path.write_bytes(lines(*loop("stuck", 5), *loop("told", 3, agent="scout"), *loop("well", 1)))
    return path


def test_one_object_a_run_and_agent(ran: Ran, stuck: Path) -> None:
    """Exactly the promised fields, in their order, one line each, in the order in which runs first appear."""
    code, out, err = ran("--json", stuck)
    assert (code, err) == (0, "")
    first, second, third = (json.loads(line) for line in out.splitlines())
    assert list(first) == [
        "run_id", "agent", "calls", "observations", "verdict", "nudge_at", "stop_at", "findings", "integrity",
        "termination_reason",
    ]  # fmt: skip
    nudge, stop = first.pop("findings")
    assert first == {
        "run_id": "stuck", "agent": "", "calls": 5, "observations": 5, "verdict": "stop", "nudge_at": 3, "stop_at": 5,
        "integrity": [], "termination_reason": None,
    }  # fmt: skip
    assert list(nudge) == [
        "id", "kind", "action", "sequence", "first_sequence", "count", "period", "tool", "fingerprints", "premature",
    ]  # fmt: skip
    assert [(one["kind"], one["action"], one["sequence"], one["count"]) for one in (nudge, stop)] == [
        ("identical", "nudge", 3, 3), ("identical", "stop", 5, 5),
    ]  # fmt: skip
    assert (second["run_id"], second["agent"], second["verdict"], second["stop_at"]) == ("told", "scout", "nudge", None)
    assert (third["verdict"], third["findings"], third["nudge_at"]) == ("clean", [], None)


def test_calls_are_listed_where_asked_for(ran: Ran, stuck: Path) -> None:
    """Each call with its number, id, tool, fingerprint and repeat count, after the count of calls."""
    _, out, _ = ran("--json", "--calls", stuck)
    first = json.loads(out.splitlines()[0])
    assert list(first)[2:5] == ["calls", "call_records", "observations"]
    calls = first["call_records"]
    assert [list(call) for call in calls] == [["sequence", "call_id", "tool", "fingerprint", "repeat"]] * 5
    assert [(call["sequence"], call["call_id"], call["repeat"]) for call in calls] == [
        (n, f"c{n}", n) for n in range(1, 6)
    ]
    assert len({call["fingerprint"] for call in calls}) == 1


def test_copies_are_counted_and_judged_once(ran: Ran) -> None:
    """`calls` counts records, `observations` distinct calls."""
    _, out, _ = ran("--json", "-", stdin=lines(*loop("r", 2), *loop("r", 2)))
    report = json.loads(out)
    assert (report["calls"], report["observations"], report["verdict"]) == (4, 2, "clean")


def test_doubts_are_listed(ran: Ran) -> None:
    """What turns enforcement off, with the call that it is about and what it means."""
    _, out, _ = ran("--json", "-", stdin=lines(*loop("r", 1), *loop("r", 1, arguments={"id": 6})))
    assert json.loads(out)["integrity"] == [
        {
            "kind": "conflict", "sequence": 1, "tool": "look", "call_id": "c1",
            "reason": "two records of one call, or two calls under one number or call id, contradict each other",
        }
    ]  # fmt: skip


def test_a_table_for_people(ran: Ran, stuck: Path) -> None:
    """One row a run and agent with what gives the verdict, and a line that sums up."""
    code, out, err = ran(stuck)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows == [
        ["run", "agent", "calls", "verdict", "kind", "tool", "at", "call", "count"],
        ["stuck", "5", "stop", "identical", "look", "5", "5"],
        ["told", "scout", "3", "nudge", "identical", "look", "3", "3"],
        ["well", "1", "clean"],
        ["3", "runs,", "9", "calls:", "1", "stop,", "1", "nudge,", "1", "clean"],
    ]


def test_a_table_shows_doubts_and_calls(ran: Ran) -> None:
    """A column for doubts where there are any, and the calls where asked for."""
    call = loop("r", 1)[0]
    unknown = {**call, "sequence": 2, "call_id": "c2", "start_ns": 9, "end_ns": 5}
    del unknown["arguments"]
    _, out, _ = ran("--calls", "-", stdin=lines(call, unknown))
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert rows[1] == ["r", "2", "unknown", "clock"]
    assert rows[2:4] == [["r"], ["call", "id", "tool", "fingerprint", "repeat"]]
    assert [row[:3] for row in rows[4:6]] == [["1", "c1", "look"], ["2", "c2", "look"]]
    assert rows[5][3:] == ["unknown", "0"]


def test_names_cannot_write_on_the_terminal(ran: Ran) -> None:
    """Control characters and lone surrogates in a name are spelled out."""
    _, out, _ = ran("-", stdin=lines(*loop("r\x1b[2J\ud800", 3, tool="look\nout")))
    assert "r\\x1b[2J\\ud800" in out
    assert "look\\nout" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("times", "limit", "code"),
    [(1, "nudge", 0), (3, "nudge", 1), (5, "nudge", 1), (3, "stop", 0), (5, "stop", 1)],
)
def test_fail_on(ran: Ran, times: int, limit: str, code: int) -> None:
    """1 where a run was told so at least, 0 where not; `nudge` includes `stop`."""
    assert ran("--fail-on", limit, "-", stdin=lines(*loop("r", times)))[0] == code
    assert ran("--json", "--fail-on", limit, "-", stdin=lines(*loop("r", times)))[0] == code
    assert ran("-", stdin=lines(*loop("r", times)))[0] == 0


def test_a_broken_line_stops_with_its_place(ran: Ran, tmp_path: Path) -> None:
    """File, line number, reason and the way out; nothing is printed as if it were all."""
    path = tmp_path / "calls.jsonl"
    path.write_bytes(lines(*loop("r", 1)) + b"\n{oops}\n" + lines(*loop("r", 3)))
    code, out, err = ran("--json", path)
    assert (code, out) == (2, "")
    assert err == (
        f"error: {path}:3: no JSON: expecting property name enclosed in double quotes at character 2\n"
        "hint: `--skip-bad` counts what cannot be read and goes on\n"
    )


def test_broken_lines_can_be_counted_instead(ran: Ran, tmp_path: Path) -> None:
    """What was left out is told on standard error, the rest is judged."""
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"{oops}\n" + lines(*loop("r", 3)) + b'{"run_id": 5}\n')
    code, out, err = ran("--skip-bad", "--json", path)
    assert (code, json.loads(out)["verdict"]) == (0, "nudge")
    reason = "no JSON: expecting property name enclosed in double quotes at character 2"
    assert err == f"warning: skipped 2 bad lines, the first: {path}:1: {reason}\n"
    path.write_bytes(b"{oops}\n")
    code, out, err = ran("--skip-bad", path)
    assert (code, out, err) == (0, "no tool calls found\n", f"warning: skipped 1 bad line: {path}:1: {reason}\n")


@pytest.mark.parametrize("field", ["sequence", "turn", "parallel_group", "start_ns", "end_ns"])
def test_a_number_out_of_range_is_a_bad_line(ran: Ran, field: str) -> None:
    """Its place and the range are named, and it can be counted like any other bad line."""
    big = json.dumps({"run_id": "r", "tool": "t", "arguments": {}, "observation": "[]", field: 10**30}).encode()
    code, out, err = ran("-", stdin=big)
    assert (code, out) == (2, "")
    assert err.startswith("error: -:1: expected a whole number from ")
    assert f"to 9223372036854775807 - at `$.{field}`\n" in err
    code, out, err = ran("--skip-bad", "--json", "-", stdin=big + b"\n" + lines(*loop("r", 3)))
    assert (code, json.loads(out)["calls"]) == (0, 3)
    assert err.startswith("warning: skipped 1 bad line: -:1: expected a whole number")


def test_a_broken_file_can_be_skipped_too(ran: Ran, tmp_path: Path) -> None:
    """What could be read of a file that ends too early is judged, and so are the other files."""
    cut = tmp_path / "a.jsonl.gz"
    cut.write_bytes(gzip.compress(lines(*loop("a", 3)))[:-4])
    (tmp_path / "b.jsonl").write_bytes(lines(*loop("b", 1)))
    assert ran(tmp_path)[0] == 2
    code, out, err = ran("--skip-bad", "--json", tmp_path)
    assert [json.loads(line)["run_id"] for line in out.splitlines()] == ["a", "b"]
    assert (code, err) == (
        0, f"warning: skipped 1 bad line: {cut}: the gzip data is broken or ends too early, after line 3\n",
    )  # fmt: skip


def test_fields_that_look_like_others_are_told(ran: Ran, tmp_path: Path) -> None:
    """A field that nobody reads is ignored, and said so where the one that was meant is missing."""
    good = {"run_id": "a", "tool": "t", "arguments": {}, "observation": 1, "model": "m", "output": 1}
    bad = {"run_id": "a", "tool": "t", "argments": {}, "output": 1, "turn\x1b": 1}
    (tmp_path / "a.jsonl").write_bytes(lines(good, bad, bad))
    code, _, err = ran(tmp_path)
    assert (code, sorted(err.splitlines())) == (
        0,
        [
            "warning: `argments` is no field of a call record and was ignored in 2 call records, is it `arguments`?",
            "warning: `output` is no field of a call record and was ignored in 2 call records, is it `observation`?",
            "warning: `turn\\x1b` is no field of a call record and was ignored in 2 call records, is it `turn`?",
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.jsonl"], "error: gone.jsonl: no such file or folder\n"),
        (["--policy", "gone.yaml", "-"], "error: gone.yaml: No such file or directory\n"),
        (["--max-memory", "12", "-"], "expected a size of at least 1M such as `256M` or `2G`, found `12`"),
        (["--max-memory", "lots", "-"], "expected a size of at least 1M such as `256M` or `2G`, found `lots`"),
        (["--fail-on", "clean", "-"], "'clean' is not one of 'nudge', 'stop'"),
        ([], "Missing argument 'PATH...'"),
    ],
)
def test_wrong_arguments(ran: Ran, arguments: list[str], message: str) -> None:
    """What the user can put right is named; the exit code is 2."""
    code, out, err = ran(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_policy_decides(ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option's policy before the environment's, before the built-in one; what is wrong in it is named."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("tools: {look: {kind: read}}\n")
    calls = lines(*loop("r", 2))

    def verdict(*options: object) -> str:
        return str(json.loads(ran(*options, "--json", "-", stdin=calls)[1])["verdict"])

    assert (verdict(), verdict("--policy", policy)) == ("clean", "nudge")
    monkeypatch.setenv("LOOPGUARD_POLICY", str(policy))
    other = tmp_path / "other.yaml"
    other.write_text("{}")
    assert (verdict(), verdict("--policy", other)) == ("nudge", "clean")
    policy.write_text("tools: {look: {knd: read}}\n")
    code, out, err = ran("--json", "-", stdin=calls)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {policy}: ")
    assert "`$.tools.look.knd` (line 1, column 16)" in err
    policy.write_bytes(b"\xff")
    assert f"{policy}: not UTF-8 text, save the file as UTF-8" in ran("-", stdin=calls)[2]


def test_the_summary_says_what_it_counts(ran: Ran) -> None:
    """A verdict is an agent's: where a run has several, agents are counted beside runs."""
    _, out, _ = ran("-", stdin=lines(*loop("r", 1, agent="a"), *loop("r", 3, agent="b"), *loop("s", 1, agent="a")))
    assert out.splitlines()[-1] == "3 agents in 2 runs, 5 calls: 1 nudge, 2 clean"
    _, out, _ = ran("-", stdin=lines(*loop("r", 1), *loop("s", 1)))
    assert out.splitlines()[-1] == "2 runs, 2 calls: 2 clean"


def test_the_key_of_the_environment_is_used(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a key, fingerprints are the same from one command to the next; without, they are not, and nobody warns."""
    calls = lines(*loop("r", 1))

    def fingerprint() -> str:
        code, out, err = ran("--json", "--calls", "-", stdin=calls)
        assert (code, err) == (0, "")
        return str(json.loads(out)["call_records"][0]["fingerprint"])

    assert fingerprint() != fingerprint()
    monkeypatch.setenv("LOOPGUARD_KEY", "0123456789abcdef" * 4)
    assert fingerprint() == fingerprint()
    monkeypatch.setenv("LOOPGUARD_KEY", "weak")
    code, out, err = ran("--json", "-", stdin=calls)
    assert (code, out) == (2, "")
    assert "LOOPGUARD_KEY" in err


def test_a_key_file_that_others_read_is_warned_about(ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning goes to standard error and stops nothing."""
    key = tmp_path / "keys.yaml"
    key.write_text(f"active: a\nkeys: {{a: {'0123456789abcdef' * 4}}}\n")
    key.chmod(0o644)
    monkeypatch.setenv("LOOPGUARD_KEY_FILE", str(key))
    code, out, err = ran("--json", "-", stdin=lines(*loop("r", 1)))
    assert (code, json.loads(out)["verdict"]) == (0, "clean")
    assert err == f"warning: the key file `{key}` can be read by everybody: `chmod 600 {key}`\n"


def test_little_memory_is_enough(ran: Ran, stuck: Path) -> None:
    """The least memory that may be set judges alike."""
    _, out, _ = ran("--json", "--max-memory", "1M", stuck)
    assert [json.loads(line)["verdict"] for line in out.splitlines()] == ["stop", "nudge", "clean"]


def test_no_content_is_printed(ran: Ran) -> None:
    """Arguments, results and error texts are in no output, not even in that of an error."""
    canary = "canary-5e3b"
    good = loop("r", 3, arguments={"q": canary}, observation=canary, is_error=True, state=canary)
    for options in ((), ("--json",), ("--json", "--calls"), ("--calls",)):
        _, out, err = ran(*options, "-", stdin=lines(*good))
        assert "identical" in out
        assert canary not in out + err
    bad = lines({**good[0], "sequence": canary}) + b'{"arguments": "' + canary.encode()
    for options in ((), ("--skip-bad",)):
        code, out, err = ran(*options, "-", stdin=bad)
        assert (code, canary in out + err) == (0 if options else 2, False)


def test_progress_is_for_terminals(ran: Ran, stuck: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar on standard error where that is a terminal; standard output is the same."""
    quiet = ran("--json", stuck)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    code, out, err = ran("--json", stuck)
    assert "reading" in err
    assert (code, [json.loads(line)["verdict"] for line in out.splitlines()]) == (
        quiet[0],
        [json.loads(line)["verdict"] for line in quiet[1].splitlines()],
    )
