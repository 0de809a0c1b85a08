"""Questions that take many simulations: curves, and later capacity and sweeps."""
