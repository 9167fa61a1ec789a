"""Rates of casting, collecting and verifying, as shares of the bare operations of the group and of RSA.

    python benchmarks/bench_election.py --voters 10000 --dimensions 5 --ballots 2000

Ballots are made, checked and added up in this process with their files on disk, as collector, trustees and readers do
it; bare loops do the same multiplications, additions and RSA verifications and nothing else. CPU seconds of this
process. Rates are measured on a sample of `--ballots` ballots per stage and stated for the whole election.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import rbcl
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from election_world import PLAN, election_of, secrets_of
from safemargin.election.ballots import BallotFormat
from safemargin.election.board import Board
from safemargin.election.checking import count_ballots
from safemargin.election.escrow import NO_ESCROW, token_message
from safemargin.election.setup import parse_plan

OPTIONS = 4
"""And one cell for no answer: five cells."""


def timed(action: Callable[[], object]) -> float:
    """CPU seconds."""
    before = time.process_time()
    action()
    return time.process_time() - before


def bare_make(cells: int, ballots: int) -> None:
    """The multiplications of ballots: four of the generator and three of the key per cell, and one of each."""
    scalar = rbcl.crypto_core_ristretto255_scalar_random()
    point = rbcl.crypto_scalarmult_ristretto255_base(scalar)
    for _ in range(ballots * (4 * cells + 1)):
        rbcl.crypto_scalarmult_ristretto255_base(scalar)
    for _ in range(ballots * (3 * cells + 1)):
        rbcl.crypto_scalarmult_ristretto255(scalar, point)
    for _ in range(ballots * (cells + 1)):
        rbcl.crypto_core_ristretto255_add(point, point)


def bare_check(cells: int) -> None:
    """Of one check: two of the generator and six others per cell, the sum, validity, and adding up."""
    scalar = rbcl.crypto_core_ristretto255_scalar_random()
    point = rbcl.crypto_scalarmult_ristretto255_base(scalar)
    for _ in range(2 * cells + 1):
        rbcl.crypto_scalarmult_ristretto255_base(scalar)
    for _ in range(6 * cells + 3):
        rbcl.crypto_scalarmult_ristretto255(scalar, point)
    for _ in range(5 * cells + 2 * cells + 2 * cells + 3):
        rbcl.crypto_core_ristretto255_add(point, point)
    for _ in range(2 * cells):
        rbcl.crypto_core_ristretto255_is_valid_point(point)


def main() -> None:
    """Print the table of the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voters", type=int, default=10_000)
    parser.add_argument("--dimensions", type=int, default=5)
    parser.add_argument("--ballots", type=int, default=1_000)
    said = parser.parse_args()
    plan = parse_plan(PLAN.replace('options = ["yes", "no"]', 'options = ["a", "b", "c", "d"]'))
    secrets = secrets_of(plan)
    election = election_of(plan, 12, secrets)
    dimension = election.dimension("total")
    format_ = BallotFormat(election, dimension)
    signers = [secrets[name].signers["total/everybody"] for name in format_.issuers]
    cells = len(format_.cells)
    keys = [Ed25519PrivateKey.generate() for _ in range(said.ballots)]
    publics = [key.public_key().public_bytes_raw() for key in keys]
    tokens = []
    for public in publics:
        message = bytes(32) + token_message(format_.context, public, NO_ESCROW)
        made = []
        for signer in signers:
            blinded, inverse = signer.public.blind(message, bytes(48), 12345)
            made.append((bytes(32), signer.public.finish(message, signer.sign(blinded), inverse)))
        tokens.append(made)
    ballots: list[bytes] = []

    def make() -> None:
        for number, (key, public) in enumerate(zip(keys, publics, strict=True)):
            ballots.append(format_.sign(format_.make(number % cells, 0, 1, public, NO_ESCROW, tokens[number]), key))

    making = timed(make)
    bare_making = timed(lambda: bare_make(cells, said.ballots))
    with tempfile.TemporaryDirectory() as folder:
        board = Board(Path(folder), election)
        (Path(folder) / "ballots").mkdir()
        (Path(folder) / "ballots" / "total.0").write_bytes(b"".join(sorted(ballots)))
        counted = []
        checking = timed(lambda: counted.append(count_ballots(board, dimension, processes=1)))
        assert counted[0].accepted == said.ballots and not counted[0].faults

    def bare() -> None:
        for place in range(said.ballots):
            bare_check(cells)
            message = token_message(format_.context, publics[place], NO_ESCROW)
            for signer, (prefix, signature) in zip(signers, tokens[place], strict=True):
                assert signer.public.is_signed(prefix + message, signature)
            Ed25519PublicKey.from_public_bytes(publics[place]).verify(keys[place].sign(b"x"), b"x")

    bare_checking = timed(bare)
    whole = said.voters * said.dimensions
    print("| stage | ms per ballot | bare operations | share | CPU s for the whole election |\n|---|---|---|---|---|")
    for name, own, theirs in (
        ("making a ballot", making, bare_making),
        ("verifying and adding up", checking, bare_checking),
    ):
        per, least = 1000 * own / said.ballots, 1000 * theirs / said.ballots
        print(f"| {name} | {per:.2f} | {least:.2f} | {100 * least / per:.0f} % | {whole * per / 1000:,.0f} |")


if __name__ == "__main__":
    main()
