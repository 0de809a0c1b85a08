"""The closed form on the command line: the numbers of the design page, and what it refuses."""

import pytest


def row(out):
    """The cells of the only row of the table."""
    (line,) = [line for line in out.splitlines() if line.startswith("│")]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_the_numbers_of_the_design_page(command):
    code, out, _ = command("theory", "--alpha", "0.8", "--gamma", "4", "--draft-cost", "0.05")
    assert code == 0
    assert row(out)[:6] == ["0.8", "4", "3.36", "2.80", "59", "187"]
    assert "295" in out.splitlines()[0]


def test_another_device_has_another_ridge(command):
    _, out, _ = command("theory", "--alpha", "0.8", "--gamma", "4", "--device", "l40s")
    # 362e12 / 0.864e12 = 419 tokens
    assert row(out)[4] == "83"


@pytest.mark.parametrize(("alpha", "tokens", "speedup"), [("0", "1.00", "0.83"), ("1", "5.00", "4.17")])
def test_nothing_and_everything_accepted(command, alpha, tokens, speedup):
    _, out, _ = command("theory", "--alpha", alpha, "--gamma", "4", "--draft-cost", "0.05")
    assert row(out)[2:4] == [tokens, speedup]


def test_a_draft_as_dear_as_the_target_never_pays(command):
    _, out, _ = command("theory", "--alpha", "0.9", "--gamma", "4", "--draft-cost", "1")
    assert row(out)[5:] == ["never", "0"]


def test_a_row_for_each_pair(command):
    code, out, _ = command("theory")
    assert code == 0
    assert len([line for line in out.splitlines() if line.startswith("│")]) == 4 * 6


def test_every_number_that_is_none(command):
    code, out, err = command("theory", "--alpha", "0.8,1.5,x,nan", "--gamma", "0,3,2.5", "--draft-cost", "0.1")
    assert (code, out) == (2, "")
    named = [line.split(":")[0].strip() for line in err.splitlines()[1:]]
    assert named == ["--alpha is '1.5'", "--alpha is 'x'", "--alpha is 'nan'", "--gamma is '0'", "--gamma is '2.5'"]


def test_an_unknown_device(command):
    code, _, err = command("theory", "--device", "h100")
    assert code == 2
    assert "did you mean 'h100-" in err


def test_a_cost_that_is_no_number(command):
    for cost in ("inf", "nan"):
        code, out, err = command("theory", "--draft-cost", cost)
        assert (code, out) == (2, "")
        assert "--draft-cost" in err


def test_certain_and_free_drafts_have_no_best_length(command):
    code, out, _ = command("theory", "--alpha", "1", "--gamma", "4", "--draft-cost", "0")
    assert code == 0
    assert "every further draft token gains" in out.splitlines()[0]
