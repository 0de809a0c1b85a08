"""Questions that take many simulations: curves, loads, plans, validation, calibration."""
