"""What an update is made of: operations, networks, programs, and the executors that run them."""
