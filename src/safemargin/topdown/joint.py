"""Persons and households in one release, as in the 2020 census: two runs over the same areas, linked by their tables.

Households are measured and solved first. From their published tables follows how many people can live in them: limits
for the tables of persons, which are post-processing. So the budgets of the two runs add up, and nothing else is spent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from safemargin import ui
from safemargin.core import Guarantee, InputError, IntArray, Nested, Population, Progress, no_progress
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
from safemargin.topdown.design import MAX_COUNT, Design, MarginLimit
from safemargin.topdown.folder import Folder, write_text
from safemargin.topdown.guarantee import derive_guarantee, population_of
from safemargin.topdown.project import TopDownProject, load_section
from safemargin.topdown.report import TopDownRelease
from safemargin.topdown.run import run

HOUSEHOLDS, PERSONS = "households", "persons"
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
    def epsilon(self) -> float:
        """At the delta of the persons' file, by the formula of Bun and Steinke."""
        return published_epsilon(float(self.guarantee.budget or 0), self.persons.design.delta)

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "rho_squared": str(self.guarantee.budget),
            "epsilon": self.epsilon,
            "guarantee": document(self.guarantee),
            HOUSEHOLDS: self.households.to_json(),
            PERSONS: self.persons.to_json(),
            "folder": str(self.folder),
        }

    def to_report(self) -> ui.Report:
        both = (
            f"Households and persons together: rho² = {self.guarantee.budget} per person (epsilon {self.epsilon:.2f} "
            f"at delta {self.persons.design.delta:g}). Tables of persons keep to those of households in every area."
        )
        parts = [
            ui.Section(name.capitalize(), *release.to_report().parts)
            for name, release in ((HOUSEHOLDS, self.households), (PERSONS, self.persons))
        ]
        banner = ("Confidential.", "The errors on this page compare with the data. Do not publish it.")
        return ui.Report("Households and persons", both, *parts, banner=banner)


def is_joint(path: Path) -> bool:
    """Whether a TOML file describes a joint release."""
    try:
        return any(line.strip() == "[joint]" for line in read_text(path).splitlines())
    except InputError:
        return False  # the reader of TopDown files says what is wrong


def run_joint(config: Path, folder: Path, *, progress: Progress = no_progress) -> JointRelease:
    """Households, then persons that keep to them; both write microdata, and both are resumed if interrupted."""
    section = load_section(JointProject, config).joint
    units = TopDownProject.load(section.households)
    if units.data.unit == "person":
        raise InputError(f"{section.households}: data.unit: say what a record is, e.g. household")
    first = run(section.households, folder / HOUSEHOLDS, progress=progress, microdata=True)

    def adapt(project: TopDownProject, design: Design) -> Design:
        return _linked(section, project, design, first)

    second = run(section.persons, folder / PERSONS, progress=progress, adapt=adapt, microdata=True)
    guarantee = _guarantee(section, first.design, second.design, units.spine.file is None)
    write_text(folder / GUARANTEE_FILE, guarantee_text(guarantee))
    return JointRelease(first, second, guarantee, folder)


def people_in(section: JointSection, design: Design, table: IntArray) -> tuple[IntArray, IntArray]:
    """The least and the most people who can live in the households of each area, by their published counts."""
    if section.size is None:
        total = table.sum(axis=1)
        return total * section.each[0], total * section.each[1]
    query = design.attributes.query(section.size)
    ((_, labels),) = design.attributes.columns(query)
    if missing := next((label for label in labels if label not in section.sizes), None):
        raise InputError(f"joint.sizes: category {missing!r} of {section.size} has no least and most")
    counts = design.attributes.margin(table, query)
    least, most = (np.array([section.sizes[label][end] for label in labels]) for end in (0, 1))
    return counts @ least, counts @ most


def _linked(section: JointSection, project: TopDownProject, design: Design, first: TopDownRelease) -> Design:
    """The design of persons with the limits that follow from published tables of households."""
    other, last = first.design, design.spine.last
    if other.spine.names[-1] != design.spine.names[-1]:
        raise InputError(f"{section.persons}: its areas are not those of {section.households}; name one file of areas")
    query = design.attributes.query(section.living)
    ((_, labels),) = design.attributes.columns(query)
    if section.inside not in labels:
        listed = ", ".join(labels)
        raise InputError(f"joint.inside = {section.inside!r}: must be a category of {section.living} ({listed})")
    least, most = people_in(section, other, Folder(first.published).read_table(other, other.spine.last))
    low = np.zeros((len(least), len(labels)), dtype=np.int64)
    high = np.full_like(low, MAX_COUNT)
    low[:, labels.index(section.inside)], high[:, labels.index(section.inside)] = least, most
    # The data need not agree with noisy tables of households: as with earlier tables, only whether any tables do.
    earlier = (*design.earlier, (last, MarginLimit(query, low, high)))
    passes = design.passes
    if project.tables.passes is None and design.passes[0] | query != design.attributes.detailed:
        passes = (design.passes[0] | query, design.attributes.detailed)
    return replace(design, earlier=earlier, passes=passes)


def _guarantee(section: JointSection, units: Design, persons: Design, from_data: bool) -> Guarantee:
    """Both, per person: one person belongs to one household, whose record alone may change with that person's."""
    one, other = population_of(units), population_of(persons)
    most = max((high for _, high in section.sizes.values()), default=section.each[1])
    population = Population(
        "persons in households",
        records=(*one.records, *other.records),
        determines=tuple(dict.fromkeys((*one.determines, *other.determines))),
        nested=(Nested(persons.unit, units.unit, 1, most),),
    )
    parts = [
        change_unit(derive_guarantee(units, from_data, population), persons.unit),
        derive_guarantee(persons, from_data, population),
    ]
    return post_process(compose_parts(parts, "measurements of households and persons"), "TopDown of both")
