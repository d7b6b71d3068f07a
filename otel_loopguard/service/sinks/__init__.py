"""Where messages go: one file for each kind, and the delivery that they share."""

from ._base import Sink, SinkRefusedError, SinkUnavailableError
from .delivery import Delivery
from .json_lines import JsonLinesSink
from .otlp import OtlpSink
from .webhook import WebhookSink

__all__ = [
    "Delivery",
    "JsonLinesSink",
    "OtlpSink",
    "Sink",
    "SinkRefusedError",
    "SinkUnavailableError",
    "WebhookSink",
]
