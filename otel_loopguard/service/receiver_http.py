"""OTLP over HTTP: what requests mean, and what the answers look like (OTLP specification, "OTLP/HTTP").

Not the connections (`http_server`) and not the decoding of OTLP: bodies are unpacked here, within the limit, and handed
over.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

import msgspec
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from otel_loopguard.service.doorkeeper import Doorkeeper
from otel_loopguard.service.http_connection import Head, Reply
from otel_loopguard.service.intake import Accepted, Answer, Intake, Refused, Request, Signal
from otel_loopguard.service.packing import BrokenPackingError, TooLargeError, unpacked

__all__ = ["HttpReceiver"]

_PATHS: Final[dict[str, Signal]] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"
_STATUS: Final = {"malformed": (400, 3), "too_large": (413, 3), "overloaded": (429, 8), "unavailable": (503, 14)}
"""HTTP status and gRPC code of every refusal."""
_UNAUTHENTICATED: Final = 16
_NOT_FOUND: Final = 5
_INVALID: Final = 3


class HttpReceiver:
    """The handler of `/v1/traces` and `/v1/logs`."""

    def __init__(self, intake: Intake, doorkeeper: Doorkeeper, body_bytes: int, refused: Callable[[str], None]) -> None:
        """``refused`` hears why a request was refused before it was handed over."""
        self._intake = intake
        self._doorkeeper = doorkeeper
        self._limit = body_bytes
        self._refused = refused

    def refuse(self, head: Head) -> Reply | None:
        """What the request line and the headers tell already."""
        is_json = _content_type(head) == _JSON
        if self._doorkeeper.tenant(head.headers.get("authorization")) is None:
            self._refused("unauthenticated")
            words = "no bearer token that is known here, is `authorization` among the exporter's headers?"
            return _error(401, _UNAUTHENTICATED, words, is_json=is_json, headers=(("www-authenticate", "Bearer"),))
        if head.path not in _PATHS:
            self._refused("not_found")
            words = "nothing is served there, OTLP goes to /v1/traces and /v1/logs"
            return _error(404, _NOT_FOUND, words, is_json=is_json)
        if head.method != "POST":
            self._refused("not_found")
            return _error(405, _INVALID, "OTLP is sent with POST", is_json=is_json, headers=(("allow", "POST"),))
        if _content_type(head) not in {_PROTOBUF, _JSON}:
            self._refused("malformed")
            return _error(415, _INVALID, f"the content type is neither {_PROTOBUF} nor {_JSON}", is_json=False)
        if _encoding(head) not in {"", "identity", "gzip", "deflate"}:
            self._refused("malformed")
            return _error(415, _INVALID, "bodies are packed with gzip or deflate or not at all", is_json=is_json)
        return None

    async def answer(self, head: Head, body: bytes) -> Reply:
        """Hand the request over and say what came of it."""
        is_json = _content_type(head) == _JSON
        tenant = self._doorkeeper.tenant(head.headers.get("authorization"))
        signal = _PATHS[head.path]
        if tenant is None:  # the token was taken away while the body came
            return _error(401, _UNAUTHENTICATED, "the token is not known here any more", is_json=is_json)
        try:
            if _encoding(head) in {"gzip", "deflate"}:
                body = await _in_thread(body, self._limit)
        except TooLargeError as error:
            return self._refusal(Refused("too_large", f"{error}: the limit is {self._limit} bytes"), is_json=is_json)
        except BrokenPackingError as error:
            return self._refusal(Refused("malformed", str(error)), is_json=is_json)
        answer = await self._intake.submit(Request(tenant, signal, is_json, body))
        return _reply(answer, signal, is_json=is_json)

    def _refusal(self, refused: Refused, *, is_json: bool) -> Reply:
        self._refused(refused.reason)
        return _reply(refused, "traces", is_json=is_json)


_IN_LOOP: Final = 64 << 10
"""Bytes that are unpacked where they are: a thread would cost more."""


async def _in_thread(body: bytes, limit: int) -> bytes:
    if len(body) <= _IN_LOOP:
        return unpacked(body, limit)
    return await asyncio.get_running_loop().run_in_executor(None, unpacked, body, limit)


def _content_type(head: Head) -> str:
    return head.headers.get("content-type", "").partition(";")[0].strip().lower()


def _encoding(head: Head) -> str:
    return head.headers.get("content-encoding", "").strip().lower()


def _reply(answer: Answer, signal: Signal, *, is_json: bool) -> Reply:
    if isinstance(answer, Refused):
        status, code = _STATUS[answer.reason]
        waits = (("retry-after", str(math.ceil(answer.retry_after))),) if status in {429, 503} else ()
        return _error(status, code, answer.message, is_json=is_json, headers=waits)
    if is_json:
        return Reply(200, _json_success(answer, signal), _JSON)
    return Reply(200, _success(answer, signal), _PROTOBUF)


def _success(answer: Accepted, signal: Signal) -> bytes:
    if not answer.rejected:
        return b""
    if signal == "traces":
        partial = ExportTracePartialSuccess(rejected_spans=answer.rejected, error_message=answer.message)
        return ExportTraceServiceResponse(partial_success=partial).SerializeToString()
    logs = ExportLogsPartialSuccess(rejected_log_records=answer.rejected, error_message=answer.message)
    return ExportLogsServiceResponse(partial_success=logs).SerializeToString()


def _json_success(answer: Accepted, signal: Signal) -> bytes:
    if not answer.rejected:
        return b"{}"
    name = "rejectedSpans" if signal == "traces" else "rejectedLogRecords"
    partial = {name: str(answer.rejected), "errorMessage": answer.message}
    return msgspec.json.encode({"partialSuccess": partial})


def _error(status: int, code: int, message: str, *, is_json: bool, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    if is_json:
        return Reply(status, msgspec.json.encode({"code": code, "message": message}), _JSON, headers)
    return Reply(status, Status(code=code, message=message).SerializeToString(), _PROTOBUF, headers)
