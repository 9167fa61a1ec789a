"""The role of every column of a data file: read from a project file, chosen in a form, and written back."""

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from safemargin.core import RESERVED, InputError
from safemargin.io import Survey, open_source, read_one, tables_in
from safemargin.release.column_texts import proposed_bands, words
from safemargin.release.init import propose_project
from safemargin.release.layout import side_by_side
from safemargin.web.bench import Given, WrongFields
from safemargin.web.edges import band_edges
from safemargin.web.edit import written
from safemargin.web.looks import ColumnLook

AXIS, ORDERED, BANDS, AREA = "axis", "ordered", "bands", "area"
ANSWER, QUESTION, COUNT, OPTION, UNCOUNTED, UNUSED = "answer", "question", "count", "option", "uncounted", "unused"
ROLE_WORDS = {
    ANSWER: "the answer",
    QUESTION: "one of several questions",
    AXIS: "count people by it",
    ORDERED: "count people by it, in this order",
    BANDS: "count people by it, in bands",
    COUNT: "how many people a row stands for",
    OPTION: "how many people gave one answer",
    UNCOUNTED: "how many gave no valid answer",
    AREA: "wider areas of another column",
    UNUSED: "not used",
}
AXES = (AXIS, ORDERED, BANDS)
KEPT = ("file", "source", "engine", "master", "table", "encoding", "decimal", "skip", "missing")
"""Keys of the data that have nothing to do with which column is the answer."""
UNKNOWN = "unknown"

Content = dict[str, Any]


@dataclass(frozen=True)
class ColumnRoles:
    """What each column is taken for, and the bands of those that are cut into bands."""

    by_column: Mapping[str, str]
    bands: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def of(self, *kinds: str) -> tuple[str, ...]:
        """The columns of these roles, in the order of the file."""
        return tuple(name for name, role in self.by_column.items() if role in kinds)

    @property
    def answers(self) -> tuple[object, ...]:
        """What says how people answered."""
        return self.of(ANSWER), self.of(QUESTION), self.of(COUNT), self.of(OPTION), self.of(UNCOUNTED)


def roles_in(content: Mapping[str, Any], names: Sequence[str]) -> ColumnRoles:
    """What a project file says of the columns."""
    data = content.get("data", {})
    roles = dict.fromkeys(names, UNUSED)
    asked = data.get("answers", ())
    patterns = asked if isinstance(asked, list) else [asked] if asked else []
    counts = data["options"] if isinstance(data.get("options"), Mapping) else {}
    said = {data.get("answer", data.get("ballot")): ANSWER, data.get("count"): COUNT}
    said |= dict.fromkeys(counts.get("columns", ()), OPTION) | dict.fromkeys(counts.get("uncounted", ()), UNCOUNTED)
    said |= {name: AREA for axis in content.get("axes", {}).values() for name in axis.get("levels", ())}
    said |= {name: QUESTION for name in names if any(name == each or fnmatchcase(name, each) for each in patterns)}
    bands = {}
    for key, section in content.get("axes", {}).items():
        column = section.get("column", key)
        said[column] = BANDS if section.get("bands") else ORDERED if section.get("ordered") else AXIS
        if section.get("bands"):
            bands[column] = tuple(section["bands"])
    return ColumnRoles({name: said.get(name, role) for name, role in roles.items()}, bands)


def roles_given(given: Given, columns: Sequence[ColumnLook]) -> ColumnRoles:
    """What a form says; every error is found before any is stated."""
    roles, bands, wrong = {}, {}, {}
    for place, column in enumerate(columns):
        role = given.get(f"role-{place}", UNUSED)
        if role not in ROLE_WORDS:
            wrong[f"role-{place}"] = "choose one of the list"
        roles[column.name] = role
        if role == BANDS:
            try:
                bands[column.name] = _bands(given.get(f"bands-{place}", ""), column)
            except InputError as error:
                wrong[f"bands-{place}"] = str(error)
    said = ColumnRoles(roles, bands)
    places = {column.name: f"role-{place}" for place, column in enumerate(columns)}
    wrong |= {places[name]: text for name, text in _disagreements(said).items() if places[name] not in wrong}
    if not said.of(ANSWER, QUESTION, OPTION):
        wrong["roles"] = "choose the column that holds the answer"
    elif not said.of(*AXES):
        wrong["roles"] = "choose at least one column to count people by"
    if wrong:
        raise WrongFields(wrong)
    return said


def _disagreements(said: ColumnRoles) -> dict[str, str]:
    answer, questions, counts, options = (said.of(kind) for kind in (ANSWER, QUESTION, COUNT, OPTION))
    found: dict[str, str] = {}
    if len(answer) > 1:
        found |= dict.fromkeys(answer[1:], "one column is the answer; several are questions: say so at each")
    if answer and questions:
        found |= dict.fromkeys(answer, "there are questions beside it: it is one of several questions, too")
    if len(questions) == 1 and not answer:
        found |= dict.fromkeys(questions, "a question alone is the answer")
    if options and (answer or questions):
        found |= dict.fromkeys(options, "rows either hold answers of people, or counts of answers, not both")
    if len(options) == 1:
        found |= dict.fromkeys(options, "counts of one answer alone say nothing of the others: name at least two")
    if options and counts:
        found |= dict.fromkeys(counts, "counts of answers need no count of people beside them")
    if len(counts) > 1:
        found |= dict.fromkeys(counts[1:], "one column says how many people a row stands for")
    return found


def _bands(text: str, column: ColumnLook) -> tuple[object, ...]:
    edges = band_edges(text) or _proposed(column)
    if not edges:
        raise InputError("write the lowest value of every band but the first, such as 18, 30, 65")
    return tuple(edges)


def _proposed(column: ColumnLook) -> list[object]:
    """Bands that fit the values, where there are any."""
    texts = [text for text, count in column.values for _ in range(min(count, 20))]
    try:
        listed = tomllib.loads(f"bands = {proposed_bands(words(column.name), texts) or '[]'}")["bands"]
    except tomllib.TOMLDecodeError:
        return []
    return list(listed)


def said_so_far(content: Mapping[str, Any]) -> bool:
    """Whether a project says where the answers are, and by what people are counted."""
    data = content.get("data")
    if not isinstance(data, Mapping):
        return "tallies" in content
    has_answer = any(data.get(key) for key in ("answer", "answers", "ballot", "contest"))
    return bool(content.get("axes")) and (has_answer or isinstance(data.get("options"), Mapping))


def unsaid(path: Path, why: str) -> str:
    """A project file that says nothing of the columns, for a file in which no answer was found."""
    tables = tables_in(path)
    open_source(path, tables[0] if tables else None).survey()  # a file that cannot be read is no project
    title, table = path.name.split(".")[0], tables[:1]
    content: Content = {"title": title, "data": {"file": path.name, **({"table": table[0]} if table else {})}}
    return f"# QUESTION: {' '.join(why.split())}\n" + written(
        {**content, "outputs": {"formats": ["csv", "json", "xlsx"]}}
    )


def is_table_of_counts(path: Path) -> bool:
    """Whether a file is a table as offices print it, and not records."""
    try:
        read_one(path)
    except InputError:
        return False
    return True


def guessed_roles(survey: Survey, columns: Sequence[ColumnLook]) -> ColumnRoles | None:
    """Roles where numbers may be counts of answers side by side, which a person has to confirm."""
    wide = side_by_side(survey)
    if wide is None:
        return None
    said = dict.fromkeys(wide.columns, OPTION) | dict.fromkeys(wide.uncounted, UNCOUNTED)
    said |= dict.fromkeys(wide.labels, AXIS)
    return ColumnRoles({column.name: said.get(column.name, UNUSED) for column in columns})


def with_roles(content: Mapping[str, Any], said: ColumnRoles, columns: Sequence[ColumnLook], path: Path) -> Content:
    """The project with these roles; whatever else it says stays."""
    by_name = {column.name: column for column in columns}
    before = roles_in(content, list(by_name))
    changed, fresh = dict(content), {}
    if said.answers != before.answers:
        fresh = _fresh(content["data"], said, path)
        changed["data"] = _data(content["data"], fresh.get("data", {}), said, by_name)
        changed["questions"] = fresh.get("questions", {})
        if not changed["questions"]:
            del changed["questions"]
    keys = {section.get("column", key): key for key, section in content.get("axes", {}).items()}
    proposed = {section.get("column", key): section for key, section in fresh.get("axes", {}).items()}
    missing = changed["data"].get("missing", [])
    listed = {}
    for name in [*(name for name in keys if name in said.of(*AXES)), *said.of(*AXES)]:
        key = keys.get(name) or (f"{name}_group" if name in RESERVED else name)
        section = content["axes"][keys[name]] if name in keys else proposed.get(name, {"column": name})
        listed[key] = _axis(section, said.by_column[name], said.bands.get(name, ()), by_name[name], name not in keys)
        if areas := listed[key].pop("levels", ()):
            kept = [area for area in areas if said.by_column.get(area) == AREA]
            listed[key] |= {"levels": kept} if kept else {}
        if name not in keys and by_name[name].missing:
            missing = list(
                dict.fromkeys([*([missing] if isinstance(missing, str) else missing), *by_name[name].missing])
            )
    if missing != changed["data"].get("missing", []):
        changed["data"] = {**changed["data"], "missing": missing}
    changed["axes"] = listed
    return changed


def _fresh(data: Mapping[str, Any], said: ColumnRoles, path: Path) -> Content:
    """What would be proposed for a file with this answer; nothing where counts stand side by side."""
    if said.of(OPTION):
        return {}
    answer, questions, count = (said.of(kind) for kind in (ANSWER, QUESTION, COUNT))
    with suppress(InputError):
        hints = (next(iter(answer), None), list(questions) or None, next(iter(count), None))
        return tomllib.loads(propose_project(path, str(data["file"]), *hints, data.get("encoding")))
    return {}


def _data(
    data: Mapping[str, Any], fresh: Mapping[str, Any], said: ColumnRoles, columns: Mapping[str, ColumnLook]
) -> Content:
    """The section on the data for another answer."""
    made = {key: value for key, value in {**data, **fresh}.items() if key in KEPT}
    if options := said.of(OPTION):
        total = data["options"].get("total") if isinstance(data.get("options"), Mapping) else None
        made["options"] = {"columns": list(options)}
        made["options"] |= {"uncounted": list(said.of(UNCOUNTED))} if said.of(UNCOUNTED) else {}
        made["options"] |= {"total": total} if total else {}
        return made
    made |= {key: value for key, value in fresh.items() if key not in ("count", "file")}
    if questions := said.of(QUESTION):
        made.pop("answer", None)
        made["answers"] = list(questions)
    else:
        made["answer"] = said.of(ANSWER)[0]
        column = columns[made["answer"]]
        if column.empty and "blank" not in made:
            made["blank"] = "skip"
            made["missing"] = list(dict.fromkeys([*made.get("missing", ()), *column.missing]))
            made |= {} if made["missing"] else {"missing": [""]}
    made |= {"count": said.of(COUNT)[0]} if said.of(COUNT) else {}
    return made


def _axis(
    section: Mapping[str, Any], role: str, bands: tuple[object, ...], column: ColumnLook, is_new: bool
) -> dict[str, Any]:
    """The section of an axis in its role."""
    made = {key: value for key, value in section.items() if key not in ("bands", "ordered")}
    if role == BANDS:
        made.pop("categories", None)
        made["bands"] = list(bands)
    elif role == ORDERED:
        made["ordered"] = True
        made.setdefault("categories", [text for text, _ in column.values])
    elif section.get("ordered"):
        made.pop("categories", None)
    if is_new and column.empty:
        made.setdefault("missing", UNKNOWN)
    return made
