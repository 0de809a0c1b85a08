"""No flag is accepted and then ignored: every field of deployment, speculation, workload and engine changes an output.

The fields are found by walking the input models. A field without a case fails here, so a new one has to come with a
change of it that shows, or be listed as documentation.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from pydantic import BaseModel

from specsim.errors import SpecsimError
from specsim.inputs.models.engine import AttentionUnderEngine, Engine, Graphs, Kernels, UnderFP8Cache
from specsim.inputs.models.fleet import Fleet
from specsim.inputs.models.scenario import Deployment
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.models.workload import Workload
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.fleet import simulation_of

DEMO, TREE = "llama3.1-8b-h100-eagle3", "llama3.1-8b-h100-eagle3-tree"
MTP, MIXTURE = "qwen3.5-35b-a3b-h200-mtp", "deepseek-r1-8xb200-mtp"
SHORT = (
    "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 24}",
    "workload.load.concurrency=6",
    "workload.num_requests=12",
)
MODEL = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
MEDUSA = "speculation.drafter={kind: medusa, num_heads: 4}"
NGRAM = "speculation.drafter={kind: ngram, host_time_per_step: 1 ms, host_time_per_sequence: 1 ms}"
BLOCK = "speculation.drafter={kind: block_parallel, model: eagle-llama-3.1-8b, block_size: 4, fused_layers: 5}"
BLOCK_LENGTHS = "curve.num_draft_tokens=[1, 2, 3]"
CONSTANT = "speculation.acceptance={kind: constant, overlap: 0.6}"
COUNTS = "speculation.acceptance={kind: counts, drafts: 50, accepted: [40, 30, 20]}"
MEAN = (
    "speculation.acceptance={kind: mean_length, mean_acceptance_length: 2.5, num_draft_tokens: 3, "
    "shape: minimum_variance}"
)
GEOMETRIC = MEAN.replace("minimum_variance", "geometric")
HARD = "speculation.acceptance.hard_stretches={share: 0.4, mean_length: 3, drop: 0.3}"
FALLING = "speculation.acceptance.by_context=[{tokens: 5, factor: 0.9}, {tokens: 120, factor: 0.2}]"
RECORDING = Path(__file__).parents[1] / "workload" / "recording.jsonl"
RECORDED = (
    f"speculation.acceptance={{kind: replay, file: '{RECORDING}', field: eagle}}",
    "speculation.temperature=0",
)
LANGUAGE_MODELS = (
    "speculation.acceptance={kind: ngram_models, text: declaration-of-independence, target_order: 2, drafter_order: 1}",
)
LICENCE = Path(__file__).parents[2] / "LICENSE"
THINK = "workload.load={kind: closed_loop, concurrency: 4, think_time: 1 s}"
GAMMA = "workload.load={kind: gamma, rate: 40 requests/s, cv: 2}"
POISSON, EQUAL_GAPS = (f"workload.load={{kind: {kind}, rate: 40 requests/s}}" for kind in ("poisson", "constant"))
PERIODS = "[{{duration: {}, rate: {} requests/s}}, {{duration: 1 s, rate: 9 requests/s}}]"
ON_OFF = f"workload.load={{kind: rate_profile, periods: {PERIODS.format('100 ms', 0)}}}"
UNIFORM = "workload.lengths={kind: uniform, prompt: [5, 50], output: [4, 20]}"
SPREAD = "{mean: 30, sd: 9, max: 50}"
TRACE = str(Path(__file__).parents[1] / "workload" / "small_trace.csv")
DOMAINS = f"workload.lengths={{kind: trace, file: '{Path(TRACE).with_name('trace_with_domains.csv')}'}}"
REPLAY = (f"workload.lengths={{kind: trace, file: '{TRACE}'}}", "workload.load={kind: replay}")
SHARED, KEPT = "workload.shared_prefix={tokens: 90, number: 1}", "deployment.prefix_caching=true"
TEXT, TEXTS = "{tokens: 50, number: 1}", "{tokens: 90, number: 9}"
FULL = "workload.lengths={kind: fixed, prompt_tokens: 100000, output_tokens: 300}"  # room for 4 of them
FIRST_CHUNK = {"admission": "first_chunk"}
SWAP = "deployment.swap={space: 1 GiB, bandwidth: 20 GB/s}"
PREFIXES = str(Path(__file__).parent / "shared_prefixes.jsonl")
BY_PREFIX = (
    f"workload.lengths={{kind: trace, file: '{PREFIXES}'}}",
    "workload.load={kind: replay}",
    "workload.num_requests=32",
    "fleet={replicas: 3, router: {kind: prefix_aware, balance_abs_threshold: 0}}",
)
APART = "fleet={disaggregation: {prefill: 1, decode: 2, kv_transfer: {bandwidth: 10 GB/s}}}"
TWO = ("deployment.num_devices=2", "deployment.tensor_parallel=2")
SLOWER = ("speculation.drafter.time_factor=1.5",)
OFF = "speculation.policy={kind: off_above, num_draft_tokens: 3, batch: 6}"
OFF_AT_4 = "speculation.policy={kind: off_above, num_draft_tokens: 3, batch: 4}"
GOODPUT = "speculation.policy={kind: goodput, num_draft_tokens: 5}"
PER_REQUEST = "speculation.policy={kind: per_request, num_draft_tokens: 5, start: 3}"
CONFIDENCE = "speculation.policy={kind: confidence, num_draft_tokens: 5, threshold: 0.05}"
VARIED = "workload.lengths={kind: quantiles, table: azure-2023-conversation}"
BY_CONTEXT = (
    "speculation.policy={kind: schedule, table: [{batch: [1, null], context: [0, 110], num_draft_tokens: 3}, "
    "{batch: [1, null], context: [110, null], num_draft_tokens: 2}]}"
)
GRAPHS = Graphs(sizes=(64,), eager_time_per_layer="1 ms", piecewise_time_per_layer="1 ms")


@dataclass(frozen=True)
class Case:
    """A scenario, and what is changed in it."""

    change: tuple[str, ...] = ()
    scenario: str = DEMO
    base: tuple[str, ...] = ()
    engine: dict[str, Any] = field(default_factory=dict)
    engine_base: dict[str, Any] = field(default_factory=dict)


def engine(base=None, **change):
    return Case(engine=change, engine_base=base or {})


def row(batch, num_draft_tokens):
    """A schedule with this row; no drafts beyond."""
    following = int(batch.split(",")[1].strip(" ]")) + 1
    first = f"{{batch: {batch}, num_draft_tokens: {num_draft_tokens}}}"
    rest = f"{{batch: [{following}, null], num_draft_tokens: 0}}"
    return f"speculation.policy={{kind: schedule, table: [{first}, {rest}]}}"


def kernels(block, **figures):
    return engine(kernels=Kernels.model_validate({block: figures}))


LINEAR = {
    "launch": "9 us",
    "compute_efficiency": 0.3,
    "bandwidth_efficiency": 0.3,
    "sharpness": 1.0,
    "row_tile": [128, 128],
}


def fp8_cache(**figures):
    return Case(base=("deployment.kv_format=fp8",), engine={"fp8_cache": UnderFP8Cache.model_validate(figures)})


def spread(kind):
    return f"workload.lengths={{kind: {kind}, prompt: {SPREAD}, output: {SPREAD}}}"


OTHER_GROUPS = ("fleet.disaggregation.prefill.deployment", "fleet.disaggregation.decode.deployment")
OF_A_CLASS = ("workload.mixture.lengths", "workload.mixture.acceptance", "workload.domains")


def mixture(share, priority=0):
    long = "{kind: fixed, prompt_tokens: 300, output_tokens: 30}"
    return f"[{{share: {share}, priority: {priority}}}, {{share: {1 - share}, lengths: {long}}}]"


def two_groups(deployment="{}", policy=None):
    """A replica as the deployment has it, and one with changes."""
    policies = f", policy: {policy}" if policy else ""
    return f"fleet.replicas=[{{count: 1}}, {{deployment: {deployment}{policies}}}]"


# path → a change of it; a drafter's fields are told apart by its kind
CASES = {
    "deployment.device": Case(("deployment.device=h200",)),
    "deployment.num_devices": Case(("deployment.num_devices=2",)),
    "deployment.tensor_parallel": Case(TWO),
    "deployment.expert_parallel": Case(("deployment.expert_parallel=8",), MIXTURE),
    "deployment.expert_exchange": Case(("deployment.expert_exchange=all_to_all",), MIXTURE),
    "deployment.pipeline_parallel": Case(("deployment.num_devices=2", "deployment.pipeline_parallel=2")),
    "deployment.target": Case(("deployment.target=qwen3-8b",), base=(MEDUSA,)),
    "deployment.weight_format": Case(("deployment.weight_format=fp8",)),
    "deployment.quantised_matrices": Case(
        ("deployment.quantised_matrices=mlp",), base=("deployment.weight_format=fp8",)
    ),
    "deployment.kv_format": Case(("deployment.kv_format=fp8",)),
    "deployment.prefix_caching": Case(("deployment.prefix_caching=true",), base=(SHARED,)),
    "deployment.swap.space": Case(("deployment.swap.space=100 GiB",), base=(FULL, SWAP), engine_base=FIRST_CHUNK),
    "deployment.swap.bandwidth": Case(
        ("deployment.swap.bandwidth=9 GB/s",), base=(FULL, SWAP.replace("1 GiB", "99 GiB")), engine_base=FIRST_CHUNK
    ),
    "deployment.engine": Case(("deployment.engine=ideal",)),
    "deployment.ideal": Case(("deployment.ideal=true",)),
    "speculation.drafter[draft_model].model": Case(("speculation.drafter.model=llama-3.1-8b",), base=(MODEL,)),
    "speculation.drafter[draft_model].vocabulary_map": Case(
        ("speculation.drafter.vocabulary_map=none",),
        base=("speculation.drafter={kind: draft_model, model: qwen3-0.6b, vocabulary_map: prefix}",),
    ),
    "speculation.drafter[draft_model].weight_format": Case(("speculation.drafter.weight_format=fp8",), base=(MODEL,)),
    "speculation.drafter[draft_model].tensor_parallel": Case(
        ("speculation.drafter.tensor_parallel=1",), base=(MODEL, *TWO)
    ),
    "speculation.drafter[draft_model].time_factor": Case(SLOWER, base=(MODEL,)),
    "speculation.drafter[eagle].model": Case(("speculation.drafter.model=eagle-llama-3.1-8b",)),
    "speculation.drafter[eagle].generation": Case(("speculation.drafter.generation=eagle",)),
    "speculation.drafter[eagle].vocabulary_map": Case(("speculation.drafter.vocabulary_map=none",)),
    "speculation.drafter[eagle].weight_format": Case(("speculation.drafter.weight_format=fp8",)),
    "speculation.drafter[eagle].tensor_parallel": Case(("speculation.drafter.tensor_parallel=1",), base=TWO),
    "speculation.drafter[eagle].time_factor": Case(SLOWER),
    "speculation.drafter[mtp].weight_format": Case(("speculation.drafter.weight_format=fp8",), MTP),
    "speculation.drafter[mtp].tensor_parallel": Case(("speculation.drafter.tensor_parallel=1",), MTP, TWO),
    "speculation.drafter[mtp].time_factor": Case(SLOWER, MTP),
    "speculation.drafter[medusa].num_heads": Case(("speculation.drafter.num_heads=5",), base=(MEDUSA,)),
    "speculation.drafter[medusa].num_layers": Case(("speculation.drafter.num_layers=2",), base=(MEDUSA,)),
    "speculation.drafter[medusa].weight_format": Case(("speculation.drafter.weight_format=fp8",), base=(MEDUSA,)),
    "speculation.drafter[medusa].tensor_parallel": Case(
        ("speculation.drafter.tensor_parallel=1",), base=(MEDUSA, *TWO)
    ),
    "speculation.drafter[medusa].time_factor": Case(SLOWER, base=(MEDUSA,)),
    "speculation.drafter[block_parallel].model": Case(
        ("speculation.drafter.model=llama-3.1-8b",), base=(BLOCK, BLOCK_LENGTHS)
    ),
    "speculation.drafter[block_parallel].block_size": Case(
        ("speculation.drafter.block_size=8",), base=(BLOCK, BLOCK_LENGTHS)
    ),
    "speculation.drafter[block_parallel].fused_layers": Case(
        ("speculation.drafter.fused_layers=1",), base=(BLOCK, BLOCK_LENGTHS)
    ),
    "speculation.drafter[block_parallel].weight_format": Case(
        ("speculation.drafter.weight_format=fp8",), base=(BLOCK, BLOCK_LENGTHS)
    ),
    "speculation.drafter[block_parallel].tensor_parallel": Case(
        ("speculation.drafter.tensor_parallel=1",), base=(BLOCK, BLOCK_LENGTHS, *TWO)
    ),
    "speculation.drafter[block_parallel].time_factor": Case(SLOWER, base=(BLOCK, BLOCK_LENGTHS)),
    "speculation.drafter[block_parallel].sequential_correction.rank": Case(
        ("speculation.drafter.sequential_correction.rank=512",),
        base=(BLOCK, "speculation.drafter.sequential_correction.rank=256", BLOCK_LENGTHS),
    ),
    "speculation.drafter[ngram].host_time_per_step": Case(
        ("speculation.drafter.host_time_per_step=2 ms",), base=(NGRAM,)
    ),
    "speculation.drafter[ngram].host_time_per_sequence": Case(
        ("speculation.drafter.host_time_per_sequence=2 ms",), base=(NGRAM,)
    ),
    "speculation.drafter[ngram].found": Case(("speculation.drafter.found=0.5",), base=(NGRAM,)),
    "speculation.drafter[ngram].matched_lengths": Case(
        ("speculation.drafter.matched_lengths=[1, 0.5]",), base=(NGRAM,)
    ),
    "speculation.drafts": Case(("speculation.drafts=argmax",), base=(CONSTANT,)),
    "speculation.verifier": Case(("speculation.verifier=block",), base=(CONSTANT,)),
    "speculation.tree.branching": Case(("speculation.tree.branching=[2, 1, 1, 1, 1]",), TREE),
    "speculation.tree.siblings": Case(("speculation.tree.siblings=with_replacement",), TREE),
    "speculation.acceptance[counts].drafts": Case(("speculation.acceptance.drafts=100",), base=(COUNTS,)),
    "speculation.acceptance[counts].accepted": Case(("speculation.acceptance.accepted=[40, 9, 2]",), base=(COUNTS,)),
    "speculation.acceptance[counts].vocabulary": Case(("speculation.acceptance.vocabulary=8",), base=(COUNTS,)),
    "speculation.acceptance[counts].concentration": Case(
        ("speculation.acceptance.concentration=9",), base=(COUNTS, "speculation.verifier=block")
    ),
    "speculation.acceptance[constant].overlap": Case(("speculation.acceptance.overlap=0.7",), base=(CONSTANT,)),
    "speculation.acceptance[constant].vocabulary": Case(("speculation.acceptance.vocabulary=8",), base=(CONSTANT,)),
    "speculation.acceptance[constant].concentration": Case(
        ("speculation.acceptance.concentration=0.2",), base=(CONSTANT, "speculation.verifier=block")
    ),
    "speculation.acceptance[profile].basis": Case(("speculation.acceptance.basis=conditional",)),
    "speculation.acceptance[profile].values": Case(("speculation.acceptance.values=[0.9, 0.8]",)),
    "speculation.acceptance[profile].vocabulary": Case(("speculation.acceptance.vocabulary=8",)),
    "speculation.acceptance[profile].concentration": Case(
        ("speculation.acceptance.concentration=0.2",), base=("speculation.verifier=block",)
    ),
    "speculation.acceptance[mean_length].mean_acceptance_length": Case(
        ("speculation.acceptance.mean_acceptance_length=1.5",), base=(MEAN,)
    ),
    "speculation.acceptance[mean_length].num_draft_tokens": Case(
        ("speculation.acceptance.num_draft_tokens=8", "speculation.acceptance.shape=geometric"),
        base=(MEAN, "speculation.acceptance.shape=geometric"),
    ),
    "speculation.acceptance[mean_length].shape": Case(("speculation.acceptance.shape=geometric",), base=(MEAN,)),
    "speculation.acceptance[mean_length].vocabulary": Case(("speculation.acceptance.vocabulary=8",), base=(MEAN,)),
    "speculation.acceptance[mean_length].concentration": Case(
        ("speculation.acceptance.concentration=0.2",), base=(MEAN, "speculation.verifier=block")
    ),
    **{
        f"speculation.acceptance[{kind}].{name}": Case((f"speculation.acceptance.{key}={value}",), base=(*base, *more))
        for kind, base in (
            ("constant", (CONSTANT,)),
            ("profile", ()),
            ("counts", (COUNTS,)),
            ("mean_length", (GEOMETRIC,)),
        )
        for name, key, value, more in (
            ("spread", "spread", 0.2, ()),
            ("hard_stretches.share", "hard_stretches.share", 0.5, (HARD,)),
            ("hard_stretches.mean_length", "hard_stretches.mean_length", 9, (HARD,)),
            ("hard_stretches.drop", "hard_stretches.drop", 0.1, (HARD,)),
            ("by_context.tokens", "by_context", "[{tokens: 5, factor: 0.9}, {tokens: 105, factor: 0.2}]", (FALLING,)),
            ("by_context.factor", "by_context", "[{tokens: 5, factor: 0.9}, {tokens: 120, factor: 0.6}]", (FALLING,)),
        )
    },
    "speculation.acceptance[profile].by_num_draft_tokens": Case(
        ("speculation.acceptance.by_num_draft_tokens={3: [0.9, 0.8, 0.7]}",)
    ),
    "speculation.acceptance[replay].file": Case(
        (f"speculation.acceptance.file='{RECORDING.with_name('other_recording.jsonl')}'",), base=RECORDED
    ),
    "speculation.acceptance[replay].field": Case(("speculation.acceptance.field=ngram",), base=RECORDED),
    **{
        f"speculation.acceptance[ngram_models].{name}": Case(
            (f"speculation.acceptance.{name}={value}",), base=LANGUAGE_MODELS
        )
        for name, value in (
            ("text", f"'{LICENCE}'"),
            ("unit", "word"),
            ("vocabulary", 8),
            ("target_order", 3),
            ("drafter_order", 2),
            ("interpolation", 0.5),
            ("top_p", 0.5),
            ("drafter_temperature", 2),
        )
    },
    "speculation.policy[static].num_draft_tokens": Case(("speculation.policy.num_draft_tokens=4",)),
    "speculation.policy[off_above].num_draft_tokens": Case(("speculation.policy.num_draft_tokens=4",), base=(OFF,)),
    "speculation.policy[off_above].batch": Case(("speculation.policy.batch=5",), base=(OFF,)),
    "speculation.policy[off_above].resume_at": Case(("speculation.policy.resume_at=1",), base=(OFF_AT_4, VARIED)),
    "speculation.policy[schedule].table.batch": Case((row("[1, 5]", 3),), base=(row("[1, 6]", 3),)),
    "speculation.policy[schedule].table.num_draft_tokens": Case((row("[1, 6]", 2),), base=(row("[1, 6]", 3),)),
    "speculation.policy[schedule].table.context": Case((BY_CONTEXT,), base=(row("[1, 6]", 3),)),
    "speculation.policy[schedule].num_speculative_tokens_per_batch_size": Case(
        ("speculation.policy.num_speculative_tokens_per_batch_size={1-9: 2}",),
        base=("speculation.policy={kind: schedule, num_speculative_tokens_per_batch_size: {1-9: 3}}",),
    ),
    "speculation.policy[schedule].draft_len_schedule": Case(
        ("speculation.policy.draft_len_schedule={9: 2}",),
        base=("speculation.policy={kind: schedule, draft_len_schedule: {9: 3}}",),
    ),
    "speculation.policy[goodput].num_draft_tokens": Case(("speculation.policy.num_draft_tokens=2",), base=(GOODPUT,)),
    "speculation.policy[goodput].initial_acceptance": Case(
        ("speculation.policy.initial_acceptance=0.1",), base=(GOODPUT,)
    ),
    "speculation.policy[goodput].half_life": Case(("speculation.policy.half_life=1",), base=(GOODPUT,)),
    "speculation.policy[per_request].num_draft_tokens": Case(
        ("speculation.policy.num_draft_tokens=4",), base=(PER_REQUEST,)
    ),
    "speculation.policy[per_request].start": Case(("speculation.policy.start=1",), base=(PER_REQUEST,)),
    "speculation.policy[confidence].num_draft_tokens": Case(
        ("speculation.policy.num_draft_tokens=2",), base=(CONFIDENCE,)
    ),
    "speculation.policy[confidence].threshold": Case(("speculation.policy.threshold=0.3",), base=(CONFIDENCE,)),
    "speculation.policy[oracle].num_draft_tokens": Case(
        ("speculation.policy.num_draft_tokens=2",), base=("speculation.policy={kind: oracle, num_draft_tokens: 5}",)
    ),
    "speculation.temperature": Case(("speculation.temperature=0",), base=(CONSTANT,)),
    **{
        f"workload.{path}": Case((f"workload.{key}={value}",), base=base)
        for path, key, value, base in (
            ("lengths[fixed].prompt_tokens", "lengths.prompt_tokens", 40, ()),
            ("lengths[fixed].output_tokens", "lengths.output_tokens", 7, ()),
            ("lengths[uniform].prompt", "lengths.prompt", "[5, 9]", (UNIFORM,)),
            ("lengths[uniform].output", "lengths.output", "[5, 9]", (UNIFORM,)),
            *(
                (f"lengths[{kind}].{part}.{name}", f"lengths.{part}.{name}", value, (spread(kind),))
                for kind in ("normal", "lognormal")
                for part in ("prompt", "output")
                for name, value in (("mean", 40), ("sd", 2), ("min", 30), ("max", 33))
            ),
            ("lengths[quantiles].table", "lengths", "{kind: quantiles, table: azure-2023-conversation}", ()),
            ("lengths[trace].file", "lengths", f"{{kind: trace, file: '{TRACE}'}}", ()),
            ("load[closed_loop].concurrency", "load.concurrency", 3, ()),
            ("load[closed_loop].think_time", "load.think_time", "2 s", (THINK,)),
            ("load[closed_loop].think_cv", "load.think_cv", 0, (THINK,)),
            ("load[poisson].rate", "load.rate", "9 requests/s", (POISSON,)),
            ("load[gamma].rate", "load.rate", "9 requests/s", (GAMMA,)),
            ("load[gamma].cv", "load.cv", 3, (GAMMA,)),
            ("load[constant].rate", "load.rate", "9 requests/s", (EQUAL_GAPS,)),
            ("load[rate_profile].periods.duration", "load.periods", PERIODS.format("200 ms", 0), (ON_OFF,)),
            ("load[rate_profile].periods.rate", "load.periods", PERIODS.format("100 ms", 5), (ON_OFF,)),
            ("load[replay].speed", "load.speed", 3, REPLAY),
            ("num_requests", "num_requests", 9, ()),
            ("mixture.share", "mixture", mixture(0.5), (f"workload.mixture={mixture(0.2)}",)),
            ("decode_only", "decode_only", "true", ()),
            ("shared_prefix.tokens", "shared_prefix.tokens", 60, (SHARED, KEPT)),
            ("shared_prefix.number", "shared_prefix.number", 9, (SHARED, KEPT)),
            ("mixture.shared_prefix.tokens", "mixture", f"[{{share: 1.0, shared_prefix: {TEXT}}}]", (SHARED, KEPT)),
            ("mixture.shared_prefix.number", "mixture", f"[{{share: 1.0, shared_prefix: {TEXTS}}}]", (SHARED, KEPT)),
        )
    },
    # with room for two, the others wait, and go by their priority
    "workload.mixture.acceptance": Case(
        ("workload.mixture=[{share: 1.0, acceptance: {kind: constant, overlap: 0.3}}]",),
        base=("workload.mixture=[{share: 1.0, acceptance: {kind: constant, overlap: 0.6}}]",),
    ),
    "workload.mixture.temperature": Case(
        ("workload.mixture=[{share: 1.0, temperature: 0}]",), base=("workload.mixture=[{share: 1.0}]", CONSTANT)
    ),
    "workload.domains": Case(("workload.domains={1: {kind: constant, overlap: 0.3}}",), base=(DOMAINS, CONSTANT)),
    "workload.mixture.priority": Case(
        (f"workload.mixture={mixture(0.5, 1)}",),
        base=(f"workload.mixture={mixture(0.5)}",),
        engine_base={"max_num_seqs": 2, "speculation_max_num_seqs": 2},
        engine={"max_num_seqs": 2},
    ),
    "engine.max_num_seqs": engine(max_num_seqs=2),
    "engine.max_num_batched_tokens": engine(max_num_batched_tokens=64),
    "engine.speculation_max_num_seqs": engine(speculation_max_num_seqs=2),
    "engine.speculation_max_num_batched_tokens": engine(speculation_max_num_batched_tokens=64),
    "engine.scheduling": engine(scheduling="prompts_first"),
    "engine.whole_prompts": engine(base={"max_num_batched_tokens": 150}, whole_prompts=True),
    "engine.admission": Case(base=(FULL,), engine=FIRST_CHUNK),
    "engine.block_size": engine(block_size=1),
    "engine.memory_fraction": engine(memory_fraction=0.5),
    "engine.activation_reserve": engine(activation_reserve=1e10),
    "engine.host_time_per_step": engine(host_time_per_step=1e-2),
    "engine.host_time_per_sequence": engine(host_time_per_sequence=1e-2),
    "engine.host_time_per_draft_pass": engine(host_time_per_draft_pass=1e-2),
    "engine.host_time_per_draft_pass_of": engine(host_time_per_draft_pass_of={"eagle3": 1e-2}),
    "engine.host_time_per_verified_row": engine(host_time_per_verified_row=1e-2),
    "engine.first_draft_pass": engine({"first_draft_pass": None}, first_draft_pass="verified"),
    # Medusa heads take no prompts in, so steps of prompts alone run no draft pass
    "engine.host_time_when_idle_drafter": Case(base=(MEDUSA,), engine={"host_time_when_idle_drafter": 1e-2}),
    "engine.verify_attention_factor": engine(verify_attention_factor=2.0),
    "engine.graphs.sizes": engine({"graphs": GRAPHS}, graphs=GRAPHS.model_copy(update={"sizes": (2048,)})),
    "engine.graphs.eager_time_per_layer": engine(
        {"graphs": GRAPHS}, graphs=GRAPHS.model_copy(update={"eager_time_per_layer": 2e-3})
    ),
    "engine.graphs.piecewise_time_per_layer": engine(
        {"graphs": GRAPHS.model_copy(update={"sizes": (2048,)})},
        graphs=GRAPHS.model_copy(update={"sizes": (2048,), "piecewise_time_per_layer": 2e-3}),
    ),
    **{f"engine.kernels.linear.{name}": kernels("linear", **{name: value}) for name, value in LINEAR.items()},
    **{
        f"engine.kernels.linear_by_precision.{name}": Case(
            base=("deployment.weight_format=w4a16",),
            engine={"kernels": Kernels.model_validate({"linear_by_precision": {"w4a16": {name: value}}})},
        )
        for name, value in LINEAR.items()
    },
    **{
        f"engine.fp8_cache.attention.{name}": fp8_cache(attention={name: value})
        for name, value in zip(AttentionUnderEngine.model_fields, ("90 us", "1 us", 0.3, 0.3, 4.0, "0 us"), strict=True)
    },
    "engine.fp8_cache.verify_attention_factor": fp8_cache(verify_attention_factor=2.0),
    "engine.fp8_cache.host_time_per_verify": fp8_cache(host_time_per_verify="9 ms"),
    "engine.host_time_per_verify": engine(host_time_per_verify=1e-2),
    "engine.fused_quantisation": Case(
        base=("deployment.weight_format=fp8",),
        engine_base={"fused_quantisation": None},
        engine={"fused_quantisation": True},
    ),
    **{
        f"engine.kernels.attention.{name}": kernels("attention", **{name: value})
        for name, value in zip(AttentionUnderEngine.model_fields, ("90 us", "1 us", 0.3, 0.3, 4.0, "0 us"), strict=True)
    },
    "fleet.replicas.count": Case(("fleet.replicas=[{count: 2}]",), base=("fleet.replicas=[{count: 1}]",)),
    "fleet.replicas.policy": Case((two_groups(policy="{num_draft_tokens: 0}"),), base=(two_groups(),)),
    **{
        f"fleet.replicas.deployment.{name}": Case((two_groups(f"{{{change}}}"),), DEMO, (two_groups(),))
        for name, change in (
            ("device", "device: h200"),
            ("tensor_parallel", "num_devices: 2, tensor_parallel: 2"),
            ("pipeline_parallel", "num_devices: 2, pipeline_parallel: 2"),
            ("num_devices", "num_devices: 2"),
            ("engine", "engine: ideal"),
        )
    },
    "fleet.replicas.deployment.expert_parallel": Case((two_groups("{expert_parallel: 8}"),), MIXTURE, (two_groups(),)),
    "fleet.disaggregation.prefill.count": Case(("fleet.disaggregation.prefill=[{count: 2}]",), base=(APART,)),
    "fleet.disaggregation.decode.count": Case(("fleet.disaggregation.decode=[{count: 1}]",), base=(APART,)),
    "fleet.disaggregation.kv_transfer.bandwidth": Case(
        ("fleet.disaggregation.kv_transfer.bandwidth=1 GB/s",), base=(APART,)
    ),
    "fleet.disaggregation.kv_transfer.latency": Case(("fleet.disaggregation.kv_transfer.latency=9 ms",), base=(APART,)),
    "fleet.router[prefix_aware].cache_threshold": Case(("fleet.router.cache_threshold=0.9",), base=BY_PREFIX),
    "fleet.router[prefix_aware].balance_abs_threshold": Case(
        ("fleet.router.balance_abs_threshold=64",), base=BY_PREFIX
    ),
    "fleet.router[prefix_aware].balance_rel_threshold": Case(
        ("fleet.router.balance_rel_threshold=9",), base=(*BY_PREFIX, "workload.load.speed=20")
    ),
    "engine.kernels.elementwise.launch": kernels("elementwise", launch="9 us"),
}
# what these say is checked against other inputs, and a wrong value is an error
REFUSED = {
    "deployment.num_devices",
    "fleet.replicas.deployment.num_devices",
    "speculation.drafter[draft_model].vocabulary_map",
    "speculation.drafter[eagle].vocabulary_map",
}
DOCUMENTATION = {
    "speculation.drafter[ngram].source",
    "speculation.acceptance[constant].source",
    "speculation.acceptance[profile].source",
    "speculation.acceptance[counts].source",
    "speculation.acceptance[mean_length].source",
    "speculation.acceptance[replay].source",
    "speculation.acceptance[ngram_models].source",
    "engine.name",
    "engine.sources",
    # needs a package that tests do without; what it changes is in costs/test_operator_tables.py
    "deployment.costs",
    # how a file is read, in workload/test_trace_formats.py
    "workload.lengths[trace].format",
    # which device a calibrated profile belongs to; another one is refused (invalid/profile_of_another_device.yaml)
    "engine.device",
    # which profile is taken in its place by `specsim validate --general`
    "engine.general",
    # become the limits when both files are read, in inputs/test_hardware_files.py
    *(f"engine.on_small_devices.{name}" for name in ("below", "names", "max_num_seqs", "max_num_batched_tokens")),
    # what is warned of, in costs/test_extrapolation.py
    "engine.measured_range.step_tokens",
    "engine.measured_range.requests",
    "engine.measured_range.context_tokens",
}


def leaves(model: type[BaseModel], path: str) -> Iterator[str]:
    """Every field of a model that is not a model itself; one of several models goes by its kind."""
    for name, info in model.model_fields.items():
        inner = [found for found in models(info.annotation) if "sources" not in name]
        for found in inner:
            kind = kind_of(found)
            yield from leaves(found, f"{path}.{name}[{kind}]" if len(inner) > 1 else f"{path}.{name}")
        if not inner and not (name == "kind" and kind_of(model)):
            yield f"{path}.{name}"


def models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    arguments = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return [found for argument in arguments for found in models(argument)]


def kind_of(model: type[BaseModel]) -> str | None:
    info = model.model_fields.get("kind")
    choices = get_args(info.annotation) if info and get_origin(info.annotation) is Literal else ()
    return choices[0] if len(choices) == 1 else None


WALKED = [
    *leaves(Deployment, "deployment"),
    *leaves(Speculation, "speculation"),
    *leaves(Engine, "engine"),
    # a group's policies are those of the whole, walked there, and groups are alike in all pools
    *(path for path in leaves(Fleet, "fleet") if ".policy[" not in path and not path.startswith(OTHER_GROUPS)),
    "fleet.replicas.policy",
    # the lengths and the acceptance of a class are those of the whole, walked there
    *(path for path in leaves(Workload, "workload") if not path.startswith(OF_A_CLASS)),
    "workload.mixture.acceptance",
    "workload.domains",
]


def test_every_field_has_a_case_and_every_case_a_field():
    assert len(set(WALKED)) == len(WALKED)
    assert not set(CASES) & DOCUMENTATION
    missing, stray = set(WALKED) - set(CASES) - DOCUMENTATION, (set(CASES) | DOCUMENTATION) - set(WALKED)
    assert not missing, f"add a change of them that shows, or list them as documentation: {sorted(missing)}"
    assert not stray


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES)
def test_a_field_changes_some_output(path):
    case = CASES[path]
    before = outcome(case, (), {})
    after = outcome(case, case.change, case.engine)
    assert not before.startswith("refused")
    assert after != before
    assert after.startswith("refused") == (path in REFUSED), after


def outcome(case: Case, change: tuple[str, ...], engine: dict[str, Any]) -> str:
    """Everything a run leaves and the memory it runs in, or why it is refused."""
    try:
        inputs = load_scenario(case.scenario, [*SHORT, *case.base, *change])
    except SpecsimError as error:
        return f"refused: {error}"
    altered = inputs.engine.model_copy(update=case.engine_base | engine)
    simulation = simulation_of(replace(inputs, engine=altered))
    workload, policy = inputs.scenario.workload, inputs.scenario.speculation.policy
    records = simulation.run(
        workload.load,
        num_draft_tokens=policy.num_draft_tokens,
        num_requests=workload.num_requests,
        replication=0,
        policy=policy,
    )
    digest = hashlib.sha256(repr([simulation.memory(True).kv_tokens, simulation.memory(True).weights]).encode())
    for table in (records.requests, records.steps, records.rounds):
        for column in fields(table):
            digest.update(repr(getattr(table, column.name) is None).encode())
            digest.update(np.ascontiguousarray(getattr(table, column.name)).tobytes())
    return digest.hexdigest()


def test_the_outcome_is_the_same_where_nothing_changes():
    """Else any change would show."""
    case = CASES["speculation.temperature"]
    assert outcome(case, (), {}) == outcome(case, (), {})
    assert outcome(case, ("speculation.acceptance.source=elsewhere",), {}) == outcome(case, (), {})


def test_a_new_field_without_a_case_would_be_missed():
    class Another(Deployment):
        overlap_batches: bool = False

    class Loud(Speculation):
        """A speculation with a part of its own."""

        extra: Another | None = None

    assert set(leaves(Another, "deployment")) - set(WALKED) == {"deployment.overlap_batches"}
    found = set(leaves(Loud, "speculation")) - set(WALKED)
    assert "speculation.extra.overlap_batches" in found
