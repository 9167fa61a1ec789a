"""The public functions: one per subcommand, each returns a `Result`."""

from collections.abc import Sequence
from pathlib import Path

from safemargin.aggregate.answers import Data, read_answers
from safemargin.aggregate.attacks import measure_attacks
from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.privacy import analyse_privacy
from safemargin.aggregate.rehearse import run_session, simulate
from safemargin.aggregate.report import AggregateSum, AttackRates, PrivacyReport, RehearsalReport
from safemargin.aggregate.session import LEAST_CLIENTS
from safemargin.aggregate.sum import aggregate_sum, check_clients
from safemargin.aggregate.views import Inspection, inspect
from safemargin.core import InputError, Progress, no_progress

VARIANTS = ("full", "two-layer", "compressed", "shuffled", "shares")


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
    `earlier` are data that were summed before, `ledger` is a file that remembers them: a sum whose difference with one
    of them is about fewer than `least` clients is refused.
    """
    return aggregate_sum(
        data,
        backend=backend,
        largest=largest,
        least=least,
        client=client,
        earlier=earlier,
        ledger=ledger,
        progress=progress,
    )


def views(data: Data, *, backend: str = "shares", client: str = "client") -> Inspection:
    """What every party of a sum sees, byte for byte, and what coalitions work out."""
    answers = read_answers(data, client)
    check_clients(answers)
    made = make_backend(backend, len(answers.questions), len(answers.clients), answers.largest)
    return inspect(made, answers.values)


def attack(
    *, variant: str = "full", bits: int = 10, weights: int = 20, trials: int = 300, seed: int = 0
) -> AttackRates:
    """Every attack on simulated clients, and how often it is right."""
    if variant not in VARIANTS:
        raise InputError(f"variant = {variant!r}: must be one of {', '.join(VARIANTS)}")
    return AttackRates(variant, bits, weights, measure_attacks(variant, bits, weights, trials, seed))


def privacy(*, bits: int = 100, weights: int = 9, delta: float = 1e-6, clients: int = 1000) -> PrivacyReport:
    """What one masked number discloses: the paper's figures and valid ones."""
    return PrivacyReport(analyse_privacy(bits, weights, delta, clients))


def rehearse(
    *,
    clients: int = 1_000,
    bits: int = 10,
    backend: str = "shares",
    dropouts: float = 0.05,
    one_process: bool = False,
    bare: bool = False,
    seed: int = 0,
    progress: Progress = no_progress,
) -> RehearsalReport:
    """All parties as processes on this machine, with failures; with `one_process` a simulation without sockets."""
    if one_process:
        return RehearsalReport(simulate(clients, bits, backend=backend, seed=seed, progress=progress))
    return RehearsalReport(
        run_session(clients, bits, backend=backend, dropouts=dropouts, seed=seed, compare_bare=bare, progress=progress)
    )
