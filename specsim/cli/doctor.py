"""``specsim doctor``: is this installation sound, and what is slow?"""

from __future__ import annotations


def doctor() -> None:
    """Versions, where the catalogue is, and how fast this machine simulates.

    Example: specsim doctor
    """
    from specsim.cli.terminal import console
    from specsim.report.doctor import diagnosis

    console().print(diagnosis())
