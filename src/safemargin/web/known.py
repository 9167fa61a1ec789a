"""What others know, as forms: the roll, the onlookers of a project, and the files of facts that each of them holds.

A file that was dropped on the page is moved beside the project, since the project reads it in every run.
"""

import tomllib
from collections.abc import Callable
from typing import Any

from safemargin.core import InputError, one_line
from safemargin.release.project import OnlookerSection, Project
from safemargin.web.bench import Bench, Given, WrongFields
from safemargin.web.edit import with_content
from safemargin.web.uploads import settle

WORDS = {"joint": "how many people there are of every kind", "sizes": "how large every group is", "none": "no numbers"}
"""What onlookers know of the roll, by its name in a project file."""
FIRST = "informed"
"""The onlooker of a project that declares none."""
Content = dict[str, Any]


def who_knows(project: Project) -> dict[str, Any]:
    """The onlookers with what each knows, and the files of the roll, for the forms."""
    base = project.data.file.parent if project.data is not None and project.data.file is not None else None
    roll = [path.name for path in project.roll_files] if project.roll is not None else []
    return {
        "onlookers": [_shown(onlooker) for onlooker in project.onlookers],
        "compositions": WORDS,
        "roll": roll,
        "may_have_roll": base is not None and project.data is not None and not project.data.has_questions,
    }


def _shown(onlooker: OnlookerSection) -> dict[str, Any]:
    return {
        "name": onlooker.name,
        "knows": onlooker.composition,
        "rule": onlooker.knows_rule,
        "facts": [path.name for path in onlooker.facts],
    }


def change_onlooker(bench: Bench, given: Given) -> str:
    """Write what one onlooker knows into the project file; others stay as they are."""
    listed, place = _place(bench, given)
    field, changed = f"fact-{place}", {**listed[place], **_described(given, str(place))}
    named = changed.pop("facts", [])
    facts = [named] if isinstance(named, str) else list(named)
    kept = [fact for number, fact in enumerate(facts) if given.get(f"without-{place}-{number}") != "yes"]

    def with_fact(*fresh: str) -> list[Content]:
        held = [*kept, *fresh]
        return [*listed[:place], {**changed, **({"facts": held} if held else {})}, *listed[place + 1 :]]

    if not given.get(field, "").strip():
        return _write(bench, given, "onlookers", with_fact(), field)
    return _write_file(bench, given, "onlookers", with_fact, field)


def add_onlooker(bench: Bench, given: Given) -> str:
    """Add an onlooker to those that the project declares."""
    name = given.get("who", "").strip()
    if not name:
        raise WrongFields({"who": "another onlooker: give them a name, such as 'employer'"})
    listed = _declared(bench)
    if any(each.get("name") == name for each in listed):
        raise WrongFields({"who": f"another onlooker: {name[:60]!r} is there already; give this one another name"})
    return _write(bench, given, "onlookers", [*listed, {"name": name, **_described(given, "new")}], "who")


def remove_onlooker(bench: Bench, given: Given) -> str:
    """Remove an onlooker; the last one stays, since a release is always decided against somebody."""
    listed, place = _place(bench, given)
    if len(listed) == 1:
        raise InputError("the only onlooker stays: a release is always decided against somebody")
    return _write(bench, given, "onlookers", [*listed[:place], *listed[place + 1 :]], f"composition-{place}")


def choose_roll(bench: Bench, given: Given) -> str:
    """Name a file as the roll, beside those that are named already."""
    content = tomllib.loads(bench.place.text)
    files = content.get("roll", {}).get("files", [])
    listed = [files] if isinstance(files, str) else list(files)
    return _write_file(bench, given, "roll", lambda name: {"files": list(dict.fromkeys([*listed, name]))}, "roll")


def drop_roll(bench: Bench, given: Given) -> str:
    """Take the people in the data as the roll again."""
    return _write(bench, given, "roll", None, "roll")


def _declared(bench: Bench) -> list[Content]:
    """The onlookers of the project file; the one that is meant where it declares none."""
    listed = [dict(each) for each in tomllib.loads(bench.place.text).get("onlookers", [])]
    return listed or [{"name": FIRST, "composition": "joint", "knows_rule": True}]


def _place(bench: Bench, given: Given) -> tuple[list[Content], int]:
    listed, text = _declared(bench), given.get("place", "")
    if not text.isascii() or not text.isdigit() or int(text) >= len(listed):
        raise InputError("the onlookers were changed meanwhile, in another window or program: look again")
    return listed, int(text)


def _described(given: Given, place: str) -> Content:
    composition = given.get(f"composition-{place}")
    if composition not in WORDS:
        raise WrongFields({f"composition-{place}": "what they know: choose one of the list"})
    return {"composition": composition, "knows_rule": given.get(f"rule-{place}") == "yes"}


def _write_file(bench: Bench, given: Given, section: str, made: Callable[[str], object], field: str) -> str:
    """Write a section that names a further file; the file is moved only when the data can be read with it."""
    text = given.get(field, "")
    _checked(bench, section, made(bench.existing(text, "a file", field)), field)
    return _write(bench, given, section, made(settle(bench, text, field)), field)


def _write(bench: Bench, given: Given, section: str, value: object, field: str) -> str:
    """Write a section, or remove it, if the data can be read with it."""
    bench.place.save(_checked(bench, section, value, field), given.get("digest", ""))
    return "limits#known"


def _checked(bench: Bench, section: str, value: object, field: str) -> str:
    """The project file with another section, if the data can be read with it."""
    content = {key: each for key, each in tomllib.loads(bench.place.text).items() if key != section}
    text = with_content(bench.place.text, content if value is None else {**content, section: value})
    try:
        bench.place.check(text)
    except InputError as error:
        raise WrongFields({field: one_line(str(error))}) from None
    return text


ACTIONS: dict[str, Callable[[Bench, Given], str]] = {
    "onlooker": change_onlooker,
    "another": add_onlooker,
    "without": remove_onlooker,
    "roll": choose_roll,
    "no-roll": drop_roll,
}
"""What the forms do, by the name of their button."""
