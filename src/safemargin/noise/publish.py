"""A programme of tables counted from records and noised, every statistic once, whichever tables print it.

With cell keys the same people have the same noise everywhere, in later releases with the same secret too. Noise with an
epsilon needs no ids and no secret: it is drawn for every count, and the guarantee is for the whole programme.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from safemargin.core import (
    ONE_PERSON,
    UNBOUNDED,
    Guarantee,
    InputError,
    IntArray,
    Measure,
    PublishedTable,
    TooLargeError,
    about_a_person,
    frozen,
    named,
    row_keys,
)
from safemargin.guarantees import GUARANTEE_FILE, guarantee_text
from safemargin.io import WRITERS, file_name, json_bytes, rows_of, with_manifest, write_folder
from safemargin.noise.calculators import NoiseRequirements
from safemargin.noise.columns import RecordColumns
from safemargin.noise.laws import hockey_stick, truncated_bound, truncated_delta, truncated_law
from safemargin.noise.planner import recommended
from safemargin.noise.programme import Programme, Statistic, Variable, load_programme
from safemargin.noise.records import Data, read_cells
from safemargin.noise.redundancy import count, published_statistics
from safemargin.samplers import (
    HASHED,
    LARGEST_BOUND,
    DiscreteGaussian,
    Geometric,
    RoundedLaplace,
    at_least,
    noise_of,
    positive,
    ptable,
    read_secret,
    record_keys,
    request,
)
from safemargin.ui import Document, Report, Result, plural

MOST_CELLS = 5_000_000
"""Cells of all statistics together."""
LAWS = ("keys", "geometric", "laplace", "gaussian")
Drawn = Geometric | RoundedLaplace | DiscreteGaussian
WITH_EPSILON: Mapping[str, tuple[type[Geometric | RoundedLaplace], str]] = {
    "geometric": (Geometric, "two-sided geometric noise"),
    "laplace": (RoundedLaplace, "Laplace noise rounded to integers"),
}
AddNoise = Callable[[IntArray, IntArray], IntArray]
"""Noisy counts from counts and the cell of every profile."""


@dataclass(frozen=True)
class NoisyProgramme(Result):
    """The noisy statistics of a programme. Parameters of noise by cell keys are confidential."""

    tables: tuple[PublishedTable, ...]
    people: int
    parameters: Mapping[str, float | int | None]
    inputs: Mapping[str, object]
    guarantee: Guarantee | None = None

    @property
    def files(self) -> dict[str, bytes]:
        """What `write` writes: a table per statistic, the guarantee or the confidential parameters, and a manifest."""
        orders: dict[str, tuple[str, ...]] = {}
        files: dict[str, bytes] = {}
        for table in self.tables:
            name, number = file_name(table.name), 1
            # Two names may be equal once they are cleaned, or where a file system ignores case.
            while any(f"published/{name}.csv".casefold() == other.casefold() for other in files):
                number += 1
                name = f"{file_name(table.name)}-{number}"
            files[f"published/{name}.csv"] = WRITERS["csv"](rows_of(table, orders))
        if self.guarantee is not None:
            files[f"published/{GUARANTEE_FILE}"] = guarantee_text(self.guarantee).encode()
        else:
            parameters = {**self.parameters, "people": self.people, "tables": sorted(files)}
            files["confidential/parameters.json"] = json_bytes(parameters)
        return with_manifest({"kind": "noised tables"}, files)

    def write(self, path: Path | str) -> Path:
        """Write all files to a new folder."""
        write_folder(Path(path), self.files)
        return Path(path)

    def to_json(self) -> Document:
        inputs = {**self.inputs, **self.parameters}
        return {"value": len(self.tables), "inputs": inputs, "details": {"files": sorted(self.files)}}

    @property
    def sentence(self) -> str:
        """What was noised, and how."""
        counted = f"{plural(len(self.tables), 'statistic')} of {plural(self.people, 'person')}"
        if self.guarantee is not None:
            return f"{counted}. {self.guarantee.statement}"
        return (
            f"{counted}, with noise of variance {self.parameters['variance']:g} within {self.parameters['bound']}; the "
            "bound is confidential: do not publish confidential/parameters.json."
        )

    def to_report(self) -> Report:
        return Report("Noised programme", self.sentence)


def publish(
    programme: Path | str | Programme,
    records: Data,
    id: str | None = None,
    secret: Path | str | None = None,
    variance: float | None = None,
    bound: int | None = None,
    *,
    law: str = "keys",
    epsilon: float | None = None,
    delta: float | None = None,
    sampler: str | None = None,
) -> NoisyProgramme:
    """Publish a whole programme: count every statistic from records (a file or a DataFrame), and add noise to it.

    With `law` "keys" the people in a cell select its noise: `id` is the column that distinguishes people, the same in
    every release, and without a variance and a bound the plan's recommendation is used. "geometric" and "laplace" noise
    have an `epsilon` per count, "gaussian" noise a variance; beyond a `bound`, or the smallest that `delta` per count
    allows, it is drawn again. Then there are no keys, and the guarantee is for all statistics together.
    """
    planned = programme if isinstance(programme, Programme) else load_programme(programme)
    printed = published_statistics(planned)
    if law not in LAWS:
        raise InputError(f"law = {law!r}: must be one of {', '.join(LAWS)}")
    if (law == "keys") != (id is not None) or (id is None) != (secret is None):
        raise InputError("id and secret go with the law keys, which needs both")
    parameters: dict[str, float | int | None]
    stated, hidden = None, b""
    noise: Drawn | None = None
    if law == "keys":
        if epsilon is not None or delta is not None or sampler is not None:
            raise InputError("epsilon, delta and sampler go with the laws geometric, laplace and gaussian")
        variance, bound = _planned(planned, str(programme), variance, bound)
        parameters = {"variance": variance, "bound": bound}
        table = ptable(request(bound, variance))[0]
        hidden = read_secret(Path(secret or ""))
    else:
        noise, stated, parameters = _drawn(law, len(printed), epsilon, variance, bound, delta)
        stated = _given_categories(stated, planned, printed)
    people = CountedStatistic(planned, printed, records, id, hidden)

    def add(counts: IntArray, cell: IntArray) -> IntArray:
        if noise is not None:
            return noise.protect(counts, sampler)
        return counts + noise_of(table, counts, HASHED.cell_keys(cell, people.keys, len(counts)))

    tables = tuple(people.table(statistic, add) for statistic in people.order)
    inputs = {
        "programme": planned.title if programme is planned else str(programme),
        "records": _named(records),
        "law": law,
    }
    return NoisyProgramme(tables, int(people.people.sum()), parameters, inputs, stated)


def _planned(programme: Programme, name: str, variance: float | None, bound: int | None) -> tuple[float, int]:
    if (variance is None) != (bound is None):
        raise InputError("give variance with bound, or neither")
    if variance is not None and bound is not None:
        return variance, bound
    best = recommended(count(programme, name), NoiseRequirements())
    if best is None:
        raise InputError(f"{name}: no noise within 10 survives (see noise plan); give variance and bound")
    return best.variance, best.bound


def _drawn(
    law: str, statistics: int, epsilon: float | None, variance: float | None, bound: int | None, delta: float | None
) -> tuple[Drawn, Guarantee, dict[str, float | int | None]]:
    """Noise without keys, its guarantee for all statistics, and its parameters, which are public."""
    if bound is not None and delta is not None:
        raise InputError("give one of bound and delta")
    if (law == "gaussian") != (variance is not None):
        raise InputError("variance goes with the law gaussian, which needs it")
    if epsilon is None and (law != "gaussian" or bound is not None or delta is not None):
        raise InputError("epsilon is needed: that of the noise on one count")
    own = variance if law == "gaussian" else None
    if delta is not None and epsilon is not None:
        bound = _bound(law, epsilon, delta, own)
    noise: Drawn
    if law == "gaussian":
        noise = DiscreteGaussian(Fraction(positive("variance", variance or 0.0)), bound)
        name, size = "discrete Gaussian noise", f"variance {variance:g}"
    else:
        kind, name = WITH_EPSILON[law]
        noise, size = kind(positive("epsilon", epsilon or 0.0), bound), f"epsilon {epsilon:g}"
    cut = "" if bound is None else f", drawn again beyond {bound}"
    start = (
        f"Every count has independent {name} ({size}{cut}). A person is in one cell of each of {statistics} statistics"
    )
    parameters = {"epsilon": epsilon, "variance": variance, "bound": bound, "statistics": statistics}
    if bound is None and law == "gaussian":
        rho = statistics / (2 * (variance or 1.0))
        text = f"{start}, so one person more or less costs rho² = {rho:.4g} of zero-concentrated privacy in all."
        stated = Guarantee(name, text, rho, change=ONE_PERSON, measure=Measure.ZCDP)
        return noise, stated, {**parameters, "rho_squared": rho}
    assert epsilon is not None
    # Guarantees of independent noise add up over statistics: basic composition.
    loss, slack = statistics * epsilon, 0.0
    if bound is not None:
        slack = min(1.0, statistics * _delta(law, epsilon, bound, own))
    text = f"{start}, so one person more or less changes the probability of any result by a factor of at most "
    text += f"exp({loss:g})"
    text += "." if bound is None else f", except for results of probability {slack:.3g}."
    return noise, about_a_person(name, text, loss, slack), {**parameters, "total_epsilon": loss, "total_delta": slack}


def _delta(law: str, epsilon: float, bound: int, variance: float | None) -> float:
    """Delta of the noise on one count, as it is printed: an integer."""
    if law != "laplace":
        return truncated_delta(epsilon, bound, 1, law, variance)
    return hockey_stick(truncated_law(law, epsilon, at_least("bound", bound, 1, LARGEST_BOUND)), epsilon)


def _bound(law: str, epsilon: float, delta: float, variance: float | None) -> int:
    """The smallest bound that delta per count allows."""
    bound = math.ceil(truncated_bound(epsilon, delta, 1, law, variance))
    # Rounding comes after the noise, so Laplace noise on the reals has the larger bound.
    while law == "laplace" and bound > 1 and _delta(law, epsilon, bound - 1, None) <= delta:
        bound -= 1
    return bound


def _given_categories(stated: Guarantee, programme: Programme, printed: Iterable[Statistic]) -> Guarantee:
    """The guarantee with what is exact beside the noise: which categories occur, where the programme lists none.

    A category that only one person has would disclose that they are there, whatever the noise.
    """
    used = {v for statistic in printed for v, _ in statistic}
    names = [variable.name for v, variable in enumerate(programme.variables) if v in used and not variable.categories]
    if not names:
        return stated
    text = f" The categories of {', '.join(names)} are those that occur in the records: list them to cover them too."
    invariants = tuple(named(f"which categories of {name} occur") for name in names)
    return replace(stated, statement=stated.statement + text, invariants=invariants)


class CountedStatistic:
    """The records of a programme by profile, from which every statistic is added up."""

    def __init__(
        self, programme: Programme, printed: Iterable[Statistic], data: Data, identity: str | None, secret: bytes
    ) -> None:
        self.programme = programme
        self.order = sorted(printed, key=lambda levels: (len(levels), levels))
        # Every level above a printed one is read too, to check that levels nest.
        depth: dict[int, int] = {}
        for v, level in (entry for statistic in self.order for entry in statistic):
            depth[v] = max(level, depth.get(v, 0))
        levels = [(v, level) for v in sorted(depth) for level in range(1, depth[v] + 1)]
        self.column_of = {level: column for column, level in enumerate(levels)}
        self.columns = tuple(programme.variables[v].levels[level - 1] for v, level in levels)
        # Keys add up, so people with the same profile are summed once and margins are summed from profiles.
        hashed = partial(record_keys, secret=secret)
        known = {programme.variables[v].levels[level - 1]: programme.variables[v].categories for v, level in levels}
        asked = RecordColumns(self.columns, id=identity)
        records = read_cells(data, asked, hashed=hashed if identity else None, known=known)
        self.people, self.keys = records.counts, records.keys
        texts = [[row[column] for row in records.labels] for column in range(len(levels))]
        coded = [_coded(data, programme.variables[v], level, texts[n]) for n, (v, level) in enumerate(levels)]
        self.names = [names for names, _ in coded]
        self.codes = np.stack([codes for _, codes in coded], axis=1)
        self.parents: dict[int, IntArray] = {}
        for column, (_, level) in enumerate(levels):
            if level > 1:
                pair = slice(column - 1, column + 1)
                self.parents[column] = _parents(data, self.columns[pair], self.names[column], self.codes[:, pair])
        _check_size(self.order, {level: len(self.names[column]) for level, column in self.column_of.items()})

    def table(self, statistic: Statistic, add: AddNoise) -> PublishedTable:
        """A statistic with noise: all combinations of categories, so that it is not disclosed which cells are empty.

        Wider levels stand beside the finest, so that a reader can add up the areas of a region.
        """
        own = [self.column_of[level] for level in statistic]
        sizes = [len(self.names[column]) for column in own]
        cells = math.prod(sizes)
        cell = row_keys(self.codes[:, own], sizes)
        counts = np.zeros(cells, dtype=np.int64)
        np.add.at(counts, cell, self.people)
        shown = add(counts, cell)
        columns, codes = list[int](), list[IntArray]()
        for column, fine in zip(own, np.unravel_index(np.arange(cells), sizes) if own else (), strict=True):
            chain = [(column, fine)]
            while chain[0][0] in self.parents:
                above, below = chain[0]
                chain.insert(0, (above - 1, self.parents[above][below]))
            columns += [place for place, _ in chain]
            codes += [numbers for _, numbers in chain]
        return PublishedTable(
            self.programme.label(statistic),
            tuple(self.columns[column] for column in columns),
            tuple(tuple(frozenset([name]) for name in self.names[column]) for column in columns),
            frozen(np.stack(codes, axis=1) if codes else np.zeros((1, 0), dtype=np.int64), len(columns)),
            (),
            frozen(np.full(cells, -1)),
            frozen(np.zeros(cells)),
            frozen(np.full(cells, UNBOUNDED)),
            ("noised",) * cells,
            noisy=frozen(shown),
        )


def _named(data: Data) -> str:
    return str(data) if isinstance(data, str | Path) else "data"


def _coded(data: Data, variable: Variable, level: int, texts: Sequence[str]) -> tuple[tuple[str, ...], IntArray]:
    """Categories on a level, in the order of the programme if it lists them, and the code of every profile."""
    column, size = variable.levels[level - 1], variable.sizes[level - 1]
    names = variable.categories or tuple(sorted(set(texts)))
    index = {name: code for code, name in enumerate(names)}
    wrong = next((text for text in texts if not text or text not in index), None)
    if wrong is not None:
        raise InputError(f"{_named(data)}: column {column!r}: {wrong!r}: is not a category of the programme")
    if len(names) > size:
        raise InputError(f"{_named(data)}: {column} has {len(names)} categories; the programme says {size}")
    return names, np.array([index[text] for text in texts], dtype=np.int64)


def _parents(data: Data, columns: Sequence[str], names: Sequence[str], codes: IntArray) -> IntArray:
    """The wider category that each finer one lies in; refuse one that lies in two."""
    above, below = codes.T
    parent = np.full(len(names), -1, dtype=np.int64)
    parent[below] = above  # the last profile of each category decides, and any other must agree with it
    wrong = np.flatnonzero(parent[below] != above)
    if len(wrong):
        name = names[int(below[wrong[0]])]
        raise InputError(
            f"{_named(data)}: {columns[1]} = {name!r}: lies in more than one {columns[0]}; levels must nest"
        )
    return parent


def _check_size(printed: Iterable[Statistic], sizes: Mapping[tuple[int, int], int]) -> None:
    cells = sum(math.prod(sizes[level] for level in statistic) for statistic in printed)
    if cells > MOST_CELLS:
        raise TooLargeError(f"the programme has {cells:,} cells, more than {MOST_CELLS:,}; publish fewer tables")
