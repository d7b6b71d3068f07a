"""The JSON Schema of policy files, so that editors complete and check them.

Not the parser, and not all of its rules: what only a comparison of two settings shows is found by `policy_rules`.
"""

from __future__ import annotations

from typing import Final

from .grammar import POLICY

__all__ = ["policy_schema"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def policy_schema() -> dict[str, object]:
    """The schema as plain data, draft 2020-12."""
    about = "What the owners of an agent's tools declare, so that repeating is told from being stuck."
    return {"$schema": _DIALECT, "title": "otel-loopguard policy", "description": about, **POLICY.schema}
