"""Cells as jobs of Slurm."""
