"""Frozen, closed input models, and the reading of scenario, hardware and model files."""
