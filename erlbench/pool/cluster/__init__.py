"""The pool of a Ray cluster: one agent on every node, which holds a pool of processes with a store of its own."""
