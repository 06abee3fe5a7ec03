"""Cells as jobs of other engines: Slurm, a Ray cluster."""
