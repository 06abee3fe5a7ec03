"""What the numbers of a run depend on: one thread for BLAS and OpenMP while it is under way, and the kernel."""

import json
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from erlbench.errors import Interrupted, UsageError
from erlbench.machine import kernel
from erlbench.machine.process import cores
from erlbench.machine.threads import ONE_THREAD, threads_of_libraries
from erlbench.reporting.runs import parse_machine
from tests.calls import python
from tests.pool.helpers import local_pool, one, task
from tests.runs import complete, interrupt, make_cell, meta, run
from tests.tables import cells

NUMBERS = """
import json, os, sys, threading
from threadpoolctl import threadpool_info

def numbers():
    found = sorted((library["filepath"], library["num_threads"]) for library in threadpool_info())
    return [number for _, number in found], sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None

def numbers_of_new_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(numbers()))
    thread.start()
    thread.join()
    return found[0]
"""
COMPUTED = """
import numpy, torch
numpy.ones((300, 300)) @ numpy.ones((300, 300))
torch.ones(300, 300) @ torch.ones(300, 300)
"""
# Of TD3 with products of numpy, on a kernel whose sums depend on the number of threads.
RUN = """
from pathlib import Path
import erlbench
before = numbers()
results = erlbench.run(
    "td3", "InvertedPendulum-v5", total_timesteps=320, eval_freq=320, eval_episodes=1, final_episodes=1, device="cpu",
    set={"start_timesteps": 300, "hidden": [256, 256], "critic_hidden": [256, 256]}, out=sys.argv[1],
    processes=int(sys.argv[2]),
)
meta = json.loads((results.runs[0] / "meta.json").read_text())
import torch
print(json.dumps({
    "before": before, "after": numbers(), "new": numbers_of_new_thread(), "recorded": meta["threads"],
    "starts": [start["threads"] for start in meta["starts"]],
}))
"""


def fresh(code, *arguments, **variables):
    """What a program prints in an interpreter that nobody has limited."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")} | variables
    done = python("-c", NUMBERS + code, *arguments, env=environment, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def many():
    """This process computes with two threads."""
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        yield
        assert {library["num_threads"] for library in threadpool_info()} == {2}, threadpool_info()
        assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.skipif(cores() < 2, reason="one core: there is nothing to limit")
def test_a_run_from_python_gives_the_numbers_of_a_worker_and_leaves_the_callers_threads(tmp_path):
    settings = {"OPENBLAS_CORETYPE": "Haswell", "ERLBENCH_PRODUCTS": "numpy"}
    default = fresh("import torch\nprint(json.dumps([numbers(), numbers_of_new_thread()]))")
    for name, code, processes in (("worker", RUN, 1), ("fresh", RUN, 0), ("computed", COMPUTED + RUN, 0)):
        numbers = fresh(code, tmp_path / name, processes, **settings)
        assert (numbers["recorded"], numbers["starts"]) == (1, [1])
        assert [numbers["after"], numbers["new"]] == default
    assert numbers["before"] == default[0]
    policies = [path.read_bytes() for path in tmp_path.glob("*/*/td3/seed-000/policy.safetensors")]
    assert (len(policies), len({*policies})) == (3, 1)


def test_the_import_changes_nothing():
    code = "before = numbers(), dict(os.environ)\nimport erlbench, erlbench.api, erlbench.running.command\n"
    assert fresh("import numpy\n" + code + "print(json.dumps([numbers(), dict(os.environ)] == [*before]))") is True


@pytest.mark.slow
def test_what_is_loaded_meanwhile_follows_and_has_its_own_number_afterwards():
    code = """
import numpy
from erlbench.machine.threads import ONE_THREAD, threads_of_libraries
inside = []
def work():
    import torch
    import scipy.linalg  # with a BLAS of its own
    ONE_THREAD.renew()
    inside.append([threads_of_libraries(), *numbers()[0]])
with ONE_THREAD.hold():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(json.dumps({"inside": inside, "after": [numbers(), numbers_of_new_thread()]}))
"""
    found = fresh(code)
    assert {number for numbers in found["inside"] for number in numbers} == {1}
    assert found["after"] == fresh(
        "import numpy, torch, scipy.linalg\nprint(json.dumps([numbers(), numbers_of_new_thread()]))"
    )


def test_a_worker_has_one_thread_though_somebody_else_started_the_fork_server():
    code = """
import multiprocess
from tests.pool.helpers import local_pool, one, task
if __name__ == "__main__":
    multiprocess.set_forkserver_preload(["numpy"])
    process = multiprocess.get_context("forkserver").Process(target=print)
    process.start()
    process.join()
    with local_pool(1) as pool:
        found = [one(pool, task(number, "threads", gradient=bool(number))).values["threads"] for number in range(2)]
    print(json.dumps(found))
"""
    assert fresh(code) == [1, 1]


@pytest.mark.usefixtures("many")
def test_a_pool_in_this_process_holds_it():
    with local_pool(0) as pool:
        assert one(pool, task(1, "threads")).values["threads"] == 1


@pytest.mark.usefixtures("many")
def test_a_thread_that_ends_leaves_the_others_with_one():
    inside, ended = threading.Event(), threading.Event()
    seen = []

    def work():
        torch.get_num_threads()
        with ONE_THREAD.hold():
            inside.set()
            ended.wait(60)
            seen.append(threads_of_libraries())

    thread = threading.Thread(target=work)
    with suppress(Interrupted), ONE_THREAD.hold(), ONE_THREAD.hold():
        thread.start()
        assert inside.wait(60)
        raise Interrupted("now")
    ended.set()
    thread.join()
    assert seen == [1]


def test_the_kernel_is_that_of_the_library():
    """In another process, where OpenBLAS is told to take another processor's kernel than here."""
    here = kernel.describe()
    other = "Sandybridge" if here["kernel"] == "Haswell" else "Haswell"
    code = "from erlbench.machine import kernel; print(kernel.in_words(kernel.describe()))"
    told = python("-c", code, env={**os.environ, "OPENBLAS_CORETYPE": other}).stdout
    assert told.strip() != kernel.in_words(here)
    assert f"OPENBLAS_CORETYPE={other}" in told
    assert other in told.split(", ")[1]
    assert here["kernel"] != "unknown"


# The last one is not Linux, or not x86.
CORES = """
GenuineIntel | fma avx2 avx512f | torch
GenuineIntel | sse4_2 avx       | numpy
AuthenticAMD | fma avx2 avx512f | numpy
             |                  | numpy
"""


@pytest.mark.parametrize(("vendor", "flags", "expected"), cells(CORES))
def test_whose_products_is_a_rule_that_a_variable_overrides(vendor, flags, expected, monkeypatch):
    monkeypatch.delenv(kernel.CHOICE, raising=False)
    monkeypatch.setattr(kernel, "first_core", lambda: {"vendor_id": vendor, "flags": flags})
    assert kernel.products() == expected
    for library in (kernel.NUMPY, kernel.TORCH):
        monkeypatch.setenv(kernel.CHOICE, library)
        assert kernel.products() == library
    monkeypatch.setenv(kernel.CHOICE, "mkl")
    with pytest.raises(UsageError, match="numpy or torch"):
        kernel.products()


def test_products_are_part_of_the_kernel_of_those_who_learn(tmp_path, monkeypatch):
    """Where numpy computes them the line is that of runs from before there was a choice."""
    monkeypatch.setenv(kernel.CHOICE, kernel.NUMPY)
    before = {key: value for key, value in kernel.describe().items() if key != "products"}
    assert kernel.in_words(kernel.describe()) == kernel.in_words(before)
    monkeypatch.setenv(kernel.CHOICE, kernel.TORCH)
    assert kernel.in_words(kernel.describe()).startswith(
        f"{kernel.in_words(before).split(', OPENBLAS')[0]}, products by torch"
    )
    assert kernel.in_words(kernel.describe(), learns=False) == kernel.in_words(before)
    here = kernel.describe()
    assert kernel.in_words(here) == kernel.in_words({**here, "threads": 1}) != kernel.in_words({**here, "threads": 2})
    found = meta(complete(make_cell("td3", tmp_path, steps=20, eval_episodes=1, final_episodes=1)))
    assert (found["products"], "products by torch" in found["arithmetic"]) == (kernel.TORCH, True)


def test_a_run_on_another_kernel_needs_the_option(tmp_path, monkeypatch):
    cell = interrupt(make_cell("cem", tmp_path, steps=600), 10)
    begun = meta(cell)["arithmetic"]
    assert begun == kernel.in_words(kernel.describe(), learns=False)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    other = kernel.in_words(kernel.describe(), learns=False)
    assert "OPENBLAS_CORETYPE=Prescott" in other
    with pytest.raises(UsageError, match="--anyway"):
        run(cell)
    complete(cell, anyway=True)
    assert parse_machine(meta(cell))["kernels"] == tuple(sorted([begun, other]))
    complete(cell)  # it is done, so nothing is computed any more
