"""Latency limits as the command line gives them: any percentile, with or without units."""

import pytest

from specsim.inputs.models.plan import Limit, Plan, PlanSLO, request_limits
from specsim.inputs.models.workload import SLO
from specsim.inputs.read.slo import parse_rate, parse_slo


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("ttft:200 tpot:20", [Limit("ttft", 99, 0.2), Limit("tpot", 99, 0.02)]),
        ("ttft.p95:0.2s", [Limit("ttft", 95, 0.2)]),
        ("ttft.p95:200ms, tpot.p99.9:20 ms", [Limit("ttft", 95, 0.2), Limit("tpot", 99.9, 0.02)]),
        ("e2e.p5:1e3 e2e.p50:1min", [Limit("e2e", 5, 1.0), Limit("e2e", 50, 60.0)]),
        ("e2e.p9:1 e2e.p10:2", [Limit("e2e", 9, 0.001), Limit("e2e", 10, 0.002)]),
    ],
)
def test_any_percentile_and_any_unit(text, limits):
    assert PlanSLO.model_validate(parse_slo([text])).limits == tuple(limits)


def test_percentiles_that_can_never_bind_are_refused_in_the_order_of_numbers():
    with pytest.raises(ValueError, match="p9 of 3 ms never binds, since p10 is never below it"):
        PlanSLO.model_validate(parse_slo(["e2e.p10:2 e2e.p9:3"]))


@pytest.mark.parametrize(("text", "rate"), [("400", "400 requests/s"), ("4e2 requests/min", "4e2 requests/min")])
def test_a_rate_without_a_unit_is_per_second(text, rate):
    assert parse_rate(text, "--rate") == rate


def test_a_request_must_meet_the_limits_of_slo_or_those_of_the_plan():
    planned = Plan.model_validate({"slo": parse_slo(["ttft.p50:100 ttft.p95:200 itl:9"])})
    assert request_limits(planned, SLO(tpot="20 ms")) == {"tpot": 0.02}
    assert request_limits(planned, SLO()) == {"ttft": 0.2}
    assert request_limits(None, SLO()) == {}
