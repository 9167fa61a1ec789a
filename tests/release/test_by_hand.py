"""Categories that a project keeps or joins by hand: decided and certified like all others, never published unsafe."""

from pathlib import Path

import numpy as np
import pytest

from safemargin import InputError, Project, RefusedError, release
from safemargin.core import Target
from safemargin.release.decide.decide import decide
from safemargin.release.inputs import read_inputs
from safemargin.release.plan import Action
from safemargin.release.project import Project as Described

pytestmark = pytest.mark.full

SITES = {"A": (60, 40), "B": (45, 55), "C": (99, 1), "D": (50, 52), "E": (9, 8), "F": (70, 30)}
"""Yes and no per site: C is of one mind, E is small."""


def described(
    folder: Path, axis: str = "", protect: str = "merge", sites: dict[str, tuple[int, int]] = SITES
) -> Described:
    lines = [
        f"{site},{answer},{n}" for site, both in sites.items() for answer, n in zip(("yes", "no"), both, strict=True)
    ]
    (folder / "votes.csv").write_text("site,answer,people\n" + "\n".join(lines) + "\n", encoding="utf-8")
    text = f"""[data]
file = "votes.csv"
answer = "answer"
count = "people"
[axes.site]
{axis}
[target]
beta = 0.05
kappa = 20
tau = 0
protect = "{protect}"
"""
    (folder / "project.toml").write_text(text, encoding="utf-8")
    return Project.load(folder / "project.toml")


def groups(project: Described) -> dict[str, Action]:
    """What is done with every group."""
    inputs = read_inputs(project)
    plan = decide(inputs.table, inputs.target, inputs.onlookers, protect=project.protect)
    assert plan.certificate.certified
    return {" | ".join(sorted(decision.group)): decision.action for decision in plan.decisions}


def test_a_kept_category_is_never_merged(tmp_path: Path) -> None:
    """Whichever partner the rule would take, keeping it makes the rule take another; the others stay as they were."""
    partners = [
        name for group in groups(described(tmp_path)) if "C" in group and len(group) > 1 for name in group.split(" | ")
    ]
    assert len(partners) > 1, "the site of one mind needs a partner"
    for name in set(partners) - {"C", "E"}:
        found = groups(described(tmp_path, f'keep = ["{name}"]'))
        assert found[name] is Action.EXACT
        assert not any(len(group) > 1 and name in group.split(" | ") for group in found)


@pytest.mark.parametrize("protect", ["merge", "suppress", "auto"])
@pytest.mark.parametrize("name", ["C", "E"])
def test_a_kept_category_that_is_unsafe_is_not_published(tmp_path: Path, protect: str, name: str) -> None:
    """Its exact count, or one from which it follows, is in no published table."""
    project = described(tmp_path, f'keep = ["{name}"]', protect)
    try:
        made = release(project)
    except RefusedError:
        return
    for table in made.tables.values():
        rows = [row for row in table.to_dict("records") if "site" in row]
        shown = [row for row in rows if not np.isnan(row["count"])]
        assert not any(row["site"] == name for row in shown)
        hidden = {row["site"] for row in rows} - {row["site"] for row in shown}
        assert not hidden or len({part for group in hidden for part in group.split(" | ")}) > 1


def test_joined_categories_are_one_from_the_start(tmp_path: Path) -> None:
    """The same release as that of data in which they are one; no table distinguishes them."""
    joined = {**{name: both for name, both in SITES.items() if name not in "AB"}, "A + B": (105, 95)}
    found = groups(described(tmp_path, 'join = [["A", "B"]]'))
    assert found == groups(described(tmp_path, sites=joined))
    assert "A + B" in " ".join(found) and not any(group in ("A", "B") for group in found)


def test_joins_follow_labels_and_order(tmp_path: Path) -> None:
    project = described(tmp_path, 'labels = {A = "Alpha"}\njoin = [["Alpha", "B"]]')
    assert "Alpha + B" in read_inputs(project).table.schema.axis("site").categories
    ordered = 'ordered = true\ncategories = ["A", "B", "C", "D", "E", "F"]\n'
    assert read_inputs(described(tmp_path, f'{ordered}join = [["B", "C"]]')).table.schema.axis("site").categories == (
        *("A", "B + C", "D", "E", "F"),
    )


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ('keep = ["X"]', "axes.site.keep: there is no category 'X'"),
        ('join = [["X", "Y"]]', "axes.site.join: there is no category 'X [+] Y'"),
        ('join = [["A"]]', "a group needs at least two categories"),
        ('join = [["A", "B"], ["B", "C"]]', "'B'"),
        ('ordered = true\ncategories = ["A", "B", "C", "D", "E", "F"]\njoin = [["A", "C"]]', "are not neighbours"),
        ('ordered = true\njoin = [["A", "B"]]', "list (all of )?them in categories"),
        ('parents = {A = "n", B = "s"}\njoin = [["A", "B"]]', "every category needs one parent"),
    ],
)
def test_what_cannot_be_kept_or_joined_is_named(tmp_path: Path, axis: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_inputs(described(tmp_path, axis))


def test_order_parts_what_a_kept_band_separates(tmp_path: Path) -> None:
    """In an ordered axis the neighbours on either side of a kept category are not merged across it."""
    order = 'ordered = true\ncategories = ["A", "C", "B", "E", "D", "F"]\nkeep = ["B"]'
    for group in groups(described(tmp_path, order)):
        names = set(group.split(" | "))
        assert "B" not in names or len(names) in (1, len(SITES))
        assert not (names & {"A", "C"} and names & {"E", "D", "F"}) or len(names) == len(SITES)


def test_random_axes_never_merge_what_is_kept(tmp_path: Path) -> None:
    """On random axes: certified, the kept category alone or the axis not published, every published group in limits."""
    generator = np.random.default_rng(5)
    for turn in range(20):
        names = [f"s{number}" for number in range(int(generator.integers(3, 10)))]
        sites = {name: (int(generator.integers(0, 60)), int(generator.integers(0, 60))) for name in names}
        kept = str(generator.choice(names))
        protect = ["merge", "suppress", "auto"][turn % 3]
        inputs = read_inputs(described(tmp_path, f'keep = ["{kept}"]', protect, sites))
        plan = decide(inputs.table, inputs.target, inputs.onlookers, protect=protect)
        limits = inputs.target.limits(inputs.table.totals.tolist(), int(inputs.table.totals.sum()))
        assert plan.certificate.certified and isinstance(inputs.target, Target)
        shown = [decision for decision in plan.decisions if decision.action in (Action.EXACT, Action.MERGED)]
        for decision in shown:
            assert kept not in decision.group or len(decision.group) == 1
            both = np.array([[sum(sites[name][answer] for name in decision.group) for answer in (1, 0)]])
            assert (limits.verdicts(both, both, both.sum(axis=1)) == 0).all()
