"""Whether a run is equal to the last bit, apart from what a clock measured, to others and to what this machine makes.

Others are a given run, runs of which it may be a copy, and a second run. Saved policies play their
evaluations again, episode by episode; software, kernel and problem decide whether equal bits are expected.
"""

from __future__ import annotations

import hashlib
import importlib
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.algorithms import registry
from erlbench.envs.catalogue import find_module
from erlbench.envs.registry import EnvSpec, build
from erlbench.errors import ErlbenchError, UsageError, describe_error
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import RunOptions
from erlbench.experiment.requested_cells import requested_cells
from erlbench.files import read_bytes, reason, table_in
from erlbench.machine import description, process
from erlbench.policy import load_policy
from erlbench.pool.separate_process import NoEnd, run_separately
from erlbench.records.run import CONFIG, POLICIES, POLICY, admission_marks
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, Row, header, list_columns
from erlbench.running.admission import UNTRIED, admit, identify_run, problem_finder
from erlbench.running.command import run_cells
from erlbench.running.evaluation import evaluation_seeds, policy_file
from erlbench.verification.files import Check, Files, Findings, Unverifiable, load_files, make_check
from erlbench.work import identity
from erlbench.work.rollout import play

if TYPE_CHECKING:
    import pandas as pd

# What differs between two equal runs: times, and which process had a task.
MEASURED = frozenset(column.name for row in COUNTED for column in list_columns(row) if column.measured)
DIGESTS_FROM = 5  # format of a run since which digests have been computed as today
FEWEST = 5  # different returns that tell runs apart
LONGEST = 6 * 3600.0  # seconds of a second run, and of playing
SECONDS, STEPS_PER_SECOND = 60.0, 100.0  # that playing may take: a folder's settings may ask for endless steps
Saved = tuple[Path, Mapping[Any, Any]]  # a policy's file, and the row of eval.csv
Episodes = list[tuple[float, int]]  # returns and lengths


def compare_runs(run: Files, other: Files) -> Iterator[Check]:
    """Compare configuration, rows and saved policy of two runs."""
    yield make_check("config.toml", _compare_configurations, run, other)
    for row in COUNTED:
        yield make_check(
            row.file, compare_rows, row, run.rows.get(row), other.rows.get(row), unlike_digests(run, other)
        )
    yield make_check(POLICY, _compare_policies, run, other)


def _compare_configurations(run: Files, other: Files) -> Findings:
    ours, theirs = (
        {f"{table}.{key}": value for table in files.config for key, value in files.table(table).items()}
        for files in (run, other)
    )
    differing = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
    return [", ".join(differing)] if differing else [], "all settings are equal"


def unlike_digests(run: Files, other: Files) -> str:
    """Why the digests of two runs are not compared: they are computed otherwise since `DIGESTS_FROM`. Else empty."""
    first, second = (number if isinstance(number := files.meta.get("format"), int) else 0 for files in (run, other))
    is_alike = (first >= DIGESTS_FROM) == (second >= DIGESTS_FROM)
    return "" if is_alike else f"digests of formats {first} and {second} are not compared"


def compare_rows(
    row: type[Row], ours: pd.DataFrame | None, theirs: pd.DataFrame | None, unlike_digests: str = ""
) -> Findings:
    """Compare all columns that no clock measured; the first cell that differs is named."""
    if ours is None or theirs is None:
        raise Unverifiable("missing in one of the runs")
    left_out = MEASURED | {"digest"} if unlike_digests else MEASURED
    columns = [name for name in dict.fromkeys([*ours, *theirs]) if name not in left_out]
    counts = len(ours), len(theirs)
    length = min(counts)
    if row.unique:  # tasks finish in any order
        ours, theirs = (rows.sort_values(row.unique, ignore_index=True) for rows in (ours, theirs))
    ours, theirs = (rows.reindex(columns=columns).head(length) for rows in (ours, theirs))
    # several numbers as text, for a tuple with NaN is equal to no other
    ours, theirs = (
        rows.apply(lambda cells: cells.map(repr) if cells.dtype == object else cells) for rows in (ours, theirs)
    )
    equal = ((ours == theirs) | (ours.isna() & theirs.isna())).to_numpy()
    if not equal.all():
        index, column = np.argwhere(~equal)[0]
        values = (rows.iloc[index, column] for rows in (ours, theirs))
        return [f"row {index}, {columns[column]}: {', '.join(str(value)[:40] for value in values)}"], ""
    wrong = [] if counts[0] == counts[1] else [f"{counts[0]:,} rows and {counts[1]:,}; the first ones are equal"]
    more = f"; {unlike_digests}" if unlike_digests and "digest" in header(row) else ""
    return wrong, f"{length:,} rows, all columns but times{more}"


def _compare_policies(run: Files, other: Files) -> Findings:
    try:
        ours, theirs = (read_bytes(files.path / POLICY, inside=1) for files in (run, other))
    except (OSError, ValueError):
        raise Unverifiable("missing in one of the runs") from None
    return [] if ours == theirs else ["other parameters"], "equal to the last bit"


def evaluation_marks(run: Files) -> set[Any]:
    """What no run of another seed has: each digest, or without any all returns after the first steps."""
    rows = run.evaluations
    if digests := {digest for digest in rows["digest"] if digest}:
        return digests
    returns = tuple(rows["returns"][rows["timesteps"] > 0])
    return {returns} if len({value for values in returns for value in values}) >= FEWEST else set()


def find_copies(runs: Mapping[Path, tuple[Any, set[Any]]]) -> Iterator[tuple[Path, Check]]:
    """The check of each run, given by its seed and `evaluation_marks`, against the others."""
    seeds: defaultdict[Any, dict[Any, Path]] = defaultdict(dict)  # mark -> seed -> run
    for path, (seed, marks) in runs.items():
        for mark in marks:
            seeds[mark].setdefault(seed, path)

    def compare(seed: Any, marks: set[Any]) -> Findings:
        if not marks:
            raise Unverifiable("eval.csv has nothing that distinguishes runs")
        others = {other for mark in marks for theirs, other in seeds[mark].items() if theirs != seed}
        wrong = [f"it has evaluations of {min(others)}, which has another seed"] if others else []
        return wrong, f"none of the {len(runs)} runs has its evaluations with another seed"

    for path, of_run in runs.items():
        yield path, make_check("copies", compare, *of_run)


def run_again(path: Path, number: int, trusted: bool = False) -> Check:
    """Run the run in `path` again up to evaluation `number`, and compare the digests and rows up to there.

    Raises `UsageError` for an evaluation that is not there. A module that the folder names is only imported where it
    is `trusted`. The second run has a separate process, which is ended when it takes too long.
    """
    return make_check("again", _run_and_compare, load_files(path), number, trusted)


def _run_and_compare(run: Files, number: int, trusted: bool) -> Findings:
    rows = run.evaluations
    if not any(rows["digest"]):
        raise Unverifiable("eval.csv has no digests: an early version made the run")
    if not 0 <= number < len(rows):
        raise UsageError(f"{run.path} has the evaluations 0 to {len(rows) - 1}, not {number}")
    for name in (run.env, run.algo):
        if (module := find_module(name)) and not trusted:
            raise Unverifiable(f"{name} is in the module {module}, which runs code; --import allows that")
    until = None if rows["final"].iloc[number] == 1 else number
    options = RunOptions(0, verbosity=-1, until=until, admission=False)
    with tempfile.TemporaryDirectory(prefix="erlbench-again-") as folder:
        try:
            second = run_separately(_run_copy, run.path, folder, options, seconds=LONGEST)
        except NoEnd as error:
            raise Unverifiable(f"the second run has no end within {LONGEST:,.0f} s") from error
        if second is None:
            raise Unverifiable("results arrived by the clock, which no second run repeats")
        return _compare_reruns(run, load_files(second), number)


def _run_copy(path: Path, out: str, options: RunOptions) -> Path | None:
    """Run the run in `path` again below the folder `out`: its own folder; None where no run can repeat it."""
    (cell,) = requested_cells(arguments({"config": str(path / CONFIG), "out": out}), problem_finder(UNTRIED))
    if not (cell.simulated_time or registry.find(cell.algo).is_synchronous(cell.settings)):
        return None
    run_cells([cell], options)
    return cell.directory


def _compare_reruns(run: Files, again: Files, number: int) -> Findings:
    """All cells of the evaluations and training episodes up to evaluation `number` that no clock measured."""
    ours, theirs = (files.evaluations.head(number + 1) for files in (run, again))
    if len(theirs) <= number:
        reason = again.status.get("message") or "it stopped before"
        return [f"the second run did not come to evaluation {number}: {reason}"], ""
    unlike = unlike_digests(run, again)
    wrong = [*compare_rows(EvaluationRow, ours, theirs, unlike)[0]]
    if EpisodeRow in run.rows and EpisodeRow in again.rows:
        until = f"timesteps <= {ours['timesteps'].iloc[-1]}"
        first, second = (files.rows[EpisodeRow].query(until).reset_index(drop=True) for files in (run, again))
        length = min(len(first), len(second))
        wrong += compare_rows(EpisodeRow, first.head(length), second.head(length))[0]
    if wrong:
        compare_software(run)  # `Unverifiable` where other software made the run, so that bits may differ
    what = f"rows ({unlike})" if unlike else "digests and rows"
    return wrong, f"the {what} of evaluations 0 to {number} equal a second run's"


def check_policies(run: Files, alike: bool, trusted: bool) -> Iterator[Check]:
    """Play the saved policies from the start states of their evaluations and compare each return to the last bit.

    `alike`: whether software and problem equal the run's, so that another return is a difference. A module that
    the folder names is only imported where it is `trusted`: importing runs its code.
    """
    rows = run.evaluations.to_dict("records")
    final = [(run.path / POLICY, row) for row in rows[-1:]]
    others = [(policy_file(run.path, index), row) for index, row in enumerate(rows[:-1]) if row["final"] != 1]
    final, others = ([saved for saved in group if saved[0].is_file()] for group in (final, others))
    yield make_check("policy", _compare_returns, run, final, alike, trusted)
    if others and rows[-1]["final"] == 1:
        yield make_check(POLICIES, _compare_returns, run, others, alike, trusted)


def _compare_returns(run: Files, policies: Sequence[Saved], alike: bool, trusted: bool) -> Findings:
    if not policies:
        raise Unverifiable(f"{POLICY} is not there: only the score that was written down remains")
    if run.last["final"] != 1:
        raise Unverifiable("eval.csv has no final evaluation with separate start states")
    network = str(run.table("settings").get("network", ""))
    modules = [*filter(None, map(find_module, (run.env, network)))]
    if modules and not trusted:
        raise Unverifiable(f"it needs the module {' and '.join(modules)}, which runs code; --import allows that")
    try:
        env = admit(run.env, run.table("env_settings"), UNTRIED).problem.env
    except ErlbenchError as error:
        raise Unverifiable(error) from error
    try:
        for path, row in policies:  # a row of an early version has no SHA-256
            if row["policy_sha256"] not in ("", hashlib.sha256(read_bytes(path, inside=1)).hexdigest()):
                return [f"{path.name}: another policy than the one whose SHA-256 eval.csv has"], ""
        played = _play_within_limits(run, env, policies, modules)
        wrong = [text for (_, row), episodes in zip(policies, played) if (text := _difference(row, episodes))]
    except (OSError, ImportError) as error:  # of this machine: no process, no memory, no such module
        raise Unverifiable(f"cannot be played here: {reason(error)}") from error
    except (ErlbenchError, KeyError, TypeError, ValueError) as error:
        return [f"cannot be played: {error}"], ""
    if wrong and not alike:
        raise Unverifiable("; ".join(wrong[:3]))
    what = "the final evaluation" if policies[0][0].name == POLICY else f"{len(played)} evaluations on the way"
    return wrong, f"all {sum(map(len, played))} returns of {what} are equal to the last bit"


def _play_within_limits(run: Files, env: EnvSpec, policies: Sequence[Saved], modules: Sequence[str]) -> list[Episodes]:
    """Returns and lengths of each evaluation, in the order of its start states.

    They are played by a separate process, which is ended when the seconds are used up.
    """
    lengths = [int(length) for _, row in policies for length in row["lengths"]]
    steps = sum(min(max(0, length) + 1, env.max_episode_steps) for length in lengths)
    limit = min(env.max_episode_steps, max(lengths, default=0) + 1)  # where an episode goes on, it is another one
    seconds = min(LONGEST, SECONDS + steps / STEPS_PER_SECOND)
    try:
        seed = int(run.table("run")["seed"])
        played: list[Episodes] = run_separately(_play, env, seed, policies, limit, modules, seconds=seconds)
    except NoEnd as error:
        raise Unverifiable(f"no end within {seconds:,.0f} s for {steps:,} steps") from error
    return played


def _play(spec: EnvSpec, seed: int, policies: Sequence[Saved], limit: int, modules: Sequence[str]) -> list[Episodes]:
    evaluations = []
    for module in modules:
        process.allow_module(module)
        try:
            importlib.import_module(module)
        except SystemExit as error:
            raise ImportError(f"{module} ends the program ({describe_error(error)})") from error
    with closing(build(spec)) as env:
        for path, row in policies:
            policy = load_policy(path, inside=1 if path.name == POLICY else 2)
            at = None if row["final"] == 1 else int(row["timesteps"])
            seeds = evaluation_seeds(seed, at, len(row["returns"]))
            played = (play(env, policy, limit, each, mode=True) for each in seeds)
            evaluations.append([(episode.total, episode.length) for episode in played])
    return evaluations


def _difference(row: Mapping[Any, Any], played: Episodes) -> str:
    """How the episodes of an evaluation differ from its row; empty where they are equal."""
    reported = list(zip(row["returns"], row["lengths"], strict=True))
    count = sum(ours != theirs for ours, theirs in zip(played, reported, strict=True))
    returns, steps = np.abs(np.subtract(played, reported)).max(axis=0)
    where = f"after {row['timesteps']:,} steps {count} of {len(reported)} returns differ"
    return f"{where}, by {returns:.3g} and {steps:.0f} steps at most" if count else ""


def compare_software(run: Files) -> Findings:
    """Whether all versions equal the run's; else equal bits are not promised."""
    if not run.meta:
        raise Unverifiable("meta.json is missing")
    kernels = {start["arithmetic"] for start in run.starts if start.get("arithmetic")}
    if len(kernels) > 1:
        raise Unverifiable(f"several kernels computed the run: {' | '.join(sorted(kernels))}")
    if others := "; ".join(_differences(run)):
        raise Unverifiable(f"other versions here, so bits may differ: {others}")
    if not run.meta.get("kernel"):
        raise Unverifiable("the run does not record its kernel, so bits may differ")
    here = description.software()
    return [], f"Python {here['python']}, the kernel {here['kernel']} and all packages are as in the run"


def _differences(run: Files) -> Iterator[str]:
    here = description.software()
    for name, version in table_in(run.meta, "versions").items():
        now = here["versions"].get(name) or description.version(name)
        if now != version:
            yield f"{name} {version}, here {now}"
    for name in sorted(run.meta.keys() & here.keys() - {"versions"}):  # what an older run lacks is not compared
        if run.meta[name] != here[name]:
            yield f"{name} {run.meta[name]}, here {here[name]}"


def compare_identity(run: Files, trusted: bool) -> Findings:
    """Whether each start of the run had the identity that its problem has here.

    A module that the folder names is only imported where it is `trusted`: importing runs its code.
    """
    starts = identity.list_identities(run.meta)
    if not starts:
        raise Unverifiable("the run did not record which packages, files and model it was made with")
    if within := dict.fromkeys(line for later in starts for line in identity.changes(starts[0], later)):
        raise Unverifiable(f"changed within the run (--anyway): {'; '.join(within)}")
    if not trusted and (find_module(run.env) or run.algo not in registry.ALGORITHMS):
        raise Unverifiable("its modules are not the suite's and would run code; --import allows that")
    for module in filter(None, map(find_module, (run.algo, run.env))):
        process.allow_module(module)
    try:
        here = identify_run(run.algo, run.env, run.table("env_settings"), run.table("settings"))
    except ErlbenchError as error:
        raise Unverifiable(error) from error
    if not here:
        raise Unverifiable("environment and algorithm cannot be made here")
    if changes := identity.changes(starts[-1], here):
        raise Unverifiable(f"another one here, so bits may differ: {'; '.join(changes)}")
    return [], "packages, source files, files that settings name and the MuJoCo model are as in the run"


def check_admission(run: Files) -> Findings:
    """Whether the environment was tried at each start, and is repeatable."""
    if marks := admission_marks(run.meta):
        raise Unverifiable("; ".join(marks))
    if not any(isinstance(start.get("admission"), Mapping) for start in run.starts):
        raise Unverifiable("the run did not record whether its environment was tried")
    return [], "the environment was tried: its seed decides an episode"
