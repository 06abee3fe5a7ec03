"""Ray's actors as threads of this process: what the driver and its agents do, without a cluster between them."""

import pickle
import traceback
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import ray
from ray.exceptions import RayActorError, RayTaskError

from erlbench.pool.ray_nodes import Report


class Actor:
    """An object whose calls run one after another; what goes in and out is copied."""

    def __init__(self, kind, node, *given):
        self.node, self.dead, self.calls, self.thread = node, False, [], ThreadPoolExecutor(1)
        self.made = self.thread.submit(kind, *given)

    def __getattr__(self, name):
        return SimpleNamespace(remote=partial(self._call, name))

    def given(self, name):
        """The arguments of all calls of a method."""
        return [given for _, method, given in self.calls if method == name]

    def die(self):
        """End, as a killed process: no call is answered."""
        if not self.dead:
            self.dead = True
            for call, *_ in self.calls:
                with suppress(InvalidStateError):
                    call.set_exception(RayActorError())
            self.thread.submit(lambda: self.made.result().close())
            self.thread.shutdown(wait=False)

    def _call(self, name, *given):
        call = Future()
        call.actor = self
        self.calls.append((call, name, given))
        if self.dead:
            call.set_exception(RayActorError())
        else:
            self.thread.submit(self._answer, call, name, pickle.dumps(given))
        return call

    def _answer(self, call, name, given):
        with suppress(InvalidStateError):  # it was killed meanwhile
            if error := self.made.exception():
                call.set_exception(RayActorError(error_msg=str(error)))
                return
            try:
                call.set_result(pickle.loads(pickle.dumps(getattr(self.made.result(), name)(*pickle.loads(given)))))
            except Exception as error:
                call.set_exception(RayTaskError(name, traceback.format_exc(), error).as_instanceof_cause())


class Actors:
    """In place of Ray's functions: nodes with so many free cores, each with its own clock."""

    def __init__(self, patch, *cores):
        self.made = []
        names = [f"{number:02x}" * 28 for number in range(len(cores))]
        self.nodes = [{"NodeID": name, "Alive": True, "NodeManagerHostname": f"host-{int(name[:2])}"} for name in names]
        self.free = {name: {"CPU": float(count)} if count else {} for name, count in zip(names, cores)}
        patch.setattr(ray, "is_initialized", lambda: True)
        patch.setattr(ray, "nodes", lambda: self.nodes)
        patch.setattr(ray, "kill", lambda actor: actor.die())
        patch.setattr("ray._private.state.available_resources_per_node", lambda: self.free)
        for function in (self.remote, self.wait, self.get):
            patch.setattr(ray, function.__name__, function)

    def remote(self, kind):
        """A class of actors."""

        def options(num_cpus, scheduling_strategy):
            assert num_cpus <= self.free[scheduling_strategy.node_id]["CPU"]
            return SimpleNamespace(remote=partial(make, int(scheduling_strategy.node_id[:2])))

        def make(*given):
            self.made.append(Actor(kind, *given))
            return self.made[-1]

        return SimpleNamespace(options=options)

    def wait(self, calls, num_returns, timeout):
        """As Ray's: so many calls that are done, and the others."""
        assert 0 < num_returns <= len(calls) == len({*calls})
        wait(calls, timeout, FIRST_COMPLETED if num_returns == 1 else ALL_COMPLETED)
        done = [call for call in calls if call.done()][:num_returns]
        return done, [call for call in calls if call not in done]

    def get(self, call):
        """What a call returned, by the clock of its node."""
        value, ahead = call.result(60), 1000.0 * (1 + call.actor.node)
        if not isinstance(value, Report):
            return value
        for answer in value.answers:
            if not isinstance(answer.outcome, Exception):
                answer.outcome.start += ahead
                answer.outcome.end += ahead
        return replace(value, now=value.now + ahead)

    def close(self):
        """End all."""
        for actor in self.made:
            actor.die()
            actor.thread.shutdown()
