"""Every combination of values of a scenario's fields."""
