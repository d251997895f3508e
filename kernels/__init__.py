"""Tensor kernels: attention over paged KV. Knows tensors, no requests and no scheduling."""
