"""Add up clients' answers in one process, by the same backends and messages that separate parties use."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safemargin.aggregate.answers import ClientAnswers, Data, read_answers
from safemargin.aggregate.backends import Backend, block_size, make_backend
from safemargin.aggregate.report import AggregateSum
from safemargin.aggregate.session import LEAST_CLIENTS, SetLedger, check_overlap
from safemargin.core import InputError, IntArray, Progress, no_progress
from safemargin.ui import write_text


def sum(
    data: Data,
    *,
    backend: str = "shares",
    largest: int | None = None,
    least: int = LEAST_CLIENTS,
    client: str = "client",
    earlier: Sequence[Data] = (),
    ledger: Path | str | None = None,
    progress: Progress = no_progress,
) -> AggregateSum:
    """Exact totals of every question, by a backend that shows no party a single answer (or says that it does).

    `largest` is the largest answer that is allowed (public); without it, the smallest `2^d - 1` that holds all of them.
    `earlier` are data that were summed before: a sum whose difference with one of them is about fewer than `least`
    clients is refused. `ledger` is a file that remembers them: it is asked and written before totals are given.
    """
    answers = read_answers(data, client)
    if least < LEAST_CLIENTS:
        raise InputError(f"least = {least}: must be at least {LEAST_CLIENTS}")
    check_clients(answers, least)
    before = [read_answers(each, client) for each in earlier]
    if (before or ledger is not None) and not all(each.named for each in (answers, *before)):
        raise InputError(f"there is no column {client!r}: without names nobody knows which clients were summed before")
    check_overlap([frozenset(each.clients) for each in before], frozenset(answers.clients), least)
    chosen = make_backend(backend, len(answers.questions), len(answers.clients), largest or answers.largest)
    started = time.perf_counter()
    totals = add_up(chosen, answers, progress)
    if ledger is not None:  # last of all: what was refused was not summed
        SetLedger(Path(ledger)).admit(frozenset(answers.clients), least)
    return AggregateSum(
        dict(zip(answers.questions, totals.tolist(), strict=True)),
        len(answers.clients),
        backend,
        chosen.bytes_per_client,
        time.perf_counter() - started,
        chosen.validity,
        chosen.largest,
    )


def check_clients(answers: ClientAnswers, least: int = LEAST_CLIENTS) -> None:
    """Refuse sums over too few clients."""
    if len(answers.clients) < least:
        raise InputError(f"{len(answers.clients)} clients: a sum needs at least {least}")


def add_up(backend: Backend, answers: ClientAnswers, progress: Progress = no_progress) -> IntArray:
    """Totals by question: clients protect, roles add, the server combines; block by block."""
    count = len(answers.clients)
    block = block_size(backend)
    sums: dict[str, list[IntArray]] = {role.name: [] for role in backend.roles}
    for start in range(0, count, block):
        progress("adding up", start, count)
        messages = backend.protect(answers.values[start : start + block])
        for role, rows in messages.items():
            sums[role].append(backend.add(role, rows))
    return backend.combine({role: backend.add_sums(role, np.stack(parts)) for role, parts in sums.items()}, count)


def write_tally(result: AggregateSum, path: Path, axis: str | None = None) -> None:
    """Totals as the tidy tally that a project's `[tallies]` reads.

    With an axis, questions are called `category: option`; without one, each question is an option of the total.
    """
    lines = [f"{axis},option,count"] if axis else ["option,count"]
    for question, total in result.totals.items():
        category, sign, option = question.partition(":")
        if axis and not sign:
            raise InputError(f"question {question!r}: call it 'category: option', so that the tally has both")
        cells = [category.strip(), option.strip()] if axis else [question]
        if any(mark in cell for cell in cells for mark in ',"\n'):
            cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        lines.append(",".join([*cells, str(total)]))
    write_text(path, "\n".join(lines) + "\n")
