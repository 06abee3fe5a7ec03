"""A Python of its own: what it answers, and why it does not."""

from __future__ import annotations

import os
import time

from erlbench.envs.registry import Described, EnvSpec, Problem
from erlbench.work.inspection import call_in_subprocess
from erlbench.work.trial import Admission
from erlbench.work.values import decode, encode


def wait(tell, seconds):
    tell("phase", "its nap")
    time.sleep(seconds)


def end(tell, code):
    os._exit(code)


def answer_and_wait(tell, value):
    tell("answer", value)
    time.sleep(60)


def test_a_process_has_a_limit_and_may_die_and_what_it_has_answered_counts(monkeypatch):
    for name in ("PYTHONSAFEPATH", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert call_in_subprocess(wait, 60, limit=0.2) == (None, "it takes more than 0.2 s in its nap")
    assert call_in_subprocess(end, 3, limit=9.0) == (None, "it ended its process in its import (exit code 3)")
    assert call_in_subprocess(answer_and_wait, (7, float("inf")), limit=0.2) == ((7, float("inf")), "")
    assert not {"PYTHONSAFEPATH", "CUDA_VISIBLE_DEVICES"} & {*os.environ}  # which the other process had


def test_an_admission_is_the_same_on_both_sides():
    spec = EnvSpec("Pendulum-v1", 200, {"range": (0.5, float("inf")), "names": ["a"]}, zeros={3: 2}, info=("x",))
    problem = Problem(spec, 3, 1, (-2.0,), (2.0,))
    admission = Admission(described=Described(problem, remarks=("r",)), tried=True, files={"numpy": "/x"})
    assert decode(encode(admission, None), {}) == admission
