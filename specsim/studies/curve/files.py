"""The files of a curve: what ``specsim curve`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from specsim.inputs.models.drafter_facts import model_name
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.fleet import fleet_words
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.publish import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.style import png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.reporting.traffic import lengths_words
from specsim.reporting.wording import levels
from specsim.studies.curve.figure import curve_figure
from specsim.studies.curve.run import CurveResult
from specsim.studies.curve.text import featured_draft_length, headline, table


def curve_files(inputs: Inputs, result: CurveResult, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it; no figure of a curve that was interrupted.

    Args:
        inputs: what was simulated.
        result: what came out.
        sentences: the answer, as printed.
    """
    files = {
        "curve.csv": table_writer(result.points),
        "answer.txt": text_writer(as_text(sentences, table(inputs.scenario, result))),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(
            provenance_json(inputs, extrapolation_sentence([(inputs, result.extrapolation)]))
        ),
    }
    return files if result.missing else files | _figures(inputs, result)


def _figures(inputs: Inputs, result: CurveResult) -> dict[str, Writer]:
    """The curve drawn, and what of it is no simulation."""
    k = featured_draft_length(inputs.scenario, result)
    figure = curve_figure(
        pd.concat([result.points, result.closed_form]),
        title=headline(inputs.scenario, result),
        subtitle=plain(subtitle(inputs)),
        highlight=k,
        crossings=result.crossings[k],
        free_verify_batch=result.free_batch.get(k),
        running_limit=result.running_limit,
        draft_name=levels if inputs.scenario.speculation.tree else "K = {}".format,
    )
    return {
        "closed_form.csv": table_writer(result.closed_form),
        "curve.png": bytes_writer(png_bytes(figure)),
        "curve.svg": bytes_writer(svg_bytes(figure)),
    }


def plain(text: str) -> str:
    """Text in which dollars are dollars; matplotlib sets what stands between two of them as a formula."""
    return text.replace("$", r"\$")


def subtitle(inputs: Inputs) -> str:
    """What was simulated, in a line, from the resolved scenario."""
    workload = inputs.scenario.workload
    decode_only = ", decode only" if workload.decode_only else ""
    return f"{deployment_words(inputs)}; {lengths_words(workload)}{decode_only}"


def deployment_words(inputs: Inputs) -> str:
    """Models and devices in a line."""
    scenario = inputs.scenario
    deployment = scenario.deployment
    devices = f"{deployment.num_devices} × {inputs.device.name}" if deployment.num_devices > 1 else inputs.device.name
    models = f"{model_name(deployment.target)} with {scenario.speculation.drafter.facts.title}"
    how = ", ideal" if deployment.ideal else ""
    fleet = f", {fleet_words(scenario.fleet)}" if scenario.fleet else ""
    return f"{models} on {devices}{how}{fleet}"
