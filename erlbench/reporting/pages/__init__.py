"""The report's pages: what stands on each, and the page that leads to all."""
