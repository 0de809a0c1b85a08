"""What target and drafter of a scenario multiply, on its devices and whole."""

from __future__ import annotations

from specsim.costs.layers import Parallelism
from specsim.costs.operator_tables import MeasuredProducts
from specsim.costs.roofline import Rates
from specsim.costs.shapes import ForwardShape, drafter_shape, target_shape
from specsim.errors import invalid
from specsim.inputs.checkpoints.quantisation import KV_BYTES, Quantisation
from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.scenario import Deployment
from specsim.inputs.read.scenario import Inputs


def deployed_target(inputs: Inputs) -> ForwardShape:
    """One device's share of the target."""
    deployment = inputs.scenario.deployment
    return target_shape(
        inputs.target,
        parallelism=_parallelism(deployment, inputs.target_quantisation),
        exchange=deployment.expert_exchange,
        stages=deployment.pipeline_parallel,
    )


def deployed_drafter(inputs: Inputs) -> ForwardShape | None:
    """One device's share of the drafter; None where no model drafts."""
    deployment, drafter = inputs.scenario.deployment, inputs.scenario.speculation.drafter
    if isinstance(drafter, NgramLookup) or inputs.drafter is None:
        return None
    return drafter_shape(
        drafter,
        inputs.drafter,
        parallelism=_parallelism(deployment, inputs.drafter_quantisation, drafter.tensor_parallel),
        exchange=deployment.expert_exchange,
    )


def _parallelism(deployment: Deployment, quantisation: Quantisation, tensor_parallel: int | None = None) -> Parallelism:
    """How a model is laid over devices; a drafter can have fewer of them than the target."""
    tensor = tensor_parallel or deployment.tensor_parallel
    expert = deployment.expert_parallel if tensor == deployment.tensor_parallel else 1
    return Parallelism(tensor, expert, quantisation, KV_BYTES[deployment.kv_format])


def whole_shapes(inputs: Inputs, speculating: bool) -> tuple[ForwardShape, ...]:
    """Target, and drafter where one is loaded, as one device would hold them."""
    kv_bytes, drafter = KV_BYTES[inputs.scenario.deployment.kv_format], inputs.scenario.speculation.drafter
    whole = Parallelism(quantisation=inputs.target_quantisation, kv_bytes=kv_bytes)
    target = target_shape(inputs.target, parallelism=whole)
    if not speculating or isinstance(drafter, NgramLookup) or inputs.drafter is None:
        return (target,)
    whole = whole._replace(quantisation=inputs.drafter_quantisation)
    return target, drafter_shape(drafter, inputs.drafter, parallelism=whole)


def product_times(inputs: Inputs, rates: Rates) -> MeasuredProducts:
    """The package's measurements of the device in the target's format."""
    from specsim.inputs.measured.operator_tables import measured_products  # loads pandas, which other runs do without

    form = inputs.target_quantisation.mlp
    table = measured_products(inputs.files["device"].stem, form.name)
    if table is None:
        remedy = f"no table holds products in {form.name}; write 'roofline'"
        raise invalid(str(inputs.files["scenario"]), "deployment.costs", "aiconfigurator", remedy)
    rows, outputs, widths, seconds = (table.rows[name].to_numpy() for name in ("rows", "outputs", "inputs", "seconds"))
    return MeasuredProducts(form, rows, outputs, widths, seconds, rates)
