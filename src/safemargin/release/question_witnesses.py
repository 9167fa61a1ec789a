"""What auditors get beside a release of several questions: a witness is a tuple, one table per question.

Objects
    W = (W_q)_q   a table of answers for every question, over the people who answered it
    N, N_q        the roll of everybody, from which common groups are made, and that of those who answered q

`roll.csv` counts everybody. A question that not everybody answered has a roll of its own (`roll_2.csv` and so on). Of
each question its own tables are carried; by the product law of `decide/shared_groups.py` any choice of one table per
question is a witness, so tuple number k has table k of every question (the last ones begin again).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from safemargin.checker import ROLL, WITNESSES, Files, Finding
from safemargin.core import InputError, Schema, Table, Tally
from safemargin.io import json_bytes
from safemargin.release.carry import carried_by
from safemargin.release.draft import Draft
from safemargin.release.fields import Fields
from safemargin.release.question_inputs import QuestionInputs
from safemargin.release.witnesses import (
    RULE,
    WitnessBundle,
    axis_of,
    carried_of,
    in_order,
    read_roll,
    roll_csv,
    stated_axes,
    stated_wanted,
    witness_json,
)

MOST_COUNTS = 400_000
"""Profiles times options of all questions together up to which witnesses are carried: beyond, their file would have
hundreds of megabytes, and finding them takes longer than deciding."""
TOO_MANY = (
    "{counts:,} counts by profile are more than the {most:,} that witnesses are carried for; release fewer questions"
)


@dataclass(frozen=True)
class CarriedQuestions:
    """The witnesses of every question by its name, the roll of everybody, and whether groups are common."""

    names: tuple[str, ...]
    each: tuple[WitnessBundle, ...]
    everybody: Tally
    is_common: bool

    @property
    def schema(self) -> Schema:
        """The axes, with one option for everybody."""
        return replace(self.each[0].schema, options=("answered",), ordered_options=False)

    @property
    def tuples(self) -> int:
        """How many witnesses there are."""
        return max(len(own.tables) for own in self.each)

    def tables(self) -> Iterator[list[Table]]:
        """Every witness: a table per question."""
        for number in range(self.tuples):
            chosen = [(own, own.tables[number % len(own.tables)]) for own in self.each]
            yield [Table(own.schema, (table,), (own.roll,)) for own, table in chosen]

    def files(self) -> dict[str, bytes]:
        """Rolls, witnesses and rule as files."""
        rolls = {roll_csv(self.schema, self.everybody): ROLL}
        listed, stated = [], []
        for name, own in zip(self.names, self.each, strict=True):
            roll = rolls.setdefault(roll_csv(own.schema, own.roll), f"roll_{len(rolls) + 1}.csv")
            listed.append(own.listed(name, roll))
            options = list(own.schema.options)
            stated.append({"question": name, "options": options, "wanted": stated_wanted(own.wanted)})
        rule = {
            "axes": stated_axes(self.schema),
            "protect": self.each[0].protect,
            "groups": "common" if self.is_common else "each",
            "questions": stated,
        }
        named = {name: content for content, name in rolls.items()}
        return {**named, WITNESSES: witness_json(listed), RULE: json_bytes(rule)}


def carry_questions(
    inputs: QuestionInputs, drafts: Sequence[Draft], fields: Sequence[Fields], is_common: bool
) -> CarriedQuestions | str:
    """The witnesses of all questions, or why there are none: every question must have its own."""
    counts = sum(
        len(own.table.people(own.table.schema.names).codes) * len(own.table.schema.options) for own in inputs.each
    )
    if counts > MOST_COUNTS:
        return TOO_MANY.format(counts=counts, most=MOST_COUNTS)
    each = []
    for own, draft, stated, question in zip(inputs.each, drafts, fields, inputs.battery.questions, strict=True):
        found = carried_by(own.project, own.table, own.onlookers, draft.plan, draft.publication, stated)
        if isinstance(found, str):
            return f"{question.name}: {found}"
        each.append(found)
    roll = inputs.battery.table.people(inputs.battery.table.schema.names)
    everybody = in_order(inputs.battery.table.schema, roll.codes, roll.counts)
    return CarriedQuestions(
        tuple(question.name for question in inputs.battery.questions), tuple(each), everybody, is_common
    )


def has_questions(files: Files) -> bool:
    """Whether a folder for auditors carries the witnesses of several questions."""
    return "questions" in _loaded(files, RULE)


def _loaded(files: Files, name: str) -> Mapping[str, Any]:
    try:
        content = json.loads(files[name])
    except (ValueError, KeyError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{name}: cannot be read")
    return content


def carried_questions_in(files: Files) -> CarriedQuestions:
    """What a folder for auditors carries, for whoever runs the rule on it; an error says why it cannot be read."""
    try:
        rule, held = _loaded(files, RULE), _loaded(files, WITNESSES)["questions"]
        axes = tuple(map(axis_of, rule["axes"]))
        rolls: dict[str, Tally] = {}
        each = []
        for stated, own in zip(rule["questions"], held, strict=True):
            if stated["question"] != own["question"]:
                raise InputError(f"{RULE}: has other questions than {WITNESSES}")
            schema = Schema(axes, tuple(stated["options"]))
            if own["roll"] not in rolls:
                rolls[own["roll"]] = read_roll(schema, own["roll"], files[own["roll"]])
            protect = {"protect": rule["protect"], "wanted": stated["wanted"]}
            each.append(carried_of(schema, own, rolls[own["roll"]], protect))
        everybody = read_roll(Schema(axes, ("answered",)), ROLL, files[ROLL])
        names = tuple(str(own["question"]) for own in held)
        return CarriedQuestions(names, tuple(each), everybody, rule["groups"] == "common")
    except (ValueError, KeyError, TypeError, IndexError, Finding) as error:
        raise InputError(f"{WITNESSES}: cannot be read ({str(error).splitlines()[0]:.80})") from None
