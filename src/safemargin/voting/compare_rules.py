"""All rules for one electorate: how private the winner is under each, and how that changes with more voters.

Objects
    row         one rule with delta for n and for n + 1 voters: with many rules delta alternates with parity
    fit         1 / sqrt(a n + b) through delta of smaller electorates (Tables 1 and 2 of the paper), if it fits
    axioms      which of three axioms a rule satisfies in all small elections (`axioms.py`): no is proved, yes is not

Rules are ranked by the larger of the two deltas, and of an interval by its upper end. A rule that cannot be answered is
listed with its reason, never omitted. The order is a matter of the belief and the electorate, so the page states both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from safemargin.core import Progress, TooLargeError, no_progress
from safemargin.ui import SCHEMA, STACK_WIDTH, Chart, Document, Grid, OnPage, Points, Report, Result, Section, Spec
from safemargin.voting.axioms import MAX_VOTERS, Axioms, check_axioms
from safemargin.voting.outcome import outcome
from safemargin.voting.privacy import ASSUMPTIONS, OutcomePrivacy, three_digits
from safemargin.voting.rules import RULES, rule_named

DRAWS = 20_000
"""Elections drawn for a rule that no exact engine can answer."""
MIN_DRAWS = 1_000
SIZES = 12
"""Electorates for which the picture has a point."""
MAX_PICTURE_VOTERS = 60
"""With more, the pictures of rules that look at duels take minutes."""
MAX_ENUMERATED = 36
"""Likewise for rules all of whose elections are enumerated: half a million ways to vote for three candidates."""
AXIOMS = ("rule", "monotone", "canceling-out", "locally stable")
MAX_MISFIT = 0.25
"""How far, in its second half, a fitted curve may be from delta: parity moves delta by up to a tenth."""
CAPTION = "Delta against the number of voters: points are computed, lines are 1 / sqrt(a n + b) fitted to them"


@dataclass(frozen=True)
class RuleRow:
    """One rule: delta of its winner with these voters and with one more, and 1 / sqrt(a n + b) fitted to its curve."""

    rule: str
    privacy: OutcomePrivacy
    one_more: OutcomePrivacy
    points: tuple[tuple[int, float], ...] = ()
    fit: tuple[float, float] | None = None
    axioms: Axioms | None = None

    @property
    def worse(self) -> float:
        """The larger of the two deltas: with many rules delta goes up and down with the parity of the electorate."""
        return max(self.privacy.interval[1], self.one_more.interval[1])


@dataclass(frozen=True)
class RuleRanking(Result):
    """The rules from the most to the least private, and those that could not be answered with the reason."""

    voters: int
    candidates: tuple[str, ...]
    belief: str
    epsilon: float
    rows: tuple[RuleRow, ...]
    unanswered: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> Document:
        """The document that `rules --json` prints."""
        return {
            "schema": SCHEMA,
            "voters": self.voters,
            "candidates": list(self.candidates),
            "belief": self.belief,
            "epsilon": self.epsilon,
            "rules": [_row_document(row) for row in self.rows],
            "unanswered": dict(self.unanswered),
        }

    def to_report(self) -> Report:
        """A table, and on the page the picture of delta against the electorate (Figure 2 of the paper)."""
        grid = Grid(("rule", "delta", "one voter more", "least epsilon", "engine"), [_cells(row) for row in self.rows])
        axioms = [(row.rule, row.axioms) for row in self.rows if row.axioms is not None]
        examples = [(rule, text) for rule, held in axioms for text in held.counter_examples]
        drawn = [row for row in self.rows if row.points]
        fits = [(row.rule, f"{row.fit[0]:.4g}", f"{row.fit[1]:.4g}") for row in drawn if row.fit is not None]
        return Report(
            f"Voting rules by privacy: {len(self.candidates)} candidates, {self.voters:,} voters",
            f"How much one vote shows in the published winner, the most private rule first. The onlooker believes that "
            f"{self.belief}.",
            grid,
            OnPage(
                Chart(lambda: _chart(drawn), CAPTION) if drawn else None,
                Grid(("rule", "a", "b"), fits),
            ),
            *(f"{rule}: {reason}." for rule, reason in self.unanswered),
            Grid(AXIOMS, [(rule, *held.short) for rule, held in axioms]),
            f"Axioms were looked for in every election of up to {MAX_VOTERS} voters: no is a proof, yes is evidence."
            if axioms
            else "",
            Points(examples),
            OnPage(Section("Assumptions", Points(list(ASSUMPTIONS)))),
        )


def _row_document(row: RuleRow) -> Document:
    """One rule in the document of `rules --json`; points, fit and axioms only where they were computed."""
    document: Document = {
        "rule": row.rule,
        "delta": row.privacy.delta,
        "interval": list(row.privacy.interval),
        "exact": row.privacy.exact,
        "engine": row.privacy.engine,
        "worst_pair": list(row.privacy.pair),
        "one_voter_more": row.one_more.delta,
    }
    if row.points:
        document["points"] = [list(point) for point in row.points]
    if row.fit is not None:
        document["fit"] = {"a": row.fit[0], "b": row.fit[1]}
    if row.axioms is not None:
        document["axioms"] = row.axioms.to_json()
    return document


def _cells(row: RuleRow) -> list[str]:
    """One rule in the table; the least epsilon is a dash where there is none or it is not known."""
    pure = row.privacy.pure_epsilon
    least = "-" if pure is None or not isfinite(pure) else f"{pure:.4g}"
    return [row.rule, _delta(row.privacy), _delta(row.one_more), least, row.privacy.engine]


def _points(measured: Callable[[int, int], OutcomePrivacy], voters: int, engine: str) -> tuple[tuple[int, float], ...]:
    """Delta for electorates up to this one, those that are exact; both parities, since delta may alternate."""
    most = min(voters, MAX_ENUMERATED if engine == "enumeration" else MAX_PICTURE_VOTERS)
    sizes = {n + odd for n in np.linspace(2, most, SIZES).astype(int).tolist() for odd in (0, 1) if n + odd <= most}
    points = []
    for size in sorted(sizes):
        privacy = measured(size, MIN_DRAWS)  # what is not exact is not shown, so few draws will do
        if not privacy.exact:
            break  # nor are larger electorates
        points += [(size, privacy.delta)] if privacy.delta > 0 else []
    return tuple(points)


def _fit(points: Sequence[tuple[int, float]]) -> tuple[float, float] | None:
    """Least squares of 1 / delta^2 on the number of voters, as in Tables 1 and 2 of the paper.

    None with fewer than three points, or where the curve is off by more than `MAX_MISFIT` in its second half: then
    delta falls exponentially, and has no such curve.

    >>> a, b = _fit([(n, (2 * n + 3) ** -0.5) for n in (2, 4, 8, 16)])
    >>> round(a, 9), round(b, 9)
    (2.0, 3.0)
    """
    if len(points) < 3:
        return None
    sizes, deltas = np.array(points).T
    slope, constant = np.polyfit(sizes, deltas**-2, 1)
    late = sizes >= np.median(sizes)
    fitted = np.maximum(slope * sizes[late] + constant, 1.0) ** -0.5
    if slope <= 0 or np.abs(fitted / deltas[late] - 1).max() > MAX_MISFIT:
        return None  # delta falls exponentially: there is no such curve
    return float(slope), float(constant)


def _chart(rows: Sequence[RuleRow]) -> Spec:
    """Points and fitted curves of every rule."""
    points = [{"rule": row.rule, "voters": size, "delta": delta} for row in rows for size, delta in row.points]
    lines = []
    for row in rows:
        if row.fit is not None:
            slope, constant = row.fit
            sizes = [size for size, _ in row.points if slope * size + constant > 1]
            lines += [{"rule": row.rule, "voters": n, "delta": (slope * n + constant) ** -0.5} for n in sizes]
    x = {"field": "voters", "type": "quantitative", "axis": {"title": "voters", "grid": True, "tickCount": 6}}
    y = {"field": "delta", "type": "quantitative", "axis": {"title": "delta", "grid": True, "tickCount": 5}}
    colour = {"field": "rule", "type": "nominal", "scale": {"scheme": "category20"}, "legend": {"title": "rule"}}
    encoding = {"x": x, "y": y, "color": colour}
    return {
        "width": STACK_WIDTH - 140,
        "height": 300,
        "layer": [
            {"data": {"values": lines}, "mark": {"type": "line", "strokeWidth": 1}, "encoding": encoding},
            {"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 25}, "encoding": encoding},
        ],
    }


def _delta(privacy: OutcomePrivacy) -> str:
    """Delta with three digits, or both ends of its interval."""
    low, high = privacy.interval
    return three_digits(privacy.delta) if privacy.exact else f"{low:.2g} to {high:.2g}"


def rules(
    candidates: str | int | Sequence[str] | None = None,
    voters: int | None = None,
    belief: str | Path | Sequence[str | Path] = (),
    *,
    only: Sequence[str] = (),
    epsilon: float = 0.0,
    votes: str | Path | None = None,
    picture: bool = False,
    axioms: bool = False,
    draws: int = DRAWS,
    progress: Progress = no_progress,
) -> RuleRanking:
    """Rank voting rules by how private their winner is, for one electorate.

    `only` names the rules, all if none. `picture` also computes delta for smaller electorates and fits
    `1 / sqrt(a n + b)` to it, as the paper's Figure 2 and Tables 1 and 2 do; `axioms` also says which axioms the rules
    satisfy. The other arguments are those of `outcome`.

    >>> [row.rule for row in rules(candidates=3, voters=9, only=["borda", "plurality", "veto"]).rows]
    ['veto', 'plurality', 'borda']
    """
    names = list(only) or list(RULES)
    rows, unanswered = [], []
    start = outcome(candidates=candidates, voters=voters, belief=belief, votes=votes, publish="tops")
    voters, size = start.voters, len(start.names)
    for done, name in enumerate(names):
        progress(f"measuring {name}", done, len(names))

        def measured(people: int, draws: int = draws, name: str = name) -> OutcomePrivacy:
            return outcome(
                name, start.names, people, belief, epsilon=epsilon, votes=votes, curve=[epsilon], draws=draws
            )

        try:
            rule = rule_named(name, size)
            privacy, more = measured(voters), measured(voters + 1)
            points = _points(measured, voters, privacy.engine) if picture else ()
        except TooLargeError as error:  # too many candidates or voters for this rule: the others still have answers
            unanswered.append((name, str(error)))
            continue
        checked = check_axioms(rule) if axioms else None
        rows.append(RuleRow(name, privacy, more, points, _fit(points), checked))
    rows.sort(key=lambda row: (row.worse, row.rule))
    return RuleRanking(voters, start.names, start.belief, epsilon, tuple(rows), tuple(unanswered))
