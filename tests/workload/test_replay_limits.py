"""A trace that goes on for longer than clocks in floats can tell apart is refused."""

import pytest

from specsim.errors import InputError
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation


@pytest.mark.parametrize(("last", "speed", "fits"), [(1e300, 1, False), (1.7e9, 1, False), (1.7e9, 100, True)])
def test_centuries_are_refused(tmp_path, last, speed, fits):
    path = tmp_path / "trace.csv"
    path.write_text(f"arrival_s,prompt_tokens,output_tokens\n0,10,5\n{last},10,5\n")
    inputs = load_scenario(
        "llama3.1-8b-h100-eagle3",
        [f"workload.lengths={{kind: trace, file: '{path}'}}", f"workload.load={{kind: replay, speed: {speed}}}"],
    )
    if fits:
        Simulation(inputs)
    else:
        with pytest.raises(InputError, match=r"line 3, arrival.*three years"):
            Simulation(inputs)
