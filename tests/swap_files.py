"""Swapping of a file to another one, as tests use it."""

import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

import safemargin
from commands import Ran, Run
from safemargin.swap.across import simulate_across
from safemargin.swap.simulated import Simulated
from safemargin.swap.swap import Swapped
from safemargin.swap.targeted import Targeting, swap_targeted


def others(path: Path, used: Iterable[str]) -> list[str]:
    """The columns of a file that are not used."""
    with duckdb.connect() as database:
        columns = database.execute(f"describe from '{path}'").fetchall()
    return [str(name) for name, *_ in columns if name not in used]


def holding(run: Run) -> Run:
    """The same commands; `swap` holds every other column where a test does not say which."""

    def called(*words: object) -> Ran:
        if words[0] != "swap" or "--hold" in words:
            return run(*words)
        used = [word for option, word in pairwise(words) if option in ("--swap", "--match", "--household")]
        columns = others(Path(str(words[1])), ",".join(map(str, used)).split(","))
        return run(*words, "--hold", ",".join(columns))

    return called


def swap_file(
    path: Path,
    out: Path,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    **options: Any,
) -> Swapped:
    """Swap as users do, holding every other column unless `hold` names some, and copy the result to `out`."""
    if hold is None:
        hold = others(path, [*swapped, *match, str(options.get("household"))])
    options = {"file_format": out.suffix[1:] if out.suffix in (".csv", ".parquet") else "parquet", **options}
    result = safemargin.swap(path, swapped=swapped, match=match, hold=hold, **options)
    shutil.copyfile(result.space.folder / result.file, out)
    return result


def swap_targeted_file(path: Path, out: Path, wish: Targeting, file_format: str = "parquet") -> Simulated:
    """Swap households in pairs, and copy the result to `out`."""
    result = swap_targeted(path, wish, file_format)
    shutil.copyfile(result.space.folder / result.file, out)
    return result


def swap_across_file(
    path: Path, out: Path, swapped: Sequence[str], match: Sequence[str], loose: Sequence[str], **options: Any
) -> Simulated:
    """Swap within strata and across them, and copy the result to `out`."""
    result = simulate_across(path, swapped=swapped, match=match, loose=loose, **options)
    shutil.copyfile(result.space.folder / result.file, out)
    return result
