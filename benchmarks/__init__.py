"""Measurements: claims of `make bench`, programs that are run by hand, and the peers of both."""
