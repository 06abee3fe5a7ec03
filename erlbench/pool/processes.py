"""The pool of worker processes on this machine.

A task is a pure function of its message, so it can run again on another worker. A slot runs
one task at a time. It has up to two workers: one for rollouts, which imports torch for policies that need it alone,
and one for gradient tasks.

Several short tasks go to a worker at once. Tasks that are sent together stay with one worker, so they are short against
what a user could notice, and a small part of what is ready (guided self-scheduling: Polychronopoulos and Kuck, IEEE
Transactions on Computers 36, 1987), so that no process idles while another has tasks to spare.
"""

from __future__ import annotations

import heapq
import pickle
import selectors
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from erlbench.experiment.cells import RunOptions
from erlbench.machine.process import signal_name
from erlbench.pool.base import Pool, check_stop
from erlbench.pool.worker import LOCK, start, start_fork_server
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task

LOST_SERVERS = 20  # fork servers that may die before tasks are blamed for it
SERVER_DIED = 255  # exit code of a worker whose fork server is gone
CHUNK = 0.1  # seconds of work that are sent at once
SHARE = 2  # parts per process into which what is ready is divided
RATE = 0.1  # weight of the last task in the mean duration of its kind
LOOK_EVERY = 0.2  # seconds between two looks whether the run is to stop, while workers are prepared


class Durations:
    """Mean duration of the last tasks of each kind."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str], float] = {}  # by kind and function

    def note(self, task: Task, result: Result) -> None:
        """Learn how long a task took."""
        kind, seconds = (task.kind, task.function), result.end - result.start
        mean = self._seconds.get(kind, seconds)
        self._seconds[kind] = mean + RATE * (seconds - mean)

    def seconds(self, task: Task) -> float:
        """How long tasks like `task` take; inf before the first one has ended."""
        return self._seconds.get((task.kind, task.function), inf)

    def chunk_size(self, task: Task, ready: int, processes: int) -> int:
        """How many of `ready` tasks like `task` go together; one before the first of them has ended."""
        share = ready // (SHARE * processes)
        return max(1, min(share, int(CHUNK / max(self.seconds(task), 1e-6))))


@dataclass(eq=False)
class Worker:
    """One process. `tasks` were sent and have not come back; the first of them runs, or has just ended."""

    slot: int
    gradient: bool
    connection: Any
    process: Any
    tasks: deque[Task] = field(default_factory=deque)
    deadline: float = inf


class ProcessPool(Pool):
    """Runs tasks in `options.processes` slots."""

    def __init__(self, options: RunOptions) -> None:
        super().__init__()
        self.processes = options.processes
        self.device = options.device
        self._options = options
        start_fork_server()
        self.store = Store.create()
        self._workers: dict[tuple[int, bool], Worker] = {}
        self._busy: dict[int, Worker] = {}  # by slot
        self._lost_servers = 0
        self._durations = Durations()
        self._selector = selectors.DefaultSelector()
        self._next_check = 0.0

    def prepare(self, task: Task, workers: int, stop: threading.Event | None = None) -> None:
        slots = range(self.processes)[:workers] if task.gradient else range(self.processes)[-workers:]
        for slot in slots:
            self._tasks[-1 - slot] = replace(task, id=-1 - slot)
            self._send(self._worker(slot, task.gradient), [self._tasks[-1 - slot]])
        left = len(slots)
        while left:
            left -= self.next_result(LOOK_EVERY) is not None
            check_stop(stop)

    def running(self) -> Mapping[int, Task]:
        return {slot: worker.tasks[0] for slot, worker in self._busy.items()}

    def reset(self) -> None:
        self._kill([*self._busy.values()])
        super().reset()

    def close(self) -> None:
        self._kill([*self._workers.values()])
        self._selector.close()
        self.store.close()

    # -- tasks out, results in ----------------------------------------------------------------------------------------

    def _advance(self, end: float) -> None:
        self._start()
        if not self._finished:  # else a task could not be sent
            self._wait(end)

    def _start(self) -> None:
        """Send ready tasks to idle slots, lowest (priority, id) first."""
        while self._ready and len(self._busy) < self.processes:
            chunk = self._chunk()
            kind = chunk[0].gradient
            idle = (slot for slot in range(self.processes) if slot not in self._busy)
            # start few new workers, and keep the other kind free
            slot = max(idle, key=lambda slot: ((slot, kind) in self._workers, (slot, not kind) not in self._workers))
            self._send(self._worker(slot, kind), chunk)

    def _chunk(self) -> list[Task]:
        """The next task, and like ones that go with it. One whose worker died goes alone, to see whether it is why."""
        heap = self._ready
        chunk = [first := self._tasks[heapq.heappop(heap)[1]]]
        size = 1 if first.id in self._ends else self._durations.chunk_size(first, 1 + len(heap), self.processes)
        while len(chunk) < size:
            task = self._tasks[heap[0][1]]
            is_like = (task.kind, task.function, task.gradient) == (first.kind, first.function, first.gradient)
            if not is_like or task.id in self._ends:
                break
            chunk.append(task)
            heapq.heappop(heap)
        return chunk

    def _send(self, worker: Worker, tasks: list[Task]) -> None:
        try:
            message = pickle.dumps((len(tasks), pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL)))
        except Exception as error:
            if len(tasks) == 1:
                self._fail(tasks[0], f"cannot be sent to a worker: {error}")
                return
            for task in tasks:
                self._send(worker, [task])
            return
        worker.tasks.extend(tasks)
        worker.deadline = time.monotonic() + self._options.task_timeout
        self._busy[worker.slot] = worker
        with suppress(OSError):  # it has died, which is noticed elsewhere
            worker.connection.send_bytes(message)

    def _wait(self, end: float) -> None:
        """Wait for messages of workers, at most until `end`, and take them in."""
        pause = min(1.0, self._options.task_timeout / 4)
        for key, _ in self._selector.select(max(0.0, min(end - time.monotonic(), pause))):
            worker: Worker = key.data
            if worker.connection.closed:
                continue
            try:
                answer = pickle.loads(worker.connection.recv_bytes())
            except (EOFError, OSError):
                self._died(worker, "worker died")
            else:
                self._receive(worker, answer)
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + pause
            for worker in list(self._busy.values()):
                if now > worker.deadline:
                    reason = f"the task ran longer than {self._options.task_timeout:g} s"
                    self._died(worker, "task hung", reason)
                elif not worker.process.is_alive():  # and a process that it started holds its connection
                    self._died(worker, "worker died")

    def _receive(self, worker: Worker, answers: Any) -> None:
        """Take in a worker's message: its device, or None; later a list of the results of its first tasks."""
        if not isinstance(answers, list):
            if self.device == "auto" and answers is not None:
                self.device = answers
            return
        for answer in answers:
            task = worker.tasks.popleft()
            self._finish(task, answer)
            if isinstance(answer, Result):
                self._durations.note(task, answer)
        worker.deadline = time.monotonic() + self._options.task_timeout
        if not worker.tasks:
            del self._busy[worker.slot]
            self._start()

    # -- workers that come and go -------------------------------------------------------------------------------------

    def _worker(self, slot: int, gradient: bool) -> Worker:
        """The worker of a slot, started if there is none."""
        if (slot, gradient) not in self._workers:
            device = self._options.device if gradient else None
            connection, process = start(str(self.store.folder), slot, device)
            worker = self._workers[slot, gradient] = Worker(slot, gradient, connection, process)
            self._selector.register(connection, selectors.EVENT_READ, worker)
        return self._workers[slot, gradient]

    def _kill(self, workers: Sequence[Worker]) -> None:
        for worker in workers:
            worker.process.kill()  # killing all before waiting for any makes the end quick
        for worker in workers:
            self._end(worker)

    def _end(self, worker: Worker) -> int:
        """Free all that belongs to a worker, and return its exit code."""
        del self._workers[worker.slot, worker.gradient]
        if self._busy.get(worker.slot) is worker:
            del self._busy[worker.slot]
        self._selector.unregister(worker.connection)
        worker.connection.close()  # which ends a process that still lives
        with LOCK:
            worker.process.join(2)
            worker.process.kill()
            worker.process.join()
            code: int = worker.process.exitcode
            pid = worker.process.pid
            worker.process.close()
        for path in self.store.folder.glob(f"*.part{pid}"):
            path.unlink(missing_ok=True)  # an array that it was writing
        return code

    def _died(self, worker: Worker, event: str, reason: str = "") -> None:
        """Run the tasks of a dead worker again, but one that has ended three of them; `reason`: why it has to die."""
        pid, busy = worker.process.pid, bool(worker.tasks)
        if reason:
            worker.process.kill()
        code = self._end(worker)
        lost = code == SERVER_DIED and not reason
        if lost:
            event = "fork server died"
            self._lost_servers += 1
        blameless = lost and self._lost_servers <= LOST_SERVERS  # the fork server's end is unrelated to the task
        how = reason or _in_words(code)
        worker_text = f"worker process {pid} of slot {worker.slot}: {how}"
        for task in worker.tasks:
            if blameless:
                self._push(task)
            else:
                self._run_again(task, worker_text, f"workers, the last by {how}")
        if busy:
            others = f" or one of the {len(worker.tasks) - 1} sent with it" if len(worker.tasks) > 1 else ""
            worker_text = f"{worker.tasks[0].label}{others}, {worker_text}"
        self._note(event, worker_text)


def _in_words(code: int) -> str:
    """How a process ended."""
    if code == SERVER_DIED:
        return "with the fork server"
    return f"signal {-code} ({signal_name(-code)})" if code < 0 else f"exit code {code}"
