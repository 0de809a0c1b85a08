"""Randomness as an argument: named, counter-based streams, so that the same seed gives the same bytes.

A stream is addressed by what it decides, never by when it is asked: ``stream(seed, "lengths", replication)``. Two runs
that differ in policy alone therefore see the same requests and the same uniforms, and differ with little noise.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator that decides ``purpose`` for the given index, independent of every other purpose and index.

    Philox of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", as NumPy has it.

    Args:
        seed: the scenario's seed, a non-negative integer.
        purpose: what the numbers decide; its CRC-32 is part of the key, so the spelling matters.
        index: which one of its kind, such as a replication or a request number.
    """
    key = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(purpose.encode()), *index))
    return np.random.Generator(np.random.Philox(key))
