"""What `make bench` measures: each module yields claims with their targets."""
