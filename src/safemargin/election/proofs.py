"""Ballots that prove that they are one vote, and decryptions that prove that they are right.

A ballot is a vector of exponential ElGamal ciphertexts `(R, C) = (r G, r Y + v G)`, one per cell, of which exactly one
holds 1. Per cell a disjunctive proof of Chaum and Pedersen shows that v is 0 or 1 (Cramer, Damgard and Schoenmakers
1994); one more shows that all v add up to 1. All of them share one challenge over the whole statement: context, key,
all ciphertexts in order, all commitments (strong Fiat-Shamir: Bernhard, Pereira and Warinschi 2012). Without the
ciphertexts in it, a forged "0 or 1" verifies for any plaintext.

Soundness: two accepting transcripts with different challenges give the randomness of every ciphertext, so that a ballot
without one vote is accepted with probability about (number of hashes) / 2^252 in the random oracle model. Secrecy: a
ballot is simulated without its vote under the decisional Diffie-Hellman assumption in the same model.

    >>> key = base(scalar_of(7))
    >>> cells, proof = prove_ballot(key, 1, 3, [b"context"])
    >>> is_ballot(key, cells, proof, [b"context"]), is_ballot(key, cells, proof, [b"another"])
    (True, False)
"""

from collections.abc import Sequence
from dataclasses import dataclass

from safemargin.election.group import (
    GENERATOR,
    IDENTITY,
    WIDTH,
    Point,
    Scalar,
    add,
    add_all,
    add_scalars,
    base,
    challenge,
    is_point,
    is_scalar,
    multiply,
    multiply_scalars,
    random_scalar,
    scalar_of,
    subtract,
    subtract_scalars,
)


@dataclass(frozen=True)
class Ciphertext:
    """`first = r G`, `second = r Y + v G`. Sums of ciphertexts encrypt sums."""

    first: Point
    second: Point

    def __add__(self, other: "Ciphertext") -> "Ciphertext":
        return Ciphertext(add(self.first, other.first), add(self.second, other.second))

    @property
    def content(self) -> bytes:
        """64 bytes."""
        return self.first + self.second


EMPTY = Ciphertext(IDENTITY, IDENTITY)
"""The sum of no ciphertexts."""


def proof_size(cells: int) -> int:
    """Bytes of the proof of a ballot: challenge, three scalars per cell, and one for the sum."""
    return WIDTH * (2 + 3 * cells)


def prove_ballot(
    key: Point, choice: int, cells: int, context: Sequence[bytes], randomness: Sequence[Scalar] | None = None
) -> tuple[list[Ciphertext], bytes]:
    """Ciphertexts of a vector with 1 at `choice`, and their proof.

    Randomness is always fresh; a test of known answers alone gives its own (four scalars per cell and one more).
    """
    drawn = iter(randomness or [random_scalar() for _ in range(4 * cells + 1)])
    made: list[Ciphertext] = []
    commitments: list[bytes] = []
    kept: list[tuple[Scalar, Scalar, Scalar, Scalar]] = []
    for cell in range(cells):
        secret, mask, false, answer = (next(drawn) for _ in range(4))
        vote = cell == choice
        shared = multiply(secret, key)
        made.append(Ciphertext(base(secret), add(shared, GENERATOR) if vote else shared))
        true = (base(mask), multiply(mask, key))
        # The branch that does not hold is simulated: its challenge `false` and its answer come first. With
        # t = answer - false r, its commitments are t G and t Y + false (+G or -G).
        rest = subtract_scalars(answer, multiply_scalars(false, secret))
        offset = base(false)
        hidden = multiply(rest, key)
        other = (base(rest), subtract(hidden, offset) if vote else add(hidden, offset))
        commitments += [*other, *true] if vote else [*true, *other]
        kept.append((secret, mask, false, answer))
    mask = next(drawn)
    commitments += [base(mask), multiply(mask, key)]
    whole = challenge("ballot", _statement(key, made, commitments, context))
    proof = [whole]
    total = scalar_of(0)
    for cell, (secret, own, false, answer) in enumerate(kept):
        total = add_scalars(total, secret)
        right = subtract_scalars(whole, false)
        shown = add_scalars(own, multiply_scalars(right, secret))
        proof += [false, answer, shown] if cell == choice else [right, shown, answer]
    proof.append(add_scalars(mask, multiply_scalars(whole, total)))
    return made, b"".join(proof)


def is_ballot(key: Point, cells: Sequence[Ciphertext], proof: bytes, context: Sequence[bytes]) -> bool:
    """Whether every cell holds 0 or 1 and exactly one holds 1. Points and scalars are checked before any arithmetic."""
    if not cells or len(proof) != proof_size(len(cells)):
        return False
    scalars = [proof[place : place + WIDTH] for place in range(0, len(proof), WIDTH)]
    if not all(map(is_scalar, scalars)):
        return False
    for cell in cells:
        if cell.first == IDENTITY or not is_point(cell.first) or not is_point(cell.second):
            return False
    whole, last = scalars[0], scalars[-1]
    commitments: list[bytes] = []
    for number, cell in enumerate(cells):
        zero, answer_zero, answer_one = scalars[1 + 3 * number : 4 + 3 * number]
        one = subtract_scalars(whole, zero)
        commitments += _commitments(key, cell.first, cell.second, zero, answer_zero)
        commitments += _commitments(key, cell.first, subtract(cell.second, GENERATOR), one, answer_one)
    first = add_all(cell.first for cell in cells)
    second = subtract(add_all(cell.second for cell in cells), GENERATOR)
    commitments += _commitments(key, first, second, whole, last)
    return challenge("ballot", _statement(key, cells, commitments, context)) == whole


def _commitments(key: Point, first: Point, second: Point, asked: Scalar, answer: Scalar) -> list[bytes]:
    """What the prover must have committed to: `answer G - asked first` and `answer Y - asked second`."""
    return [
        subtract(base(answer), multiply(asked, first)),
        subtract(multiply(answer, key), multiply(asked, second)),
    ]


def _statement(
    key: Point, cells: Sequence[Ciphertext], commitments: Sequence[bytes], context: Sequence[bytes]
) -> list[bytes]:
    return [
        *context,
        GENERATOR,
        key,
        len(cells).to_bytes(4, "big"),
        *(cell.content for cell in cells),
        *commitments,
    ]


def prove_possession(secret: Scalar, context: Sequence[bytes], mask: Scalar | None = None) -> bytes:
    """A proof (Schnorr 1991) that somebody knows the secret of `base(secret)`."""
    mask = mask or random_scalar()
    asked = challenge("possession", [*context, GENERATOR, base(secret), base(mask)])
    return asked + add_scalars(mask, multiply_scalars(asked, secret))


def is_possessed(public: Point, proof: bytes, context: Sequence[bytes]) -> bool:
    """Whether the proof of possession holds; the identity is nobody's key."""
    asked, answer = proof[:WIDTH], proof[WIDTH:]
    if public == IDENTITY or not is_scalar(asked) or not is_scalar(answer) or not is_point(public):
        return False
    mask = subtract(base(answer), multiply(asked, public))
    return challenge("possession", [*context, GENERATOR, public, mask]) == asked


def prove_decryption(
    secret: Scalar, total: Ciphertext, context: Sequence[bytes], mask: Scalar | None = None
) -> tuple[Point, bytes]:
    """A trustee's part `secret * first` of the decryption of a sum, with the proof that it is (Chaum, Pedersen)."""
    part, mask = multiply(secret, total.first), mask or random_scalar()
    public = base(secret)
    asked = challenge("decryption", _decryption(public, total, part, base(mask), multiply(mask, total.first), context))
    return part, asked + add_scalars(mask, multiply_scalars(asked, secret))


def is_decryption(public: Point, total: Ciphertext, part: Point, proof: bytes, context: Sequence[bytes]) -> bool:
    """Whether a part of a decryption is the one of the trustee with this public share."""
    asked, answer = proof[:WIDTH], proof[WIDTH:]
    if public == IDENTITY or not is_scalar(asked) or not is_scalar(answer):
        return False
    if not (is_point(public) and is_point(part) and is_point(total.first) and is_point(total.second)):
        return False
    one = subtract(base(answer), multiply(asked, public))
    other = subtract(multiply(answer, total.first), multiply(asked, part))
    return challenge("decryption", _decryption(public, total, part, one, other, context)) == asked


def _decryption(
    public: Point, total: Ciphertext, part: Point, one: Point, other: Point, context: Sequence[bytes]
) -> list[bytes]:
    return [*context, GENERATOR, public, total.first, total.second, part, one, other]
