"""Values of a grid by short names that stay different."""

from specsim.inputs.read.grid import Grid, as_text
from specsim.studies.sweep.value_labels import LONGEST, Labels


def labels_of(*values):
    labels = Labels(Grid(name="x", scenario="x", fields={"a.b": values}))
    return [labels.of("a.b", value) for value in values]


def test_objects_are_their_kind_and_values():
    load = {"rate": "6 requests/s", "kind": "poisson"}
    policy = {"kind": "by_batch", "lengths": [[1, 5], [8, 3]]}
    assert labels_of(load, policy, 3, "h200", True) == ["poisson 6/s", "by_batch 1 5 8 3", "3", "h200", "true"]


def test_long_ones_are_cut_and_stay_different():
    values = [{"kind": "table", "lengths": list(range(20)), "last": last} for last in (1, 2)]
    paths = [f"/home/me/a/long/way/to/device-{name}.yaml" for name in "ab"]
    found = labels_of(*values, *paths)
    assert len(set(found)) == 4
    assert all(len(label) <= LONGEST + len(" #2") for label in found)
    assert [label[-13:] for label in found[2:]] == ["device-a.yaml", "device-b.yaml"]


def test_an_object_and_the_text_that_it_looks_like_stay_different():
    value = {"kind": "static", "num": 1}
    assert len(set(labels_of(value, "static 1", as_text([1, "static"])))) == 3
