"""Integer ends of tables too large to enumerate, against one program of scipy per end."""

import numpy as np
import pytest

from evidence import seeds
from peer import Peer, differences, margin_of, names_of
from safemargin.bounds import whole_searches
from safemargin.bounds.bound import infer
from safemargin.bounds.exposure import Exposure
from safemargin.core import Onlooker, Progress, PublishedTable

pytestmark = pytest.mark.full

KINDS = ("plain", "capped", "three options", "two options and the rest")


def large(seed: int, kind: str) -> tuple[list[PublishedTable], Onlooker, Peer, list[list[str]]]:
    """A random table of four or five axes, random margins of it, and a peer."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    shape: tuple[int, ...] = ()
    while not 250 <= np.prod(shape) <= 700:
        shape = tuple(int(size) for size in rng.integers(2, 7, int(rng.integers(4, 6))))
    people = rng.poisson(float(rng.choice([0.7, 4.0])) * rng.gamma(1.0, 1.0, shape))
    faces = {tuple(sorted(rng.choice(len(shape), int(rng.integers(1, 4)), replace=False).tolist())) for _ in range(5)}
    faces |= {(a,) for a in range(len(shape)) if not any(a in face for face in faces)}
    chosen, names = sorted(faces), names_of(shape)
    if kind == "plain":
        counts = people[..., None]
        return [margin_of(counts, face, names) for face in chosen], Onlooker(), Peer(counts, chosen), names
    shares = rng.dirichlet(np.full({"capped": 2}.get(kind, 3), 0.8), shape)
    votes = rng.multinomial(people, shares)[..., : {"capped": 1, "three options": 3}.get(kind, 2)]
    roll = margin_of(people[..., None], range(len(shape)), names, people=True)
    tables = [margin_of(votes, face, names, "ABC"[: votes.shape[-1]]) for face in chosen]
    return tables, Onlooker(roll=(roll,)), Peer(votes, chosen, people), names


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(0, 1, 3))
def test_ends_are_those_of_whole_people(seed: int, kind: str) -> None:
    tables, onlooker, peer, names = large(seed, kind)
    exposure = infer(tables, onlooker)
    assert exposure.integer.all()
    wrong, compared = differences(exposure, peer, names, np.random.default_rng(seed), 8)
    assert wrong == [] and compared >= 6


def same(one: Exposure, other: Exposure) -> bool:
    fields = ("lower", "upper", "integer", "method")
    return all((getattr(one, name) == getattr(other, name)).all() for name in fields)


def test_the_same_question_has_the_same_answer() -> None:
    tables, onlooker, _, _ = large(1, "two options and the rest")
    assert same(infer(tables, onlooker), infer(tables, onlooker))


def stopped_after(calls: int) -> Progress:
    """Somebody who presses ctrl-C once the bar has moved that often."""
    seen = [0]

    def progress(step: str, done: int = 0, total: int | None = None, /) -> None:
        assert total is not None and 0 <= done <= total
        seen[0] += 1
        if seen[0] == calls:
            raise KeyboardInterrupt

    return progress


def test_a_decision_is_never_cut_short() -> None:
    tables, onlooker, _, _ = large(1, "two options and the rest")
    with whole_searches(), pytest.raises(KeyboardInterrupt):
        infer(tables, onlooker, progress=stopped_after(5))
    assert not infer(tables, onlooker, progress=stopped_after(5)).complete


@pytest.mark.parametrize("calls", [1, 5, 40])
def test_stopping_early_leaves_valid_intervals(calls: int) -> None:
    tables, onlooker, _, _ = large(1, "two options and the rest")
    whole, part = infer(tables, onlooker), infer(tables, onlooker, progress=stopped_after(calls))
    assert whole.complete and not part.complete
    assert (part.lower <= whole.lower).all() and (part.upper >= whole.upper).all()
    assert same(whole, part) or not part.integer.all()
    settled = part.integer
    assert (part.lower[settled] == whole.lower[settled]).all() and (part.upper[settled] == whole.upper[settled]).all()


def test_linear_ends_are_called_linear() -> None:
    tables, onlooker, _, _ = large(1, "two options and the rest")
    whole, real = infer(tables, onlooker), infer(tables, onlooker, whole=False)
    assert whole.integer.all() and not real.integer.all()
    assert (real.lower <= whole.lower).all() and (real.upper >= whole.upper).all()
    assert (real.method[~real.integer] == 3).all()


def test_deciding_agrees_with_bounding() -> None:
    for kind in ("plain", "capped"):
        tables, onlooker, _, _ = large(4, kind)
        whole, decided = infer(tables, onlooker), infer(tables, onlooker, enough=2)
        assert ((whole.width <= 2) == (decided.width <= 2)).all()
