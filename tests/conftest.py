"""What every part of the suite may need: the data that a checkout can have beside it."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared, which is not beside this checkout")
    return folder
