"""The H200 profile against our own measured forward steps (hardware/measured/): how far the sum of operators is off.

Run it with `make published`. The profile is fitted to public operator tables, not to these measurements.
"""

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from specsim.costs.passes import PassCost
from specsim.costs.shapes import target_shape
from specsim.forward import Pass, attended
from specsim.schema import catalogue
from specsim.schema.load import read_device, read_model

MEASURED = catalogue.ROOT / "hardware" / "measured" / "h200_llama-3.1-8b_forward.csv"
BOUNDS = (0, 16, 128, 640, np.inf)


def main() -> None:
    cost = PassCost(target_shape(read_model("llama-3.1-8b"), 1), read_device("h200"), ideal=False)
    rows = pd.read_csv(MEASURED, comment="#").query("quantity == 'forward'")
    tokens, slower = [], []
    for row in rows.itertuples():
        batch, queries, context = int(row.batch), int(row.query_tokens), int(row.context)
        verified, pairs = batch * queries, batch * attended(queries, context)
        predicted = 1e3 * sum(cost.price(Pass(verified, verified, batch, batch * context, pairs)))
        tokens.append(verified)
        slower.append(row.median_ms / predicted - 1)
    table = Table(
        "verified tokens", "steps", "mean", "least", "most", title="H200: measured step over the profile's, less 1"
    )
    bins = pd.cut(pd.Series(tokens), BOUNDS)
    for bound, group in pd.Series(slower).groupby(bins, observed=True):
        table.add_row(
            str(bound), str(len(group)), *(f"{value:+.0%}" for value in (group.mean(), group.min(), group.max()))
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
