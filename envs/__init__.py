"""Environments: from an id and a preset to a Gymnasium environment, and what the suite knows of it."""
