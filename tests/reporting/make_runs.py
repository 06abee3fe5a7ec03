"""Synthetic run directories, written by the schema of `erlbench.records`."""

import json

from erlbench.records.schema import EpisodeRow, EvaluationRow, EventRow, GenerationRow, TaskRow, make_row
from erlbench.records.write import RowFile


def make_run(
    results, env, name, seed, returns, *, total=None, steps=None, status="done", message="", seconds_per_step=0.01,
    warmup=0, workers=5, processes=5, tasks=(), simulated=False, generations=0, fitness=0, starts=(),
    settings="initial_variance = 0.001\n",
):  # fmt: skip
    """The folder of a run whose evaluations at `steps` (default: every 1000 from 0) have the means `returns`.

    Warm-up steps take a tenth of the time and have no critic updates. There are `fitness` fitness steps for each
    training step. `tasks`: (kind, process, start, end, updates). `starts`: what else meta.json has of each start.
    `settings`: of config.toml, with all that follows there.
    """
    steps = [1000 * i for i in range(len(returns))] if steps is None else list(steps)
    timesteps = steps[-1] if steps else 0
    total = timesteps if total is None else total
    folder = results / env / name / f"seed-{seed:03d}"
    folder.mkdir(parents=True)

    def seconds(step):
        return (min(step, warmup) * 0.1 + max(0, step - warmup)) * seconds_per_step

    rows = []
    for i, (step, value) in enumerate(zip(steps, map(float, returns), strict=True)):
        updates = max(0, step - warmup)
        rows.append({
            "evaluation": i, "final": int(status == "done" and i == len(steps) - 1), "timesteps": step,
            "fitness_timesteps": fitness * step, "evaluation_timesteps": 2000 * (i + 1), "replayed_timesteps": 0,
            "episodes": 2 * (i + 1), "generation": i, "critic_updates": updates, "actor_updates": updates,
            "train_time_s": seconds(step), "total_time_s": seconds(step) * 1.5, "return_mean": value, "return_std": 1.0,
            "returns": (value - 1, value + 1), "lengths": (1000, 1000), "paused_s": 0.0, "metrics": {},
            "critic_per_step": 1.0, "actor_per_step": 1.0, "busy_processes": float(processes),
        })  # fmt: skip
    write_rows(folder, EvaluationRow, rows)
    write_rows(folder, GenerationRow, rows)
    write_rows(folder, TaskRow, [
        {"task": i, "kind": kind, "process": process, "individual": process, "start_s": begin, "end_s": end,
         "timesteps": 1000, "critic_updates": updates, "actor_updates": 0, "cpu_s": end - begin}
        for i, (kind, process, begin, end, updates) in enumerate(tasks)
    ])  # fmt: skip
    write_rows(folder, EventRow, [])
    write_rows(folder, EpisodeRow, [], f'{{"env_id": "{env}", "t_start": 0.0}}')
    algo, _, preset = name.partition("@")
    limit = f"total_generations = {generations}\n" if generations else ""
    (folder / "config.toml").write_text(
        f'[run]\nenv = "{env}"\nalgo = "{algo}"\npreset = "{preset or "default"}"\nname = "{name}"\nseed = {seed}\n'
        f"total_timesteps = {total}\nworkers = {workers}\neval_freq = 1000\neval_episodes = 2\n"
        f'evaluate = "after"\nsimulated_time = {str(simulated).lower()}\n{limit}\n[settings]\n{settings}'
    )
    usual = {
        "started": "2025-01-02T03:04:05+00:00", "processes": processes, "jobs": 1, "device": "cpu", "threads": 1,
        "command_line": f"erlbench run {name} {env} --seed {seed}",
    }  # fmt: skip
    starts = [usual | start for start in starts or [{}]]
    write_json(folder / "meta.json", {
        "cpu": "Test CPU", "cores": 8, "memory_gib": 16.0, "gpus": [], "platform": "Linux", "python": "3.11.9",
        "versions": {"erlbench": "0.1.0", "torch": "2.4.0"}, "commit": "0123456789abcdef", **starts[-1],
        "starts": starts,
    })  # fmt: skip
    write_json(folder / "status.json", {
        "status": status, "message": message, "timesteps": timesteps, "total_timesteps": total,
        "train_time_s": seconds(timesteps), "total_time_s": seconds(timesteps) * 1.5,
        "return_mean": float(returns[-1]) if len(returns) else None, "updated": "2025-01-03T03:04:05+00:00",
    })  # fmt: skip
    return folder


def make_cells(results, env, scores, before=(0, 0), **more):
    """Runs of each name with these final returns, seeds in their order, after evaluations of `before`."""
    for name, values in scores.items():
        for seed, value in enumerate(values):
            make_run(results, env, name, seed, [*before, value], **more)


def make_tasks(processes, count):
    """Tasks of four kinds that keep processes busy for most of the time."""
    kinds = ("critic", "es", "rl", "actor")
    return [
        (kinds[i % 4], i % processes, i // processes + 0.1 * (i % 3), i // processes + 0.9, 1000 * (i % 4 == 0))
        for i in range(count)
    ]


def write_rows(folder, row, rows, comment=""):
    """One CSV file of a run, as the suite writes it; rows as dictionaries."""
    file = RowFile(folder, row, comment)
    file.start()
    for values in rows:
        file.write(make_row(row, values))
    file.flush()
    file.close()


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")
