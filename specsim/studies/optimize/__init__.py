"""The cheapest settings within latency limits."""
