"""Earlier releases as one question sees them: what was published of it, and whether people were asked again since.

A release of several questions is one entry of a ledger, with an entry of each question in it. A question is the same in
two cycles if it has the same name. What was published of other questions says nothing certain about it (the product law
of `release/questions.py`), so it is held together with its own earlier tables only.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from safemargin.core import InputError
from safemargin.history.entries import Entry
from safemargin.history.names import normalised


def about_question(entries: Sequence[Entry], name: str, answers: str) -> tuple[tuple[Entry, ...], str]:
    """The entries of one question, however its name is spelt, and `answers` as it is meant for this question.

    If people were asked again in a cycle that did not have the question, they were asked again for this one too. A
    release of one question, whose name the ledger does not keep, is taken for this question where there is no other.
    """
    found: list[Entry] = []
    is_new = False
    for entry in entries:
        is_new |= entry.answers == "new"
        own = _of_question(entry, name)
        if own is None:
            continue
        found.append(replace(own, answers="new" if is_new else own.answers, questions={}))
        is_new = False
    return tuple(found), "new" if is_new else answers


def _of_question(entry: Entry, name: str) -> Entry | None:
    """What an entry holds of a question; all of it if it is one question."""
    if not entry.questions:
        return entry
    return next((own for each, own in entry.questions.items() if normalised(each) == normalised(name)), None)


def check_questions(path: Path, entries: Sequence[Entry], population: str, names: Sequence[str], answers: str) -> None:
    """Raise if the same answers were published as one question before, and it is not clear which of several it was."""
    first = max((place for place, entry in enumerate(entries) if entry.answers == "new"), default=0)
    for entry in entries[first:] if answers == "kept" and len(names) > 1 else ():
        if entry.tables:
            raise InputError(
                f"{path}: population {population!r}: {entry.cycle!r} was released as one question, and nothing says "
                "which of these it was; release that question again (data.answer)"
            )


def check_one_question(path: Path, entries: Sequence[Entry], population: str, name: str, answers: str) -> None:
    """Raise if the same answers were published as several questions, and none of them is called like this one."""
    first = max((place for place, entry in enumerate(entries) if entry.answers == "new"), default=0)
    for entry in entries[first:] if answers == "kept" else ():
        if _of_question(entry, name) is None:
            raise InputError(
                f"{path}: population {population!r}: {entry.cycle!r} holds several questions, and none is called "
                f"{name!r}; release it under the name it had then"
            )


def new_notes(entries: Sequence[Entry], names: Sequence[str]) -> list[str]:
    """Which questions are new beside earlier ones of the same answers, in words."""
    known = {normalised(name) for entry in entries for name in entry.questions}
    fresh = [name for name in names if normalised(name) not in known]
    if not known or not fresh:
        return []
    return [
        f"Nothing was published before of {', '.join(fresh[:10])}: if one of them was published under another name, "
        "keep that name, so that both are held together."
    ]
