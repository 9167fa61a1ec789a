"""A synthetic city to try everything on: invented people who answer by a logistic model, and awkward groups on purpose.

Nobody in it exists. `docs/demo.md` says what is in it and why.
"""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import (
    BoolArray,
    FloatArray,
    Generator,
    InputError,
    IntArray,
    OutputError,
    numpy_generator,
    remove_parts,
    write_whole,
)
from safemargin.io import interruptible, literal, read_bytes, scratch_folder

REGIONS = ("North", "Heights", "Harbourside", "Old Town", "Meadows", "Riverbank", "South", "Outskirts")
DISTRICTS = tuple(f"D{number:02d}" for number in range(1, 61))
AGES = ("18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")
GENDERS = ("woman", "man", "nonbinary")
RELIGIONS = ("none", "Catholic", "Protestant", "Muslim", "Orthodox", "Hindu", "Lantern Fellowship", "Tidewatchers")
TENURES = ("owned", "mortgaged", "rented", "social", "with family", "communal")
OPTIONS = ("Harbour", "Orchard", "Unity", "abstain")

LABELS: Mapping[str, tuple[str, ...]] = {
    "district": DISTRICTS,
    "age": AGES,
    "gender": GENDERS,
    "religion": RELIGIONS,
    "tenure": TENURES,
    "vote": OPTIONS,
}
"""What the codes in each column stand for."""

SHARES = (0.35, 0.28, 0.15, 0.22)
"""Expected share of every option."""

TINY_DISTRICTS: Mapping[str, int] = {"D59": 18, "D60": 27}
"""Districts below any sensible threshold, with their sizes."""

ENCLAVE, ENCLAVE_PEOPLE, ENCLAVE_VOTES = "D58", 400, (388, 3, 2, 7)
"""A small district of one mind, its size, and its votes in the order of `OPTIONS`."""

FELLOWSHIP, FELLOWSHIP_REGION, FELLOWSHIP_PEOPLE, FELLOWSHIP_VOTES = RELIGIONS[6], "Meadows", 900, (4, 882, 5, 9)
"""A religion of one mind that lives in one region, its size, and its votes."""

WATCHERS, WATCHERS_PEOPLE = RELIGIONS[7], 25
"""A religion below any sensible threshold, and its size."""

FEWEST_PEOPLE = 20_000

PROJECT = """\
title = "A synthetic city: one vote, counted by group"

[data]
file = "voters.parquet"
answer = "vote"
options = ["Harbour", "Orchard", "Unity", "abstain"]

[axes.district]
column = "district"
levels = ["region"]

[axes.age]
column = "age"
ordered = true
categories = ["18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+"]

[axes.gender]
column = "gender"

[axes.religion]
column = "religion"

[axes.tenure]
column = "tenure"

[target]
beta = 0.05
kappa = 30
tau = 3

[[onlookers]]
name = "census analyst"
composition = "joint"
knows_rule = true

[outputs]
formats = ["csv", "parquet", "json", "xlsx"]
"""


def write_city(folder: Path, people: int = 500_000, seed: int = 2026) -> Path:
    """Write `voters.parquet` and `project.toml` into `folder`, and return the path of the project.

    The same `people` and `seed` give the same city. The awkward groups have the same sizes in a city of any size.
    A folder that holds another project is left alone.
    """
    if people < FEWEST_PEOPLE:
        raise InputError(f"people = {people}: the city needs at least {FEWEST_PEOPLE}")
    project = folder / "project.toml"
    try:
        if project.exists() and project.read_text(encoding="utf-8") != PROJECT:
            raise OutputError(f"{project} is another project; name an empty folder")
        write_whole(project, PROJECT.encode())  # first: it says that the folder is ours, if the rest does not come
        with scratch_folder() as draft:
            _write_parquet(simulate(people, numpy_generator(seed)), draft / "voters.parquet")
            write_whole(folder / "voters.parquet", (draft / "voters.parquet").read_bytes())
    except (OSError, duckdb.IOException) as error:
        raise OutputError(f"{folder}: the city could not be written ({error})") from error
    return project


def is_begun(folder: Path) -> bool:
    """Whether a demo was interrupted here before its release: what it left may be written again."""
    project = folder / "project.toml"
    remove_parts(project)
    if not project.is_file() or read_bytes(project) != PROJECT.encode():
        return False
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")} <= {project.name, "voters.parquet"}


def simulate(people: int, generator: Generator) -> dict[str, IntArray]:
    """One code per person for every column: where they live, who they are, how they vote."""
    district = _districts(people, generator)
    traits = generator.normal(size=(len(DISTRICTS), 9))
    youth, wealth, leaning, faith = 0.12 * traits[:, 0], 0.4 * traits[:, 1], 0.25 * traits[:, 2], 0.5 * traits[:, 3:]

    age = _draw(_softmax(np.log(_AGE_SHARES) + np.outer(youth, _YOUTH)), (district,), generator)
    gender = _draw(_GENDER_BY_AGE, (age,), generator)
    by_place_and_age = np.log(_RELIGION_SHARES) + faith[:, None, :] + _RELIGION_BY_AGE
    religion = _draw(_softmax(by_place_and_age), (district, age), generator)
    _found_small_religions(religion, district, generator)
    by_place_and_age = np.outer(wealth, _TENURE_BY_WEALTH)[:, None, :] + np.log(_TENURE_BY_AGE)
    tenure = _draw(_softmax(by_place_and_age), (district, age), generator)

    pull = np.outer(leaning, _DISTRICT_PULL)[district] + _AGE_PULL[age] + _GENDER_PULL[gender]
    pull += _RELIGION_PULL[religion] + _TENURE_PULL[tenure]
    vote = _draw(_shares_met(pull), (np.arange(people),), generator)
    _deal(vote, religion == RELIGIONS.index(FELLOWSHIP), FELLOWSHIP_VOTES, generator)
    _deal(vote, district == DISTRICTS.index(ENCLAVE), ENCLAVE_VOTES, generator)
    return {"district": district, "age": age, "gender": gender, "religion": religion, "tenure": tenure, "vote": vote}


def region_of(district: int) -> int:
    """The region of a district, both as codes: neighbouring numbers lie together."""
    return district * len(REGIONS) // len(DISTRICTS)


# Shares and pulls are invented. Rows follow the categories above, columns of pulls the options.
_YOUTH = 3.0 - np.arange(7)
_AGE_SHARES = np.array([0.11, 0.18, 0.17, 0.17, 0.16, 0.12, 0.09])
_WOMEN = np.array([0.49, 0.49, 0.50, 0.50, 0.51, 0.53, 0.60])
_NONBINARY = np.array([0.012, 0.007, 0.004, 0.002, 0.001, 0.001, 0.0005])
_GENDER_BY_AGE = np.stack([_WOMEN * (1 - _NONBINARY), (1 - _WOMEN) * (1 - _NONBINARY), _NONBINARY], axis=1)
_RELIGION_SHARES = np.array([0.38, 0.27, 0.19, 0.10, 0.04, 0.02])
_RELIGION_BY_AGE = np.outer(_YOUTH, [0.12, -0.08, -0.10, 0.10, 0.0, 0.05])
_TENURE_BY_AGE = np.array(
    [
        [0.02, 0.04, 0.36, 0.12, 0.40, 0.06],
        [0.05, 0.25, 0.43, 0.14, 0.11, 0.02],
        [0.12, 0.42, 0.26, 0.15, 0.04, 0.01],
        [0.24, 0.42, 0.16, 0.15, 0.02, 0.01],
        [0.46, 0.25, 0.11, 0.15, 0.02, 0.01],
        [0.63, 0.09, 0.09, 0.16, 0.01, 0.02],
        [0.65, 0.03, 0.07, 0.15, 0.02, 0.08],
    ]
)
_TENURE_BY_WEALTH = np.array([0.8, 0.6, -0.2, -1.2, 0.0, 0.0])
_DISTRICT_PULL = np.array([1.0, -1.0, 0.3, 0.0])
_AGE_PULL = np.outer(_YOUTH, [-0.10, 0.04, -0.02, 0.14])
_GENDER_PULL = np.array([[0.0, 0.12, 0.05, 0.0], [0.08, 0.0, 0.0, 0.0], [-0.4, 0.4, 0.1, 0.0]])
_RELIGION_PULL = np.array(
    [
        [-0.15, 0.20, 0.00, 0.10],
        [0.25, -0.10, 0.00, 0.00],
        [0.20, 0.00, -0.05, -0.05],
        [-0.50, 0.15, 0.45, 0.15],
        [0.10, -0.15, 0.20, 0.05],
        [0.05, 0.10, 0.15, -0.05],
        [0.00, 0.00, 0.00, 0.00],
        [0.00, 0.30, 0.00, 0.00],
    ]
)
_TENURE_PULL = np.array(
    [
        [0.30, -0.10, 0.00, -0.20],
        [0.15, 0.00, 0.05, -0.15],
        [-0.20, 0.15, 0.05, 0.15],
        [-0.30, 0.10, 0.10, 0.25],
        [-0.05, 0.10, 0.00, 0.10],
        [0.00, 0.00, 0.00, 0.40],
    ]
)


def _districts(people: int, generator: Generator) -> IntArray:
    """The district of everybody, in order: the special ones at their fixed sizes, the rest of uneven size."""
    fixed = [ENCLAVE_PEOPLE, *TINY_DISTRICTS.values()]
    weights = 0.4 + generator.random(len(DISTRICTS) - len(fixed))
    ends = np.rint(np.cumsum(weights) / weights.sum() * (people - sum(fixed))).astype(np.int64)
    return np.repeat(np.arange(len(DISTRICTS)), [*np.diff(ends, prepend=0), *fixed])


def _found_small_religions(religion: IntArray, district: IntArray, generator: Generator) -> None:
    """Convert as many as the small religions have: the fellowship lives in one region, the watchers all over."""
    regions = np.array([region_of(code) for code in range(len(DISTRICTS))])[district]
    home = np.flatnonzero(regions == REGIONS.index(FELLOWSHIP_REGION))
    members = generator.choice(home, FELLOWSHIP_PEOPLE, replace=False)
    religion[members] = RELIGIONS.index(FELLOWSHIP)
    others = np.flatnonzero((district < DISTRICTS.index(ENCLAVE)) & (religion != RELIGIONS.index(FELLOWSHIP)))
    religion[generator.choice(others, WATCHERS_PEOPLE, replace=False)] = RELIGIONS.index(WATCHERS)


def _softmax(logits: FloatArray) -> FloatArray:
    chances: FloatArray = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    return chances


def _draw(chances: FloatArray, who: tuple[IntArray, ...], generator: Generator) -> IntArray:
    """One category per person, with the probabilities that `chances` holds for people like them."""
    ends = np.cumsum(chances, axis=-1)
    code = np.zeros(len(who[0]), dtype=np.int64)
    luck = generator.random(len(code))
    for column in range(chances.shape[-1] - 1):
        code += luck >= ends[..., column][who]
    return code


def _shares_met(pull: FloatArray) -> FloatArray:
    """Probabilities per person and option, moved by one intercept per option until their means are `SHARES`."""
    intercepts = np.log(SHARES)
    for _ in range(8):
        intercepts = intercepts + np.log(SHARES / _softmax(pull + intercepts).mean(axis=0))
    return _softmax(pull + intercepts)


def _deal(vote: IntArray, group: BoolArray, votes: tuple[int, ...], generator: Generator) -> None:
    """Give the people of `group` exactly these votes, in random order."""
    vote[group] = generator.permutation(np.repeat(np.arange(len(votes)), votes))


def _write_parquet(voters: Mapping[str, IntArray], path: Path) -> None:
    regions = tuple(REGIONS[region_of(code)] for code in range(len(DISTRICTS)))
    columns = [f"list_value{regions}[district + 1] AS region"]
    columns += [f"list_value{names}[{column} + 1] AS {column}" for column, names in LABELS.items()]
    with duckdb.connect() as engine, interruptible(engine):
        engine.register("voters", dict(voters))
        engine.execute(f"COPY (SELECT {', '.join(columns)} FROM voters) TO {literal(str(path))} (FORMAT parquet)")
