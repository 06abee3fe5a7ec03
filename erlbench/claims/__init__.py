"""Verdicts on the claims of claims.toml, computed from stored runs, runs of others, published numbers and forecasts."""
