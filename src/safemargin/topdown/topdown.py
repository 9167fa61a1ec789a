"""The public function of the command `topdown`; and persons and households in one release, as in the 2020 census.

Those are two runs over the same areas, linked by their tables. Households are measured and solved first. Their tables
leave room for as many people as the exact counts of persons say, and how many people can live in them limits the tables
of persons. Both are post-processing of noisy counts and of invariants, so the budgets of the two runs add up for
somebody who stays in a household. Somebody who moves changes two of them, and each noisy margin of households then
costs more (`topdown.movers`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from safemargin import ui
from safemargin.core import Guarantee, InputError, IntArray, Nested, Population, Progress, TooLargeError, no_progress
from safemargin.guarantees import (
    GUARANTEE_FILE,
    change_unit,
    compose_parts,
    document,
    guarantee_text,
    post_process,
    published_epsilon,
)
from safemargin.io import ConfigSection, File, Name, read_text
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import MAX_COUNT, Design, Spine, WeightedLimit, combine_limits
from safemargin.topdown.feasibility import cell_ends
from safemargin.topdown.folder import Folder, write_file
from safemargin.topdown.guarantee import derive_guarantee, population_of
from safemargin.topdown.household_limits import Residents
from safemargin.topdown.least_squares import fit
from safemargin.topdown.measure import exact_counts
from safemargin.topdown.movers import MOVES, STAYS, HouseholdSizes, squares_by_margin
from safemargin.topdown.project import TopDownProject, load_section
from safemargin.topdown.report import Recomputation, TopDownPlan, TopDownRelease
from safemargin.topdown.residents import always_fit, limits_of, residents_of, solve_with_residents
from safemargin.topdown.run import (
    REPORT,
    CountedProject,
    check,
    count_project,
    named_by,
    plan_release,
    recompute,
    release,
    run,
    without_noise,
)

HOUSEHOLDS, PERSONS = "households", "persons"
# Counts of households and persons in all areas that are solved together where they must be: 2,500 of them took 1.6 s of
# CPU, and 25,000 took 22 s.
MAX_UNKNOWNS = 100_000
Range = Annotated[tuple[int, int], Field(strict=False)]


class JointSection(ConfigSection):
    """Two TopDown files, and how the people of one live in the households of the other."""

    households: File = Field(description="TopDown file of households; its unit must be household")
    persons: File = Field(description="TopDown file of persons, over the same areas")
    size: Name | None = Field(default=None, description="attribute of households with their size")
    sizes: Mapping[Name, Range] = Field(default={}, description="least and most people, by category of `size`")
    each: Range = Field(default=(1, 99_999), description="least and most people of a household, without `size`")
    living: Name = Field(description="attribute or grouping of persons that says where they live")
    inside: Name = Field(description="its category of people who live in households")
    person_change: Literal["stays", "moves"] = Field(
        default="moves", description="what one changed person may do: stay in their household, or also move to another"
    )


class JointProject(ConfigSection):
    """The file of a joint release."""

    joint: JointSection


@dataclass(frozen=True)
class JointRelease(ui.Result):
    """The releases of households and of persons, and the guarantee of both together, per person."""

    households: TopDownRelease
    persons: TopDownRelease
    guarantee: Guarantee
    folder: Path

    @property
    def rho_squared_of_stayers(self) -> Fraction:
        """What is guaranteed to people who stay in their household: the sum of the two budgets."""
        return self.households.design.rho_squared + self.persons.design.rho_squared

    @property
    def _moves(self) -> bool:
        return self.guarantee.population.nested[0].up > 1

    @property
    def _may(self) -> str:
        return "may move to another household" if self._moves else "stays in the same household"

    @property
    def _if_they_stay(self) -> str:
        return f"For those who stay in their household it is {self.rho_squared_of_stayers}. " if self._moves else ""

    @property
    def epsilon(self) -> float:
        """At the delta of the persons' file, by the formula of Bun and Steinke."""
        return published_epsilon(float(self.guarantee.budget or 0), self.persons.design.delta)

    def to_json(self) -> ui.Document:
        """The document of a joint release: the guarantee of both together, then both parts."""
        return {
            "schema": ui.SCHEMA,
            "rho_squared": str(self.guarantee.budget),
            "epsilon": self.epsilon,
            "person_change": MOVES if self._moves else STAYS,
            "rho_squared_of_stayers": str(self.rho_squared_of_stayers),
            "guarantee": document(self.guarantee),
            HOUSEHOLDS: self.households.to_json(),
            PERSONS: self.persons.to_json(),
            "folder": str(self.folder),
        }

    def to_report(self) -> ui.Report:
        """Both releases on one page, with the guarantee per person above them. Confidential, like its parts."""
        both = (
            f"Households and persons together: rho² = {self.guarantee.budget} per person, who {self._may} (epsilon "
            f"{self.epsilon:.2f} at delta {self.persons.design.delta:g}). {self._if_they_stay}Tables of persons keep "
            "to those of households in every area."
        )
        parts = [
            ui.Section(name.capitalize(), *release.to_report().parts)
            for name, release in ((HOUSEHOLDS, self.households), (PERSONS, self.persons))
        ]
        banner = ("Confidential.", "The errors on this page compare with the data. Do not publish it.")
        return ui.Report("Households and persons", both, *parts, banner=banner)


def topdown(
    source: Path | str,
    folder: Path | str | None = None,
    *,
    beside: Mapping[str, Path | str] | None = None,
    attack: tuple[Sequence[str], str] | None = None,
    plan: bool = False,
    progress: Progress = no_progress,
) -> TopDownRelease | JointRelease | TopDownPlan | Recomputation:
    """Publish counts of areas with differential privacy, as the TOML file `source` describes.

    The release is written to `folder` (default: beside the file); an interrupted run in it is resumed. `beside` names
    files of people protected by other methods, to compare errors with. `attack` has the attributes that an onlooker
    knows and another one, which a reconstruction attack on all of them states. With `plan`, nothing is drawn: the
    result is the guarantee and the precision that the release would have. A file with the section `joint` releases
    households and persons together. If `source` is the public folder of a release, its tables are computed again and
    compared.
    """
    path = Path(source)
    if path.is_dir():
        return recompute(path, progress)
    target = Path(folder) if folder is not None else path.parent / f"{path.stem}-release"
    if _is_joint(path):
        if plan or beside or attack:
            raise InputError(f"{path}: is a joint release; plan and compare its two files one by one")
        both = _run_joint(path, target, progress=progress)
        write_file(target / REPORT, both.to_html().encode())
        return both
    if plan:
        return plan_release(path)
    others = {name: Path(file) for name, file in (beside or {}).items()}
    result = run(path, target, beside=others, attack=attack, progress=progress)
    write_file(result.report, result.to_html().encode())
    return result


def _is_joint(path: Path) -> bool:
    """Whether a TOML file describes a joint release."""
    try:
        return any(line.strip() == "[joint]" for line in read_text(path).splitlines())
    except InputError:
        return False  # the reader of TopDown files says what is wrong


def _run_joint(config: Path, folder: Path, *, progress: Progress = no_progress) -> JointRelease:
    """Households, then persons that keep to them; both write microdata, and both are resumed if interrupted.

    Everything that can be refused is refused before any noise is drawn: noise on households without tables of persons
    would be spent for nothing.
    """
    section = load_section(JointProject, config).joint
    units = count_project(section.households, folder / HOUSEHOLDS, progress)
    if units.project.data.unit == "person":
        raise InputError(f"{section.households}: data.unit: say what a record is, e.g. household")
    persons = count_project(section.persons, folder / PERSONS, progress)
    if not _same_areas(units.design.spine, persons.design.spine):
        raise InputError(f"{section.persons}: its areas are not those of {section.households}; name one file of areas")
    with named_by(section.households):
        units = replace(units, design=_with_room(section, units, persons))
        check(units.design, units.counts)
        units = replace(units, residents=_residents(section, units, persons))
    first = release(units, folder / HOUSEHOLDS, {}, progress, microdata=True)
    # There are tables of persons: by `always_fit`, or because those of households were solved with their residents.
    persons = replace(persons, design=_linked(section, persons, first))
    second = release(persons, folder / PERSONS, {}, progress, microdata=True)
    guarantee = _guarantee(section, first.design, second.design, units.project.spine.file is None)
    write_file(folder / GUARANTEE_FILE, guarantee_text(guarantee).encode())
    return JointRelease(first, second, guarantee, folder)


def _same_areas(one: Spine, other: Spine) -> bool:
    """Whether two trees have the same areas on every level; their roots may have other names."""
    return one.names[1:] == other.names[1:] and all(map(np.array_equal, one.parents, other.parents))


def _sizes(section: JointSection, design: Design) -> tuple[MarginQuery, IntArray]:
    """The margin of households by size, and the least and the most people in a household of each (two rows)."""
    if section.size is None:
        return MarginQuery(()), np.array(section.each)[:, None]
    query = design.attributes.query(section.size)
    ((_, labels),) = design.attributes.columns(query)
    if missing := next((label for label in labels if label not in section.sizes), None):
        raise InputError(f"joint.sizes: category {missing!r} of {section.size} has no least and most")
    return query, np.array([section.sizes[label] for label in labels]).T


def _inside(section: JointSection, design: Design) -> tuple[MarginQuery, int, int]:
    """The margin of persons by where they live, its number of categories, and that of people in households."""
    query = design.attributes.query(section.living)
    ((_, labels),) = design.attributes.columns(query)
    if section.inside not in labels:
        listed = ", ".join(labels)
        raise InputError(f"joint.inside = {section.inside!r}: must be a category of {section.living} ({listed})")
    return query, len(labels), labels.index(section.inside)


def _with_room(section: JointSection, units: CountedProject, persons: CountedProject) -> Design:
    """The design of households that hold as many people as exact counts and bounds of persons leave, in every area.

    Of the persons, only invariants and public facts are used.
    """
    (query, people), (living, _, inside) = _sizes(section, units.design), _inside(section, persons.design)
    limits = combine_limits(persons.design, exact_counts(persons.design, persons.counts))
    weighted = []
    for level, (low, high) in enumerate(cell_ends(persons.design, limits, living, inside)):
        if np.isfinite(high).any():  # the fewest people that fit into the households are not too many
            most = np.where(np.isfinite(high), high, MAX_COUNT).astype(np.int64)
            weighted.append((level, WeightedLimit(query, people[:1], np.zeros_like(most), most)))
        if low.max() > 0:
            least = np.maximum(low, 0).astype(np.int64)
            weighted.append((level, WeightedLimit(query, people[1:], least, np.full_like(least, MAX_COUNT))))
    return _solved_by(replace(units.design, weighted=tuple(weighted)), units.project, query)


def _residents(section: JointSection, units: CountedProject, persons: CountedProject) -> Residents | None:
    """What tables of households must leave room for, unless there always is room; refused if there are no such tables.

    The data are a solution if the persons of every block fit into its households and no earlier tables say otherwise.
    """
    (query, people), (living, _, inside) = _sizes(section, units.design), _inside(section, persons.design)
    design, others = units.design, persons.design
    if always_fit(others, living, inside):
        return None
    limits = limits_of(others, exact_counts(others, persons.counts))
    residents = residents_of(others, limits, living, inside, query, people)
    unknowns = design.spine.areas * (design.impossible.size + residents.design.impossible.size)
    if unknowns > MAX_UNKNOWNS:
        raise TooLargeError(
            f"{section.persons}: {_stated(others)} limit who lives in households, which takes {unknowns:,} unknowns at "
            f"once, more than {MAX_UNKNOWNS:,}; drop one of these, or use fewer categories or areas"
        )
    room = residents.limit(design.attributes.margin(units.counts[-1], query))
    lives = others.attributes.margin(persons.counts[-1], living)
    if design.earlier or others.earlier or ((lives < room.low) | (lives > room.high)).any():
        wide, measured = without_noise(design, units.counts)
        try:
            solve_with_residents(wide, measured.exact, fit(wide, measured), residents)
        except InputError:
            raise InputError(
                f"no tables of {design.unit}s have room for the persons by {_stated(others)}; drop one of these, or "
                "widen joint.sizes"
            ) from None
    return residents


def _stated(design: Design) -> str:
    """The constraints of a design in words."""
    names, title = design.spine.levels, design.attributes.title
    stated = [f"exact {title(query)} by {names[level]}" for level, query in design.exact]
    stated += [f"bounds of {title(limit.query)} by {names[level]}" for level, limit in design.bounds]
    stated += [f"earlier {title(limit.query)} by {names[level]}" for level, limit in design.earlier]
    return ", ".join([*stated, *(["zeros"] if design.impossible.any() else [])])


def _linked(section: JointSection, persons: CountedProject, first: TopDownRelease) -> Design:
    """The design of persons with the limits that follow from published tables of households.

    In every smallest area the people in households are between what its households hold at least and at most. That is
    an earlier table for persons: published, and no matter of their data.
    """
    other, last = first.design, persons.design.spine.last
    (query, people), (living, _, inside) = _sizes(section, other), _inside(section, persons.design)
    homes = other.attributes.margin(Folder(first.published).read_table(other, last), query)
    # The data need not agree with noisy tables of households: as with earlier tables, only whether any tables do.
    room = Residents(persons.design, living, inside, query, people).limit(homes)
    return _solved_by(replace(persons.design, earlier=(*persons.design.earlier, (last, room))), persons.project, living)


def _solved_by(design: Design, project: TopDownProject, query: MarginQuery) -> Design:
    """A constrained margin is solved in the first pass, unless the file states the passes."""
    first, detailed = design.passes[0] | query, design.attributes.detailed
    return (
        design if project.tables.passes is not None else replace(design, passes=tuple(dict.fromkeys((first, detailed))))
    )


def _guarantee(section: JointSection, units: Design, persons: Design, from_data: bool) -> Guarantee:
    """Both, per person: of the households, those records count that may change with one person's.

    Somebody who stays changes one household at most, somebody who moves two, of sizes that differ by one: `movers` has
    what each noisy margin of households then costs.
    """
    one, other = population_of(units), population_of(persons)
    most = max((high for _, high in section.sizes.values()), default=section.each[1])
    moves = section.person_change == MOVES
    population = Population(
        "persons in households",
        records=(*one.records, *other.records),
        determines=tuple(dict.fromkeys((*one.determines, *other.determines))),
        nested=(Nested(persons.unit, units.unit, 2 if moves else 1, most),),
    )
    movers = squares_by_margin(units, persons, _household_sizes(section, units)) if moves else None
    parts = [
        change_unit(derive_guarantee(units, from_data, population, movers), persons.unit),
        derive_guarantee(persons, from_data, population),
    ]
    return post_process(compose_parts(parts, "measurements of households and persons"), "TopDown of both")


def _household_sizes(section: JointSection, design: Design) -> HouseholdSizes:
    """People by category of the attribute of sizes; categories of one group have the range of the group."""
    query, people = _sizes(section, design)
    if not query.axes:
        return HouseholdSizes(None, (section.each,))
    (axis,), (codes,) = query.axes, query.groups
    groups = range(design.attributes.sizes[axis]) if codes is None else codes
    return HouseholdSizes(axis, tuple((int(people[0, group]), int(people[1, group])) for group in groups))
