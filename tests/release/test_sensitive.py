"""Categories that are protected whatever their size, and axes of which every count is noised."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import safemargin
from cases import Town
from reruns import random_city
from safemargin.bounds import classical_words, infer
from safemargin.bounds.cells import Level
from safemargin.bounds.report import classical
from safemargin.core import InputError, PublishedTable, Target, as_published, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Action
from safemargin.release.publish import publish
from safemargin.release.rule import make

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]


def ranges(place: Town, tables: tuple[PublishedTable, ...], axis: str, category: str) -> list[tuple[int, int]]:
    """Least and most count of a category per option over all whole tables that agree with the roll and the release."""
    profiles, options = list(place.people), place.options
    size = len(profiles) * len(options)
    rows, sums = [], []
    for number, profile in enumerate(profiles):
        row = np.zeros((len(profiles), len(options)))
        row[number] = 1
        rows.append(row.ravel())
        sums.append(place.people[profile])
    for table in tables:
        for line in range(len(table.lower)):
            if table.status[line] in ("exact", "merged"):
                cell = [table.groups[c][table.codes[line, c]] for c in range(len(table.axes))]
                columns = [place.axes.index(name) for name in table.axes]
                row = np.zeros((len(profiles), len(options)))
                for number, profile in enumerate(profiles):
                    inside = all(profile[a] in group for a, group in zip(columns, cell, strict=True))
                    row[number, options.index(table.options[table.option[line]])] = inside
                rows.append(row.ravel())
                sums.append(int(table.lower[line]))
    found = []
    for option in range(len(options)):
        cost = np.zeros((len(profiles), len(options)))
        cost[[profile[place.axes.index(axis)] == category for profile in profiles], option] = 1
        ends = [
            milp(
                sign * cost.ravel(),
                constraints=LinearConstraint(np.array(rows), sums, sums),
                integrality=np.ones(size),
                bounds=Bounds(0, np.inf),
            )
            for sign in (1, -1)
        ]
        found.append((round(ends[0].fun), round(-ends[1].fun)))
    return found


def narrow(place: Town, target: Target, protect: str) -> list[str]:
    """Options of which a sensitive category's count is known to within `tau`, where the release says it is safe."""
    (axis, category), *_ = target.sensitive
    plan = decide(place.table(), target, protect=protect)
    assert plan.certificate.certified
    people = sum(n for profile, n in place.people.items() if profile[place.axes.index(axis)] == category)
    spare = min(target.tau, people // 4)
    ends = ranges(place, publish(plan, place.table()).tables, axis, category)
    totals = [place.count((), (), option) for option in place.options]
    return [
        option
        for option, (low, high), total in zip(place.options, ends, totals, strict=True)
        if people and total and total < sum(place.people.values()) and high - low <= spare
    ]


def with_sensitive(seed: int) -> tuple[Town, Target]:
    place, target = random_city(seed, 2_000, axes=(1, 2, 3), wide=seed % 3 == 0)
    axis = place.axes[0]
    return place, replace(target, sensitive=((axis, max(place.categories[0])),))


@pytest.mark.parametrize("seed", range(14))
def test_all_tables_together_leave_the_count_of_a_sensitive_category_open(seed: int) -> None:
    place, target = with_sensitive(seed)
    assert narrow(place, target, ("auto", "merge", "suppress")[seed % 3]) == []


@pytest.mark.slow
def test_the_check_notices_a_category_that_nothing_covers() -> None:
    """Without the cover and the proof, the total less the other groups is the count."""
    found = 0
    for seed in range(14):
        place, target = with_sensitive(seed)
        with (
            patch.object(make, "add_complementary_suppression", lambda split, hidden: hidden),
            patch.object(Level, "never_contain", lambda level, cells: None),
        ):
            found += bool(narrow(place, target, "suppress"))
    assert found >= 3


def staff(folder: Path, axes: str, target: str = "") -> Path:
    rng = np.random.default_rng(8)
    with (folder / "staff.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["religion", "site", "vote"])
        for _ in range(1_200):
            faith = rng.choice(["Christian", "Hindu", "Jewish", "none"], p=[0.5, 0.1, 0.1, 0.3])
            writer.writerow([faith, rng.choice(["north", "south", "west"]), rng.choice(["yes", "no"])])
    project = folder / "staff.toml"
    project.write_text(
        f'[data]\nfile = "staff.csv"\nanswer = "vote"\n{axes}\n[target]\nkappa = 10\ntau = 0\n{target}\n'
    )
    return project


PLAIN = "[axes.religion]\n[axes.site]\n"


def test_a_sensitive_category_is_suppressed_and_the_certificate_can_be_checked(tmp_path: Path) -> None:
    project = staff(tmp_path, PLAIN, 'sensitive = {religion = ["Jewish"]}')
    safemargin.release(project).write(tmp_path / "out")
    published = tmp_path / "out" / "published"
    rows = list(csv.DictReader((published / "religion.csv").read_text().splitlines()))
    gone = {row["religion"] for row in rows if row["status"] == "suppressed"}
    assert "Jewish" in gone and len(gone) == 2 and not any(row["count"] for row in rows if row["religion"] in gone)
    stated = json.loads((published / "manifest.json").read_text())
    assert stated["target"]["sensitive"] == {"religion": ["Jewish"]}
    assert "'religion Jewish', which are sensitive, cannot be inferred exactly" in stated["statement"]
    roll, auditors = (tmp_path / "out" / name for name in ("confidential/roll.csv", "auditors"))
    assert safemargin.verify(published, roll=roll, auditors=auditors, rerun=True).outcome == "holds"
    # A copy that drops the category from the target is not what the certificate binds.
    del stated["target"]["sensitive"]
    (published / "manifest.json").write_text(json.dumps(stated))
    assert safemargin.verify(published, auditors=auditors).failures


def test_an_unknown_sensitive_category_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"target\.sensitive\.religion: there is no category 'Sikh'"):
        safemargin.release(staff(tmp_path, PLAIN, 'sensitive = {religion = ["Sikh"]}'))
    with pytest.raises(InputError, match=r"target\.sensitive\.faith: there is no axis 'faith'"):
        safemargin.release(staff(tmp_path, PLAIN, 'sensitive = {faith = ["Sikh"]}'))


NOISED = "[axes.religion]\nepsilon = 0.4\n[axes.site]\nepsilon = 0.3\n"


def test_every_margin_can_be_noised_at_an_epsilon_of_its_own(tmp_path: Path) -> None:
    project = staff(tmp_path, NOISED)
    drawn = []
    for name in ("one", "two"):
        release = safemargin.release(project)
        release.write(tmp_path / name)
        published = tmp_path / name / "published"
        stated = json.loads((published / "manifest.json").read_text())
        assert [entry["epsilon"] for entry in stated["guarantees"]] == [0.4, 0.3]
        assert stated["rule"] == "not shown" and "Noised counts" in stated["statement"]
        rows = [
            row
            for axis in ("religion", "site")
            for row in csv.DictReader((published / f"{axis}.csv").read_text().splitlines())
        ]
        assert {row["status"] for row in rows} == {"noised"}
        drawn.append([row["count"] for row in rows])
    # Seven counts, each the same twice with chance below .1: equal by accident in fewer than one of a million runs.
    assert drawn[0] != drawn[1]


def test_axes_that_cost_more_than_the_target_allows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the axes cost 0\.7 together, target\.epsilon_max is 0\.5"):
        safemargin.release(staff(tmp_path, NOISED, "epsilon_max = 0.5"))
    with pytest.raises(InputError, match=r'choose another target\.protect than "noise"'):
        safemargin.release(staff(tmp_path, NOISED, 'protect = "noise"'))


def test_noise_covers_a_sensitive_category(tmp_path: Path) -> None:
    for seed in range(6):
        place, target = with_sensitive(seed)
        plan = decide(place.table(), target, protect="noise")
        decisions = plan.axis(place.axes[0])
        held = [d for d in decisions if target.sensitive[0][1] in d.group]
        assert held[0].action is (Action.NOISED if len(decisions) > 1 else Action.SUPPRESSED)


def test_classical_notions_of_a_release(tmp_path: Path) -> None:
    """Everything is known of 2 x 2 groups that are printed: sizes 4 and 6, shares 1/4 and 2/3 beside 1/2 overall."""
    (tmp_path / "t.csv").write_text("site,option,count\nn,yes,1\nn,no,3\ns,yes,4\ns,no,2\n")
    (tmp_path / "roll.csv").write_text("site,people\nn,4\ns,6\n")
    found = safemargin.bound(tmp_path / "t.csv", roll=tmp_path / "roll.csv").to_json()["classical"]
    assert found == {"k": 4, "l": 2, "t": 0.25, "sharp": True}
    (tmp_path / "t.csv").write_text("site,option,count\nn,yes,0\nn,no,4\ns,yes,5\ns,no,1\n")
    found = safemargin.bound(tmp_path / "t.csv", roll=tmp_path / "roll.csv").to_json()["classical"]
    assert found == {"k": 4, "l": 1, "t": 0.5, "sharp": True}


def test_loose_intervals_are_called_so_and_never_start_below_nobody() -> None:
    """Of three options, what the others leave at their most is less than nobody where no program is run."""
    place, _ = next(made for seed in range(50) if len((made := random_city(seed))[0].options) == 3)
    table = place.table()
    shown = [as_published(table.margin((axis,)), table.schema, axis) for axis in place.axes]
    loose = infer(shown, onlooker_with_roll(table, "joint"), sharp=False)
    assert (loose.lower >= 0).all() and not loose.integer.all()
    assert "l-diversity at most 3, t-closeness at most" in classical_words(loose) and classical(loose)["t"] <= 1


def test_an_axis_of_two_categories_is_omitted_if_one_is_sensitive() -> None:
    """Two categories, one of them sensitive: the other covers it, so that the axis is omitted."""
    place = Town(("p",), (("a", "b"),), ("yes", "no"), {("a",): 50, ("b",): 60}, {("a",): (20, 30), ("b",): (30, 30)})
    plan = decide(place.table(), Target(sensitive=(("p", "a"),), kappa=10, tau=0))
    assert [d.action for d in plan.axis("p")] == [Action.SUPPRESSED]
