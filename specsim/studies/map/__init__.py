"""Speedup over batch and context."""
