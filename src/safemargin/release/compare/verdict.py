"""What a comparison says in one sentence, for somebody who has to choose how to publish."""

from collections.abc import Sequence
from typing import Protocol

from safemargin.ui import Headline, percent, plural, short_number

OURS, UNPROTECTED = "safemargin", "nothing done"
LAWS = ("global DP", "local DP")


class Measured(Protocol):
    """What is said of a method here."""

    @property
    def method(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def is_published(self) -> bool: ...
    @property
    def exact_cells(self) -> float: ...
    @property
    def mean_error(self) -> float | None: ...
    @property
    def people_exposed(self) -> int: ...


def verdict(methods: Sequence[Measured]) -> Headline | None:
    """Whether the certified release exposes nobody, and what it keeps beside the other ways.

    Exposed are people in a cell that an attack of the strongest onlooker disclosed. Noise with a law exposes nobody in
    this sense, so that it is named apart.
    """
    ours = [each for each in methods if each.family == OURS]
    if not ours:
        return None
    best = max(ours, key=lambda each: (each.is_published, -each.people_exposed, each.exact_cells))
    if not best.is_published:
        return Headline("unsound", "No certified release was found for these data and limits.", _others(methods))
    kept = f"keeps {percent(best.exact_cells)} of the counts exact"
    if best.people_exposed:
        words = f"The release {kept}, but attacks expose {plural(best.people_exposed, 'person')}."
        return Headline("unsound", words, _others(methods))
    return Headline("sound", f"The certified release exposes nobody and {kept}.", _others(methods))


def _others(methods: Sequence[Measured]) -> str:
    """What the other ways do, in up to three sentences."""
    said = []
    exact = next((each for each in methods if each.family == UNPROTECTED and each.is_published), None)
    if exact is not None:
        said.append(f"Exact tables would expose {_whom(exact.people_exposed)}.")
    usual = [each for each in methods if each.is_published and each.family not in (OURS, UNPROTECTED, *LAWS)]
    safe = [each for each in usual if not each.people_exposed]
    if safe:
        best = max(safe, key=lambda each: each.exact_cells)
        said.append(f"Of the usual ways that expose nobody, {best.method} keeps most: {percent(best.exact_cells)}.")
    elif usual:
        least = min(usual, key=lambda each: each.people_exposed)
        who = _whom(least.people_exposed)
        said.append(f"Every usual way here exposes somebody, {least.method} the fewest: {who}.")
    noisy = [each for each in methods if each.family in LAWS and each.mean_error is not None]
    if noisy:
        nearest = min(noisy, key=lambda each: each.mean_error or 0.0)
        said.append(
            f"Differential privacy proves another thing and keeps no count exact: {nearest.method} is off by "
            f"{short_number(nearest.mean_error or 0.0)} on average."
        )
    return " ".join(said)


def _whom(people: int) -> str:
    return plural(people, "person") if people else "nobody"
