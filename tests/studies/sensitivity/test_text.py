"""A sensitivity in words: what moves the break-even most, what is beyond, and what the runs leave open."""

import numpy as np
import pytest

from specsim.analysis.crossings import find_crossings
from specsim.analysis.intervals import Interval
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.sensitivity.shifts import Outcome, SensitivityResult, Shift
from specsim.studies.sensitivity.text import sensitivity_sentences

BATCHES = (1, 100, 400)
SPREAD = np.exp([[-0.01], [0.0], [0.01]])


def outcome(*speedups):
    last = speedups[-1]
    return Outcome(
        find_crossings(BATCHES, SPREAD * np.array(speedups)), Interval(last, last - 0.01, last + 0.01, 0.95, 3)
    )


CROSSES, EARLIER, PAYS, OPEN = outcome(2, 1.5, 0.5), outcome(2, 1.2, 0.4), outcome(2, 1.5, 1.2), outcome(2, 1.5, 1.0)


@pytest.fixture
def said():
    def sentences(base, *shifts):
        result = SensitivityResult(3, 0.1, BATCHES, base, shifts, {"host time": "the ideal device has none"})
        return sensitivity_sentences(load_scenario("llama3.1-8b-h100-eagle3"), result)

    return sentences


def test_what_moves_it_most_is_told_first_and_what_least(said):
    answer, *others = said(CROSSES, Shift("draft time", CROSSES, CROSSES), Shift("acceptance", EARLIER, CROSSES))
    assert answer.startswith("With 3 draft tokens speculation pays up to batch ")
    assert "Acceptance moves it most: 10 % lower, " in answer
    assert answer.endswith("Draft time moves it least, by 0.0 % in all.")
    assert "Host time is left as it is: the ideal device has none." in others


def test_an_end_beyond_all_batches_moves_it_most(said):
    answer, *_ = said(CROSSES, Shift("acceptance", EARLIER, CROSSES), Shift("compute achieved", CROSSES, PAYS))
    assert "Compute achieved moves it most: 10 % lower, " in answer
    assert "higher, beyond 400." in answer


def test_an_end_that_the_runs_leave_open_is_explained_and_is_not_the_one_that_moves_it_most(said):
    answer, *others = said(CROSSES, Shift("acceptance", EARLIER, CROSSES), Shift("compute achieved", CROSSES, OPEN))
    assert "Acceptance moves it most" in answer
    (explained,) = [sentence for sentence in others if sentence.startswith("Not established")]
    assert "batch 400" in explained
    assert "curve.batches" in explained


def test_without_a_break_even_the_speedup_is_told(said):
    answer, *_ = said(PAYS, Shift("acceptance", PAYS, outcome(2, 1.6, 1.3)))
    assert "pays at every batch simulated, 1 to 400; at the largest the speedup is 1.200 [1.190, 1.210]." in answer
    assert "higher, 1.300 [1.290, 1.310]" in answer
