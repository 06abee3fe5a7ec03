"""Files as other programs write them."""

import numpy as np


def write_monitor(path, env="A-v1", rows="1.0,10,0.1\n2.0,20,0.3\n", more=""):
    """`more`: names of columns, each after a comma."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#{{"t_start": 0.0, "env_id": "{env}"}}\nr,l,t{more}\n{rows}')
    return path


def write_evaluations(path, steps=(100, 200)):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, timesteps=steps, results=np.arange(2.0 * len(steps)).reshape(-1, 2))
    return path


def read_events(folder):
    """TensorBoard's own reader of a folder's event files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder))
    reader.Reload()
    return reader


def write_events(folder, steps, settings, clock=0):
    """An event file as CleanRL writes it."""
    from torch.utils.tensorboard import SummaryWriter

    table = ["|param|value|", "|-|-|", *(f"|{name}|{value}|" for name, value in settings.items())]
    with SummaryWriter(str(folder), filename_suffix=f".{clock}") as writer:
        writer.add_text("hyperparameters", "\n".join(table))
        for seconds, step in enumerate(steps, 1000 + clock):
            writer.add_scalar("charts/episodic_return", float(step), step, walltime=float(seconds))
            writer.add_scalar("charts/episodic_length", 10.0, step, walltime=float(seconds))
    (file,) = folder.glob(f"*.{clock}")
    file.rename(folder / f"events.out.tfevents.{1000 + clock}.{clock}")  # a later start has a later name
    return folder
