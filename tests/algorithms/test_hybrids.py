"""Search x learner x coupling x schedule: each combination for two generations, and whole runs of some."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.algorithms.cem_rl import CEMRL, CEMRLSettings
from erlbench.algorithms.hybrid import COUPLINGS, SCHEDULES
from erlbench.algorithms.pderl import PDERL, PDERLSettings
from erlbench.algorithms.policy_settings import PolicySettings, make_policy_spec
from erlbench.algorithms.registry import find
from erlbench.algorithms.search.search import SEARCHES, find_search
from erlbench.algorithms.training.learners import LEARNERS
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.policy import NumpyPolicy, PolicySpec, initial_policy, load_policy, serialise_policy
from erlbench.testing import check_algorithm
from erlbench.work.values import decode, encode
from tests.calls import call, succeed
from tests.runs import check_same_as_whole, complete, interrupt, make_cell, replayed, returns, rows
from tests.tables import cells

SMALL = {"population": 4, "elites": 2, "n_grad": 2, "hidden": (4,), "batch_size": 4, "start_timesteps": 30}
OPTIONS = {"ars": "directions=2 top=1", "ga": "parents=2", "aes": "baseline=100 window=4"}
IN_TURN = itertools.cycle((*LEARNERS, *LEARNERS, *LEARNERS, "td3"))  # each place has other learners at the next search
MATRIX = [*zip(itertools.product(SEARCHES, COUPLINGS, SCHEDULES), IN_TURN)]
REFUSED = {(search, "steady-state") for search in SEARCHES if find_search(search).pairs}


def settings_of(search, learner="td3", coupling="half", schedule="chain", **more):
    options = OPTIONS.get(search, "") + (" gradient_interval=1" if coupling == "winners" else "")
    given = SMALL | {"options": options} | more
    return CEMRLSettings(search=search, learner=learner, coupling=coupling, schedule=schedule, **given)


def finish_all(fake, generations, fitness=lambda task: float(task.id % 7)):
    """Play until so many updates of the search; how many actors were trained."""
    while fake.algorithm.counters.generation < generations:
        fake.ask()
        task = fake.open[min(fake.open)]
        fake.finish(task, fitness=fitness(task))
    return fake.algorithm.counters.actor_updates


@pytest.mark.parametrize(("places", "learner"), MATRIX, ids=str)
def test_all_combinations_run_train_and_go_on_from_a_checkpoint(places, learner, new_fake):
    search, coupling, schedule = places
    settings = settings_of(search, learner, coupling, schedule)
    if (search, schedule) in REFUSED:
        with pytest.raises(UsageError, match="mirrored pairs around one mean"):
            new_fake(CEMRL, settings)
        return
    fake, twin = (new_fake(CEMRL, settings, workers=2) for _ in range(2))
    rounds = 9 if (search, schedule) == ("aes", "steady-state") else 3  # AES-RL's rules learn from each individual
    trained, _ = (finish_all(each, rounds) for each in (fake, twin))
    assert (trained > 0) == (coupling != "none")
    assert fake.algorithm.is_synchronous(fake.algorithm.settings) == (schedule != "steady-state")
    mean = fake.store.get(fake.algorithm.policy())
    assert np.isfinite(mean).all()
    arrays = {}
    twin.algorithm.restore(decode(encode(twin.algorithm.snapshot(), arrays), arrays))
    assert twin.algorithm.coupling.state is twin.algorithm.state.coupling
    for each in (fake, twin):
        finish_all(each, rounds + 2)
    after, of_twin = (each.store.get(each.algorithm.policy()) for each in (fake, twin))
    assert_array_equal(after, of_twin)
    assert search in ("ga", "erl-ga") or not np.array_equal(after, mean)
    assert fake.algorithm.metrics().keys() == twin.algorithm.metrics().keys()


# Of an algorithm with some settings, those that nothing reads, and some that are read.
EFFECTS = """
cem-rl         |                              | p_desired                              | elites n_grad tau injected
cem-rl         | search=snes learner=ddpg     | elites noise_clip                      | population n_grad
cem-rl         | schedule=steady-state        | n_grad random_warmup                   | start_timesteps target_noise
aes-rl         | learner=crossq               | tau target_noise                       | p_desired critic_block
aes-rl         | coupling=none schedule=chain | injected k_rl warmup                   | window
evorainbow-exp | learner=sac                  | exploration_noise final_scale ou_theta | soft_update
evorainbow-exp | coupling=half                | soft_update                            | n_grad
erl            |                              |                                        | tau
"""


@pytest.mark.parametrize(("algo", "chosen", "idle", "read"), cells(EFFECTS))
def test_settings_that_nothing_reads_are_named(algo, chosen, idle, read):
    kind = find(algo)
    named = kind.without_effect(kind.settings_type(**dict(change.split("=") for change in chosen.split())))
    assert {*idle.split()} <= {*named}
    assert not {*read.split()} & {*named}
    for name in f"{idle} {read}".split() if chosen == "coupling=half" else ():
        words = f"--algo {algo} --set {chosen} --set {name}=1 --env Pendulum-v1 --dry-run"
        result = call("run", *words.split())
        assert (f"--set {name} has no effect" in result.stderr, result.exit_code) == (name in idle, 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_aes_rl_s_rules_compare_with_the_mean_also_where_the_learner_is_reported(schedule, new_fake):
    """And where each individual is a generation of theirs, the learner plays as often as after whole generations."""
    options = "baseline=100 window=10 gradient_interval=2 p_end=1 validation_every=1"
    fake = new_fake(CEMRL, settings_of("aes", "td3", "winners", schedule, options=options), total=20_000)
    search, coupling, measured = fake.algorithm.search, fake.algorithm.coupling, set()
    while coupling.state.intervals < 3:
        for task in fake.ask():
            if task.kind == "mean":
                measured.add(task.inputs["parameters"] == search.mean_ref)
        task = fake.open[min(fake.open)]
        fake.finish(task, fitness=100.0 if (task.kind, task.individual) == ("validation", 1) else 1.0)
    assert measured == {True}
    assert coupling.state.reports_learner == (schedule != "steady-state")


def test_a_learner_at_the_side_explores_and_updates_as_its_paper(new_fake):
    for learner, delay, noise in (("td3", 2, 0.1), ("crossq", 3, 0.0)):
        fake = new_fake(CEMRL, settings_of("cem", learner, "side"))
        assert fake.algorithm.joint_update().policy_delay == delay
        (episode,) = [task for task in fake.ask() if task.kind == "rl"]
        assert episode.settings.action_noise == noise  # a policy that draws its actions has no further noise


@pytest.mark.parametrize(("coupling", "learner"), [("side", "td3"), ("winners", "sac")])
def test_the_learner_and_the_search_start_from_different_weights(coupling, learner, new_fake):
    algorithm = new_fake(CEMRL, settings_of("cem", learner, coupling)).algorithm
    first = algorithm.policy_spec.tensors[0].place
    mean, actor = (
        algorithm.context.store.load(ref)[first] for ref in (algorithm.search.mean_ref, algorithm.coupling.state.actor)
    )
    assert (mean != actor).all()


def test_a_learner_at_the_side_replaces_the_worst_and_moves_to_the_best(new_fake):
    fake = new_fake(CEMRL, settings_of("cem", coupling="side", options="soft_update=0.25 sync_period=2"))
    state, told = fake.algorithm.state.coupling, []
    tell = fake.algorithm.search.tell
    fake.algorithm.search.tell = lambda individuals: (told.extend(individuals), tell(individuals))
    for generation in range(4):
        before, tasks = fake.store.get(state.actor), fake.ask()
        updates, copied = [task for task in tasks if task.kind == "critic"], generation == 2  # after two generations
        members = [task for task in tasks if task.kind == "es"]
        if copied:
            assert members[1].inputs["parameters"] == updates[0].output("actor")
        best = fake.input(members[2], "parameters")
        for task in tasks:
            fake.finish(task, fitness={1: -1.0, 2: 9.0, 4: 5.0}.get(task.individual, 3.0))
        actor, target = fake.store.get(state.learner)[: 2 * before.size].reshape(2, -1)
        trained = before + len(updates)  # the stand-in adds 1 for each training
        assert_allclose(actor, 0.75 * trained + 0.25 * best, rtol=1e-5)
        assert_array_equal(actor, target)
        assert_array_equal(actor, fake.store.get(state.actor))
        assert [each.injected for each in told[-4:]] == [False, copied, False, False]
        assert [each.origin is None for each in told[-4:]] == [False, copied, False, False]
        assert fake.algorithm.metrics()["learner_rank"] == (4 if copied else 0)


def test_without_generations_it_moves_to_the_best_once_its_updates_are_done(new_fake):
    settings = settings_of("snes", coupling="side", schedule="steady-state", options="soft_update=0.25 sync_period=9")
    fake = new_fake(CEMRL, settings, workers=2)
    state, updates = fake.algorithm.state.coupling, None
    while updates is None or state.pending is None:
        fake.ask()
        updates = next((task for task in fake.open.values() if task.kind == "critic"), None)
        for task in [task for task in fake.open.values() if task is not updates]:
            fake.finish(task, fitness=float(task.id % 7))
    before, best = fake.store.get(state.actor), fake.store.load(state.pending)
    fake.finish(updates)
    assert_allclose(fake.store.get(state.actor), 0.75 * (before + 1) + 0.25 * best, rtol=1e-5)


def test_a_learner_s_copy_spares_the_elite(new_fake):
    """PDERL's clone of it, and the place at which GA keeps it, though the worst individual was there."""
    pderl = PDERLSettings(population=4, hidden=(4,), critic_hidden=(4,), batch_size=4, sync_period=1)
    for kind, settings in ((PDERL, pderl), (CEMRL, settings_of("ga", coupling="side"))):
        fake, spared = new_fake(kind, settings), 0
        search, coupling = fake.algorithm.search, fake.algorithm.coupling
        for generation in range(8):
            kept = 3 if kind is CEMRL else generation % 4  # where the worst one plays
            finish_all(fake, generation + 1, lambda task, worst=kept: -5.0 if task.individual == worst else task.id % 7)
            spared += search.spared == kept
            assert coupling.state.next_place == (kept + (search.spared == kept)) % 4
        assert spared


PAGE = Path(__file__).parents[2] / "docs" / "hybrids.md"


@pytest.fixture(scope="module")
def page_modules(tmp_path_factory):
    """The modules of the page, typed into files."""
    codes = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    folder = tmp_path_factory.mktemp("modules")
    for name, code in zip(("my_search", "my_learner", "my_policy"), codes, strict=True):
        (folder / f"{name}.py").write_text(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


SMALL_RUN = {"population": 4, "n_grad": 2, "elites": 2, "start_timesteps": 100}
PAGE_S = SMALL_RUN | {"search": "my_search:BetterHalf", "options": "spread=0.02"}


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        pytest.param(
            "cem-rl", SMALL_RUN | {"search": "snes", "learner": "sac", "coupling": "side"}, marks=pytest.mark.slow
        ),
        pytest.param("cem-rl", PAGE_S | {"learner": "my_learner:smoothed"}, marks=pytest.mark.slow),
        pytest.param("cem-rl", PAGE_S | {"learner": "my_learner:decayed"}, marks=pytest.mark.slow),
        ("snes", {"network": "my_policy:Echo"}),
    ],
)
def test_a_run_of_the_page_s_parts_is_interrupted_and_gives_the_same_rows(algo, settings, page_modules, tmp_path):
    cell = make_cell(algo, tmp_path / "parts", steps=600, settings=settings)
    check_same_as_whole(complete(interrupt(cell, 7, 20)))
    last = rows(cell.directory, "eval.csv")[-1]
    if algo == "cem-rl":
        assert int(last["actor_updates"]) > 0
    else:
        assert returns(last) == replayed(cell)
        assert load_policy(cell.directory).spec.parameters == ("decay:1", "layer.weight:1x8", "layer.bias:1")
        for words, result in (((), "cannot be verified"), (("--import",), "agrees")):
            checks = succeed("verify", cell.directory, "-v", *words)
            assert re.search(rf"^policy +{result}", checks, re.MULTILINE), checks


def test_a_policy_s_module_acts_as_torch_does_and_begins_anew(page_modules):
    import my_policy
    import torch

    spec = make_policy_spec(problem("InvertedPendulum-v5"), PolicySettings(network="my_policy:Echo"))
    vector = initial_policy(spec, (1, 2))
    assert np.array_equal(vector, initial_policy(spec, (1, 2)))
    assert not np.array_equal(vector, initial_policy(spec, (1, 3)))
    theirs, mine = my_policy.Echo(4, 1), NumpyPolicy(spec, vector)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(vector), theirs.parameters())
    observations = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    for _ in range(2):
        theirs.reset()
        mine.reset()
        for observation in observations:
            expected = torch.tanh(theirs(torch.from_numpy(observation[None]))).detach().numpy()[0]
            assert_allclose(mine.normalised(observation), expected, atol=1e-6)


def test_a_policy_s_module_may_keep_its_observations(write_module):
    write_module("difference", DIFFERENCE)
    spec = PolicySpec(
        (2, 2), "tanh", (), (), network="difference:Difference", parameters=("gain:1",), squashing="linear"
    )
    policy = NumpyPolicy(spec, np.full(1, 2.0, np.float32))
    policy.reset()
    outputs = [policy.normalised(np.array(each, np.float32)).tolist() for each in ([1.0, 1.0], [4.0, 2.0], [4.0, 3.0])]
    assert outputs == [[2.0, 2.0], [6.0, 2.0], [0.0, 2.0]]


DIFFERENCE = """
import torch
class Difference(torch.nn.Module):
    def __init__(self, observations, outputs):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(1))
    def reset(self): self.last = torch.zeros(1, 2)
    def forward(self, x):
        change, self.last = x - self.last, x
        return self.gain * change
"""


def test_a_policy_s_file_runs_no_code(page_modules, tmp_path):
    """Neither a module that nobody imported, nor a function of one that is there."""
    spec = make_policy_spec(problem("InvertedPendulum-v5"), PolicySettings(network="my_policy:Echo"))
    for network, error in (("nobody_s:Policy", UsageError), ("os:kill", ValueError)):
        file = tmp_path / "policy.safetensors"
        file.write_bytes(serialise_policy(np.zeros(spec.size, np.float32), replace(spec, network=network)))
        with pytest.raises(error, match=network):
            load_policy(file)
    for network in ("gru", "my_policy:Nothing", "os:kill"):
        with pytest.raises(UsageError, match=network):
            make_policy_spec(problem("InvertedPendulum-v5"), PolicySettings(network=network))


UNUSABLE = """
import torch
class Draws(torch.nn.Linear):
    def forward(self, x): return super().forward(x) + torch.randn(1)
class Wide(torch.nn.Linear):
    def forward(self, x): return super().forward(x).repeat(1, 2)
class Counts(torch.nn.Linear):
    seen = 0
    def forward(self, x): self.seen += 1; return self.seen * super().forward(x)
class Pair(torch.nn.Linear):
    def forward(self, x): return super().forward(x), x
class Ends(torch.nn.Linear):
    def forward(self, x): raise SystemExit(0)
class Buffer(torch.nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("scale", torch.rand(1))
    def forward(self, x): return self.scale * super().forward(x)
class Trains(torch.nn.Linear):
    def reset(self): self.train()
    def forward(self, x): return super().forward(x) + self.training * torch.rand(1)
"""


REASONS = r"""
Draws  | random
Wide   | \(1, 2\)
Counts | reset
Pair   | a tuple, not a tensor
Ends   | SystemExit
Buffer | random
Trains | random
"""


@pytest.mark.parametrize(("name", "reason"), cells(REASONS))
def test_a_policy_that_could_not_be_repeated_or_has_no_actions_is_refused(write_module, name, reason):
    write_module("unusable", UNUSABLE)
    with pytest.raises(UsageError, match=f"unusable:{name}.*{reason}"):
        make_policy_spec(problem("InvertedPendulum-v5"), PolicySettings(network=f"unusable:{name}"))


@pytest.mark.slow
def test_the_page_s_search_alone_conforms(page_modules, tmp_path):
    check_algorithm("my_search:BetterHalf", tmp_path / "runs", settings={"hidden": (8,)})
