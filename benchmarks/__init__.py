"""Measurements against peers: each module is a program with `--help`."""
