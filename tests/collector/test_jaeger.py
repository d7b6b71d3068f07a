"""Every search that QUERIES.md documents for Jaeger finds in a real one the traces that it is about, and no other."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from tests.support.collector import send_grpc, until
from tests.support.incident import HEALTHY, LOOPING, RECOVERED, Incident, incident
from tests.support.jaeger import Jaeger
from tests.support.queries import TEXT, Query, queries

QUERIES: Final = queries("jaeger")
BOTH: Final = [LOOPING, RECOVERED]
FOUND: Final[Mapping[str, list[str]]] = {
    "Which runs loop now?": BOTH,
    "Which tools loop?": [LOOPING],
    "Where are loops of one kind?": BOTH,
    "The looping trace of a run": [LOOPING],
    "What was wasted, by agent?": [LOOPING],
    "Which nudges were ignored?": [LOOPING],
    "All findings of one run, over all its processes": [LOOPING],
    "Every call with the same fingerprint": [LOOPING],
    "What was redacted?": [LOOPING, RECOVERED, HEALTHY],
    "Which tool calls were not judged?": [HEALTHY],
}
"""The runs of the service `support` whose traces each search finds."""


@dataclass(frozen=True)
class Held:
    """What Jaeger holds."""

    jaeger: Jaeger
    incident: Incident

    def runs(self, tags: Mapping[str, str], service: str = "support") -> list[str]:
        """Whose traces a search finds."""
        return sorted(self.incident.owners[trace].partition(" ")[2] for trace in self.jaeger.search(service, tags))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    """A Jaeger that was sent an afternoon's traces by OTLP."""
    with Jaeger(tmp_path_factory.mktemp("jaeger")) as jaeger:
        afternoon = incident(tmp_path_factory.mktemp("detector"))
        for request in afternoon.spans:
            send_grpc(jaeger.grpc, request)
        until(
            lambda: {"research", "support", "worker"} <= set(jaeger.get("/api/services")), "Jaeger knows all services"
        )
        found = Held(jaeger, afternoon)
        until(lambda: len(found.runs({"loopguard.key.id": "k1"})) == 3, "all traces are there")
        yield found


@pytest.mark.parametrize("query", [pytest.param(query, id=query.question) for query in QUERIES])
def test_jaeger_finds(held: Held, query: Query) -> None:
    """The looping traces where loops are asked for, never the healthy one."""
    assert held.runs(json.loads(query.text)) == sorted(FOUND[query.question])


def test_every_search_is_expected() -> None:
    """The table holds the questions that are asked, no more."""
    assert {query.question for query in QUERIES} == set(FOUND)


def test_another_value_finds_nothing(held: Held) -> None:
    """A search that finds would not find whatever it is given."""
    for query in QUERIES:
        tags = {name: f"not {value}" for name, value in json.loads(query.text).items()}
        assert held.runs(tags) == []


def test_a_list_is_found_by_its_whole_text_alone(held: Held) -> None:
    """Why the queries ask for `loopguard.finding.kind`, a string, and not for the list of kinds."""
    assert "`loopguard.finding.kinds` is a list" in TEXT
    assert held.runs({"loopguard.finding.kinds": "identical"}) == []
    assert held.runs({"loopguard.finding.kinds": '["identical"]'}) == BOTH
    assert held.runs({"loopguard.finding.kind": "identical"}) == BOTH


def test_tags_are_texts_and_a_service_is_needed(held: Held) -> None:
    """What QUERIES.md says of the API: numbers are written as texts, and nothing is found without a service."""
    assert held.runs({"loopguard.finding.count": "3"}) == BOTH
    for parameters in ({"service": "support", "tags": '{"loopguard.finding.count": 3}'}, {"tags": "{}"}):
        with pytest.raises(urllib.error.HTTPError) as refused:
            held.jaeger.get("/api/traces", **parameters)
        assert refused.value.code == 400
        refused.value.close()
