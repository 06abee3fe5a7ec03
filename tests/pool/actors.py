"""Ray's actors as threads of this process: what the driver and its agents do, without a cluster between them."""

from __future__ import annotations

import pickle
import traceback
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from erlbench.pool.ray_nodes import Report


class Actor:
    """An object whose calls run one after another; what goes in and out is copied."""

    def __init__(self, node: int, kind: Any, given: tuple[Any, ...]) -> None:
        self.node, self.dead = node, False
        self.calls: list[tuple[Future[Any], str, tuple[Any, ...]]] = []
        self._thread = ThreadPoolExecutor(1)
        self._made = self._thread.submit(kind, *given)

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=partial(self._call, name))

    def given(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of all calls of a method."""
        return [given for _, method, given in self.calls if method == name]

    def die(self, error: Exception) -> None:
        """End, as a killed process: no call is answered."""
        if self.dead:
            return
        self.dead = True
        for call, *_ in self.calls:
            with suppress(InvalidStateError):
                call.set_exception(error)
        if self._made.done() and not self._made.exception():
            self._thread.submit(self._made.result().close)
        self._thread.shutdown(wait=False)

    def _call(self, name: str, *given: Any) -> Future[Any]:
        import ray

        call: Future[Any] = Future()
        self.calls.append((call, name, given))
        if self.dead:
            call.set_exception(ray.exceptions.RayActorError())
        else:
            self._thread.submit(self._answer, call, name, pickle.dumps(given))
        return call

    def _answer(self, call: Future[Any], name: str, given: bytes) -> None:
        import ray

        with suppress(InvalidStateError):  # it was killed meanwhile
            try:
                made = self._made.result()
            except Exception as error:
                call.set_exception(ray.exceptions.RayActorError(error_msg=str(error)))
                return
            try:
                call.set_result(pickle.loads(pickle.dumps(getattr(made, name)(*pickle.loads(given)))))
            except Exception as error:
                failed = ray.exceptions.RayTaskError(name, traceback.format_exc(), error)  # type: ignore[no-untyped-call]
                call.set_exception(failed.as_instanceof_cause())  # type: ignore[no-untyped-call]


class Actors:
    """In place of Ray's functions: nodes with so many free cores, each with its own clock."""

    def __init__(self, patch: pytest.MonkeyPatch, *cores: int) -> None:
        import ray

        self.made: list[Actor] = []
        names = [f"{number:02x}" * 28 for number in range(len(cores))]
        self.nodes = [{"NodeID": name, "Alive": True, "NodeManagerHostname": f"host-{int(name[:2])}"} for name in names]
        self.free = {name: {"CPU": float(count)} if count else {} for name, count in zip(names, cores)}
        patch.setattr(ray, "is_initialized", lambda: True)
        patch.setattr(ray, "nodes", lambda: self.nodes)
        patch.setattr("ray._private.state.available_resources_per_node", lambda: self.free)
        for function in (self.remote, self.wait, self.get, self.kill):
            patch.setattr(ray, function.__name__, function)

    def remote(self, kind: Any) -> Any:
        """A class of actors."""

        def options(num_cpus: int, scheduling_strategy: Any) -> Any:
            node = scheduling_strategy.node_id
            assert num_cpus <= self.free[node]["CPU"]
            assert not scheduling_strategy.soft
            return SimpleNamespace(remote=partial(make, int(node[:2])))

        def make(node: int, *given: Any) -> Actor:
            self.made.append(Actor(node, kind, given))
            return self.made[-1]

        return SimpleNamespace(options=options)

    def wait(self, calls: list[Future[Any]], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        """As Ray's: so many calls that are done, and the others."""
        assert 0 < num_returns <= len(calls) == len({*calls})
        wait(calls, timeout, FIRST_COMPLETED if num_returns == 1 else ALL_COMPLETED)
        done = [call for call in calls if call.done()][:num_returns]
        return done, [call for call in calls if call not in done]

    def get(self, call: Future[Any]) -> Any:
        """What a call returned, by the clock of its node."""
        value, ahead = call.result(60), 1000.0 * (1 + self._of(call).node)
        if not isinstance(value, Report):
            return value
        moved = [
            answer if isinstance(answer.outcome, Exception) else replace(answer, outcome=replace(
                answer.outcome, start=answer.outcome.start + ahead, end=answer.outcome.end + ahead,
            ))
            for answer in value.answers
        ]  # fmt: skip
        return replace(value, now=value.now + ahead, answers=moved)

    def kill(self, actor: Actor) -> None:
        """End an actor."""
        import ray

        actor.die(ray.exceptions.RayActorError())

    def close(self) -> None:
        """End all."""
        for actor in self.made:
            self.kill(actor)
            actor._thread.shutdown()

    def _of(self, call: Future[Any]) -> Actor:
        return next(actor for actor in self.made if any(made is call for made, *_ in actor.calls))
