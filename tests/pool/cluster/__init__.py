"""A package of its own, so that the cluster of the fixture `nodes` ends after the last of these tests."""
