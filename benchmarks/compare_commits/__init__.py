"""Whether two commits compute the same: each is driven by its command line alone, and the files are compared."""
