"""Short names of a grid's values, for sentences, tables and figures: whole objects would be lines of JSON there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from specsim.inputs.read.grid import Grid, as_text

LONGEST = 24
"""Letters of a label, beside the number that tells cut ones apart."""


class Labels:
    """Labels of the values that a grid's fields take, different for different values of a field."""

    def __init__(self, grid: Grid) -> None:
        lists = [*grid.fields.items(), *(item for group in grid.together for item in group.items())]
        self._of = {path: _labels(values) for path, values in lists}

    def of(self, path: str, value: Any) -> str:
        """Of a value of a field."""
        return self._of[path][as_text(value)]

    def cell(self, values: Mapping[str, Any]) -> str:
        """A cell by the last parts of its paths: ``concurrency 8, policy static 3``."""
        return ", ".join(f"{path.rpartition('.')[2]} {self.of(path, value)}" for path, value in values.items())


def _labels(values: Iterable[Any]) -> dict[str, str]:
    """Value as text → its label; those that come out equal are numbered."""
    found = {as_text(value): _cut(_words(value)) for value in values}
    alike: dict[str, list[str]] = {}
    for text, label in found.items():
        alike.setdefault(label, []).append(text)
    for label, texts in alike.items():
        if len(texts) > 1:
            found |= {text: f"{label} #{i}" for i, text in enumerate(texts, 1)}
    return found


def _words(value: Any) -> str:
    """Of an object its kind and its other values, without their keys; anything else as it is written."""
    return " ".join(_scalars(value)) if isinstance(value, dict | list) else as_text(value)


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key in sorted(value, key=lambda key: key != "kind"):  # the kind first, the others as they are written
            yield from _scalars(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield as_text(value).replace(" requests/s", "/s")


def _cut(text: str) -> str:
    """Of a path the end, which tells files apart; of anything else the beginning."""
    if len(text) <= LONGEST:
        return text
    return f"…{text[1 - LONGEST :]}" if "/" in text and " " not in text else f"{text[: LONGEST - 1]}…"
