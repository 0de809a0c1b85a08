"""Lists that the command line gives, separated by commas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from specsim.errors import InputError, Problem

Number = TypeVar("Number", int, float)
EMPTY = "has an empty entry; write values separated by single commas"


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
        if not entry.strip():
            problems.append(Problem(option, "", repr(text), EMPTY))
        elif value is None or not allowed(value):
            problems.append(Problem(option, "", repr(entry.strip()), f"{remedy}, several separated by commas"))
        else:
            found.append(value)
    return found


def counts(text: str, option: str) -> list[int]:
    """Whole numbers above 0.

    Raises:
        InputError: with a problem for each entry that is none.
    """
    problems: list[Problem] = []
    found = read_list(text, int, lambda value: value > 0, option, "must be a whole number above 0", problems)
    if problems:
        raise InputError(problems)
    return found


def words(text: str, option: str) -> list[str]:
    """Words, such as kinds of policies.

    Raises:
        InputError: when an entry is empty.
    """
    found = [word.strip() for word in text.split(",")]
    if not all(found):
        raise InputError([Problem(option, "", repr(text), EMPTY)])
    return found
