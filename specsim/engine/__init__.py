"""Time, batching and the KV cache: the only owner of the clock."""
