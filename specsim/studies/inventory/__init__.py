"""What is installed and what can be named: catalogues, JSON schemas, quantile tables, versions."""
