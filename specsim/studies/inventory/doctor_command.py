"""``specsim doctor``: is this installation sound, and what is slow?"""

from __future__ import annotations


def doctor() -> None:
    """Versions, where the catalogue is, and how fast this machine simulates.

    Example: specsim doctor
    """
    from specsim.reporting.console import console
    from specsim.studies.inventory.doctor import diagnosis

    console().print(diagnosis())
