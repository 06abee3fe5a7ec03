"""Which cells run at once, by what they can use: a pure function of numbers."""

import random

import pytest

from erlbench.experiment.schedule import CellQueue, CellSchedule, Share, plan

GIB = 2.0**30


def moldable(work, most, chain=0.0, exclusive=False, least=1, memory=0.0):
    """What a cell takes with each number of processes: its work divided, but no less than its chain."""
    return tuple(
        Share(processes=p, cores=p, memory=memory * p, seconds=max(chain, work / p), exclusive=exclusive)
        for p in range(least, most + 1)
    )


def steps(schedule, seed):
    """The cells that run at once, from the first to the last, if they end in a random order."""
    queue, chance = CellQueue(schedule), random.Random(seed)
    while True:
        while queue.start() is not None:
            pass
        if not queue.running:
            return
        yield dict(queue.running)
        queue.end(chance.choice(sorted(queue.running)))


def demands(chance, cores):
    for _ in range(chance.randint(1, 40)):
        least = chance.choice([1, 1, 1, chance.randint(1, cores)])
        most = chance.randint(least, cores)
        work, exclusive = chance.uniform(1, 1000), chance.random() < 0.3
        yield moldable(work, most, chance.uniform(0, work), exclusive, least, memory=chance.choice([0.0, GIB]))


@pytest.mark.parametrize("seed", range(20))
def test_every_cell_runs_once_and_no_core_is_given_twice(seed):
    chance = random.Random(seed)
    cores, memory = chance.choice([1, 2, 3, 8, 64]), chance.choice([2, 16, 256]) * GIB
    given = list(demands(chance, cores))
    schedule = plan(given, cores=cores, memory=memory)
    assert all(share in demand for share, demand in zip(schedule.shares, given, strict=True))
    seen = set()
    for running in steps(schedule, seed):
        seen |= running.keys()
        assert sum(share.cores for share in running.values()) <= cores
        assert len(running) <= 1 or sum(share.memory for share in running.values()) <= memory
        if any(share.cores == cores for share in running.values()):
            assert len(running) == 1
    assert seen == set(range(len(given)))
    forecast = schedule.forecast()
    alone = sum(min(share.seconds for share in demand) for demand in given)
    assert max(share.seconds for share in schedule.shares) <= forecast.seconds <= alone * 1.06


@pytest.mark.parametrize(
    ("cells", "cores", "processes", "at_once", "seconds"),
    [
        (2, 64, 32, 2, 100 / 32),
        (640, 64, 1, 64, 1000.0),
        (3, 2, 2, 1, 150.0),  # sooner one by one than two, and then one
        (4, 2, 1, 2, 200.0),
    ],
)
def test_few_cells_get_many_processes_and_many_cells_few(cells, cores, processes, at_once, seconds):
    schedule = plan([moldable(100.0, cores)] * cells, cores=cores)
    forecast = schedule.forecast()
    assert {share.processes for share in schedule.shares} == {processes}
    assert forecast.at_once == at_once
    assert forecast.seconds == pytest.approx(seconds)


def test_a_number_of_cells_at_once_keeps_the_order_that_was_given():
    schedule = CellSchedule(tuple(Share(processes=2, seconds=seconds) for seconds in (1.0, 9.0, 5.0)), range(3), jobs=2)
    queue = CellQueue(schedule)
    assert [queue.start(), queue.start(), queue.start()] == [0, 1, None]
    queue.end(1)
    assert queue.start() == 2
    assert schedule.forecast().seconds == 9.0


def test_cells_that_are_done_take_no_room():
    done = (Share(processes=1, done=True),)
    schedule = plan([done, done, moldable(100.0, 4), done], cores=4)
    assert schedule.shares[2].processes == 4
    assert schedule.forecast().at_once == 1
    assert plan([done], cores=4).forecast().seconds == 0
    assert plan([], cores=4).forecast().at_once == 0


def test_what_is_one_chain_gets_no_more_than_shortens_it():
    chain, search = moldable(100.0, 8, chain=100.0), moldable(700.0, 8)
    schedule = plan([chain, search, chain, search], cores=8)
    assert [share.processes for share in schedule.shares] == [1, 7, 1, 7]  # a search beside a chain, twice
    assert schedule.forecast().seconds == 200.0
