"""Throughput and speedup against batch: up to which load does speculation pay?"""
