"""Processes that end with the one that started them, and the thread that lasts as long as it."""

from __future__ import annotations

import os
import threading

import pytest

from erlbench.machine import parent
from erlbench.machine.parent import LastingThread, end_with_parent
from tests.users import as_user


def test_all_calls_are_made_in_one_thread_whoever_asks():
    thread, found = LastingThread(), []
    asking = [threading.Thread(target=lambda: found.append(thread.call(threading.get_ident))) for _ in range(5)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert len(found) == 5
    assert len(set(found)) == 1
    assert found[0] not in (threading.get_ident(), None)


def test_what_a_call_raises_comes_to_who_asked():
    thread = LastingThread()
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 / 0)
    assert thread.call(lambda: 3) == 3


def test_a_forked_process_has_a_thread_of_its_own():
    thread = LastingThread()
    here = thread.call(os.getpid)
    assert here == os.getpid()
    assert as_user(os.geteuid(), lambda: thread.call(os.getpid) != here)


def test_other_systems_do_without(monkeypatch):
    monkeypatch.setattr(parent.sys, "platform", "darwin")
    monkeypatch.setattr(parent.ctypes, "CDLL", lambda name: pytest.fail("no such call there"))
    end_with_parent()
