"""Malformed inputs as vectors: every content that a file cannot have, in every place where a command reads one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from written_calls import is_written_call

VECTORS = Path(__file__).parent / "vectors" / "malformed.json"


@dataclass(frozen=True)
class Case:
    """One call: the arguments, and the file that is replaced; None for a call that is wrong by its options."""

    name: str
    arguments: tuple[str, ...]
    file: str | None = None
    content: bytes | None = None
    is_doubtful: bool = False
    """Whether it is read, with a doubt that is said."""


def content_of(spec: Any, good: bytes) -> bytes:
    """The bytes that a vector describes; `good` is what the file holds in a run that works."""
    if isinstance(spec, str):
        return spec.encode("utf-8", "surrogatepass")
    if isinstance(spec, list):
        return b"".join(content_of(part, good) for part in spec)
    ((kind, value),) = spec.items()
    if kind == "repeat":
        return content_of(value[0], good) * int(value[1])
    if kind == "hex":
        return bytes.fromhex(value)
    if kind == "good":  # part of the good file, in shares of its length
        start, end = (int(float(share) * len(good)) for share in value)
        return good[start:end]
    assert kind == "replace"
    old, new = value
    assert old.encode() in good, old
    return good.replace(old.encode(), content_of(new, good), 1)


def good_files(vectors: dict[str, Any]) -> dict[str, bytes]:
    """Every file of a run that works, by name."""
    return {name: content_of(spec, b"") for name, spec in vectors["files"].items()}


def cases() -> Iterator[Case]:
    """Every case of the vectors; for functions that have no command, those of the content of files."""
    return (case for case in all_cases() if case.content is not None or not is_written_call([*case.arguments, ""]))


def all_cases() -> Iterator[Case]:
    """Every case of the vectors, names of files and values of options included."""
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    files = good_files(vectors)
    for place in vectors["places"]:
        arguments, file = tuple(place["arguments"]), place["file"]
        for kind in place["kinds"]:
            for name, spec in vectors["contents"][kind].items():
                if f"{kind}.{name}" not in place.get("accepts", ()):
                    label = f"{' '.join(arguments)}: {file}: {kind}.{name}"
                    if kind == "counts":
                        spec = {"replace": [vectors["numbers"][file], spec]}
                    content = content_of(spec, files.get(file, b""))
                    if content != files.get(file):
                        doubtful = f"{kind}.{name}" in place.get("doubtful", ())
                        yield Case(label, arguments, file, content, doubtful)
        for name in vectors["names"]:
            given = content_of(vectors["names"][name], b"").decode("utf-8", "surrogateescape")
            if file in arguments and f"names.{name}" not in place.get("accepts", ()):
                changed = tuple(given if word == file else word for word in arguments)
                yield Case(f"{' '.join(arguments)}: name: {name}", changed)
    for option in vectors["options"]:
        for name in (*vectors["values"], *option.get("more", ())):
            value = content_of(vectors["values"].get(name, name), b"").decode("utf-8", "surrogateescape")
            if name not in option.get("accepts", ()):
                arguments = tuple(value if word == "VALUE" else word for word in option["arguments"])
                yield Case(f"{' '.join(option['arguments'])}: {name}", arguments)
    for number, arguments in enumerate(vectors["calls"]):
        yield Case(f"call {number}: {' '.join(arguments)}", tuple(arguments))
