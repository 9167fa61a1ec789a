"""Commands made from functions of the library: parameters become options, and the result is shown."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from safemargin.ui.options import Page, parse_integers
from safemargin.ui.output import Json, Result, check_page, notes, print_result, progress_bar

Read = Callable[[Any], Any]
"""What the library gets, from what was typed."""


def show(result: Result, as_json: Json = False) -> None:
    """Print what a command found."""
    print_result(result, as_json)


def show_with_page(result: Result, page: Page = None, as_json: Json = False) -> None:
    """Print what a command found, and write its page where one is asked."""
    print_result(result, as_json, page)


def command(
    function: Callable[..., Result], example: str, show: Callable[..., None] = show, busy: str = "", **options: Any
) -> Callable[..., None]:
    """A command that calls a function of the library, and `show` with the result and the options of `show`.

    `options` are the parameters that can be typed: each has its help, or an argument or option of typer, or the whole
    type where the command line has another than the library. `busy` says what is going on meanwhile.
    """
    known = inspect.signature(function, eval_str=True).parameters
    parameters, reads = [], dict[str, Read]()
    for name, option in options.items():
        kind, reads[name] = _typed(known[name].annotation)
        default = _written(kind, known[name].default)
        if isinstance(option, str):
            option = typer.Option(f"--{name.replace('_', '-')}", help=option)  # a flag alone: there is no --no-...
        if get_origin(option) is not Annotated:
            option = Annotated[kind | None if default is None else kind, option]
        parameters.append(known[name].replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option))
    _, *others = inspect.signature(show, eval_str=True).parameters.values()
    parameters += [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]

    def run(**values: Any) -> None:
        check_page(values.get("page"))
        given = {name: read(values[name]) for name, read in reads.items() if values[name] is not None}
        if "progress" in known:
            with progress_bar(busy) as progress:
                result = function(**given, progress=progress)
        else:
            with notes.status(busy) if busy else nullcontext():
                result = function(**given)
        show(result, **{parameter.name: values[parameter.name] for parameter in others})

    # The first line of the function's documentation, and what that of `show` has below its first line.
    first, note = (inspect.getdoc(text) or "" for text in (function, show))
    run.__name__ = function.__name__
    run.__doc__ = "\n\n".join([first.splitlines()[0], *note.split("\n\n")[1:], f"Example: safemargin {example}"])
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _typed(annotation: Any) -> tuple[Any, Read]:
    """How a parameter is typed: a path where one is possible, lists between commas, everything else as it is."""
    kinds = get_args(annotation) if get_origin(annotation) not in (Sequence, Iterable, list) else (annotation,)
    kinds = kinds or (annotation,)
    if Any in kinds or Path in kinds:
        return Path, lambda path: path
    if str in kinds:  # a number that is written as text is exact
        return str, lambda text: text
    if get_origin(kinds[0]) not in (Sequence, Iterable):
        return kinds[0], lambda value: value
    (item,) = get_args(kinds[0])
    kind, read = _typed(item)
    if kind is int:
        return str, parse_integers
    if kind is str and get_origin(item) not in (Sequence, Iterable):
        return str, lambda text: tuple(part.strip() for part in text.split(",") if part.strip())
    many: Any = list
    return many[kind], lambda values: [read(value) for value in values]


def _written(kind: Any, default: Any) -> Any:
    """A default as somebody would type it."""
    if kind is not str or default in (None, inspect.Parameter.empty):
        return None if default == () else default
    return str(default) if isinstance(default, str | float) else ",".join(map(str, default)) or None
