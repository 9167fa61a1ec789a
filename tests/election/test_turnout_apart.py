"""The two worked elections with other seeds: the total in all of them, tables in nearly all."""

import tempfile
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from safemargin import RefusedError, release
from safemargin.core import numpy_generator
from safemargin.election.handover import write_project
from safemargin.election.rehearse import ABSTAIN, FORGET
from safemargin.release.sealed import InconsistencyWarning

pytestmark = pytest.mark.usefixtures("no_pictures")

EXAMPLES: dict[str, tuple[int, list[str], dict[str, Any]]] = {
    "event": (150, ["yes", "no"], {"age": ["18-29", "30-49", "50+"], "home": {"town": 80, "elsewhere": 70}}),
    "equal opportunity": (
        120,
        ["promoted", "not promoted"],
        {"gender": {"women": 66, "men": 54}, "site": ["Harbour", "Hill"]},
    ),
    "rehearsal": (200, ["yes", "no"], {"age": ["18-29", "30-49", "50+"], "region": ["north", "south"]}),
}


def published(example: str, seed: int) -> list[str]:
    """The tables of one election: people abstain and forget a dimension as often as in a rehearsal."""
    voters, options, dimensions = EXAMPLES[example]
    rng = numpy_generator(seed)
    silent = rng.random(voters) < ABSTAIN
    option = rng.choice(len(options), voters, p=[0.6, 0.4])
    cast = {name: ~silent & (rng.random(voters) >= FORGET) for name in ("total", *dimensions)}
    category = {
        name: np.array(rng.permutation(np.repeat(list(of), list(of.values()))).tolist())
        if isinstance(of, dict)
        else np.array(of)[rng.integers(0, len(of), voters)]
        for name, of in dimensions.items()
    }

    def counted(there: Any) -> Counter[str]:
        return Counter(options[n] for n in option[there].tolist())

    total = counted(cast["total"])
    sizes = {name: {c: int((category[name] == c).sum()) for c in of} for name, of in dimensions.items()}
    opened = {name: {c: counted(cast[name] & (category[name] == c)) for c in of} for name, of in sizes.items()}
    accepted = total.total()
    election: Any = SimpleNamespace(
        manifest=SimpleNamespace(electorate=voters, options=options, title="", tolerance=10, joint=None),
        dimensions={"total": None, **sizes},
        dimension=lambda name: SimpleNamespace(sizes=sizes[name]),
        release_sections={"target": {"beta": 0.05, "tau": 1}},
        kappa=lambda records: max(10, -(-5 * records // 100)),
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistencyWarning)
        try:
            made = release(write_project(election, total, opened, {}, accepted, Path(folder)))
        except RefusedError:
            return []
        return [Path(name).stem for name in made.to_json()["published"] if name.endswith(".csv")]  # type: ignore[union-attr]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_total_is_always_published_and_tables_nearly_always(example: str) -> None:
    found = [published(example, seed) for seed in range(10)]
    assert all("total" in tables for tables in found)
    assert sum(set(EXAMPLES[example][2]) <= set(tables) for tables in found) >= 9
