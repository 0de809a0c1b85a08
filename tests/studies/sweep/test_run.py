"""A sweep's cells are what single loads are; each is simulated once while nothing changes, and none is lost."""

import dataclasses
import hashlib
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.errors import InputError
from specsim.inputs.read import catalogue
from specsim.inputs.read.grid import Grid, read_grid
from specsim.inputs.read.portable import places_of, portable_inputs, portable_text
from specsim.inputs.read.scenario import load_scenario
from specsim.provenance import sources_digest
from specsim.studies.shared.executors import Workers
from specsim.studies.simulate.run import simulate_load
from specsim.studies.sweep import cells as cells_module
from specsim.studies.sweep.cells import CellResult, Failure, outcome_of, run_cell, task_of
from specsim.studies.sweep.grid_cells import Cells
from specsim.studies.sweep.run import ASK, SAMPLE, sweep

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
HERE = Workers(jobs=1)
SHORT = {"workload.num_requests": 12, "workload.lengths": {"kind": "fixed", "prompt_tokens": 30, "output_tokens": 6}}
FEW = ("workload.num_requests=12", "workload.load={kind: closed_loop, concurrency: 3}", "run.replications=2")


@pytest.fixture
def swept(tmp_path):
    """Sweeps a grid that is given by its keys; cells are kept in one folder."""
    import yaml

    def run(fields, *, scenario=DEMO, fixed=SHORT, **options):
        file = tmp_path / "grid.yaml"
        data = {"name": "test", "scenario": scenario, "set": fixed, "fields": fields, "replications": 2}
        file.write_text(yaml.safe_dump(data, sort_keys=False))
        return sweep(read_grid(str(file)), kept=tmp_path / "kept", where=HERE, **options)

    return run


SENT = ("azure-conversation-h100-eagle3", "deepseek-r1-8xb200-mtp")
FIELDS = {"workload.load.concurrency": [2, 4], "speculation.policy.num_draft_tokens": [0, 1, 3]}


def test_cells_are_what_single_loads_are(swept):
    found = swept(FIELDS)
    assert len(found.cells) == 6
    for cell in found.cells:
        concurrency, k = cell.values.values()
        changes = [f"{path}={value}" for path, value in cell.values.items()]
        fixed = ["workload.num_requests=12", "workload.lengths={kind: fixed, prompt_tokens: 30, output_tokens: 6}"]
        alone = simulate_load(load_scenario(DEMO, [*fixed, *changes, "run.replications=2"]))
        assert isinstance(cell.outcome, CellResult), (concurrency, k)
        assert list(cell.outcome.arms) == list(dict.fromkeys((0, k)))
        for arm, result in cell.outcome.arms.items():
            np.testing.assert_array_equal(result.values, alone.values[arm])
            assert result.balance == alone.balance[arm]
            assert (result.steady_share is None) == (alone.steady_share is None)
        if k:
            assert cell.outcome.speedup() == alone.speedup()


@pytest.mark.parametrize("name", catalogue.names("scenario"))
def test_what_travels_is_everything(name):
    inputs = load_scenario(name, FEW)
    text, places = portable_text(inputs), places_of(inputs)
    arrived = portable_inputs(text, places)
    for field in dataclasses.fields(inputs):
        if field.name not in ("files", "groups"):
            assert getattr(arrived, field.name) == getattr(inputs, field.name), field.name
    assert len(arrived.groups) == len(inputs.groups)
    for group, arrived_group in zip(inputs.groups, arrived.groups, strict=True):
        assert dataclasses.replace(arrived_group, files=group.files) == group
        assert arrived_group.files["device"].stem == group.files["device"].stem
    assert portable_text(arrived) == text
    assert str(catalogue.ROOT) not in text, "it is the same wherever specsim is installed"


@pytest.mark.parametrize("name", [*SENT, "llama3.1-8b-4xh100-disaggregated"])
def test_what_travels_gives_the_same_numbers(name):
    inputs = load_scenario(name, FEW)
    alone, cell = simulate_load(inputs), outcome_of(run_cell(task_of(inputs)))
    for k, values in alone.values.items():
        np.testing.assert_array_equal(cell.arms[k].values, values)


@given(
    st.lists(st.lists(st.integers(), min_size=1, max_size=4, unique=True), min_size=1, max_size=3),
    st.lists(st.lists(st.integers(), min_size=1, max_size=3, unique=True), max_size=2),
)
def test_cells_are_all_combinations_each_once(lists, groups):
    fields = {f"field{i}": values for i, values in enumerate(lists)}
    together = [{f"a{i}": values, f"b{i}": [-value for value in values]} for i, values in enumerate(groups)]
    grid = Grid(name="x", scenario="x", fields=fields, together=together)
    found = [tuple(cell.items()) for cell in grid.cells()]
    assert len(set(found)) == len(found) == grid.size
    for cell in map(dict, found):
        assert list(cell) == grid.paths
        assert all(cell[path] in values for path, values in fields.items())
        assert all(cell[f"b{i}"] == -cell[f"a{i}"] for i in range(len(groups)))


def count_runs(monkeypatch):
    runs = []
    monkeypatch.setattr(
        cells_module, "simulate_load", lambda inputs: runs.append(inputs.scenario) or simulate_load(inputs)
    )
    return runs


def values_of(found):
    return [[arm.values.tobytes() for arm in result.arms.values()] for _, result in found.results]


def test_what_is_kept_is_not_simulated_again(swept, monkeypatch):
    first = swept(FIELDS)
    runs = count_runs(monkeypatch)
    again = swept(FIELDS)
    assert not runs
    assert (first.reused, again.reused) == (0, 6)
    assert values_of(again) == values_of(first)
    wider = swept(FIELDS | {"workload.load.concurrency": [2, 3, 4]})
    assert [scenario.workload.load.concurrency for scenario in runs] == [3, 3, 3]
    assert (wider.reused, len(wider.results)) == (6, 9)


def test_other_code_simulates_again(swept, monkeypatch):
    swept(FIELDS)
    runs = count_runs(monkeypatch)
    monkeypatch.setattr(cells_module, "code_version", lambda: "another")
    swept(FIELDS)
    assert len(runs) == 6


def test_the_code_is_what_computes(tmp_path):
    package = catalogue.ROOT / "specsim"
    copied = tmp_path / "specsim"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__", "_data"))
    before = sources_digest(copied)
    assert before == sources_digest(package)
    for shown in ("reporting/wording.py", "studies/simulate/text.py", "studies/simulate/fleet_text.py"):
        (copied / shown).write_text("# shows something else\n")
    assert sources_digest(copied) == before
    with (copied / "engine" / "schedule.py").open("a") as source:
        source.write("# computes something else\n")
    assert sources_digest(copied) != before


def test_the_content_of_files_counts(swept, tmp_path, monkeypatch):
    own = tmp_path / "own.yaml"
    device = (catalogue.ROOT / "hardware" / "h100-sxm.yaml").read_text()
    own.write_text(device)
    fields = {"deployment.device": ["h200", str(own)], "workload.load.concurrency": [4]}
    first = swept(fields)
    runs = count_runs(monkeypatch)
    swept(fields)
    assert not runs
    own.write_text(device.replace("3.35 TB/s", "3.00 TB/s"))
    slower = swept(fields)
    assert [scenario.deployment.device for scenario in runs] == [str(own)]
    assert values_of(slower)[0] == values_of(first)[0]
    assert values_of(slower)[1] != values_of(first)[1]


def test_the_content_of_traces_counts(swept, tmp_path, monkeypatch):
    trace = tmp_path / "trace.csv"
    rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,10,4\n0.5,12,6\n0.7,12,5\n"
    trace.write_text(rows)
    fixed = {"workload.num_requests": 12, "workload.load.concurrency": 2}
    fields = {"workload.lengths": [{"kind": "trace", "file": "trace.csv"}], "seed": [1]}
    swept(fields, fixed=fixed)
    runs = count_runs(monkeypatch)
    swept(fields, fixed=fixed)
    assert not runs
    trace.write_text(rows.replace("12,6", "12,7"))
    swept(fields, fixed=fixed)
    assert len(runs) == 1


def test_a_trace_that_is_another_where_the_cell_is_simulated_is_noticed(tmp_path):
    trace = tmp_path / "trace.csv"
    rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,10,4\n0.5,12,6\n"
    trace.write_text(rows)
    task = task_of(load_scenario(DEMO, [*FEW, f"workload.lengths={{kind: trace, file: {trace}}}"]))
    trace.write_text(rows * 2)
    assert outcome_of(run_cell(task)).error.endswith("trace.csv: has other contents where the cell is simulated")
    trace.unlink()
    assert "cannot be read where the cell is simulated" in outcome_of(run_cell(task)).error


def forged(content):
    """A file whose digest is right and whose content is no cell's."""
    return lambda text: f"{hashlib.sha256(content.encode()).hexdigest()}\n{content}"


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda text: text[:-20], lambda text: text.replace("1", "2"), lambda text: ""),
        *map(forged, ("[1, 2]", "{}", '{"arms": {"x": 1}, "beyond": 0}', '{"failure": 3}', "no JSON", '"text"')),
    ],
)
def test_damaged_cells_are_simulated_again(swept, tmp_path, monkeypatch, damage):
    first = swept(FIELDS)
    files = sorted((tmp_path / "kept").glob("*.cell"))
    assert len(files) == 6
    whole = files[2].read_text()
    files[2].write_text(damage(whole))
    runs = count_runs(monkeypatch)
    again = swept(FIELDS)
    assert (len(runs), again.unreadable, again.reused) == (1, 1, 5)
    assert values_of(again) == values_of(first)
    assert files[2].read_text() == whole


def test_failed_cells_stay_with_their_error(swept, monkeypatch):
    """A prompt that no KV pool holds fails again and is kept; a mistake of the program is not."""
    never = {"kind": "fixed", "prompt_tokens": 10_000_000, "output_tokens": 6}
    fields = {"workload.lengths": [SHORT["workload.lengths"], never], "seed": [1, 2]}
    fixed = {"workload.num_requests": 12, "workload.load.concurrency": 4}

    def breaks(inputs):
        if inputs.scenario.seed == 2:
            raise RuntimeError("out of luck")
        return simulate_load(inputs)

    with monkeypatch.context() as patched:
        patched.setattr(cells_module, "simulate_load", breaks)
        found = swept(fields, fixed=fixed)
    assert [isinstance(cell.outcome, CellResult) for cell in found.cells] == [True, False, False, False]
    errors = [failure.error for _, failure in found.failures]
    assert [error == "RuntimeError: out of luck" for error in errors] == [True, False, True]
    assert errors[1].startswith(f"{DEMO}.yaml: ")
    again = swept(fields, fixed=fixed)
    assert again.reused == 2
    assert [isinstance(cell.outcome, CellResult) for cell in again.cells] == [True, True, False, False]
    assert len(again.failed) == 2


def test_cells_that_are_no_scenarios_are_refused_or_named(swept):
    fields = {"workload.load.concurrency": [2, 0], "seed": [1, 2]}
    with pytest.raises(InputError, match=r"in 2 of 4 cells, the first with workload\.load\.concurrency 0, seed 1"):
        swept(fields)
    found = swept(fields, skip_invalid=True)
    assert [cell.invalid for cell in found.cells] == [False, False, True, True]
    assert all("workload.load.concurrency is 0" in failure.error for _, failure in found.failures)
    assert not found.failed, "they were not to be simulated"


def test_cells_that_are_the_same_are_simulated_once(swept, monkeypatch):
    runs = count_runs(monkeypatch)
    found = swept({"deployment.device": ["h100-sxm"], "workload.load": [{"concurrency": 2, "kind": "closed_loop"}]})
    again = swept({"workload.load": [{"kind": "closed_loop", "concurrency": 2}], "deployment.device": ["h100-sxm"]})
    assert len(runs) == 1
    assert values_of(found) == values_of(again)


def test_a_worker_with_other_code_ends_the_sweep(swept, monkeypatch):
    stranger = Failure("a worker runs another", lasting=False, stranger=True)
    monkeypatch.setattr("specsim.studies.sweep.run.run_cell", lambda task: cells_module._failed(stranger))
    with pytest.raises(InputError, match="install the same specsim, numpy and scipy on every machine"):
        swept(FIELDS)
    task = task_of(load_scenario(DEMO, FEW))
    assert outcome_of(run_cell(task._replace(code="another"))).stranger


def test_large_grids_are_asked_for_twice(swept, monkeypatch):
    runs = count_runs(monkeypatch)
    fields = {"seed": list(range(ASK // 4 + 1)), "workload.load.concurrency": [1, 2, 3, 4]}
    with pytest.raises(InputError, match=r"504 cells: 126 of seed × 4 of .*concurrency take about [\d.]+ \w+ in 1"):
        swept(fields)
    assert len(runs) == SAMPLE + 1, "the first also loads what cells share, and is timed when it comes again"
    assert len({scenario.workload.load.concurrency for scenario in runs}) > 1
    monkeypatch.setattr("specsim.studies.sweep.run.ASK", 5)
    assert len(swept(FIELDS, yes=True).results) == 6


def test_the_first_cell_is_no_measure_of_the_others(swept, monkeypatch):
    """Of 600 cells that take 0.1 s, and the first second more, 60 s and what preparing takes."""
    clock, begun = [0.0], []

    def slow_at_first(task):
        clock[0] += 0.1 if begun else 8.0
        begun.append(task)
        return ""

    monkeypatch.setattr("specsim.studies.sweep.run.run_cell", slow_at_first)
    monkeypatch.setattr("specsim.studies.sweep.run.time.perf_counter", lambda: clock[0])
    with pytest.raises(InputError, match="take about 60 seconds in 1 process, by 5 timed cells"):
        swept({"seed": list(range(600))}, fixed=SHORT | {"workload.load.concurrency": 2})


def test_values_from_the_command_line_hold_in_every_cell(swept):
    found = swept({"seed": [1, 2]}, overrides=["workload.load.concurrency=2"])
    direct = swept({"seed": [1, 2]}, fixed=SHORT | {"workload.load.concurrency": 2})
    assert values_of(found) == values_of(direct)
    assert direct.reused == 2
    with pytest.raises(InputError, match="--set seed: seed varies in"):
        swept({"seed": [1, 2]}, overrides=["seed=2"])


def test_files_are_read_once(swept, tmp_path, monkeypatch):
    from specsim.inputs.read import documents

    read, read_mapping = [], documents.read_mapping
    monkeypatch.setattr(documents, "read_mapping", lambda path: read.append(path) or read_mapping(path))
    file = tmp_path / "grid.yaml"
    file.write_text(f"name: x\nscenario: {DEMO}\nfields: {{seed: [1, 2, 3, 4]}}\n")
    made = Cells(read_grid(str(file)))
    for values in made.grid.grid.cells():
        assert made.inputs(values) == load_scenario(DEMO, [f"seed={values['seed']}"])
    assert sum(path.name == "h100-sxm.yaml" for path in read) == 1 + 4, "once, and by each load_scenario"
