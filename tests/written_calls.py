"""Calls of functions that have no command, written like options: `average --kt2 0.1` is `average(kt2=0.1)`."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safemargin
from safemargin.cli import FUNCTIONS
from safemargin.core import SafemarginError, one_line
from safemargin.swap.across import simulate_across
from safemargin.swap.targeted import Targeting, simulate_targeted
from safemargin.ui import Result
from safemargin.ui.commands import _typed

METHODS = {"targeted": simulate_targeted, "across": simulate_across}
NAMED = {
    ("independence", "by"): "axes",
    ("rates", "largest_stratum"): "largest",
    ("simulate", "swap"): "swapped",
    ("simulate", "unique_in"): "within",
    ("simulate", "small_block"): "small",
    ("simulate", "format"): "file_format",
    ("swap_rates", "swap"): "swapped",
}
"""Parameters with another name than in the tests."""
COLUMNS = {"geography", "hold", "loose", "match", "rare", "swapped", "unique"}
"""Parameters that take names of columns, which the tests write between commas."""


def is_written_call(words: list[str]) -> bool:
    """Whether the words name a function of the library without a command."""
    return words[0] in FUNCTIONS and (not FUNCTIONS[words[0]] or words[1] in FUNCTIONS[words[0]])


def called(words: list[str]) -> tuple[Result, Path | None]:
    """The result of the function, and the file or folder to write it to."""
    name, rest = words[0].replace("-", "_"), words[1:]
    function: Callable[..., Any] = getattr(safemargin, name)
    if FUNCTIONS[words[0]]:
        name, rest = words[1], words[2:]
        function = getattr(function, name)
    known = dict(inspect.signature(function, eval_str=True).parameters)
    places, given, out = [], dict[str, Any](), None
    if name == "simulate":  # its options are those of the method
        method, rest = rest[0], rest[1:]
        places.append(method)
        for options in (METHODS[method], Targeting):
            known |= inspect.signature(options, eval_str=True).parameters
    while rest:
        word = rest.pop(0)
        option = NAMED.get((name, word[2:].replace("-", "_")), word[2:].replace("-", "_"))
        if not word.startswith("--"):
            places.insert(0, word)
        elif option == "out":
            out = Path(rest.pop(0))
        elif word == "--without-spsn":
            given["same_noise"] = False
        elif option in COLUMNS:
            given[option] = tuple(part.strip() for part in rest.pop(0).split(",") if part.strip())
        elif isinstance(known[option].default, bool):
            given[option] = True
        else:
            kind, read = _typed(known[option].annotation)
            text = rest.pop(0)
            given[option] = read(kind(text) if kind in (int, float) else text)
    if name == "beside":
        places = [places[::-1]]
    return function(*places, **given), out


def answer(words: list[str]) -> tuple[int, str, str]:
    """Code, text or document, and error of a call."""
    as_json = "--json" in words
    try:
        result, out = called([word for word in words if word != "--json"])
        if out is not None:
            result.write(out)
    except SafemarginError as error:
        return 2, "", f"safemargin: {one_line(str(error))}\n"
    return 0, json.dumps(result.to_json()) if as_json else result.to_text(width=120), ""
