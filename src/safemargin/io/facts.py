"""Facts that onlookers hold beside the tables: they speak of categories and options that exist."""

from collections.abc import Collection, Mapping, Sequence

from safemargin.core import InputError, PublishedTable, Schema


def check_facts(facts: Sequence[PublishedTable], tables: Sequence[PublishedTable], option: str = "option") -> None:
    """Refuse facts about categories and options that none of `tables`, rolls among them, lists.

    An axis that is in no table is new, and so may be a second option beside a single one.
    """
    listed: dict[str, set[str]] = {}
    for table in tables:
        for axis, groups in zip(table.axes, table.groups, strict=True):
            listed.setdefault(axis, set()).update(*groups)
    options = tuple(dict.fromkeys(name for table in tables for name in table.options))
    _check(facts, listed, options if len(options) > 1 else (), option)


def check_project_facts(facts: Sequence[PublishedTable], schema: Schema) -> None:
    """Refuse facts about categories and options that a project does not have."""
    _check(facts, {axis.name: axis.categories for axis in schema.axes}, schema.options, "option")


def _check(
    facts: Sequence[PublishedTable], listed: Mapping[str, Collection[str]], options: Collection[str], option: str
) -> None:
    for fact in facts:
        for axis, groups in zip(fact.axes, fact.groups, strict=True):
            for category in sorted(frozenset().union(*groups)) if axis in listed else ():
                if category not in listed[axis]:
                    raise InputError(f"{fact.name}: column {axis!r}: unknown category {category!r}; no table has it")
        for name in fact.options if options else ():
            if name not in options:
                raise InputError(
                    f"{fact.name}: column {option!r}: unknown option {name!r}; the options are {', '.join(options)}"
                )
