"""A folder of cells that were simulated: a checked text by key. Knows nothing of what the texts say."""

from __future__ import annotations

import hashlib
from pathlib import Path

from specsim.swapping import write_whole


class CellStore:
    """A folder with a file for each cell simulated, named by its key; written whole or not at all.

    Attributes:
        unreadable: how many files were found that hold no whole result.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unreadable = 0

    def read(self, key: str) -> str | None:
        """The text kept for a key; None where there is none, or none that can be trusted."""
        try:
            digest, _, text = self._file(key).read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            digest, text = "", ""
        if digest == _sha256(text):
            return text
        self.unreadable += 1
        return None

    def write(self, key: str, text: str) -> None:
        """Keep a text."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._file(key), lambda scratch: scratch.write_text(f"{_sha256(text)}\n{text}", encoding="utf-8"))

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.cell"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
