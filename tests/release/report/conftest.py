"""A hand-made release of a city with five axes, sixty districts and four options."""

from dataclasses import replace

import numpy as np
import pytest

from safemargin.audit.findings import Attempt, Finding, Findings
from safemargin.bounds import Exposure
from safemargin.bounds.exposure import CellIndex
from safemargin.core import UNBOUNDED, Group, Guarantee, Onlooker, Publication, PublishedTable, Target, frozen, named
from safemargin.release.draft import Draft
from safemargin.release.plan import Action, Certificate, Decision, Plan, Refusal

AXES = {
    "district": tuple(f"D{n:02d}" for n in range(1, 61)),
    "age": ("18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+"),
    "gender": ("woman", "man", "nonbinary"),
    "religion": ("none", "Catholic", "Protestant", "Muslim", "Orthodox", "Hindu", "Lantern Fellowship", "Tidewatchers"),
    "tenure": ("owned", "mortgaged", "rented", "social", "with family", "communal"),
}
OPTIONS = ("Harbour", "Orchard", "Unity", "abstain")
SHARES = np.array([0.35, 0.28, 0.15, 0.22])
TARGET = Target(beta=0.05, kappa=30, tau=3)
EVERYBODY = 500_000


def table(axis: str, decisions: list[Decision], options: tuple[str, ...] = OPTIONS) -> PublishedTable:
    """What the public sees of one axis, or of the total."""
    width = max(len(options), 1)
    rates = SHARES[:width] if options else np.array([0.4])
    lower, upper, status = [], [], []
    for place, decision in enumerate(decisions):
        tilt = 1 + 0.3 * np.sin(place + np.arange(width))
        counts = (decision.people * rates * tilt / (rates * tilt).sum() * rates.sum()).astype(int)
        hidden = decision.action is Action.SUPPRESSED
        lower += [0] * width if hidden else counts.tolist()
        upper += [UNBOUNDED] * width if hidden else counts.tolist()
        status += [str(decision.action)] * width
    rows = len(decisions)
    return PublishedTable(
        name=axis or "total",
        axes=(axis,) if axis else (),
        groups=(tuple(decision.group for decision in decisions),) if axis else (),
        codes=frozen(np.repeat(np.arange(rows), width), 1) if axis else np.zeros((width, 0), dtype=np.int64),
        options=options,
        option=frozen(np.tile(np.arange(width), rows) if options else np.full(rows, -1)),
        lower=frozen(lower),
        upper=frozen(upper),
        status=tuple(status),
    )


def exposure(cells: int, onlooker: Onlooker, options: tuple[str, ...] = OPTIONS, shift: int = 0) -> Exposure:
    """Made-up intervals about `cells` combinations of all axes."""
    width = max(len(options), 1)
    place = np.arange(cells)
    steps = zip((7, 3, 1, 5, 11), AXES.values(), strict=True)
    codes = np.stack([(place * step + place // 7) % len(names) for step, names in steps], axis=1)
    people = 3 + (place * 37) % 260
    lower = (people[:, None] * (0.02 + 0.04 * ((place[:, None] + np.arange(width)) % 5))).astype(np.int64)
    upper = np.minimum(people[:, None], lower + shift + (place[:, None] * 13 + np.arange(width) * 7) % 90)
    return Exposure(
        cells=CellIndex(tuple(AXES), tuple(AXES.values()), frozen(codes, len(AXES))),
        options=options,
        people=people,
        lower=lower,
        upper=upper,
        integer=(lower + upper) % 3 > 0,
        method=(lower + upper) % 5,
        onlooker=onlooker,
        totals=tuple((EVERYBODY * SHARES[:width]).astype(int).tolist()),
        population=EVERYBODY,
        fitted=0.6 * lower + 0.4 * upper,
    )


def decision(axis: str, members: tuple[str, ...], people: int, action: Action, reason: str) -> Decision:
    return Decision(axis, Group(members), people, action, reason)


def decisions() -> list[Decision]:
    """Every kind of action, on axes of different sizes."""
    exact = "at least 30 people, every rate within the limits, and the joint certificate holds"
    merged = "D59 has 18 people and D60 has 27, fewer than kappa = 30; merged with the smallest neighbour"
    found = [
        decision("district", ("D60", "D58", "D59"), 445, Action.MERGED, merged),
        decision("religion", ("Hindu",), 9_800, Action.NOISED, "its rate lies outside the limits; noised"),
        decision("religion", ("Tidewatchers", "Lantern Fellowship"), 925, Action.SUPPRESSED, "nearly unanimous"),
    ]
    for axis, names in AXES.items():
        taken = {member for each in found for member in each.group}
        kept = [name for name in names if name not in taken]
        left = EVERYBODY - sum(each.people for each in found if each.axis == axis)
        weights = np.array([3 + (7 * place) % 5 for place in range(len(kept))])
        sizes = (left * weights // weights.sum()).tolist()
        sizes[0] += left - sum(sizes)
        found += [decision(axis, (name,), size, Action.EXACT, exact) for name, size in zip(kept, sizes, strict=True)]
    order = list(AXES)
    return sorted(found, key=lambda each: (order.index(each.axis), min(AXES[each.axis].index(m) for m in each.group)))


def build(options: tuple[str, ...] = OPTIONS, cells: int = 2_000) -> Draft:
    """The whole story."""
    decided = decisions()
    axes = [table(axis, [d for d in decided if d.axis == axis], options) for axis in AXES]
    everyone = decision("", (), EVERYBODY, Action.EXACT, "the total")
    certificate = Certificate(
        True,
        "No combination of groups is forced below 5 % or above 95 % for any option, "
        "against an onlooker who knows the joint composition and the rule.",
        "integer",
        "two integer tables that disagree in every cell",
        {"cells": cells, "options": len(options)},
    )
    guarantees = (Guarantee("geometric", "moving one vote changes the odds by at most e^0.5.", 0.5, (named("total"),)),)
    analyst = Onlooker("census analyst", (table("age", decided[58:65], ()),), knows_rule=True)
    publication = Publication((table("", [everyone], options), *axes), TARGET, guarantees)
    refusal = Refusal("publishing D58 by itself", {"district": "D58", "age": "75+"}, "Harbour", 31, 30, 31)
    plan = Plan(
        TARGET,
        tuple(decided),
        (refusal, replace(refusal, what="publishing Tidewatchers exactly", people=25, lower=0, upper=1)),
        guarantees,
        certificate,
        tuple(each for each in decided if each.action is not Action.EXACT),
        1_370,
    )
    seen = (exposure(cells, analyst, options, 20), exposure(cells, Onlooker(), options, 60))
    return Draft(plan, publication, tuple(attacked(each) for each in seen), onlookers=("census analyst",))


def attacked(seen: Exposure) -> Findings:
    attempts = (
        Attempt("bounds", "the sharpest interval of every combination of groups", seen.lower.size),
        Attempt("differencing", "subtracts published tables from each other to uncover protected groups", 412),
    )
    return Findings(seen.onlooker, TARGET, seen, attempts)


def broken(story: Draft) -> Draft:
    """The same release where the certificate fails and an attack succeeds."""
    found = Finding("bounds", {"district": "D58", "age": "75+"}, "Harbour", 31, 31, 31, "all 31 people chose Harbour")
    first, *rest = story.findings
    first = replace(first, exposure=exposure(len(first.exposure.cells), first.onlooker))
    attempts = (replace(first.attempts[0], findings=(found,) * 12, people_exposed=31), *first.attempts[1:])
    statement = "Some cells are forced out of the limits."
    certificate = replace(story.plan.certificate, certified=False, statement=statement)
    plan = replace(story.plan, certificate=certificate)
    return replace(story, plan=plan, findings=(replace(first, attempts=attempts), *rest))


@pytest.fixture(scope="session")
def story() -> Draft:
    return build()


@pytest.fixture(scope="session")
def broken_story(story: Draft) -> Draft:
    return broken(story)


@pytest.fixture(scope="session")
def optionless_story() -> Draft:
    """Tables that count people without saying what they chose."""
    return build(options=(), cells=50)


@pytest.fixture(scope="session")
def bare_story() -> Draft:
    """Nothing but a total: no axes, no options, no roll, no fit, nothing refused, no attack."""
    everyone = decision("", (), 900, Action.EXACT, "the total")
    seen = Exposure(
        cells=CellIndex((), (), np.zeros((1, 0), dtype=np.int64)),
        options=(),
        people=None,
        lower=np.array([[360]]),
        upper=np.array([[360]]),
        integer=np.array([[True]]),
        method=np.array([[0]]),
        onlooker=Onlooker(),
        totals=(360,),
    )
    certificate = Certificate(True, "Only the total is published.", "integer", "", {})
    publication = Publication((table("", [everyone], ()),), TARGET)
    return Draft(Plan(TARGET, (), (), (), certificate), publication, (Findings(seen.onlooker, TARGET, seen, ()),))
