"""What swapping guarantees: Theorem 1 of Bailie, Gong and Meng, and bounds for its extensions.

docs/swapping_proofs.md has the proofs of these bounds.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from safemargin.core import Change, Distance, Guarantee, at_least, counts
from safemargin.guarantees import (
    odds_in_words,
    response_factor,
    short_rate,
    swap_epsilon,
    varied_epsilon,
    visible_epsilon,
)
from safemargin.swap.permutation import Strata
from safemargin.swap.tables import Roles

MECHANISM = "permutation swapping"


@dataclass(frozen=True)
class Method:
    """How records are exchanged: at one rate, or at rates from `rate` up to `most` that a column gives.

    With `near`, a second exchange follows within areas that agree on these swapped columns, at `near_rate`. Unless
    `vacuous`, exchanges that change nothing are drawn again. `perturbed` has, for held columns that are drawn anew
    before swapping, the rate of that and the number of values.
    """

    rate: Fraction
    most: Fraction | None = None
    rate_by: str | None = None
    near: tuple[str, ...] = ()
    near_rate: Fraction | None = None
    vacuous: bool = True
    perturbed: Mapping[str, tuple[Fraction, int]] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether Theorem 1 is about it as it is."""
        return self.rate_by is None and not self.near and self.vacuous and not self.perturbed

    @property
    def rates(self) -> str:
        """The rate, or the rates, for a sentence."""
        if self.most is None:
            return short_rate(self.rate)
        return f"{short_rate(self.rate)} to {short_rate(self.most)} by {self.rate_by}"

    def epsilon(self, strata: Strata) -> float:
        """A budget that holds for data that divide like this; that of Theorem 1 where it is about this method."""
        # With randomised response before it, records of a stratum may or may not agree: any two might differ.
        largest = strata.most if self.perturbed else strata.largest
        # Redrawing costs most where odds are largest: nobody is selected least often there.
        top = self.rate if self.most is None else self.most
        epsilon = varied_epsilon(self.rate, top, largest)
        if not self.vacuous:
            epsilon = visible_epsilon(top, largest, epsilon)
        # A path of two steps: first what is held changes, at the cost of the response, then what is swapped.
        return epsilon + sum(math.log(response_factor(*drawn)) for drawn in self.perturbed.values())

    @property
    def rule(self) -> str:
        """Why the budget holds."""
        reasons = [
            *(["rates by record: the largest and the smallest odds"] if self.rate_by else []),
            *(["redrawn where nothing changes: a bound"] if not self.vacuous else []),
            *(["the exchange nearby reads swapped records only: post-processing"] if self.near else []),
            *(["randomised response before it adds its own epsilon"] if self.perturbed else []),
        ]
        return f"{MECHANISM} (Theorem 1{'; ' if reasons else ''}{'; '.join(reasons)})"


def swap_guarantee(
    roles: Roles,
    unit: str,
    method: Method | Fraction,
    strata: Strata,
    imputed: int | None = None,
    exact: float | None = None,
) -> Guarantee:
    """What one run guarantees.

    If some records are `imputed` and never moved, it is about the others: `strata` is how these divide. `exact` is the
    exact loss where all strata are small (`swap.small_strata`).
    """
    method = method if isinstance(method, Method) else Method(method)
    kind, perturbed = f"{unit}s", method.perturbed
    # The strata are a function of the invariants, so epsilon may be published (Remark 1).
    epsilon = method.epsilon(strata)
    agree = ", ".join(roles.match)
    others = "" if imputed is None else " that were not imputed"
    same = "" if imputed is None else " and on every imputed record"
    # What was drawn anew is no longer exact, so its table is no invariant.
    held = tuple(name for name in roles.hold if name not in perturbed)
    return Guarantee(
        MECHANISM if not perturbed else f"randomised response, then {MECHANISM}",
        f"Records {f'that agree on {agree} ' if agree else ''}exchange {', '.join(roles.swap)} at a rate of "
        f"{method.rates}. Between any two data sets that agree on the tables named as invariants{same}, each "
        f"{unit} record that differs changes the odds of what is published by at most e^{epsilon:.6g}.",
        epsilon,
        (
            counts(kind, *roles.match, *held),
            counts(kind, *roles.match, *roles.swap),
            *(at_least(1, kind, name) for name in perturbed),
        ),
        roles.population(unit),
        Change(Distance.HAMMING if imputed is None else Distance.FROZEN, unit),
        varies=f"swap rate {method.rate if method.most is None else method.rates}; {strata.largest:,} records{others} "
        "in the largest stratum with two different ones",
        rule=f"{method.rule}{' of the records' if others else ''}{others}",
        remarks=(*_remarks(method, strata, imputed, epsilon), *_smaller(exact, epsilon)),
        rate=method.rate if method.is_plain else None,
    )


def _smaller(exact: float | None, epsilon: float) -> Iterator[str]:
    """The exact loss, which follows from the invariants where all strata are small."""
    if exact and exact < epsilon:
        yield (
            f"For these invariants the exact loss is {exact:.6g}: no stratum has more than a few records, and what "
            "they lose follows from the tables that are kept."
        )


def _remarks(method: Method, strata: Strata, imputed: int | None, epsilon: float) -> Iterator[str]:
    """What a reader of the guarantee should know besides."""
    if strata.largest and math.isfinite(epsilon):
        yield odds_in_words(epsilon)
    if imputed is not None:
        moved = "record was" if imputed == 1 else "records were"
        yield f"{imputed:,} imputed {moved} not moved, and have no guarantee."
    if strata.single:
        alone = "records are alone in their strata: the invariants disclose them."
        if strata.single == 1:
            alone = "record is alone in its stratum: the invariants disclose it."
        yield f"{strata.single:,} {alone}"
    for name, (rate, values) in method.perturbed.items():
        response = math.log(response_factor(rate, values))
        yield (
            f"{name} was drawn anew at a rate of {short_rate(rate)} among the {values:,} values that occur, before "
            f"records were swapped: epsilon {response:.6g} of the whole."
        )
    if strata.largest == 0:
        yield "No stratum holds two different records: nothing is exchanged, and nothing is protected."
    elif strata.exchanging < strata.largest and method.is_plain:
        tight = swap_epsilon(method.rate, strata.exchanging)
        yield f"Where all swapped values of a stratum agree nothing changes; without those, epsilon is {tight:.6g}."
