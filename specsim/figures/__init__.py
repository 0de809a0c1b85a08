"""Figures from tables: pure functions from a DataFrame to a matplotlib Figure. No files and no simulation here."""
