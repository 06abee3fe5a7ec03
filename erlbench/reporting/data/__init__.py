"""What the report reads: run directories, published numbers, and which runs are compared with which."""
