"""What a release and its questions are called: forms on the screen of the data, written to the project file.

Questions are lines of COLUMN = WORDS; a line without an equals sign is the theme of the questions below it.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from safemargin.core import InputError
from safemargin.web.bench import Bench, Given, WrongFields
from safemargin.web.edit import set_keys, with_content

LONGEST = 200


def named(content: Mapping[str, Any], questions: tuple[str, ...], given: Given) -> dict[str, Any]:
    """What the forms are filled with."""
    return {
        "called": given.get("called", content.get("title", "")),
        "asked": given.get("asked", question_lines(content, questions)) if questions else "",
    }


def question_lines(content: Mapping[str, Any], questions: tuple[str, ...]) -> str:
    """The questions as lines of the form.

    >>> question_lines({"questions": {"q1": {"label": "I like it", "theme": "Work"}}}, ("q1", "q2"))
    'Work\\nq1 = I like it\\nq2 = q2'
    """
    lines, theme = [], ""
    for name in questions:
        section = content.get("questions", {}).get(name, {})
        if (here := str(section.get("theme", theme))) != theme:
            theme = here
            lines.append(theme)
        lines.append(f"{name} = {section.get('label', name)}")
    return "\n".join(lines)


def questions_said(text: str, questions: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The label and the theme of every question that the lines name.

    >>> questions_said("Work\\nq1 = I like it", ("q1",))
    {'q1': {'label': 'I like it', 'theme': 'Work'}}
    """
    found: dict[str, dict[str, str]] = {}
    theme = ""
    for number, line in enumerate(text.splitlines(), 1):
        column, equals, words = (part.strip() for part in line.partition("="))
        if not equals:
            theme = column or theme
            continue
        if column not in questions:
            raise InputError(f"line {number}: {column[:60]!r} is none of the questions; write COLUMN = WORDS")
        if column in found or not words or len(words) > LONGEST:
            why = "is named twice" if column in found else f"needs words, at most {LONGEST} letters"
            raise InputError(f"line {number}: {column[:60]!r} {why}")
        found[column] = {**({"label": words} if words != column else {}), **({"theme": theme} if theme else {})}
    return found


def call(bench: Bench, given: Given) -> str:
    """Write the title of the release into the project file."""
    title = " ".join(given.get("called", "").split())
    if not title or len(title) > LONGEST:
        raise WrongFields({"called": f"the title: write what the release is about, at most {LONGEST} letters"})
    content = tomllib.loads(bench.place.text)
    if "title" in content and len(content) > 1:
        lines = bench.place.text.splitlines()
        place = next((n for n, line in enumerate(lines) if line.split("=")[0].strip() == "title"), None)
        if place is not None:
            written = set_keys("[t]\n", "t", {"title": title}).splitlines()[1]
            text = "\n".join([*lines[:place], written, *lines[place + 1 :]]) + "\n"
            if tomllib.loads(text) == {**content, "title": title}:
                bench.place.save(text, given.get("digest", ""))
                return "data#named"
    text = with_content(bench.place.text, {"title": title, **{key: content[key] for key in content if key != "title"}})
    bench.place.save(text, given.get("digest", ""))
    return "data#named"


def ask(bench: Bench, given: Given, questions: tuple[str, ...]) -> str:
    """Write what the questions ask into the project file; what else it says of them stays."""
    try:
        said = questions_said(given.get("asked", ""), questions)
    except InputError as error:
        raise WrongFields({"asked": f"questions: {error}"}) from None
    content = tomllib.loads(bench.place.text)
    before = content.get("questions", {})
    changed = {}
    for name in [*before, *(name for name in questions if name not in before)]:
        kept = {key: value for key, value in before.get(name, {}).items() if key not in ("label", "theme")}
        if made := {**kept, **said.get(name, {})}:
            changed[name] = made
    bench.place.save(with_content(bench.place.text, {**content, "questions": changed}), given.get("digest", ""))
    return "data#named"
