"""Asks ClickHouse in a process of chDB's own environment: {"before": [SQL], "ask": [SQL]} in, a list of rows each out.

Not run by the tests' Python: chDB is half a gigabyte, see `make test-jaeger`.
"""

from __future__ import annotations

import json
import sys

from chdb.session import Session  # type: ignore[import-not-found] # of another environment

if __name__ == "__main__":
    given = json.load(sys.stdin)
    session = Session()
    for statement in given["before"]:
        session.query(statement)
    answers = [json.loads(str(session.query(query, "JSONCompact")))["data"] for query in given["ask"]]
    json.dump(answers, sys.stdout)
