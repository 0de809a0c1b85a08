"""Verification of drafted trees: several candidates at a position."""
