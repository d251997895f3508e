"""The engine: continuous batching over a paged KV cache that is indexed by a radix tree.

Knows requests, batches, caches and models; it has never heard of a game.
"""

import os

# Torch's threads spin while they wait for each other. Beside any other busy thread, the callers' event loop among
# them, a spinning thread keeps its partner off the core that it waits for: on 2 cores products took 10 times as long.
# Read when torch is first imported; whoever sets the variable has the last word.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
