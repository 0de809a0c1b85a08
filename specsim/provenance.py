"""What a result was made from: versions, seed, input files by content, and the sources of the numbers used."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import specsim

PACKAGES = ("numpy", "scipy", "pandas", "pydantic", "pyyaml", "matplotlib", "typer", "rich")


def versions() -> dict[str, str]:
    """Versions of Python, specsim and the packages that numbers pass through."""
    found = {"python": platform.python_version(), "specsim": specsim.__version__}
    return found | {name: metadata.version(name) for name in PACKAGES}


def provenance(seed: int, files: Mapping[str, Path], sources: Mapping[str, object]) -> dict[str, object]:
    """Everything needed to tell two results apart; without times, so that the same run writes the same bytes.

    Args:
        seed: the scenario's.
        files: input files by what they were read for.
        sources: where the numbers come from, by input.
    """
    read = {name: {"file": path.name, "sha256": _digest(path)} for name, path in files.items()}
    return {"versions": versions(), "seed": seed, "inputs": read, "sources": dict(sources)}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
