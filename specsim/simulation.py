"""The composition root: scenario inputs become objects and run. Knows no file formats and no statistics."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from specsim.costs.layers import Split
from specsim.costs.linear import Linear
from specsim.costs.memory import MemoryPlan, memory_plan
from specsim.costs.operator_tables import MeasuredProducts
from specsim.costs.passes import PassCost
from specsim.costs.roofline import Rates, device_rates
from specsim.costs.shapes import ForwardShape, drafter_shape, target_shape
from specsim.costs.step import StepCost
from specsim.drafting.acceptance import PositionAcceptance
from specsim.engine.replica import Serving
from specsim.engine.run import serve_closed_loop, serve_open_loop
from specsim.engine.speculator import Speculator
from specsim.errors import InfeasibleError, Problem, invalid
from specsim.policies.static import Static
from specsim.records import RunRecords
from specsim.rng import stream
from specsim.schema.load import Inputs
from specsim.schema.quantisation import KV_BYTES, Quantisation
from specsim.schema.scenario import Deployment
from specsim.schema.workload import ClosedLoop, FixedLengths, Load, QuantileLengths
from specsim.workload.arrivals import poisson_arrivals
from specsim.workload.lengths import Lengths, fixed_lengths, resampled_lengths, table_lengths
from specsim.workload.quantiles import read_table
from specsim.workload.traces import read_azure_trace


class Simulation:
    """A deployment under a workload, ready to run at any load, draft length and replication.

    Args:
        inputs: the scenario and what it refers to.

    Attributes:
        target, drafter: what their forward passes multiply.
        rates: what the device achieves.
        products: what times the target's matrix products; None for the roofline.
        step_cost: prices steps, by whether a drafter is loaded.
        memory: what fits the device, by whether a drafter is loaded.

    Raises:
        InputError: when the file of lengths is malformed.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        deployment, speculation = inputs.scenario.deployment, inputs.scenario.speculation
        self.target: ForwardShape = target_shape(
            inputs.target,
            split=_split(deployment, inputs.target_quantisation),
            exchange=deployment.expert_exchange,
            stages=deployment.pipeline_parallel,
        )
        self.drafter: ForwardShape = drafter_shape(
            speculation.drafter,
            inputs.drafter,
            split=_split(deployment, inputs.drafter_quantisation, speculation.drafter.tensor_parallel),
            exchange=deployment.expert_exchange,
        )
        self.rates: Rates = device_rates(inputs.device, ideal=deployment.ideal)
        self.products = _measured_products(inputs, self.rates) if deployment.costs == "aiconfigurator" else None
        self._sample_lengths = _lengths_sampler(inputs)
        # made when first asked for: a run without speculation never needs the drafter's, nor room for it
        self.step_cost = cache(self._make_step_cost)
        self.memory = cache(self._make_memory_plan)

    def run(
        self,
        load: Load,
        *,
        num_draft_tokens: int,
        num_requests: int,
        replication: int,
    ) -> RunRecords:
        """Simulate one run; the same arguments give the same records, byte for byte.

        Args:
            load: closed loop or Poisson arrivals.
            num_draft_tokens: draft tokens per verify; 0 runs without a drafter.
            num_requests: how many requests are sent.
            replication: names the streams of lengths, arrivals and luck; equal numbers are paired.

        Raises:
            InfeasibleError: when a request could never be served.
        """
        scenario, engine = self.inputs.scenario, self.inputs.engine
        lengths = self.lengths_checked(num_requests, num_draft_tokens, replication)
        speculating = num_draft_tokens > 0
        memory = self.memory(speculating)
        serving = Serving(
            max_num_seqs=engine.max_num_seqs,
            max_num_batched_tokens=engine.max_num_batched_tokens,
            kv_tokens=memory.kv_tokens,
            decode_only=scenario.workload.decode_only,
            cost=self.step_cost(speculating),
            drafter=scenario.speculation.drafter if speculating else None,
            policy=Static(num_draft_tokens),
            max_draft_tokens=num_draft_tokens,
            speculator=self._speculator(lengths, num_draft_tokens, replication),
            pool_tokens=partial(memory.pool_tokens, num_draft_tokens=num_draft_tokens),
        )
        if isinstance(load, ClosedLoop):
            return serve_closed_loop(serving, lengths, load.concurrency)
        rng = stream(scenario.seed, "arrivals", replication)
        return serve_open_loop(serving, lengths, poisson_arrivals(num_requests, load.rate, rng))

    def lengths(self, num_requests: int, replication: int) -> Lengths:
        """The lengths of the first requests of a replication."""
        return self._sample_lengths(num_requests, stream(self.inputs.scenario.seed, "lengths", replication))

    def acceptance_source(self, num_draft_tokens: int) -> PositionAcceptance:
        """What proposes drafts and scores them, the same in every replication."""
        acceptance = self.inputs.scenario.speculation.acceptance
        return PositionAcceptance(
            acceptance.conditional(num_draft_tokens),
            acceptance.vocabulary,
            stream(self.inputs.scenario.seed, "distributions"),
            acceptance.concentration,
        )

    def _speculator(self, lengths: Lengths, num_draft_tokens: int, replication: int) -> Speculator:
        speculation, seed = self.inputs.scenario.speculation, self.inputs.scenario.seed
        return Speculator(
            self.acceptance_source(num_draft_tokens),
            rule=speculation.rule,
            seed=seed,
            replication=replication,
            num_slots=min(self.inputs.engine.max_num_seqs, len(lengths.output)),
            num_positions=int(lengths.output.max()) + num_draft_tokens,
            max_draft_tokens=num_draft_tokens,
        )

    def _make_step_cost(self, speculating: bool) -> StepCost:
        deployment, engine = self.inputs.scenario.deployment, self.inputs.engine
        target, drafter = (
            PassCost(shape, self.inputs.device, ideal=deployment.ideal, products=self.products)
            for shape in (self.target, self.drafter)
        )
        return StepCost(target, drafter if speculating else None, None if deployment.ideal else engine)

    def _make_memory_plan(self, speculating: bool) -> MemoryPlan:
        return memory_plan(
            self.inputs.device,
            self.inputs.engine,
            self.target,
            self.drafter if speculating else None,
            where=str(self.inputs.files["scenario"]),
        )

    def lengths_checked(self, num_requests: int, num_draft_tokens: int, replication: int) -> Lengths:
        """``lengths``, unless one of the requests could never be served.

        Raises:
            InfeasibleError: naming what the longest request exceeds.
        """
        lengths = self.lengths(num_requests, replication)
        longest = int((lengths.prompt + lengths.output).max())
        where, problems = str(self.inputs.files["scenario"]), []
        memory, positions = self.memory(num_draft_tokens > 0), self.inputs.target.max_position_embeddings
        needed = memory.pool_tokens(longest + num_draft_tokens, num_draft_tokens)
        drafts = f" with its drafts ({longest} + {num_draft_tokens})" if num_draft_tokens else f" ({longest})"
        if needed > memory.kv_tokens:
            held = "" if needed == longest + num_draft_tokens else f", which takes the room of {needed}"
            remedy = (
                f"the KV pool holds {memory.kv_tokens} tokens, fewer than the longest request{drafts}{held}; use more "
                "devices, a larger device or shorter requests"
            )
            problems.append(Problem(where, "workload.lengths", f"{longest} tokens", remedy))
        if positions is not None and longest > positions:
            remedy = f"the target takes at most {positions} tokens (max_position_embeddings); use shorter requests"
            problems.append(Problem(where, "workload.lengths", f"{longest} tokens", remedy))
        if problems:
            raise InfeasibleError(problems)
        return lengths

    def on_the_roofline(self) -> list[Linear]:
        """Products that measured tables were asked for and do not surround, each once."""
        if self.products is None:
            return []
        products = [p for shape in (self.target, self.drafter) for p in (*shape.linears, shape.head, *shape.fusion)]
        return [p for p in {p._replace(repeats=1): None for p in products} if not self.products.covers(p)]


def _measured_products(inputs: Inputs, rates: Rates) -> MeasuredProducts:
    """The package's measurements of the device in the target's format."""
    from specsim.schema.operator_tables import measured_products  # loads pandas, which other runs do without

    form = inputs.target_quantisation.mlp
    table = measured_products(inputs.files["device"].stem, form.name)
    if table is None:
        remedy = f"no table holds products in {form.name}; write 'roofline'"
        raise invalid(str(inputs.files["scenario"]), "deployment.costs", "aiconfigurator", remedy)
    rows, outputs, widths, seconds = (table.rows[name].to_numpy() for name in ("rows", "outputs", "inputs", "seconds"))
    return MeasuredProducts(form, rows, outputs, widths, seconds, rates)


def _split(deployment: Deployment, quantisation: Quantisation, tensor_parallel: int | None = None) -> Split:
    """How a model is laid over devices; a drafter can have fewer of them than the target."""
    tensor = tensor_parallel or deployment.tensor_parallel
    expert = deployment.expert_parallel if tensor == deployment.tensor_parallel else 1
    return Split(tensor, expert, quantisation, KV_BYTES[deployment.kv_format])


def _lengths_sampler(inputs: Inputs) -> Callable[[int, np.random.Generator], Lengths]:
    """(number of requests, generator) → their lengths; the file they come from is read once."""
    stated, file = inputs.scenario.workload.lengths, inputs.lengths_file
    if isinstance(stated, FixedLengths):
        return lambda number, rng: fixed_lengths(number, stated.prompt_tokens, stated.output_tokens)
    if file is None:
        raise ValueError("lengths that are not fixed come with a file")
    if isinstance(stated, QuantileLengths):
        table = read_table(file)
        return lambda number, rng: table_lengths(number, table, rng)
    observed = read_azure_trace(file).lengths
    return lambda number, rng: resampled_lengths(number, observed, rng)
