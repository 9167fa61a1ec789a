"""Attacks get the tables of the proof in the order of what is published, and add them up."""

import numpy as np
import pandas as pd

import safemargin
from safemargin.bounds import build_system
from safemargin.core import Target


def city(seed: int, people: int = 6_000) -> pd.DataFrame:
    """People of eight districts of unequal size; in one of them nearly all answer alike, so that it is merged."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 9)
    district, age = rng.choice(8, people, p=weights / weights.sum()), rng.choice(3, people)
    votes = np.where(rng.random(people) < np.where(district == 6, 0.985, 0.5), "yes", "no")
    return pd.DataFrame({"district": [f"d{n}" for n in district], "age": [f"a{n}" for n in age], "vote": votes})


def test_the_tables_of_a_proof_with_reasons_agree_with_what_is_published() -> None:
    """A proof with reasons rests on more sums, whose system orders profiles in its own way."""
    asked = {"answer": "vote", "by": ["district", "age"], "protect": "merge"}
    for seed in range(2):
        draft = safemargin.release(city(seed), target=Target(kappa=10), **asked).draft
        assert draft.plan.shared_sums, "nothing is merged for its answers: choose another seed"
        system = build_system(draft.publication.tables, draft.findings[0].onlooker)
        handed = draft.publication.witness
        assert len(handed) == len(draft.plan.tables) > 0
        assert all(system.admits(counts) for counts in handed)
