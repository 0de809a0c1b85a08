"""Workloads: when requests arrive and how long their prompts and outputs are. Numbers only; no requests here."""
