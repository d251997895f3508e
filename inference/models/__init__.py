"""Model configurations and our own forward pass."""
