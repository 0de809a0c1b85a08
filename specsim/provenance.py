"""What a result was made from: versions, seed, input files by content, and the sources of the numbers used."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import specsim

PACKAGES = ("numpy", "scipy", "pandas", "pydantic", "pyyaml", "matplotlib", "typer", "rich")
SHOW = {"answer", "command", "figure", "tables", "text"}
"""Roles of files that show what others find, as their names or the last words of them say: ``text``, ``fleet_text``."""
SHOWING_PARTS = {"cli", "reporting"}


def versions() -> dict[str, str]:
    """Versions of Python, specsim and the packages that numbers pass through."""
    found = {"python": platform.python_version(), "specsim": specsim.__version__}
    return found | {name: metadata.version(name) for name in PACKAGES}


@cache
def code_version() -> str:
    """Names the code that numbers come from: a digest of the sources, and the libraries that compute.

    Sources that only show what was found do not count; contracts see to it that the others do not import them.
    """
    libraries = " ".join(f"{name}-{metadata.version(name)}" for name in ("numpy", "scipy"))
    return f"specsim-{specsim.__version__} {sources_digest(Path(specsim.__file__).parent)} {libraries}"


def sources_digest(package: Path) -> str:
    """A digest of the sources in a package's folder that are more than show."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        place = source.relative_to(package)
        if not shows(place):
            digest.update(f"{place.as_posix()}\0{_digest(source)}\n".encode())
    return digest.hexdigest()


def shows(place: Path) -> bool:
    """Whether a source of the package only shows what others find; the role is in its name."""
    role = place.stem.rsplit("_", 1)[-1]
    return place.parts[0] in SHOWING_PARTS or (place.parts[0] == "studies" and role in SHOW)


def provenance(seed: int | None, files: Mapping[str, Path], sources: Mapping[str, object]) -> dict[str, object]:
    """Everything needed to tell two results apart; without times, so that the same run writes the same bytes.

    Args:
        seed: the scenario's; None where cells may differ in it.
        files: input files by what they were read for.
        sources: where the numbers come from, by input.
    """
    read = {name: {"file": path.name, "sha256": _digest(path)} for name, path in files.items()}
    found = {"versions": versions(), "seed": seed, "inputs": read, "sources": dict(sources)}
    return {name: value for name, value in found.items() if value is not None}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
