"""Language models, read from the ``config.json`` that comes with their weights."""
