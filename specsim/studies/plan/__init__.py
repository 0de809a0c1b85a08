"""How many requests per second within latency limits, and how many GPUs that takes."""
