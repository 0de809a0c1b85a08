"""``specsim curve``: the main job."""

from __future__ import annotations

from pathlib import Path

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption


def curve(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """Throughput and speedup against batch: up to which load does speculation pay?

    Simulates each batch without speculation and with each draft length (of a tree: number of levels). Writes the curve
    as CSV, PNG and SVG, the resolved scenario and the provenance. Ctrl-C stops the command and writes what is finished.

    Examples:
    - specsim curve llama3.1-8b-h100-eagle3
    - specsim curve llama3.1-8b-h100-eagle3-tree
    - specsim curve my.yaml --set deployment.device=h200 --set curve.batches=[1,16,64,256] --out out/h200
    """
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.publish import publish
    from specsim.studies.curve.answer import curve_answer
    from specsim.studies.curve.run import simulate_curve

    inputs = load_scenario(scenario, overrides or ())
    publish(
        lambda progress: curve_answer(inputs, simulate_curve(inputs, jobs=jobs, progress=progress)),
        title=inputs.scenario.name,
        out=out or Path("out") / inputs.scenario.name,
        force=force,
        read=inputs.files.values(),
    )
