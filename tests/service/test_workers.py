"""Several workers are one detector: the same findings whatever their number, and when one of them dies."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_loopguard.cli import main
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.keys import decode_secret
from otel_loopguard.service.division import divide, parts_of
from otel_loopguard.service.partition import Share
from otel_loopguard.service.store import Store
from tests.support.crewing import Crewing
from tests.support.detecting import Detecting
from tests.support.serving import KEY
from tests.support.spans import annotated, logs, raw, span, traces

RUNS = range(6)


def unnamed(run: str, count: int) -> list[Span]:
    """Calls of an agent that does not name their run, without the span around them."""
    calls = [raw(run, number, {"q": 1}, []) for number in range(1, count + 1)]
    for call in calls:
        del call.attributes[2]
    return calls


def around(run: str, talk: str) -> Span:
    """The span around them, which does."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": talk}
    return span("invoke_agent", attributes, trace=run, span_id=f"{run}/agent", parent="elsewhere")


def traffic() -> list[Span]:
    """Runs over several processes and traces; runs that only a span around their calls names; some calls twice."""
    found: list[Span] = []
    for run in RUNS:
        for process in ("p1", "p2", "p3"):
            found += [annotated(f"run-{run}", n, process=process, at=n * 3 + int(process[1])) for n in (1, 2)]
        found += [raw(f"talk-{run}", number, {"q": run}, ["x"], tool="look") for number in range(1, 6)]
        found += [*unnamed(f"trace-{run}", 3), around(f"trace-{run}", f"hidden-{run}")]
        found += unnamed(f"bare-{run}", 5)
    chance = random.Random(7)
    found += chance.sample(found, 20)  # copies that come late
    places = {id(one): at + chance.random() * 21 for at, one in enumerate(found)}
    return sorted(found, key=lambda one: places[id(one)])


def expected(spans: list[Span]) -> set[str]:
    """The ids that a detector finds which nobody disturbs."""
    detector = Detecting()
    detector.keys = Keyring(SecretKey(decode_secret(KEY, "KEY")))
    detector.send(traces(spans))
    detector.wait(60)
    return detector.ids()


SPANS = traffic()
EXPECTED = expected(SPANS)
BODIES = [traces(SPANS[at : at + 7]).SerializeToString() for at in range(0, len(SPANS), 7)]


def test_the_traffic_holds_something_of_each() -> None:
    """What the tests below compare with is not nothing: eight findings in each group of runs, a stop of most."""
    assert len(EXPECTED) == 8 * len(RUNS)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_finds_the_same(tmp_path: Path, workers: int) -> None:
    """Connections end at any worker; every run is judged by one, once, wherever its calls came in."""
    with Crewing(tmp_path, workers) as crew:
        for body in BODIES:
            assert crew.send(body) == 0
        crew.until(lambda: crew.findings().keys() >= EXPECTED)
    assert crew.findings() == dict.fromkeys(EXPECTED, 1)
    assert crew.code == 0
    assert crew.told[-1] == "loopguard: stopped, everything is kept"
    assert len(list(tmp_path.glob("state*"))) == workers


def test_a_worker_that_dies_is_started_again_and_nothing_is_lost(tmp_path: Path) -> None:
    """Each worker in turn is killed while requests come: senders try again, and the findings are the same."""
    with Crewing(tmp_path, 2, lateness="4s") as crew:
        refused = 0
        for number, body in enumerate(BODIES):
            if number in {5, 12}:
                os.kill(min(crew.workers()), signal.SIGKILL)
            refused += crew.send(body)
        crew.until(lambda: crew.findings().keys() >= EXPECTED)
        crew.until(lambda: crew.page("/readyz") == "ok\n")
    assert crew.findings().keys() == EXPECTED
    assert refused > 0
    assert sum("ended by signal 9, it is started again" in sentence for sentence in crew.told) == 2


def test_all_die_at_once(tmp_path: Path) -> None:
    """The whole detector is killed between two halves of the traffic; it goes on on the same files."""
    with Crewing(tmp_path, 2, lateness="4s") as crew:
        for body in BODIES[: len(BODIES) // 2]:
            crew.send(body)
        workers = crew.workers()
        crew.stop(signal.SIGKILL)
    crew.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    with Crewing(tmp_path, 2, lateness="4s") as crew:
        for body in BODIES[len(BODIES) // 2 :]:
            crew.send(body)
        crew.until(lambda: crew.findings().keys() >= EXPECTED)
    assert crew.findings().keys() == EXPECTED


def test_pages_and_numbers_are_one(tmp_path: Path) -> None:
    """What any worker counted is in the sum, also after it died; ready is who has all its workers."""
    with Crewing(tmp_path, 2) as crew:
        crew.until(lambda: crew.page("/readyz") == "ok\n")
        for body in BODIES:
            crew.send(body)
        ended = logs([("loopguard.run.end", {"loopguard.run.id": "run-1"})]).SerializeToString()
        crew.send(ended, "/v1/logs")
        total = f'loopguard_server_requests_total{{loopguard_server_answer="accepted"}} {len(BODIES) + 1}\n'
        assert total in crew.page("/metrics")
        assert f"loopguard_server_items_total {len(SPANS) + 1}\n" in crew.page("/metrics")
        crew.until(lambda: f"loopguard_server_runs {4 * len(RUNS)}\n" in crew.page("/metrics"))
        os.kill(crew.workers()[0], signal.SIGKILL)
        crew.until(lambda: crew.page("/readyz") == "ok\n" and len(crew.told) > 1)
        assert total in crew.page("/metrics")


def test_another_number_of_workers(tmp_path: Path) -> None:
    """A stop and a kill, each before a start with another number: runs and calls on their way go on where they were."""
    parts = [BODIES[at::3] for at in range(3)]
    for number, workers in enumerate((2, 3, 1)):
        with Crewing(tmp_path, workers, lateness="4s") as crew:
            for body in parts[number]:
                crew.send(body)
            if number == 1:
                pids = crew.workers()
                crew.stop(signal.SIGKILL)
                crew.until(lambda pids=pids: not any(Path(f"/proc/{pid}").exists() for pid in pids))  # type: ignore[misc]
            elif number == 2:
                crew.until(lambda crew=crew: crew.findings().keys() >= EXPECTED)  # type: ignore[misc]
        assert len(list(tmp_path.glob("state*"))) >= workers
    assert crew.findings().keys() == EXPECTED
    assert crew.told[0] == "loopguard: the state is that of 3 workers, it is divided anew for 1"
    assert [path.name for path in tmp_path.glob("state*")] == ["state"]


def test_a_set_with_a_file_missing(tmp_path: Path) -> None:
    """Half of the runs would be gone without a word: it is told, and `loopguard state` tells it too."""
    with Crewing(tmp_path, 2):
        pass
    (tmp_path / "state.1").unlink()
    for command in (["serve", "--workers", "2", "--state-file"], ["state", "check"]):
        done = CliRunner().invoke(main, [*command, str(tmp_path / "state")])
        assert (done.exit_code, "state.1: the file is one of a set and is not there" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"token_file": "/no/tokens"}, "error: /no/tokens: No such file or directory"),
        ({"otlp_endpoint": "ftp://host"}, "error: "),
        ({"state_file": "/no/folder/state"}, "/no/folder/state: the file cannot be opened or made there"),
    ],
    ids=["tokens", "endpoint", "state"],
)
def test_workers_that_cannot_work(tmp_path: Path, settings: dict[str, str], words: str) -> None:
    """What is wrong is told once, as by one process, and nothing is left running; exit 2."""
    crew = Crewing(tmp_path, 2, **settings)
    with pytest.raises(AssertionError, match=re.escape(words)), crew:
        pass
    assert crew.code == 2
    assert [sentence for sentence in crew.told if not sentence.startswith(("error: ", "hint: "))] == []


def test_a_taken_port_is_an_error(tmp_path: Path) -> None:
    """Workers share a port with each other and with nobody else."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        crew = Crewing(tmp_path, 2, grpc_address=address)
        with pytest.raises(AssertionError, match="is taken, name another with `--grpc-address"), crew:
            pass
    assert crew.code == 2


def test_state_of_a_set(tmp_path: Path) -> None:
    """The commands look at all files of a set, by its first."""
    with Crewing(tmp_path, 2) as crew:
        for body in BODIES:
            crew.send(body)
        crew.until(lambda: f"loopguard_server_runs {4 * len(RUNS)}\n" in crew.page("/metrics"))
    file = str(tmp_path / "state")
    found = json.loads(CliRunner().invoke(main, ["state", "check", "--json", file]).stdout)
    assert (found["problems"], found["workers"], found["runs"]) == ([], 2, 4 * len(RUNS))
    assert CliRunner().invoke(main, ["state", "compact", file]).stdout.count(" bytes before") == 2
    lines = [json.loads(line) for line in CliRunner().invoke(main, ["state", "export", file]).stdout.splitlines()]
    assert len({line["run_id"] for line in lines if "run_id" in line}) == 4 * len(RUNS)


def test_a_division_that_was_cut_short(tmp_path: Path) -> None:
    """New files that a marker calls whole take their places at the next start; without one they are nothing."""
    path = str(tmp_path / "state")
    detector = Detecting(tmp_path / "state")
    detector.send(traces(SPANS))
    detector.wait(2)
    assert detector.store is not None
    detector.store.close()
    arguments: dict[str, Any] = {"policy": detector.policy, "limits": detector.limits, "sinks": ["test"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("otel_loopguard.service.division._mark", stopped)
        with pytest.raises(KeyboardInterrupt):
            divide(path, 2, tell=lambda _: None, **arguments)
    assert parts_of(path) == [path]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", stopped_at_folder)
        with pytest.raises(KeyboardInterrupt):
            divide(path, 2, tell=lambda _: None, **arguments)
    assert Path(path + ".dividing").exists()
    told: list[str] = []
    divide(path, 2, tell=told.append, **arguments)
    assert told == []
    assert parts_of(path) == [path, path + ".1"]
    with closing(Store(path, Share(0, 2))) as one, closing(Store(path + ".1", Share(1, 2))) as two:
        keys = [saved.key for store in (one, two) for saved in store.runs()]
        assert sorted(keys) == sorted(set(keys))


def stopped(*_: object) -> None:
    """A crash."""
    raise KeyboardInterrupt


def stopped_at_folder(descriptor: int) -> None:
    """A crash once the marker stands."""
    if Path(f"/proc/self/fd/{descriptor}").is_dir():
        raise KeyboardInterrupt
