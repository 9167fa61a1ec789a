"""The public functions: one per subcommand, each returns a `Result`."""

from safemargin.aggregate.answers import Data, read_answers
from safemargin.aggregate.attacks import MOST_BITS_FOR_PERMANENTS, measure_attacks
from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.mask import Mask, mask_bits
from safemargin.aggregate.matrix_structure import candidates, decompose, hit_rate, interior_rate, support_size
from safemargin.aggregate.party_views import Inspection, inspect
from safemargin.aggregate.privacy_figures import analyse_privacy
from safemargin.aggregate.rehearsal import RehearsalReport, run_session, simulate
from safemargin.aggregate.report import AttackRates, PrivacyReport, StructureReport
from safemargin.aggregate.sum import check_clients
from safemargin.core import InputError, IntArray, Progress, no_progress, numpy_generator

VARIANTS = ("full", "two-layer", "compressed", "shuffled", "shares")


def views(data: Data, *, backend: str = "prio3", client: str = "client") -> Inspection:
    """Show what every party of a sum sees, byte for byte, and what coalitions work out."""
    answers = read_answers(data, client)
    check_clients(answers)
    made = make_backend(backend, len(answers.questions), len(answers.clients), answers.largest)
    return inspect(made, answers.values)


def attack(
    *, variant: str = "full", bits: int = 10, weights: int = 20, trials: int = 300, seed: int = 0
) -> AttackRates:
    """Try every attack on simulated clients and measure how often it is right."""
    if variant not in VARIANTS:
        raise InputError(f"variant = {variant!r}: must be one of {', '.join(VARIANTS)}")
    return AttackRates(variant, bits, weights, measure_attacks(variant, bits, weights, trials, seed))


def privacy(*, bits: int = 100, weights: int = 9, delta: float = 1e-6, clients: int = 1000) -> PrivacyReport:
    """Show what one masked number discloses: the paper's figures and valid ones."""
    return PrivacyReport(analyse_privacy(bits, weights, delta, clients))


def structure(*, bits: int = 2, weights: int = 18, draws: int = 200, seed: int = 0) -> StructureReport:
    """Show quantities of the paper's hardness section on simulated masks.

    Hit rates and permanents are computed for at most 3 bits.
    """
    generator = numpy_generator(seed)

    def draw(bound: int, shape: tuple[int, ...]) -> IntArray:
        return generator.integers(0, bound, size=shape)

    mask = Mask(bits, weights)
    matrix = mask_bits(mask, draw(2, (1, bits)), draw).matrix(0)
    values: dict[str, float] = {
        "share of matrices in the interior": interior_rate(mask, draws, draw),
        "terms of a Birkhoff decomposition": float(len(list(decompose(matrix)))),
        "most terms (Marcus and Ree)": float((2 * bits) ** 2 - 4 * bits + 2),
    }
    if bits <= MOST_BITS_FOR_PERMANENTS:
        values |= {
            "permutations in the support": float(support_size(matrix)),
            "candidates that fit": float(len(candidates(mask, matrix))),
            "hit rate, positive weights": hit_rate(bits, weights, draws, True, draw),
            "hit rate, weights of zero allowed": hit_rate(bits, weights, draws, False, draw),
        }
    return StructureReport(bits, weights, values)


def rehearse(
    *,
    clients: int = 1_000,
    bits: int = 10,
    backend: str = "prio3",
    dropouts: float = 0.05,
    malicious: float = 0.02,
    one_process: bool = False,
    bare: bool = False,
    seed: int = 0,
    progress: Progress = no_progress,
) -> RehearsalReport:
    """Run all parties as processes on this machine, with failures, and check the totals.

    `malicious` is the share of clients that lie, where the backend has proofs. With `one_process`, all of them are
    simulated without sockets.
    """
    if one_process:
        return simulate(clients, bits, backend=backend, seed=seed, progress=progress)
    return run_session(
        clients,
        bits,
        backend=backend,
        dropouts=dropouts,
        malicious=malicious if backend.startswith("prio3") else 0.0,
        seed=seed,
        compare_bare=bare,
        progress=progress,
    )
