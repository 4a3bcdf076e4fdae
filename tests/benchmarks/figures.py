"""Figures as they are printed: percentiles, and rows of a table beside what was wished for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tests.benchmarks.usage import busy_cores


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: `budget` is the most, or with `is_least` the least, that it should be."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    is_least: bool = False

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        is_met = self.value >= self.budget if self.is_least else self.value <= self.budget
        sign = "≥" if self.is_least else "≤"
        return f"{sign} {self.budget:g}  {'met' if is_met else 'MISSED'}"


REPORTED: list[dict[str, object]] = []
"""All rows of this run, for `python -m tests.benchmarks`."""


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def milliseconds(values: Sequence[float], percent: float) -> float:
    """A percentile of seconds."""
    return 1000 * percentile(values, percent)


def report(title: str, figures: Sequence[Figure]) -> None:
    """Print the rows, and how busy the machine was: it may be the reason for a miss."""
    print(f"\n{title}  (load of the machine: {busy_cores():.1f})")  # noqa: T201  # a benchmark prints
    for figure in figures:
        REPORTED.append({"table": title, **asdict(figure)})
        row = f"  {figure.name:<60} {_shown(figure.value):>8} {figure.unit:<8} {figure.verdict}"
        print(row.rstrip(), flush=True)  # noqa: T201


def _shown(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.2f}" if abs(value) < 10 and not float(value).is_integer() else f"{value:.0f}"
