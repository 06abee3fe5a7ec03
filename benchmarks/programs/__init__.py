"""Measurements that are run by hand, each a program with `--help`, and the figure of one."""
