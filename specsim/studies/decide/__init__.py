"""How many draft tokens at which batch, ready to paste into an engine."""
