"""What is to be run: cells, their settings, the studies they come from, and what they will cost."""
