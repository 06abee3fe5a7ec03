"""The report's documents: what a page holds (`model`), how values are printed (`formats`), and the forms of both."""
