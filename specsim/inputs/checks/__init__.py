"""Checks that the parts of a scenario go together."""
