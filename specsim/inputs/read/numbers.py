"""Lists of numbers given on the command line, separated by commas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from specsim.errors import InputError, Problem

Number = TypeVar("Number", int, float)


def read_list(
    text: str,
    read: Callable[[str], Number],
    allowed: Callable[[Number], bool],
    option: str,
    remedy: str,
    problems: list[Problem],
) -> list[Number]:
    """The numbers of a list.

    Args:
        text: what was given.
        read: turns an entry into a number, or raises ValueError.
        allowed: which numbers may stand there.
        option: that the list was given with, for the message.
        remedy: what to write instead, for the message.
        problems: entries that are no such number are added here.
    """
    found = []
    for entry in text.split(","):
        try:
            value = read(entry)
        except ValueError:
            value = None
        if value is None or not allowed(value):
            problems.append(Problem(option, "", repr(entry.strip()), f"{remedy}, several by commas"))
        else:
            found.append(value)
    return found


def read_counts(texts: Mapping[str, str | None]) -> dict[str, list[int] | None]:
    """Whole numbers of several options.

    Args:
        texts: option → what was given; None where it was not.

    Raises:
        InputError: listing every entry of any that is no whole number above 0.
    """
    problems: list[Problem] = []
    remedy = "must be a whole number above 0"
    found = {
        option: None if text is None else read_list(text, int, lambda value: value > 0, option, remedy, problems)
        for option, text in texts.items()
    }
    if problems:
        raise InputError(problems)
    return found
