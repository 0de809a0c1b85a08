"""The JSON Schemas that editors use: as committed, true of every file that ships, and able to see mistakes."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from specsim.inputs.read import catalogue
from specsim.inputs.read.documents import parse_yaml
from specsim.inputs.read.json_schema import MODELS, json_schema

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent
FILES = [(kind, path) for kind in MODELS for path in sorted(catalogue.KINDS[kind][0].glob("*.yaml"))]
STRUCTURAL = (
    *("unknown_key", "unknown_key_at_the_top", "unknown_key_below_a_kind", "missing_unit", "unknown_unit"),
    *("unit_of_something_else", "acceptance_above_one", "acceptance_below_zero", "empty_profile", "boolean_for_text"),
    *("boolean_for_number", "text_for_boolean", "number_for_text", "number_in_quotation_marks", "unknown_choice"),
    *("unknown_kind", "mapping_for_scalar", "scalar_for_mapping", "list_for_mapping", "too_many_draft_tokens"),
    *(
        "tree_with_odd_branching",
        "tree_without_siblings",
        "name_unfit_for_a_folder",
        "vocabulary_too_large",
        "negative_numbers",
    ),
)


def errors(kind, text):
    data = json.loads(json.dumps(parse_yaml(text, "a file")))
    return list(Draft202012Validator(json.loads(json_schema(kind))).iter_errors(data))


@pytest.mark.parametrize("kind", MODELS)
def test_the_committed_schema_is_current(kind):
    file = ROOT / "docs" / "schema" / f"{kind}.schema.json"
    assert file.read_text(encoding="utf-8") == json_schema(kind), (
        f"refresh it with: specsim schema {kind} > docs/schema/{kind}.schema.json"
    )


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_a_schema(kind):
    Draft202012Validator.check_schema(json.loads(json_schema(kind)))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "file"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_files_of_the_catalogue(kind, file):
    assert not errors(kind, file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("kind", "file"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_files_point_to_their_schema(kind, file):
    first = file.read_text(encoding="utf-8").splitlines()[0]
    reference = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert reference
    assert (file.parent / reference[1]).resolve() == ROOT / "docs" / "schema" / f"{kind}.schema.json"


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted((CORPUS / "valid").glob("*.yaml")), ids=lambda file: file.stem)
def test_valid_files_pass(file):
    assert not errors("scenario", file.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURAL)
def test_structural_mistakes_are_seen(name):
    assert errors("scenario", (CORPUS / "invalid" / f"{name}.yaml").read_text(encoding="utf-8"))


def test_plain_yaml_reads_the_catalogue_alike():
    for _, file in FILES:
        text = file.read_text(encoding="utf-8")
        assert yaml.safe_load(text) == parse_yaml(text, "a file")
