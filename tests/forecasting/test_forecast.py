"""The forecast: schedules that can be reckoned by hand, and what it says of those who cannot be forecast."""

import math
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import integrate, stats

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.cells import with_workers
from erlbench.experiment.costs import Costs
from erlbench.forecasting.forecast import CountingReplay, _Counting, forecast
from erlbench.forecasting.validation import Validated, errors_of, validated
from erlbench.pool import local_pool
from erlbench.pool.imagined import ImaginedPool
from erlbench.work.rollout import RolloutSettings
from erlbench.work.tasks import Priority, Task
from tests.runs import make_cell, run

LOG = math.sqrt(math.log1p(0.2**2))  # the deviation of the logarithm
COSTS = Costs(timestep=1e-3, critic_update=2e-3, actor_update=1e-3, overhead=0.0)


@pytest.mark.parametrize(("processors", "rounds"), [(1, 10), (4, 3), (5, 2), (10, 1), (64, 1)])
def test_a_synchronous_population_takes_its_rounds(processors, rounds, tmp_path):
    """CEM's ten episodes of 100 steps, one millisecond each, to the end of a generation."""
    cell = make_cell("cem", tmp_path, steps=3000, settings={"population": 10})
    found = forecast(cell, COSTS, processors, [100])
    assert found.minutes == pytest.approx(rounds * 0.1 * 1e6 / 1000 / 60)
    assert (found.staleness, found.critic_per_step) == (0.0, 0.0)
    assert found.busy == pytest.approx(10 / (rounds * processors))


def test_the_longest_episode_of_a_generation_decides(tmp_path):
    cell = make_cell("cem", tmp_path, steps=3000, settings={"population": 4, "elites": 2})
    found = forecast(cell, COSTS, 4, [50, 50, 50, 350])
    assert found.minutes == pytest.approx(0.35 * 1e6 / 500 / 60)


def test_aes_rl_has_critic_updates_as_far_as_their_processor_goes(tmp_path):
    """A critic of its own makes an update in the time of two steps; one worker plays and is measured in between."""
    settings = {"start_timesteps": 300, "p_desired": 0.0, "mean_episodes": 1}
    cell = with_workers(make_cell("aes-rl", tmp_path, steps=20_000, settings=settings), 4)
    own = forecast(cell, COSTS, 4, [100], critic="own")
    shared = forecast(cell, COSTS, 4, [100], critic="shared")
    assert own.critic_per_step == pytest.approx(0.25, rel=0.1)  # 4 workers play 2 steps a millisecond, it makes 0.5
    assert own.staleness == pytest.approx(3.0, abs=1.0)
    assert shared.minutes_after > own.minutes_after
    assert own.minutes_after == pytest.approx(1e6 / 2000 / 60, rel=0.05)


def test_an_evolution_strategy_takes_its_rounds_and_its_sums(tmp_path):
    """Forty episodes of 100 ms on 16 processors are three rounds; the sums of noise take their way to a process."""
    costs = Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=1e-3)
    cell = with_workers(make_cell("openai-es", tmp_path, steps=8000, settings={"population": 40}), 16)
    found = forecast(cell, costs, 16, [100])
    assert found.minutes == pytest.approx((3 * 0.101 + 0.001) * 1e6 / 4000 / 60, rel=1e-6)


def test_the_slowest_of_unequal_tasks_is_waited_for(tmp_path):
    """Of four log-normal times of mean 1 and deviation 0.2 the largest is 1.22 in the mean (by SciPy's quadrature)."""
    largest = integrate.quad(lambda x: 1 - stats.lognorm.cdf(x, LOG, scale=math.exp(-(LOG**2) / 2)) ** 4, 0, 10)[0]
    assert largest == pytest.approx(1.22, abs=0.01)
    even, uneven = (
        Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=0.0, spread=spread) for spread in (0.0, 0.2)
    )
    cell = make_cell("cem", tmp_path, steps=40_000, settings={"population": 4, "elites": 2})
    assert forecast(cell, uneven, 4, [100]).minutes == pytest.approx(
        largest * forecast(cell, even, 4, [100]).minutes, rel=0.02
    )
    assert forecast(cell, uneven, 1, [100]).minutes == pytest.approx(forecast(cell, even, 1, [100]).minutes, rel=0.02)


def test_errors_are_printed_for_each_algorithm_and_kind():
    rows = [
        Validated(kind="sleeping", algorithm="cem", processes=cores, measured=10.0, forecast=minutes, machine="here")
        for cores, minutes in ((5, 9.9), (9, 11))
    ]
    assert list(errors_of(["cem", "td3"], rows)) == [
        ("cem", "sleeping", "-1.0 % on 5, +10.0 % on 9"), ("cem", "computing", "not measured"),
        ("td3", "sleeping", "not measured"), ("td3", "computing", "not measured"),
    ]  # fmt: skip


def test_the_packaged_errors_are_those_of_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "time.md").read_text()
    for row in validated():
        assert f"| {row.algorithm} | {row.kind} | {row.processes} | {row.turns} | {row.measured:,.2f} |" in page


def test_forecasts_of_others_are_refused_and_the_command_prints_a_table(tmp_path):
    with pytest.raises(UsageError, match="no forecast"):
        forecast(make_cell("td3", tmp_path), COSTS, 2, [100])
    cell = make_cell("cem", tmp_path, steps=400)
    assert run(cell) == 0
    words = ["forecast", "--algo", "cem", "--env", "InvertedPendulum-v5", "--processes", "1,8", "--steps", "2000"]
    result = CliRunner().invoke(cli, [*words, "--from-run", str(cell.directory)])
    assert result.exit_code == 0
    lines = [
        line.split() for line in result.output.splitlines() if line.startswith("cem ") and line.rstrip().endswith("%")
    ]
    assert [line[1] for line in lines] == ["1", "8"]
    assert float(lines[0][2]) > float(lines[1][2])
    assert "beside measured times" in result.output


def test_the_model_gives_openai_es_published_minutes_on_1440_cores(tmp_path):
    """657 minutes on 18 cores and 10 on 1,440 (Salimans et al. 2017, figure 1); a linear speed-up would give 8.2.

    A generation of 10,000 episodes is simulated at a tenth: as many episodes for each core.
    """
    settings = {"population": 1000, "hidden": (8,)}
    cell = with_workers(make_cell("openai-es", tmp_path, "Humanoid-v5", steps=1, settings=settings), 144)
    linear, step = 657 * 18 / 1440, 1e-3  # minutes; seconds, of which only ratios count
    uniform = [int(length) for length in np.random.default_rng(0).integers(1, 1001, 10_007)]
    costs = Costs(timestep=step, critic_update=0, actor_update=0, overhead=step)
    full, any_length = (linear / forecast(cell, costs, 144, lengths).busy for lengths in ([1000], uniform))
    assert linear < full < any_length < 10
    assert full == pytest.approx(linear * 7 * 1440 / 10_000, rel=0.02)  # seven rounds of 1,440
    assert any_length == pytest.approx(10, rel=0.12)


@pytest.mark.parametrize("algo", ["aes-rl", "p-cem-rl", "cem-rl", "cem"])
def test_a_network_s_width_changes_no_schedule(tmp_path, algo):
    """So a forecast may compute with small ones; here the widths are those of the cell."""
    cells = [make_cell(algo, tmp_path, steps=3000, settings={"hidden": hidden}) for hidden in ((5,), (30, 20))]
    wide = []
    for cell in cells:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("erlbench.forecasting.forecast.NARROW", cell.settings.hidden)
            wide.append(repr(forecast(cell, COSTS, 3, [30, 70, 20])))
    assert wide[0] == wide[1] == repr(forecast(cells[0], COSTS, 3, [30, 70, 20]))


def test_lengths_may_be_those_of_each_kind_of_task(tmp_path):
    """The mean's episodes, which are not counted, take a tenth of the time of the individuals'."""
    settings = {"start_timesteps": 10**6, "warmup": "own-policies", "tell_in_warmup": True, "mean_episodes": 1}
    cell = with_workers(make_cell("aes-rl", tmp_path, steps=20_000, settings=settings), 1)
    found = forecast(cell, COSTS, 1, {"es": [100], "mean": [10]})
    assert found.minutes == pytest.approx(0.110 * 1e6 / 100 / 60, rel=1e-6)
    assert forecast(cell, COSTS, 1, {"rl": [100]}).minutes == forecast(cell, COSTS, 1, [100]).minutes


def told_after(pool, first, waiting, late):
    """The order of results: of one processor's task, of one that waits, and of one asked for after the first result."""
    pool.submit([first, waiting])
    order = [pool.next_result().task]
    pool.submit([late])
    return [*order, pool.next_result().task, pool.next_result().task]


def test_a_free_processor_takes_what_waits_before_the_driver_asks_for_more(tmp_path):
    """As the pool of processes does: a critic block that waits goes before the next episodes, which would go first.

    AES-RL on 16 processes was forecast 4 % too long, with the critic behind all episodes that follow.
    """
    nap = {"seconds": 0.05}
    tasks = [
        Task(number, "", "benchmarks.tasks:sleep", (), nap, priority=priority)
        for number, priority in ((1, Priority.ROLLOUT), (2, Priority.CRITIC), (3, Priority.ROLLOUT))
    ]
    with local_pool(1) as pool:
        assert told_after(pool, *tasks) == [1, 2, 3]
    episodes, updates = RolloutSettings(None, None), SimpleNamespace(updates=5)
    with ImaginedPool([100]) as inner, closing(CountingReplay(tmp_path, 1, 1)) as replay:
        inputs = {"critic": inner.store.put("critic", np.zeros(1))}
        first, late = (Task(number, "es", "work:rollout", (number,), episodes) for number in (1, 3))
        critic = Task(2, "critic", "updates:update_critic", (2,), updates, inputs, Priority.CRITIC)
        assert told_after(_Counting(inner, 1, COSTS, replay, shared=True), first, critic, late) == [1, 2, 3]
