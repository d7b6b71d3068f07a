"""Both receivers against bytes that nobody would send on purpose: a kept corpus, and what hypothesis makes of it.

`corpus/` holds one request a file, by signal and form; what once did harm goes there.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.serving import Serving

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
FORMS = {"pb": "application/x-protobuf", "json": "application/json"}
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server that must survive all of it."""
    with Serving(tmp_path_factory.mktemp("fuzz")) as server:
        yield server
        assert not server.server.dead
        assert server.server.numbers.counters.read("loopguard.errors") == []


def sent(server: Serving, name: str, body: bytes) -> int:
    """The status that a request gets, over both protocols where both have it."""
    signal, _, form = name.split(".")
    if form == "pb":
        with grpc.insecure_channel(server.grpc) as channel:
            call = channel.unary_unary(TRACES if signal == "traces" else LOGS).future(body, timeout=20)
            codes = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED}
            assert call.code() in codes
    return server.post(body, f"/v1/{signal}", content_type=FORMS[form]).status


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus(serving: Serving, path: Path) -> None:
    """Every kept request is taken or refused, and the server lives on."""
    assert sent(serving, path.name, path.read_bytes()) in {200, 400, 413}


@settings(max_examples=60)
@given(
    st.sampled_from(CORPUS),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=6), st.integers(0, 6)), min_size=1, max_size=5),
    st.booleans(),
)
def test_mutations(
    serving: Serving,
    path: Path,
    changes: list[tuple[int, bytes, int]],
    packed: bool,  # noqa: FBT001 - drawn
) -> None:
    """A kept request with some bytes replaced is taken or refused, and the server lives on."""
    body = bytearray(path.read_bytes())
    for at, put, cut in changes:
        begin = at % (len(body) + 1)
        body[begin : begin + cut] = put
    signal, _, form = path.name.split(".")
    headers = {"content_type": FORMS[form]} | ({"content_encoding": "gzip"} if packed else {})
    data = gzip.compress(bytes(body)) if packed else bytes(body)
    assert serving.post(data, f"/v1/{signal}", **headers).status in {200, 400, 413}
