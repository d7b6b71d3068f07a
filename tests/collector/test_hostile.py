"""Requests that no SDK makes: they end no Collector, take no neighbour along, and leave pages and files readable."""

from __future__ import annotations

import http.client
import json
import secrets
from pathlib import Path
from typing import Final

import grpc
import pytest

from tests.collector.conftest import Gateway
from tests.support.collector import Collector, Protocol, send_grpc, until
from tests.support.spans import logs, raw, traces
from tests.support.wire import sized, varint

RECIPES: Final = ["agent.yaml", "gateway.yaml", "loadbalancing.yaml", "tail_sampling.yaml", "metrics.yaml"]
TRACES: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
AT_MOST: Final = 8 * 1024 * 1024
MARK: Final = "MARK"


def nested(bytes_at_least: int) -> bytes:
    """A value in lists in lists, as deep as so many bytes hold."""
    heads, size = [], 3
    while size < bytes_at_least:
        inner = b"\x0a" + varint(size)
        outer = b"\x2a" + varint(size + len(inner))
        heads.append(outer + inner)
        size += len(inner) + len(outer)
    return b"".join(reversed(heads)) + b"\x0a\x01x"


def request(run: str, name: str, value: bytes) -> bytes:
    """A tool call of a run with one more attribute, whose value is in the bytes of OTLP."""
    span = raw(run, 1, {}, {}, **{"loopguard.run.id": run}).SerializeToString()
    span += sized(b"\x4a", sized(b"\x0a", name.encode()) + sized(b"\x12", value))
    return sized(b"\x0a", sized(b"\x12", sized(b"\x12", span)))


def post(collector: Collector, body: bytes, protocol: Protocol) -> str:
    """What the receiver says to a request: a status."""
    if protocol == "grpc":
        with grpc.insecure_channel(collector.grpc) as channel:
            try:
                channel.unary_unary(TRACES)(body, timeout=60)
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"
    host, _, port = collector.http.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
        return str(connection.getresponse().status)
    except (BrokenPipeError, ConnectionResetError):
        return "closed"  # before it was sent whole
    finally:
        connection.close()


def runs_at(collector: Collector) -> set[str]:
    """Runs of which a backend has a span."""
    return {str(one.attributes.get("loopguard.run.id")) for one in collector.spans()}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_values_nested_without_end_are_refused_before_they_are_read(
    tmp_path: Path, recipe: str, protocol: Protocol
) -> None:
    """A request of more than 8 MiB is: one of 12 would end the process, since it is read level by level."""
    others = dict.fromkeys(["BACKEND_ENDPOINT", "GATEWAY_ENDPOINT", "DETECTOR_ENDPOINT"], "127.0.0.1:1")
    with Collector(tmp_path, recipe, **others) as collector:
        told = post(collector, request("deep", "my.notes", nested(15 * 1024 * 1024)), protocol)
        assert told in ("RESOURCE_EXHAUSTED", "400", "413", "closed")
        send_grpc(collector.grpc, traces([raw("after", 1, {}, {})]))


def test_values_nested_as_deep_as_a_request_may_hold_end_nothing(behind: Gateway) -> None:
    """Under a name that is not listed the rest of the span arrives, and so does its neighbour."""
    run, after = secrets.token_hex(8), secrets.token_hex(8)
    assert post(behind.gateway, request(run, "my.notes", nested(AT_MOST // 2)), "grpc") == "OK"
    behind.gateway.send(traces([raw(after, 1, {}, {}, **{"loopguard.run.id": after})]))
    until(lambda: runs_at(behind.backend) >= {run, after}, "both arrive")


def test_a_span_with_very_many_attributes_holds_nobody_up(behind: Gateway) -> None:
    """Of more than any SDK lets pass what tells the call arrives, and a neighbour with it."""
    run = secrets.token_hex(8)
    many = {f"my.{number}": number for number in range(300_000)}
    behind.gateway.send(traces([raw(run, 1, {}, {}, **many, **{"loopguard.run.id": run})]))
    until(lambda: run in runs_at(behind.backend), "it arrives")


def test_bytes_that_are_no_text_are_replaced(behind: Gateway) -> None:
    """What readers of the files cannot read as UTF-8 becomes the sign for that, under a listed name too."""
    run = secrets.token_hex(8)
    value = sized(b"\x0a", b"caf\xe9 " + MARK.encode() + b" \xff\xfe")
    assert post(behind.gateway, request(run, "gen_ai.agent.name", value), "grpc") == "OK"
    until(lambda: run in runs_at(behind.backend), "it arrives")
    (line,) = [
        one for one in (behind.backend.output / "traces.jsonl").read_bytes().split(b"\n") if MARK.encode() in one
    ]
    assert json.loads(line.decode("utf-8"))
    assert "caf\N{REPLACEMENT CHARACTER} MARK".encode() in line


@pytest.mark.parametrize("number", [-1, -(2**62), -(2**63), 2**63 - 1])
def test_counters_never_go_down(tmp_path: Path, number: int) -> None:
    """A count that is below nought, or above what any run has, is as if absent."""
    end = {"gen_ai.agent.name": "researcher", "loopguard.run.wasted.calls": 7}
    wasted = 'loopguard_collector_wasted_calls_total{gen_ai_agent_name="researcher",job="unknown_service"}'
    repeats = 'loopguard_collector_repeats_sum{gen_ai_tool_name="search",job="agent"}'
    with Collector(tmp_path, "metrics.yaml") as collector:
        collector.send(logs([("loopguard.run.end", end)]))
        until(lambda: collector.rates().get(wasted) == 7, "it counts")
        for name in ("loopguard.run.calls", "loopguard.run.wasted.calls", "loopguard.run.wasted.tokens"):
            collector.send(logs([("loopguard.run.end", {**end, "loopguard.run.wasted.calls": 1, name: number})] * 2))
        collector.send(traces([raw("r", 1, {}, {}, **{"loopguard.repeat.count": number})]))
        collector.send(traces([raw("r", 2, {}, {}, **{"loopguard.repeat.count": 3})]))
        until(lambda: collector.rates().get(wasted) == 11, "it counts on")
        until(lambda: collector.rates().get(repeats) == 3, "repeats are counted")
