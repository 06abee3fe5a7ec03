"""No cluster, no free cores, nodes that cannot be used, and nothing left behind."""

import os
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from erlbench.errors import UsageError
from erlbench.pool import ray_nodes
from erlbench.pool.base import connected
from tests.calls import python
from tests.campaign.trials import start
from tests.processes import lines, wait_for

CEM = "--algo", "cem", "--env", "InvertedPendulum-v5"


def test_no_cluster_at_the_address(tmp_path):
    done = python("-m", "erlbench", "run", *CEM, "--out", tmp_path / "out", "--pool", "ray://127.0.0.1:1")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"erlbench: there is no Ray cluster at 127\.0\.0\.1:1 \(.*\); start one by .*", last)
    assert not list(tmp_path.rglob("eval.csv"))


def test_a_cluster_that_was_here_and_is_gone(monkeypatch, ray):
    """Ray remembers the last address, and would try it for a minute and then end the process."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UsageError, match=r"there is no Ray cluster on this machine \(.*refused\); start one by"):
        ray_nodes.connect("auto").__enter__()


HELLO = b"\0\0\x18\4\0\0\0\0\0"


@pytest.mark.parametrize(
    ("answer", "tls", "connects"), [(HELLO, "0", True), (b"HTTP/1.1 400", "0", False), (b"", "1", True)]
)
def test_ray_is_told_from_other_servers_before_it_tries(answer, tls, connects, monkeypatch, ray):
    calls, heard = [], []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda address, **more: calls.append(address))
    monkeypatch.setattr(ray, "shutdown", lambda: calls.append("shutdown"))
    monkeypatch.setenv("RAY_USE_TLS", tls)

    def serve():
        with server.accept()[0] as link:
            heard.append(b"" if tls == "1" else link.recv(33, socket.MSG_WAITALL))
            link.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as thread:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        served = thread.submit(serve)
        with nullcontext() if connects else pytest.raises(UsageError, match="not Ray"), connected(f"ray://{address}"):
            assert calls == [address]
        served.result()
    assert calls == [address, "shutdown"] * connects
    assert heard[0].startswith(b"PRI * HTTP/2.0\r\n" * (tls == "0"))


@pytest.mark.parametrize(
    ("text", "line"),
    [("", "RuntimeError"), (" \n one \ntwo", "one"), ("Traceback (most\n  x\nKeyError: 3\n", "KeyError: 3")],
)
def test_the_cause_of_an_error_is_one_line_of_it(text, line):
    error, wrapped = RuntimeError(text), RuntimeError("outer")
    wrapped.cause = error
    assert ray_nodes.cause(error) == line
    assert ray_nodes.cause(wrapped) == (line if text else "RuntimeError")


@pytest.mark.slow
def test_an_interrupted_run_leaves_no_actor_behind_and_goes_on(nodes, tmp_path, ray):
    words = ("--out", tmp_path, "--pool", nodes.kind, "--total-timesteps", 300_000, "--eval-freq", 100_000)
    process = start(*CEM, *words)
    folder = tmp_path / "InvertedPendulum-v5" / "cem" / "seed-000"
    wait_for(lambda: lines(folder / "tasks.csv") > 30, 90)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "To go on:\nerlbench run" in errors
    assert list((folder / "checkpoint").iterdir())
    cores = ray.cluster_resources()["CPU"]
    wait_for(lambda: ray.available_resources().get("CPU", 0) >= cores, 30, "an actor holds a core")
