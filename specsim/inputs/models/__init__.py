"""Frozen pydantic models of all input files: scenario, device, engine profile and their parts."""
