"""Composition roots: a scenario becomes objects that run, or that say on paper what to expect."""
