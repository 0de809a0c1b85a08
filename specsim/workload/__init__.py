"""What arrives: when requests come and how long their prompts and outputs are. Numbers only; no requests here."""
