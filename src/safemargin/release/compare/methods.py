"""Ways to publish the total and every axis that other programs use, and what an onlooker makes of each."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from safemargin.core import (
    UNBOUNDED,
    BoolArray,
    FloatArray,
    Guarantee,
    IntArray,
    Limits,
    Onlooker,
    Publication,
    PublishedTable,
    Table,
    Target,
    about_a_person,
    as_published,
    frozen,
    merged_margin,
    numpy_generator,
)
from safemargin.guarantees import noise_likelihood
from safemargin.release.rule.protect import by_size
from safemargin.release.rule.split import AxisPartition, covers_everybody, population, unmerged_split
from safemargin.samplers import SIMULATED, Geometric, PTable, noise_of, reference_ptable, request, simulated_keys

Tables = tuple[PublishedTable, ...]

SUBTRACTION = "who knows every answer but one subtracts them from an exact count and learns the last"


@dataclass(frozen=True)
class Case:
    """A population, what is to be kept from whom, and the settings of the methods.

    The margins to be published are the total and one table per axis. `seed` is where record keys begin, None for fresh
    ones.
    """

    table: Table
    target: Target
    onlookers: tuple[Onlooker, ...]
    protect: str = "auto"
    epsilons: tuple[float, ...] = ()
    threshold: int = 10
    seed: int | None = 0

    @cached_property
    def splits(self) -> tuple[AxisPartition, ...]:
        """Every axis as it is."""
        return tuple(unmerged_split(self.table, name) for name in self.table.schema.names)

    @cached_property
    def people(self) -> int:
        """Everybody on the roll."""
        return population(self.table)

    @cached_property
    def limits(self) -> Limits:
        """The target made concrete by the true totals, for every method alike."""
        return self.target.limits(self.table.totals.tolist(), self.people, self.table.schema.options)

    @cached_property
    def exact(self) -> Tables:
        """The total and every axis exactly, each category by itself."""
        return exact_tables(self.table)


def exact_tables(table: Table) -> Tables:
    """The total and every axis, every category listed."""
    plain = {axis.name: [frozenset([category]) for category in axis.categories] for axis in table.schema.axes}
    total = as_published(table.margin(()), table.schema, "total")
    return (total, *(merged_margin(table, name, groups) for name, groups in plain.items()))


@dataclass(frozen=True)
class PublishingMethod:
    """One way to publish.

    `draw(n)` gives `n` independent results as printed; all are equal unless it `is_random`. `known` is what an onlooker
    makes of one of them, knowing the rule or not. `loss` is the epsilon of differential privacy, `expected` the mean
    size of the noise on a count as its law says. `guarantee` is what is stated about regular cells, `guarantees` what
    is about odds. `law` is how probable a printed count is, by true counts, in a group of so many people; with
    `one_count` the noise of two options is one draw. `interval` holds the true count of so many people in 95 of 100
    runs, from the printed one. Suppressed counts are `below` a threshold. A method that is `refused` prints nothing;
    one that `must_be_safe` is refused if an attack succeeds.
    """

    name: str
    family: str
    does: str
    draw: Callable[[int], Iterable[Tables]] = lambda _: ()
    known: Callable[[Tables, Onlooker], Publication] = lambda _tables, _onlooker: Publication((), Target())
    is_random: bool = False
    loss: float | None = None
    expected: float | None = None
    guarantee: str = ""
    guarantees: tuple[Guarantee, ...] = ()
    auxiliary: str = SUBTRACTION
    refused: str = ""
    must_be_safe: bool = False
    law: Callable[[IntArray, int, int], FloatArray] | None = None
    interval: Callable[[int, int], tuple[int, int]] | None = None
    one_count: bool = False
    below: int | None = None


def untouched(case: Case) -> list[PublishingMethod]:
    """All margins as they are."""
    return [
        PublishingMethod(
            name="nothing done",
            family="nothing done",
            does="every count is printed exactly",
            draw=lambda draws: [case.exact] * draws,
            known=lambda tables, onlooker: Publication(tables, case.target),
        )
    ]


def coarsening(case: Case) -> list[PublishingMethod]:
    """Merging as our own schedule begins, with the threshold as the least size, and nothing after it."""
    merged = [by_size(split, case.threshold) for split in case.splits]
    axes = [merged_margin(case.table, split.axis.name, split.groups) for split in merged if split.is_published]
    printed = (case.exact[0], *axes)
    return [
        PublishingMethod(
            name=f"coarsening to {case.threshold}",
            family="coarsening",
            does=f"categories are merged until every group has {case.threshold} people",
            draw=lambda draws: [printed] * draws,
            known=lambda tables, onlooker: Publication(tables, case.target),
        )
    ]


def suppression(case: Case) -> list[PublishingMethod]:
    """No count under the threshold is printed."""
    printed = tuple(_without_small(table, case.threshold) for table in case.exact)
    return [
        PublishingMethod(
            name=f"suppression under {case.threshold}",
            family="suppression",
            does=f"counts under {case.threshold} are suppressed; nothing else is done",
            draw=lambda draws: [printed] * draws,
            known=lambda tables, onlooker: Publication(_below_threshold(tables, onlooker, case.threshold), case.target),
            below=case.threshold,
        )
    ]


def _without_small(table: PublishedTable, threshold: int) -> PublishedTable:
    small = table.lower < threshold
    return replace(
        table,
        lower=frozen(np.where(small, 0, table.lower)),
        upper=frozen(np.where(small, UNBOUNDED, table.upper)),
        status=tuple(np.where(small, "suppressed", table.status).tolist()),
    )


def _below_threshold(tables: Tables, onlooker: Onlooker, threshold: int) -> Tables:
    """Who knows the rule knows that a missing count is below the threshold."""
    if not onlooker.knows_rule:
        return tables
    return tuple(
        replace(table, upper=frozen(np.minimum(table.upper, np.where(_hidden(table), threshold - 1, UNBOUNDED))))
        for table in tables
    )


def _hidden(table: PublishedTable) -> BoolArray:
    return np.array([word == "suppressed" for word in table.status])


def global_dp(case: Case) -> list[PublishingMethod]:
    """One method per epsilon. A person is in one cell of every table, so the budget is split over the tables."""
    return [_with(case, epsilon) for epsilon in case.epsilons]


def _with(case: Case, epsilon: float) -> PublishingMethod:
    noise = Geometric(epsilon / len(case.exact))
    statement = f"one person more or less changes the odds of anything printed by at most e^{epsilon:g}"
    return PublishingMethod(
        name=f"global DP, epsilon {epsilon:g}",
        family="global DP",
        does=f"two-sided geometric noise with epsilon {noise.epsilon:.3g} on every count of {len(case.exact)} tables",
        draw=partial(_draw, case.exact, noise),
        known=lambda tables, onlooker: Publication(tables, case.target),
        is_random=True,
        loss=epsilon,
        expected=noise.mean_size,
        law=lambda counts, printed, people: noise_likelihood(counts, printed, noise.epsilon),
        interval=partial(_geometric_interval, noise.epsilon),
        guarantee=statement,
        guarantees=(about_a_person(f"global DP, epsilon {epsilon:g}", statement, epsilon),),
        auxiliary=f"whatever else somebody knows, one person changes the odds by at most e^{epsilon:g}",
    )


def _geometric_interval(epsilon: float, printed: int, people: int) -> tuple[int, int]:
    """Where two-sided geometric noise is at most so large in 95 of 100 runs: P(|Z| > h) = 2 a^(h + 1) / (1 + a)."""
    ratio = math.exp(-epsilon)
    half = max(math.ceil(math.log(0.05 * (1 + ratio) / 2) / -epsilon) - 1, 0)
    return max(printed - half, 0), max(min(printed + half, people), 0)


def _draw(exact: Tables, noise: Geometric, draws: int) -> Iterator[Tables]:
    counts = np.concatenate([table.lower for table in exact])
    ends = np.cumsum([len(table.lower) for table in exact])[:-1]
    for noisy in noise.protect(np.tile(counts, (draws, 1))):
        yield tuple(noised(table, printed) for table, printed in zip(exact, np.split(noisy, ends), strict=True))


def noised(table: PublishedTable, printed: IntArray) -> PublishedTable:
    """A table with `printed` in place of its counts, none of which is a fact."""
    rows = len(table.lower)
    return replace(
        table,
        lower=frozen(np.zeros(rows)),
        upper=frozen(np.full(rows, UNBOUNDED)),
        status=("noised",) * rows,
        noisy=frozen(printed),
    )


BOUND, VARIANCE = 3, 1
"""Noise as the R package ptable makes it with these settings."""


def cell_key(case: Case) -> list[PublishingMethod]:
    """Fresh record keys for every draw."""
    noise = reference_ptable(request(BOUND, VARIANCE))
    at_bound = float(noise.matrix[-1, -1])
    return [
        PublishingMethod(
            name=f"cell key, at most {BOUND}",
            family="cell key",
            does=f"noise of variance {VARIANCE:g}, at most {BOUND}, picked by the people in the cell",
            draw=partial(_draw_keyed, case, noise),
            known=lambda tables, onlooker: Publication(_bounded_by_ptable(case, noise, tables, onlooker), case.target),
            is_random=True,
            expected=noise.rows[-1].mean_size,
            law=partial(_keyed_law, noise),
            auxiliary=(
                f"noise at its upper end, on {at_bound:.2%} of the counts, discloses the last answer to whoever knows "
                "all others"
            ),
        )
    ]


def _keyed_law(noise: PTable, counts: IntArray, printed: int, people: int) -> FloatArray:
    """How probable a printed count is, by true counts: the entry of the p-table."""
    away = printed - counts
    inside = abs(away) <= noise.bound
    chances = noise.matrix[noise.row_numbers(counts), np.clip(away, -noise.bound, noise.bound) + noise.bound]
    return np.where(inside, chances, 0.0)


def _draw_keyed(case: Case, noise: PTable, draws: int) -> Iterator[Tables]:
    generator = numpy_generator(case.seed)
    for _ in range(draws):
        keys = exact_tables(simulated_keys(case.table, generator))
        yield tuple(
            noised(table, table.lower + noise_of(noise, table.lower, key.lower, SIMULATED))
            for table, key in zip(case.exact, keys, strict=True)
        )


def _bounded_by_ptable(case: Case, noise: PTable, tables: Tables, onlooker: Onlooker) -> Tables:
    """Who knows the rule knows how far a printed count can be off, and that a count of zero is printed as zero."""
    if not onlooker.knows_rule:
        return tables
    return tuple(_ranges(case, noise, table, onlooker) for table in tables)


def _ranges(case: Case, noise: PTable, table: PublishedTable, onlooker: Onlooker) -> PublishedTable:
    assert table.noisy is not None
    lower = np.maximum(table.noisy - BOUND, np.minimum(table.noisy, 1))
    upper = table.noisy + BOUND
    consistent = covers_everybody(case.table) and case.table.inconsistency.rate == 0
    if consistent and (people := _sizes(case, table, onlooker)) is not None:
        shape = (-1, len(table.options))
        low, high = lower.reshape(shape), upper.reshape(shape)
        lower = np.maximum(low, people - (high.sum(axis=1, keepdims=True) - high)).ravel()
        upper = np.minimum(high, people - (low.sum(axis=1, keepdims=True) - low)).ravel()
    return replace(table, lower=frozen(lower), upper=frozen(upper), status=("range",) * len(lower), noisy=None)


def _sizes(case: Case, table: PublishedTable, onlooker: Onlooker) -> np.ndarray | None:
    """People of every group (rows), if the onlooker has a roll: all options together must come to that."""
    if not onlooker.roll:
        return None
    by_axis = {split.axis.name: split.people for split in case.splits}
    return by_axis[table.axes[0]][:, None] if table.axes else np.array([[case.people]])
