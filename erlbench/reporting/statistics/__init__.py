"""Statistics of runs: pure functions of arrays, metrics of a run, curves, differences from a baseline."""
