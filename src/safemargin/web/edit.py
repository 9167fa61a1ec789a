"""Change single keys of a project file; everything else in it stays."""

import json
import re
import tomllib
from collections.abc import Mapping

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


def _written(value: object) -> str:
    """A value in TOML; texts as JSON, whose escapes are among those of TOML."""
    if isinstance(value, float):
        return f"{value:.10g}" if value != int(value) else f"{value:.1f}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_written(key)} = {_written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else str(value)
