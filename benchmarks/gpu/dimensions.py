"""What is multiplied, where: the device, its number format, and a model's dimensions."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read while triton is imported, so others import it from here

import triton
import triton.language as tl

__all__ = ["DEVICE", "DTYPE", "LLAMA_8B", "TINY", "Dimensions", "random", "tl", "triton"]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float16  # Triton's interpreter cannot multiply BF16


@dataclass(frozen=True)
class Dimensions:
    layers: int = 32
    hidden: int = 4096
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    intermediate: int = 14336
    vocabulary: int = 128256
    draft_vocabulary: int = 32000

    @property
    def qkv(self) -> int:
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads


LLAMA_8B = Dimensions()
TINY = Dimensions(2, 256, 8, 2, 32, 512, 1024, 512)


def random(*shape, scale=0.02):
    return torch.empty(*shape, device=DEVICE, dtype=DTYPE).normal_(0.0, scale)
