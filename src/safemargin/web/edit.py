"""Change single keys of a project file; everything else in it stays."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from safemargin.core import InputError

_HEADER = re.compile(r"\s*\[")


def set_keys(text: str, section: str, values: Mapping[str, object]) -> str:
    """The text with these keys in `[section]`, which is added at the end where there is none.

    The comment beside a value that changes is dropped: it may say what the old value means.

    >>> set_keys('[target]\\nbeta = 0.05  # 5 %\\ntau = 3  # few\\n', "target", {"beta": 0.1, "tau": 3, "kappa": 20})
    '[target]\\nkappa = 20\\nbeta = 0.1\\ntau = 3  # few\\n'
    """
    lines = text.splitlines()
    header = re.compile(rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?")
    start = next((place for place, line in enumerate(lines) if header.fullmatch(line)), None)
    if start is None:
        lines += ["", f"[{section}]"]
        start = len(lines) - 1
    for key, value in values.items():
        end = next((n for n in range(start + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
        stated = re.compile(rf"\s*{re.escape(key)}\s*=\s*(\"[^\"]*\"|\[.*\]|\{{.*\}}|[^#\s]+)\s*(#.*)?")
        found = next((n for n in range(start + 1, end) if stated.fullmatch(lines[n])), None)
        if found is None:
            lines.insert(start + 1, f"{key} = {_written(value)}")  # below the header: never inside a list of values
        elif (match := stated.fullmatch(lines[found])) and match[1] != _written(value):
            lines[found] = f"{key} = {_written(value)}"
    return "\n".join(lines) + "\n"


def set_axis(text: str, axis: str, values: Mapping[str, object]) -> str:
    """The text with these keys of the axis that is called so, by its key or its label; all else means what it did.

    >>> set_axis('[axes.site]\\nlabel = "Site"\\n', "Site", {"keep": ["A"], "labels": {"B": "Bay"}})
    '[axes.site]\\nlabels = {"B" = "Bay"}\\nkeep = ["A"]\\nlabel = "Site"\\n'
    """
    before = tomllib.loads(text)
    keys = [key for key, stated in before["axes"].items() if axis in (stated.get("label"), key)]
    for section in [f"axes.{key}" for key in keys] + [f"axes.{json.dumps(key, ensure_ascii=False)}" for key in keys]:
        wanted = {**before["axes"][keys[0]], **values}
        changed = set_keys(text, section, values)
        try:
            after = tomllib.loads(changed)
        except tomllib.TOMLDecodeError:  # the value has several lines, or the section is written otherwise
            continue
        if after == {**before, "axes": {**before["axes"], keys[0]: wanted}}:
            return changed
    raise InputError(f"axes.{axis}: cannot be changed here; edit the project file under Data")


def without(text: str, section: str) -> str:
    """The text without `[section]`.

    >>> without('[ledger]\\nfile = "a"\\n[target]\\ntau = 3\\n', "ledger")
    '[target]\\ntau = 3\\n'
    """
    kept, skips = [], False
    for line in text.splitlines():
        if _HEADER.match(line):
            skips = re.fullmatch(rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?", line) is not None
        kept += [] if skips else [line]
    return "\n".join(kept) + "\n"


def with_content(text: str, content: Mapping[str, Any]) -> str:
    """The text changed until it means `content`: sections that differ are written anew, all others stay as they are.

    >>> with_content('# mine\\n[data]\\nfile = "a"\\n[axes.b]\\n', {"data": {"file": "a", "count": "c"}})
    '# mine\\n[data]\\nfile = "a"\\ncount = "c"\\n'
    """
    before, changed = _sections(tomllib.loads(text)), text
    after = _sections(content)
    for path in before.keys() - after.keys():
        changed = _replaced(changed, path, None)
    for path, values in after.items():
        if before.get(path) != values:
            changed = _replaced(changed, path, values)
    for key in (key for key, value in {**tomllib.loads(text), **content}.items() if _is_list_of_sections(value)):
        if tomllib.loads(text).get(key) != content.get(key):
            changed = _relisted(changed, key, content.get(key, []))
    try:
        if tomllib.loads(changed) == _whole(content):
            return changed
    except tomllib.TOMLDecodeError:  # lists of several lines look like headers
        pass
    return written(content)


def _relisted(text: str, key: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """The text with these entries as `[[key]]`, at its end, instead of those that it has."""
    kept, skips = [], False
    for line in text.splitlines():
        if _HEADER.match(line):
            skips = re.fullmatch(rf"\s*\[\[\s*{re.escape(key)}\s*\]\]\s*(#.*)?", line) is not None
        kept += [] if skips else [line]
    return "\n".join([*kept, *_entry_lines(key, entries)]) + "\n"


def _entry_lines(key: str, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for entry in entries:
        lines += ["", f"[[{_key(key)}]]", *(f"{_key(name)} = {_written(each)}" for name, each in entry.items())]
    return lines


def written(content: Mapping[str, Any]) -> str:
    """A project file that means `content`."""
    first = [f"{_key(key)} = {_written(value)}" for key, value in content.items() if not _is_section(value)]
    lines = [*first]
    for path, values in _sections(content).items():
        lines += ["", *_section_lines(path, values)]
    for key, value in content.items():
        lines += _entry_lines(key, value) if _is_list_of_sections(value) else []
    return "\n".join(lines).lstrip("\n") + "\n"


NESTED = ("axes", "questions")
"""Sections with a section for every axis or question."""


def _sections(content: Mapping[str, Any]) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """The tables of a project file by their path."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for key, value in content.items():
        if key in NESTED and isinstance(value, Mapping):
            found |= {(key, name): each for name, each in value.items()}
        elif isinstance(value, Mapping):
            found[key,] = value
    return found


def _is_list_of_sections(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _is_section(value: object) -> bool:
    return isinstance(value, Mapping) or _is_list_of_sections(value)


def _whole(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content without sections that hold nothing but sections, none of which is left."""
    return {key: value for key, value in content.items() if not (key in NESTED and not value)}


def _section_lines(path: tuple[str, ...], values: Mapping[str, Any]) -> list[str]:
    header = f"[{'.'.join(map(_key, path))}]"
    return [header, *(f"{_key(key)} = {_written(value)}" for key, value in values.items())]


def _replaced(text: str, path: tuple[str, ...], values: Mapping[str, Any] | None) -> str:
    """The text with this section written anew, or without it; comments after its last key stay."""
    lines, named = text.splitlines(), {".".join(path), ".".join(map(_key, path))}
    named |= {".".join(json.dumps(part, ensure_ascii=False) if place else part for place, part in enumerate(path))}
    headers = [re.compile(rf"\s*\[\s*{re.escape(name)}\s*\]\s*(#.*)?") for name in named]
    start = next((n for n, line in enumerate(lines) if any(each.fullmatch(line) for each in headers)), None)
    fresh = [] if values is None else _section_lines(path, values)
    if start is None:
        return "\n".join([*lines, *([""] if fresh else []), *fresh]) + "\n"
    end = next((n for n in range(start + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
    last = max(
        (n for n in range(start, end) if lines[n].strip() and not lines[n].lstrip().startswith("#")), default=start
    )
    rest = lines[last + 1 :] if values is not None else [line for line in lines[end:]]
    return "\n".join([*lines[:start], *fresh, *rest]) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _written(name)


def _written(value: object) -> str:
    """A value in TOML; texts as JSON, whose escapes are among those of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.10g}" if value != int(value) else f"{value:.1f}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_written(str(key))} = {_written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else str(value)
