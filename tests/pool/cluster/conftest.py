"""A Ray cluster of several real nodes (raylets) on this machine."""

from __future__ import annotations

import importlib
import logging

import pytest

from tests.processes import wait_for

MEMORY = 80 * 2**20  # bytes of each node's object store


class Nodes:
    """The cluster, and this process's connection to it."""

    def __init__(self) -> None:
        import ray
        from ray.cluster_utils import Cluster

        self.ray = ray
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": MEMORY}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level=logging.ERROR)

    @property
    def kind(self) -> str:
        """What --pool takes."""
        return f"ray://{self.cluster.address}"

    def add(self, cores: int = 1, **more):
        return self.cluster.add_node(num_cpus=cores, object_store_memory=MEMORY, **more)

    def kill(self, node) -> None:
        """End a node's raylet by SIGKILL; its processes follow."""
        self.cluster.remove_node(node, allow_graceful=False)

    def settle(self) -> None:
        """Wait until Ray has noticed the deaths of all nodes that were killed, which takes it a while."""
        there = len(self.cluster.list_all_nodes())
        wait_for(lambda: sum(node["Alive"] for node in self.ray.nodes()) == there, 90, "Ray counts a dead node")

    def close(self) -> None:
        self.ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture
def ray():
    """The package, which takes long to import: those who only collect tests do without it."""
    return importlib.import_module("ray")


@pytest.fixture(scope="package")
def nodes():
    """A head without cores, and two nodes with one core each."""
    found = Nodes()
    try:
        for _ in range(2):
            found.add()
        yield found
    finally:
        found.close()
