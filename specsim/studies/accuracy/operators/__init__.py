"""Single operators, predicted against measured."""
