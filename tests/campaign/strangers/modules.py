"""Attacks by Python files and settings of libraries beside the results."""

from __future__ import annotations

import random

from tests.campaign.strangers.folders import Runs, within
from tests.campaign.strangers.place import Attack, Place

PROBED = (
    "org", "msvcrt", "winreg", "_winapi", "cuda", "cython", "torchcomms", "unicodedata2", "uharfbuzz", "pynvml",
    "pydot", "cffi", "monkeytype", "numba", "numexpr", "bottleneck", "xarray", "IPython", "tensorflow", "jax",
    "ray", "wandb", "brotli", "zopfli", "lxml", "fontTools_extra", "gi", "pyglet", "sitecustomize",
    "usercustomize", "optree", "triton", "google", "thrift", "gevent", "eventlet", "_scproxy", "nt", "java",
    "vms_lib", "pyarrow_hotfix", "tables", "dulwich",
)  # fmt: skip


def beside(place: Place, runs: Runs, draw: random.Random) -> Attack:
    """Modules that libraries look for, packages of that name, entry points, and settings of Matplotlib."""
    run = place.copy(runs.done.directory)
    code = f"open({str(place.sprung)!r}, 'a').write(__name__ + ' ')\n"
    names = PROBED if draw.random() < 0.7 else draw.sample(PROBED, 12)
    for name in names:
        if draw.random() < 0.3:
            (place.work / name).mkdir()
            (place.work / name / "__init__.py").write_text(code)
        else:
            (place.work / f"{name}.py").write_text(code)
    if draw.random() < 0.5:
        folder = place.work / "evil-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
        points = "[gymnasium.envs]\n__root__ = org\n[erlbench.algorithms]\nx = org:X\n[console_scripts]\ny = org:Y\n"
        (folder / "entry_points.txt").write_text(points)
    if draw.random() < 0.5:
        (place.work / "matplotlibrc").write_text("text.usetex: True\nbackend: module://org\n")
    words = draw.choice([
        ["show", place.results], ["show", run], ["list", "algos"], ["list", "envs"],
        ["verify", run, *within("verify", 8)],
        ["report", place.results, "--out", place.work / "report"], ["convert", place.results, "--to", "sb3", "--out",
        place.work / "exported"],
    ])  # fmt: skip
    return Attack(
        finding=4, what=f"{len(names)} modules, {words[0]}", commands=[words],
        own=[place.work / "report", place.work / "exported"], cold=True,
    )  # fmt: skip
