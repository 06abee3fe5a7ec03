"""Cells as jobs of other engines: submitit's local executor, Slurm, a Ray cluster."""
