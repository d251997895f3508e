"""The engine: continuous batching over a paged KV cache that is indexed by a radix tree.

Knows requests, batches, caches and models; it has never heard of a game.
"""
