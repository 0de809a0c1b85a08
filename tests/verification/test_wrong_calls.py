"""Calls that are wrong as calls: each is refused by name on either core, and nothing is read that is not there."""

import os
import subprocess
import sys

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.verification import (
    LazyTable,
    Processors,
    VocabularyMap,
    verify_block,
    verify_chain,
    verify_rows,
    verify_tree,
)
from specsim.verification import core as cores

pytestmark = pytest.mark.usefixtures("core")
B, K, V = 4, 2, 3


def inputs(**changed):
    rng = np.random.default_rng(0)
    arrays = {
        "draft": np.zeros((B, K), int),
        "q": np.full((B, K, V), 1 / V),
        "p": np.full((B, K + 1, V), 1 / V),
        "num_draft": np.full(B, K),
        "accept_uniforms": rng.random((B, K)),
        "final_uniforms": rng.random(B),
    }
    return arrays | changed


def rows(**changed):
    chain = inputs()
    arrays = {
        "parents": np.tile(np.arange(K) - 1, (B, 1)),
        "token": chain["draft"],
        "num_nodes": chain["num_draft"],
        "q": np.full((1, V), 1 / V),
        "q_row": np.zeros((B, K), int),
        "p": np.full((1, V), 1 / V),
        "p_row": np.zeros((B, K + 1), int),
        "accept_uniforms": chain["accept_uniforms"],
        "final_uniforms": chain["final_uniforms"],
    }
    return arrays | changed


LAZY = LazyTable(np.zeros((1, V)), Processors())


@pytest.mark.parametrize("rule", ["tree", "Token", "", None, 0])
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises(InputError, match=r"rule.*must be one of token, block; for trees call verify_tree"):
        verify_rows(**rows(), rule=rule)


@pytest.mark.parametrize(
    "changed",
    [
        {"num_draft": np.full(1, K)},
        {"accept_uniforms": np.zeros((B, 1))},
        {"final_uniforms": np.zeros(1)},
        {"greedy": np.zeros(1, bool)},
        {"q": np.full((B, K, V - 1), 0.5)},
        {"q": np.full((B, 1, V), 1 / V)},
        {"p": np.full((B, K, V), 1 / V)},
    ],
    ids=lambda changed: "-".join(changed),
)
@pytest.mark.parametrize("verify", [verify_chain, verify_block])
def test_arrays_that_do_not_fit_are_refused_unchecked_too(verify, changed):
    with pytest.raises(InputError, match="do not fit together"):
        verify(**inputs(**changed), validate=False)


@pytest.mark.parametrize("verify", [verify_chain, verify_block])
@pytest.mark.parametrize("final", [-1.0, -np.inf])
def test_negative_uniforms_pass_nothing_that_the_target_never_says(verify, final):
    p, q = np.array([[[0.0, 1.0, 0.0]] * 2]), np.array([[[0.0, 0.0, 1.0]]])
    uniforms = {"accept_uniforms": np.array([[-1.0]]), "final_uniforms": np.array([final])}
    out, num_out = verify(np.array([[2]]), q, p, np.array([1]), **uniforms, validate=False)
    assert (out.tolist(), num_out.tolist()) == ([[1, -1]], [1])


def test_negative_uniforms_pass_nothing_in_trees_either():
    p, q = np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    zeros = np.zeros((1, 1), int)
    uniforms = {"accept_uniforms": np.array([[-1.0]]), "final_uniforms": np.array([-1.0])}
    arrays = (zeros - 1, zeros + 2, np.ones(1, int), zeros, np.zeros((1, 2), int), q, p)
    out, _, _ = verify_tree(*arrays, siblings="with_replacement", **uniforms, validate=False)
    assert out.tolist() == [[1, -1]]


@pytest.mark.parametrize("rng", [3, "x", np.random.RandomState(0)])
def test_something_else_than_a_generator_is_refused(rng):
    chain = inputs()
    with pytest.raises(InputError, match=r"rng: type is .* must be a numpy.random.Generator"):
        verify_chain(chain["draft"], chain["q"], chain["p"], chain["num_draft"], rng=rng)


def test_lazy_tables_are_for_the_target_of_trees_alone():
    with pytest.raises(InputError, match=r"p: type is 'LazyTable': must be an array; only verify_tree"):
        verify_rows(**rows(p=LAZY))
    with pytest.raises(InputError, match=r"q: type is 'LazyTable'"):
        verify_chain(**inputs(q=LAZY))


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_types_that_are_neither_single_nor_double_are_refused(dtype):
    with pytest.raises(InputError, match=r"p: dtype is .* must be float32 or float64; convert it, and normalise"):
        verify_chain(**inputs(p=np.full((B, K + 1, V), 1 / V, dtype)))
    with pytest.raises(InputError, match=r"final_uniforms: dtype is .* must be float32 or float64; convert it$"):
        verify_chain(**inputs(final_uniforms=np.zeros(B, dtype)))


@pytest.mark.parametrize("size", [0, -1, 6.5, "6"])
def test_a_vocabulary_has_a_whole_number_of_tokens(size):
    with pytest.raises(InputError, match=r"target_size .* must be a whole number of tokens, 1 or more"):
        VocabularyMap(np.array([0, 1]), size)


def test_a_vocabulary_map_takes_ids_and_probabilities():
    known = VocabularyMap(np.array([0, 2]), 6)
    for draft in ([0.9, 1.9], [True], [np.nan]):
        with pytest.raises(InputError, match=r"draft: dtype is .* must be integers"):
            known.to_target(np.array(draft))
    for q in (np.array([1, 0]), np.array([1, 0], np.float16)):
        with pytest.raises(InputError, match=r"q: dtype is .* must be float32 or float64"):
            known.scatter(q)


CALL = "from specsim.verification.core import reason_for_numpy; print(reason_for_numpy())"


def test_an_unknown_core_is_refused():
    found = subprocess.run([sys.executable, "-c", CALL], capture_output=True, text=True, env={"SPECSIM_CORE": "foo"})
    assert "SPECSIM_CORE is 'foo': must be numpy or compiled" in found.stderr


@pytest.mark.skipif(cores.compiled_core() is None, reason="needs numba")
def test_where_nothing_can_be_kept_each_process_compiles_anew(monkeypatch):
    from numba.core import caching

    from specsim.verification.compiled import forms

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    twice = forms.kept(lambda x: x + x)
    assert twice(3) == 6
    assert os.environ.get("SPECSIM_CORE") is None
