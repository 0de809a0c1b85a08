"""Times forward steps of a dense transformer of Llama-3.1-8B's dimensions on one GPU, with random BF16 weights.

Decode and verify steps by batch, query tokens per sequence and context; the linears alone; attention alone; an
EAGLE-3 head's pass; two ceilings. Everything runs as a replayed CUDA graph, so that no host time is in the figures:
this is not a serving engine. Needs PyTorch and Triton, and knows nothing of specsim.

    python3 benchmarks/gpu/measure_forward.py --tiny                 # small dimensions, seconds; runs on a CPU too
    python3 benchmarks/gpu/measure_forward.py --output forward.csv   # about five minutes on an H200
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (the field's own name)
from attention import TUNED, causal, cudnn, decode, packed
from dimensions import DEVICE, LLAMA_8B, TINY, random, triton
from kernel_checks import check
from model import Model
from timing import Table, after_idle_ms, lasting_ms, times_ms


def ceilings(table: Table, elements: int, size: int) -> None:
    source, target = random(1024, elements // 1024, scale=1.0), random(1024, elements // 1024, scale=1.0)
    # Not copy_: a graph replays that as a memory-copy node, which is slower than a kernel.
    table.measure(f"negate_{elements * 2}_bytes", 0, 0, 0, lambda: torch.neg(source, out=target))
    table.measure(f"read_{elements * 2}_bytes", 0, 0, 0, lambda: source.amax(-1))
    a, b = random(size, size, scale=1.0), random(size, size, scale=1.0)
    table.measure(f"matmul_{size}", 0, 0, 0, lambda: a @ b)


def linears(table: Table, model: Model, token_counts) -> None:
    d = model.d
    for tokens in token_counts:
        x, wide = random(tokens, d.hidden, scale=1.0), random(tokens, d.intermediate, scale=1.0)
        table.measure("linears", tokens, 1, 0, lambda x=x, wide=wide: model.linears(x, wide))
    for name in ("qkv", "o", "gate_up", "down"):
        for tokens in token_counts:
            x = random(tokens, getattr(model.layers[0], name).shape[1], scale=1.0)
            weights = [getattr(layer, name) for layer in model.layers]
            table.measure(
                f"linear_{name}", tokens, 1, 0, lambda x=x, w=weights: [F.linear(x, one) for one in w], d.layers
            )
    for tokens in token_counts:
        x = random(tokens, d.hidden, scale=1.0)
        table.measure("linear_lm_head", tokens, 1, 0, lambda x=x: F.linear(x, model.lm_head))


def power(table: Table, model: Model, token_counts, cells) -> None:
    """Linears after idling and under lasting load, where the power limit lowers the clocks; whole steps under load."""
    d = model.d
    for tokens in token_counts:
        x, wide = random(tokens, d.hidden, scale=1.0), random(tokens, d.intermediate, scale=1.0)

        def step(x=x, wide=wide):
            model.linears(x, wide)

        table.measure("linears_after_idle", tokens, 1, 0, step, timer=after_idle_ms)
        table.measure("linears_lasting", tokens, 1, 0, step, timer=lasting_ms)
    forwards(table, model, cells, "forward_lasting", timer=lasting_ms)


def forwards(table: Table, model: Model, cells, quantity="forward", attend=decode, timer=times_ms) -> None:
    for batch, n, context in cells:
        if batch * context <= model.pools[0].shape[0]:
            x = random(batch * n, model.d.hidden, scale=1.0)

            def step(x=x, batch=batch, n=n, context=context):
                model.forward(x, batch, n, context, attend)

            table.measure(quantity, batch, n, context, step, timer=timer)


def attentions(table: Table, model: Model, cells, quantity, attend) -> None:
    """Attention of all layers in turn; per layer in the table. Below 60 MB of KV in all, the L2 cache holds it."""
    for batch, n, context in cells:
        if batch * context <= model.pools[0].shape[0]:
            q = random(batch * n, model.d.heads * model.d.head_dim, scale=1.0)
            table.measure(
                quantity,
                batch,
                n,
                context,
                lambda q=q, b=batch, c=context: model.attention(q, b, c, attend),
                model.d.layers,
            )


def eagle_passes(table: Table, model: Model, batches, context, passes=4) -> None:
    for batch in batches:
        feature = random(batch, model.d.hidden, scale=1.0)
        tokens = torch.randint(model.d.draft_vocabulary, (batch,), device=DEVICE)
        table.measure(
            "eagle3_pass",
            batch,
            1,
            context,
            lambda f=feature, t=tokens, b=batch: model.eagle_chain(f, t, b, context, passes),
            passes,
        )


def tune(model: Model, batch=64, context=1024) -> None:
    """Choose the decode kernel's blocks for each number of padded query rows, by time at one middling size."""
    d = model.d
    for n in (1, 5, 9):
        q = random(batch * n, d.heads * d.head_dim, scale=1.0)
        rows = max(16, triton.next_power_of_2(n * d.group))
        found = {}
        shapes = ((32, 4, 4), (64, 4, 2), (64, 4, 3), (64, 4, 4), (128, 4, 2), (128, 8, 3))
        for choice in [(*shape, programs) for shape in shapes for programs in (512, 1056)]:
            TUNED[rows] = choice
            try:
                found[choice] = statistics.median(times_ms(lambda q=q: model.attention(q, batch, context, decode), 5))
            except RuntimeError as error:
                print("tuning:", rows, choice, str(error)[:80], flush=True)
        TUNED[rows] = min(found, key=found.get)
        print("tuned:", rows, TUNED[rows], f"{found[TUNED[rows]]:.4f} ms, worst {max(found.values()):.4f}", flush=True)


def cross(batches, query_tokens, context):
    return [(batch, n, context) for batch in batches for n in query_tokens]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="small dimensions: checks that everything runs")
    parser.add_argument("--output", type=Path, help="CSV to write")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--deadline", type=float, default=520.0, help="seconds after which no measurement starts")
    args = parser.parse_args()
    torch.manual_seed(0)
    table = Table(args.output, 3 if args.tiny else args.repeats, time.monotonic() + args.deadline)
    with torch.inference_mode():
        measure_all(table, tiny=args.tiny)


def measure_all(table: Table, tiny: bool) -> None:
    batches = [1, 3] if tiny else [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256]
    some = [2] if tiny else [1, 8, 32, 64, 128, 256]
    query_tokens = [1, 3] if tiny else [1, 2, 3, 4, 5, 6, 9]
    tokens = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 512, 768, 1024, 2048]
    short, middle, long = (16, 32, 64) if tiny else (128, 1024, 4096)
    ceilings(table, 2**16 if tiny else 2**30, 256 if tiny else 8192)
    model = Model(TINY, 2048, 128) if tiny else Model(LLAMA_8B, 128 * 4096, 8192)
    check(model)
    if DEVICE == "cuda" and not tiny:
        tune(model)
        check(model)
    # The card is cold at first: work a little before the figures that matter.
    warm = random(64, model.d.hidden, scale=1.0)
    times_ms(lambda: model.forward(warm, 32, 2, middle // 8), 2 if tiny else 100)
    linears(table, model, tokens[:3] if tiny else tokens)
    loaded = (
        [(2, 3, middle)] if tiny else [(1, 1, middle), (32, 6, middle), (64, 1, middle), *cross([64, 128], [4], middle)]
    )
    power(table, model, tokens[:1] if tiny else [1, 64, 128, 192, 256, 320, 512, 1024, 2048], loaded)
    forwards(table, model, cross(batches, query_tokens, middle))
    eagle_passes(table, model, batches, middle)
    forwards(table, model, cross(batches, query_tokens, short))
    forwards(table, model, cross(some, query_tokens[::2], long))
    verify = [n for n in query_tokens if n > 1]
    for context in (middle, long):
        attentions(table, model, cross(some, query_tokens, context), "attention_decode", decode)
        attentions(table, model, cross(some, query_tokens, context), "attention_flash2_packed", packed)
        attentions(table, model, cross(some, verify, context), "attention_flash2_causal", causal)
    forwards(table, model, cross(some, verify, middle), "forward_flash2_causal", causal)
    if DEVICE == "cuda":
        few = cross(some, [query_tokens[0], query_tokens[-1]], middle)
        attentions(table, model, few, "attention_cudnn_packed", lambda q, cache, d: packed(q, cache, d, cudnn))


if __name__ == "__main__":
    main()
