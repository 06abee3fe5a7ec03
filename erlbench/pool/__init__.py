"""The worker pools."""
