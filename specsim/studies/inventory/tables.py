"""The catalogue as tables: names and the figures that tell entries apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from rich.table import Table

from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.read import catalogue, documents, layers
from specsim.inputs.read.grid import read_grid
from specsim.inputs.read.scenario import read_device, read_engine, read_model

Row = tuple[str, ...]


def catalogue_table(kind: str) -> Table:
    """The entries of hardware, engines, models, scenarios, grids, lengths, texts, measurements or steps."""
    columns, rows = _LISTINGS[kind]
    table = Table(*columns)
    for row in rows():
        table.add_row(*row)
    return table


def _hardware() -> Iterator[Row]:
    for name in catalogue.names("device"):
        device = read_device(name)
        yield (
            name,
            device.name,
            f"{device.memory.capacity / 2**30:.0f} GiB",
            f"{device.memory.bandwidth / 1e12:.4g} TB/s",
            f"{device.peak.bf16 / 1e12:.0f} TFLOP/s",
            device.sources["linear"].kind if "linear" in device.sources else "mixed",
        )


def _engines() -> Iterator[Row]:
    for name in catalogue.names("engine"):
        engine = read_engine(name)
        host = f"{1e3 * engine.host_time_per_step:g} ms"
        yield name, engine.name, engine.device or "any", host, str(engine.max_num_batched_tokens)


def _models() -> Iterator[Row]:
    for name in catalogue.names("model"):
        model = read_model(name)
        heads = f"{model.num_attention_heads}/{'latent' if model.kv_lora_rank else model.num_key_value_heads}"
        vocabulary = f"{model.logits_size} of {model.vocab_size}" if model.draft_vocab_size else str(model.vocab_size)
        parameters = "head" if model.num_hidden_layers == 1 else _size(model)
        yield name, parameters, str(model.num_hidden_layers), heads, vocabulary


def _size(model: ModelConfig) -> str:
    active = f", {model.active_parameters / 1e9:.1f} B active" if model.num_experts else ""
    return f"{model.num_parameters / 1e9:.2f} B{active}"


def _scenarios() -> Iterator[Row]:
    for name in catalogue.names("scenario"):
        path = catalogue.find("scenario", name, [], where="scenario", path="")
        yield name, str(layers.read_with_extends(path).data.get("description", ""))


def _grids() -> Iterator[Row]:
    for name in catalogue.names("grid"):
        grid = read_grid(name).grid
        yield name, f"{grid.size:,}", grid.scenario, grid.description


def _tables(kind: str) -> Iterator[Row]:
    for name in catalogue.names(kind):
        path = catalogue.find(kind, name, [], where=kind, path="")
        yield name, documents.read_text(path).splitlines()[0].lstrip("# ")


def _texts() -> Iterator[Row]:
    for name in catalogue.names("text"):
        text = documents.read_text(catalogue.find("text", name, [], where="text", path=""))
        yield name, f"{text[:60]}.. ({len(text.encode())} bytes)"


_LISTINGS: dict[str, tuple[Row, Callable[[], Iterator[Row]]]] = {
    "hardware": (("name", "device", "memory", "bandwidth", "BF16 dense", "efficiencies"), _hardware),
    "engines": (("name", "engine", "device", "host time per step", "tokens per step"), _engines),
    "models": (("name", "parameters", "layers", "heads/kv", "vocabulary"), _models),
    "scenarios": (("name", "description"), _scenarios),
    "grids": (("name", "cells", "scenario", "description"), _grids),
    "texts": (("name", "begins"), _texts),
    **{kind: (("name", "table"), partial(_tables, kind)) for kind in ("lengths", "measurements", "steps")},
}
