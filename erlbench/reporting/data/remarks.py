"""What a report warns of: a kind and values, of which the terminal and the report's first page make sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from erlbench.bundle import strip_unpacked
from erlbench.files import printable
from erlbench.words import counted

_PATH = re.compile(r"\S*/\S*(?=[:;,]|\s|$)")


class RemarkKind(Enum):
    """What there is to say, with the sentence that says it."""

    LEFT_OUT = "{path}: left out: {reason}"  # nothing that a run wrote: the report is not whole
    REPEATED = (
        "{path}: repeats seed {seed} of {other} with the same kernel and software; listed only, the first finished run "
        "of a seed counts"
    )
    NO_EVALUATION = "{path}: no evaluation within {near} of {moment}; left out"
    SHARED_CORES = "{path}: other cells ran on its cores, so that its minutes do not count; left out"
    NEVER_TRAINED = (
        "{path}: made no gradient step, as its budget is not above its warm-up; it has no score and is compared with "
        "nothing"
    )
    DAMAGED_END = "{path}: the last row of eval.csv is damaged: {problem}; left out"
    OTHER_SETTINGS = (
        "{path}: has the name and the budget of study {study}, profile {profile}, but other settings ({settings}); it "
        "is not shown there"
    )
    NO_PAGE = "no run belongs to the study '{study}'{profile}; it has no page"
    NO_CURVES = "{env}: no learning curves. {reason}"
    NO_SCORES = "no scores to reach are published for {env}; name them by --reach=SCORE[,SCORE...]"
    OTHER = "{text}"  # from readers of files, which say it themselves


@dataclass(frozen=True)
class Remark:
    """Something that a reader of the report has to know; its text is the sentence."""

    kind: RemarkKind
    path: Path | None
    values: tuple[tuple[str, Any], ...]  # by name

    def __str__(self) -> str:
        words = {name: counted(value, "run") if name == "runs" else _word(value) for name, value in self.values}
        return strip_unpacked(printable(self.kind.value.format(path=self.path, **words)))

    @property
    def topic(self) -> object:
        """What remarks on several paths share; a folder that was left out shares nothing: somebody must look at it."""
        if self.kind is RemarkKind.LEFT_OUT:
            return self
        if self.kind is RemarkKind.OTHER:
            return _PATH.sub("", str(self))
        return self.kind, tuple((name, value) for name, value in self.values if not isinstance(value, Path))


def _word(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


Warn = Callable[[Remark | str], None]


def remark(kind: RemarkKind, path: Path | None = None, **values: Any) -> Remark:
    """A remark with the values that the sentence of its kind names."""
    return Remark(kind, path, tuple(values.items()))


def as_remark(said: Remark | str) -> Remark:
    """A sentence of a reader of files as a remark."""
    return said if isinstance(said, Remark) else remark(RemarkKind.OTHER, text=said)


def folded(remarks: Iterable[Remark]) -> list[str]:
    """The sentences of the first remark on each topic, with the number of the others; in their order."""
    alike: dict[object, list[Remark]] = {}
    for one in remarks:
        alike.setdefault(one.topic, []).append(one)
    return [f"{first}" + (f" (and {len(more)} more like this)" if more else "") for first, *more in alike.values()]
