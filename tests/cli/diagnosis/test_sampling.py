"""What of the spans reaches us, as the variables of the SDK say it."""

from __future__ import annotations

import pytest

from otel_loopguard.cli.diagnosis import check_sampling


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, ["error", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}, ["warning", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, ["error", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1.0"}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "most"}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "of_my_vendor"}, ["warning", "ok"]),
        ({"OTEL_SDK_DISABLED": "true"}, ["error", "ok", "ok"]),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "4096"}, ["ok", "warning"]),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "32"}, ["ok", "warning"]),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "128"}, ["ok"]),
        ({"OTEL_CONFIG_FILE": "otel.yaml"}, ["info"]),
    ],
)
def test_sampling(environ: dict[str, str], expected: list[str]) -> None:
    """What drops spans blinds us, what cuts them makes calls unknown; the SDK's reading of a wrong number is ours."""
    assert [check.level for check in check_sampling(environ)] == expected
