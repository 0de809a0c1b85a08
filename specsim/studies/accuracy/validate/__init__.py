"""Serving points and single steps, predicted against measured."""
