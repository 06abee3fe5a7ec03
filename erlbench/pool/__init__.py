"""The worker pools: one face over this process, processes, and simulated time."""
