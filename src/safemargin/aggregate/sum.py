"""Add up clients' answers in one process, by the same backends and messages that separate parties use."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from safemargin.aggregate.answers import ClientAnswers, Data, read_answers
from safemargin.aggregate.backend import Options
from safemargin.aggregate.backends import block_size, make_backend
from safemargin.aggregate.report import AggregateSum
from safemargin.aggregate.sets import LEAST_CLIENTS, SetLedger, check_overlap
from safemargin.core import InputError, Progress, no_progress
from safemargin.ui import write_text


def sum(
    data: Data,
    *,
    backend: str = "prio3",
    largest: int | None = None,
    weights: Sequence[int] = (),
    most: int = 0,
    least: int = LEAST_CLIENTS,
    client: str = "client",
    earlier: Sequence[Data] = (),
    ledger: Path | str | None = None,
    progress: Progress = no_progress,
) -> AggregateSum:
    """Add up clients' answers exactly; no party sees a single answer.

    The `backend` says what parties learn, where that is more. `largest` is the largest answer that is allowed
    (public); without it, the smallest `2^d - 1` that holds all of them. `weights`, one per question, are of the one
    statistic that `prio3-statistic` opens; `most` is how many questions `prio3-some` allows to be 1. `earlier` are data
    that were summed before: a sum whose difference with one of them is about fewer than `least` clients is refused.
    `ledger` is a file that remembers them: it is asked and written before totals are given.
    """
    answers = read_answers(data, client)
    if least < LEAST_CLIENTS:
        raise InputError(f"least = {least}: must be at least {LEAST_CLIENTS}")
    check_clients(answers, least)
    before = [read_answers(each, client) for each in earlier]
    if (before or ledger is not None) and not all(each.named for each in (answers, *before)):
        raise InputError(f"there is no column {client!r}: without names nobody knows which clients were summed before")
    check_overlap([frozenset(each.clients) for each in before], frozenset(answers.clients), least)
    options = Options(tuple(weights), most)
    chosen = make_backend(backend, len(answers.questions), len(answers.clients), largest or answers.largest, options)
    started = time.perf_counter()
    block = block_size(chosen)
    blocks = (answers.values[start : start + block] for start in range(0, len(answers.clients), block))
    totals = chosen.add_up(blocks, len(answers.clients), progress)
    if ledger is not None:  # last of all: what was refused was not summed
        SetLedger(Path(ledger)).admit(frozenset(answers.clients), least)
    return AggregateSum(
        dict(zip(chosen.labels(answers.questions), totals.tolist(), strict=True)),
        len(answers.clients),
        backend,
        chosen.bytes_per_client,
        time.perf_counter() - started,
        chosen.learns,
        chosen.validity,
        chosen.dishonest,
        chosen.largest,
    )


def check_clients(answers: ClientAnswers, least: int = LEAST_CLIENTS) -> None:
    """Refuse sums over too few clients."""
    if len(answers.clients) < least:
        raise InputError(f"{len(answers.clients)} clients: a sum needs at least {least}")


def write_tally(totals: Mapping[str, int], path: Path, axis: str | None = None) -> None:
    """Totals as the tidy tally that a project's `[tallies]` reads.

    With an axis, questions are called `category: option`; without one, each question is an option of the total.
    """
    lines = [f"{axis},option,count"] if axis else ["option,count"]
    for question, total in totals.items():
        category, sign, option = question.partition(":")
        if axis and not sign:
            raise InputError(f"question {question!r}: call it 'category: option', so that the tally has both")
        cells = [category.strip(), option.strip()] if axis else [question]
        if any(mark in cell for cell in cells for mark in ',"\n'):
            cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        lines.append(",".join([*cells, str(total)]))
    write_text(path, "\n".join(lines) + "\n")
