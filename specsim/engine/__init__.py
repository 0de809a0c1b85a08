"""Time, batching and the KV cache: the only importer of simpy and the only owner of the clock."""
