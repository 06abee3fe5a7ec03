"""Algorithms: one file each; see base.py for what they share."""
