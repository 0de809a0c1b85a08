"""What the parts of a scenario must not say against each other."""
