"""Where our own errors end: the one object that stands between this package and its host.

Not a handler of the host's exceptions: those pass through untouched. Tests put an object here that raises what
it is given.
"""

from __future__ import annotations

import logging
from typing import Final

from otel_loopguard import names
from otel_loopguard.emit import Counters

__all__ = ["Edge"]

_LOGGED_TYPES: Final = 64
"""Error types that are logged; beyond that they are only counted."""

_logger = logging.getLogger("otel_loopguard")


def _place_of(error: BaseException) -> str:
    """The innermost line that raised: a place in code, never a value."""
    trace = error.__traceback__
    if trace is None:
        return "unknown place"
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}"


class Edge:
    """Counts every swallowed error by type and logs the first of each type, without its message.

    A message may quote what a tool was given, so it is never logged.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._logged: set[str] = set()

    def caught(self, error: Exception) -> None:
        """Swallow an error of ours."""
        name = type(error).__qualname__
        self._counters.add(names.ERRORS, (name,))
        place = _place_of(error)
        self.warn(name, "swallowed %s at %s; further ones are only counted in `loopguard.errors`", name, place)

    def warn(self, subject: str, message: str, *values: object) -> None:
        """Log a warning, once for each subject."""
        if subject not in self._logged and len(self._logged) < _LOGGED_TYPES:
            self._logged.add(subject)
            _logger.warning("otel-loopguard: " + message, *values)  # noqa: G003 - one prefix for all our messages
