"""The construction: the group with its traps closed, ballots that are one vote, keys without a dealer, decryptions.

Every forgery is built from the definition, with the group's own operations, not by changing bytes at random alone.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from safemargin.core import InputError
from safemargin.election import group as g
from safemargin.election.proofs import (
    Ciphertext,
    is_ballot,
    is_decryption,
    is_possessed,
    prove_ballot,
    prove_decryption,
    prove_possession,
)
from safemargin.election.threshold import (
    Dealing,
    TallyKey,
    combine,
    evaluate,
    evaluate_public,
    pledge_of,
    polynomial,
    small_logarithm,
)

VECTORS = Path(__file__).parent.parent / "vectors" / "election_proofs.json"
CONTEXT = [b"election", b"dimension"]


def scalars(count: int, label: str = "test") -> list[bytes]:
    """Scalars that anybody can compute again."""
    return [g.reduce_scalar(hashlib.sha512(f"{label} {number}".encode()).digest()) for number in range(count)]


SECRET = scalars(1, "secret")[0]
KEY = g.base(SECRET)


def encrypt(value: int, randomness: bytes) -> Ciphertext:
    return Ciphertext(g.base(randomness), g.add(g.multiply(randomness, KEY), g.base(g.scalar_of(value))))


def test_the_traps_of_the_library_are_closed() -> None:
    """`rbcl` adds invalid points to the identity, takes scalars beyond the order, and raises on the identity."""
    wrong = b"\xff" * 32
    assert not g.is_point(wrong) and not g.is_scalar((g.ORDER).to_bytes(32, "little"))
    assert g.is_scalar((g.ORDER - 1).to_bytes(32, "little")) and not g.is_scalar(b"\0" * 31)
    for bad in (wrong, b"\0" * 31, "text", g.IDENTITY):
        with pytest.raises(InputError):
            g.read_point(bad)
    assert g.read_point(g.IDENTITY, identity=True) == g.IDENTITY
    for number in (g.ORDER, g.ORDER + 5, 2**255 + 5):
        with pytest.raises(InputError):
            g.read_scalar(number.to_bytes(32, "little"))
    assert g.multiply(g.ZERO, KEY) == g.multiply(SECRET, g.IDENTITY) == g.base(g.ZERO) == g.IDENTITY
    assert g.add_all([]) == g.IDENTITY and g.add_all([KEY, g.negate_point(KEY), KEY]) == KEY
    assert g.multiply_scalars(SECRET, g.invert_scalar(SECRET)) == g.ONE


def test_transcripts_keep_parts_and_purposes_apart() -> None:
    assert g.transcript("ballot", [b"ab", b"c"]) != g.transcript("ballot", [b"a", b"bc"])
    assert g.transcript("ballot", [b"a"]) != g.transcript("decryption", [b"a"])
    assert len(set(g.DOMAINS.values())) == len(g.DOMAINS)


def document() -> dict[str, object]:
    """All proofs with randomness that anybody can compute again."""
    cells, proof = prove_ballot(KEY, 1, 3, CONTEXT, scalars(13))
    part, shown = prove_decryption(SECRET, cells[1], CONTEXT, scalars(1, "mask")[0])
    return {
        "key": KEY.hex(),
        "context": [part.hex() for part in CONTEXT],
        "cells": [cell.content.hex() for cell in cells],
        "proof": proof.hex(),
        "possession": prove_possession(SECRET, CONTEXT, scalars(1, "mask")[0]).hex(),
        "part": part.hex(),
        "decryption": shown.hex(),
        "randomness": [each.hex() for each in scalars(13)],
        "secret": SECRET.hex(),
        "mask": scalars(1, "mask")[0].hex(),
    }


def test_known_answers() -> None:
    """Vectors of our own, which the implementation in JavaScript computes again."""
    assert json.loads(VECTORS.read_text())["proofs"] == document()


def test_every_choice_of_every_size_is_accepted_and_decrypts() -> None:
    for count in (1, 2, 3, 5):
        for choice in range(count):
            cells, proof = prove_ballot(KEY, choice, count, CONTEXT)
            assert is_ballot(KEY, cells, proof, CONTEXT)
            for place, cell in enumerate(cells):
                part, shown = prove_decryption(SECRET, cell, CONTEXT)
                assert is_decryption(KEY, cell, part, shown, CONTEXT)
                assert small_logarithm(g.subtract(cell.second, part), 3) == (place == choice)


def forged(values: list[int]) -> tuple[list[Ciphertext], bytes]:
    """The honest prover on ciphertexts of other plaintexts: it follows every formula, and claims the first cell."""
    drawn = scalars(4 * len(values) + 1, "forger")
    cells, proof = prove_ballot(KEY, 0, len(values), CONTEXT, drawn)
    return [encrypt(value, drawn[4 * place]) for place, value in enumerate(values)], proof


@pytest.mark.parametrize(
    "values",
    [[2, 0, 0], [1, 1, 0], [-1, 1, 1], [0, 0, 0], [2**250, 0, 0], [3, -1, -1]],
    ids=["two", "twice", "negative", "none", "250 bits", "balanced"],
)
def test_other_votes_are_refused(values: list[int]) -> None:
    cells, proof = forged(values)
    assert not is_ballot(KEY, cells, proof, CONTEXT)


def test_a_challenge_that_omits_the_ciphertexts_could_be_forged() -> None:
    """Why all ciphertexts are in the challenge: with weak Fiat-Shamir, C is chosen after the challenge. The same
    attack, run against the shipped verifier, fails.
    """
    mask, zero, answer_zero, answer_one, randomness = scalars(5, "weak")
    whole = g.challenge("ballot", [*CONTEXT, b"commitments only"])
    one = g.subtract_scalars(whole, zero)
    first = g.base(randomness)
    # From B0 = s0 Y - c0 C, with B0 = mask G fixed before, follows C = (s0 Y - B0) / c0: a plaintext of 250 bits.
    second = g.multiply(g.invert_scalar(zero), g.subtract(g.multiply(answer_zero, KEY), g.base(mask)))
    holds = g.subtract(g.multiply(answer_zero, KEY), g.multiply(zero, second)) == g.base(mask)
    assert holds, "the equation of the weak proof holds for a ciphertext that was made up"
    proof = whole + zero + answer_zero + answer_one + randomness
    assert one and not is_ballot(KEY, [Ciphertext(first, second)], proof, CONTEXT)


def test_a_valid_ballot_cannot_be_changed_or_moved() -> None:
    cells, proof = prove_ballot(KEY, 1, 3, CONTEXT)
    assert not is_ballot(KEY, cells, proof, [b"election", b"another"]), "wrong context"
    assert not is_ballot(KEY, [cells[1], cells[0], cells[2]], proof, CONTEXT), "swapped entries"
    assert not is_ballot(g.base(g.scalar_of(9)), cells, proof, CONTEXT), "another key"
    assert not is_ballot(KEY, cells[:2], proof[: 32 * 8], CONTEXT), "an entry dropped"
    other, _ = prove_ballot(KEY, 0, 3, CONTEXT)
    assert not is_ballot(KEY, [*cells[:2], other[2]], proof, CONTEXT), "a copied ciphertext"
    again = [Ciphertext(g.add(c.first, g.GENERATOR), g.add(c.second, KEY)) for c in cells]
    assert not is_ballot(KEY, again, proof, CONTEXT), "randomised again"
    for place in range(0, len(proof), 32):
        scalar = int.from_bytes(proof[place : place + 32], "little")
        for number in ((scalar + 1) % g.ORDER, scalar + g.ORDER, scalar | 2**255):
            changed = proof[:place] + number.to_bytes(32, "little") + proof[place + 32 :]
            assert not is_ballot(KEY, cells, changed, CONTEXT), "scalars have one form"


def test_invalid_and_identity_points_are_refused() -> None:
    cells, proof = prove_ballot(KEY, 1, 2, CONTEXT)
    for bad in (b"\xff" * 32, bytes(31), g.IDENTITY):
        assert not is_ballot(KEY, [Ciphertext(bad, cells[0].second), cells[1]], proof, CONTEXT)
    assert not is_ballot(KEY, [Ciphertext(cells[0].first, b"\xff" * 32), cells[1]], proof, CONTEXT)
    assert not is_ballot(KEY, [], b"", CONTEXT) and not is_ballot(KEY, cells, proof[:-1], CONTEXT)


def test_decryptions_and_possession_that_are_wrong() -> None:
    cell = encrypt(5, scalars(1, "r")[0])
    part, proof = prove_decryption(SECRET, cell, CONTEXT)
    assert is_decryption(KEY, cell, part, proof, CONTEXT)
    other = g.multiply(g.scalar_of(3), cell.first)
    _, false = prove_decryption(g.scalar_of(3), cell, CONTEXT)
    for arguments in (
        (KEY, cell, other, proof, CONTEXT),
        (KEY, cell, other, false, CONTEXT),
        (KEY, encrypt(6, scalars(1, "r")[0]), part, proof, CONTEXT),
        (KEY, cell, part, proof, [b"another root"]),
        (g.IDENTITY, cell, g.IDENTITY, proof, CONTEXT),
        (KEY, cell, b"\xff" * 32, proof, CONTEXT),
        (KEY, cell, part, proof[:32] + b"\xff" * 32, CONTEXT),
        (KEY, cell, part, b"", CONTEXT),
    ):
        assert not is_decryption(*arguments)
    empty = Ciphertext(g.IDENTITY, g.IDENTITY)
    part, proof = prove_decryption(SECRET, empty, CONTEXT)
    assert part == g.IDENTITY and is_decryption(KEY, empty, part, proof, CONTEXT), "sums may be the identity"
    shown = prove_possession(SECRET, CONTEXT)
    assert is_possessed(KEY, shown, CONTEXT) and not is_possessed(KEY, shown, [b"x"])
    assert not is_possessed(g.base(g.scalar_of(4)), shown, CONTEXT) and not is_possessed(g.IDENTITY, shown, CONTEXT)


@pytest.mark.parametrize(("needed", "trustees"), [(2, 2), (3, 3), (2, 3), (3, 5)])
def test_a_key_without_a_dealer(needed: int, trustees: int) -> None:
    """All sets of enough trustees decrypt the same number; the secret itself is never computed by the program."""
    from itertools import combinations

    names = [f"t{number}" for number in range(trustees)]
    own = {name: polynomial(name.encode(), needed, trustees) for name in names}
    dealings = tuple(Dealing.make(b"plan", name, own[name]) for name in names)
    for dealing in dealings:
        pledge = pledge_of(b"plan", dealing.name, dealing.commitments)
        assert dealing.fault(b"plan", pledge, needed, trustees) is None
        assert dealing.fault(b"other plan", pledge, needed, trustees) is not None
        assert dealing.fault(b"plan", "00" * 32, needed, trustees) is not None
        longer = Dealing(dealing.name, (*dealing.commitments, KEY), dealing.proof)
        assert "commitments" in str(longer.fault(b"plan", pledge, needed, trustees)), "exactly as many"
    key = TallyKey(dealings, needed)
    secret = {}
    for place, name in enumerate(names, 1):
        shares = [own[name][0]] if not key.is_shared else [evaluate(own[each], place) for each in names]
        total = g.scalar_of(0)
        for share in shares:
            total = g.add_scalars(total, share)
        secret[name] = total
        assert g.base(total) == key.shares[name]
        if key.is_shared:
            assert evaluate_public(dealings[0].commitments, place) == g.base(evaluate(own[names[0]], place))
    randomness = scalars(1, "r")[0]
    shared = g.add(g.multiply(randomness, key.public), g.base(g.scalar_of(77)))
    cell = Ciphertext(g.base(randomness), shared)
    for chosen in combinations(names, needed):
        parts = {name: g.multiply(secret[name], cell.first) for name in chosen}
        assert key.decrypt(cell, parts, 100) == 77
        with pytest.raises(InputError, match="are needed"):
            key.decrypt(cell, dict(list(parts.items())[1:]), 100)
        wrong = {key.place(name): g.multiply(secret[name], cell.first) for name in chosen[:-1]}
        with pytest.raises(InputError, match="decrypts to no number"):
            small_logarithm(combine(cell, wrong, key.is_shared), 100)


def test_small_logarithms_from_the_definition() -> None:
    here = g.IDENTITY
    for number in range(60):
        assert small_logarithm(here, 59) == number
        here = g.add(here, g.GENERATOR)
    for point in (here, g.base(g.scalar_of(-1))):
        with pytest.raises(InputError, match="no number from 0 to 59"):
            small_logarithm(point, 59)


NODE = Path(__file__).parent / "peer_proofs.mjs"


def noble_modules() -> Path | None:
    """Where noble-curves is installed (npm install --no-save @noble/curves)."""
    if shutil.which("node") is None:
        return None
    root = Path(os.environ.get("NODE_MODULES", "node_modules")).resolve()
    return root if (root / "@noble" / "curves").exists() else None


@pytest.mark.slow
def test_another_implementation_agrees_both_ways(tmp_path: Path) -> None:
    """JavaScript over noble-curves: it accepts ours, refuses forgeries, and we accept what it makes."""
    modules = noble_modules()
    if modules is None:
        pytest.skip("npm package @noble/curves is not installed")
    (tmp_path / "node_modules").symlink_to(modules)
    shutil.copy(NODE, tmp_path / "peer.mjs")
    fresh = [prove_ballot(KEY, choice, 3, CONTEXT) for choice in range(3)]
    wrong = [forged([2, 0, 0]), forged([-1, 1, 1])]
    given = {
        "vectors": json.loads(VECTORS.read_text())["proofs"],
        "ballots": [{"cells": [c.content.hex() for c in cells], "proof": p.hex()} for cells, p in [*fresh, *wrong]],
    }
    ran = subprocess.run(
        ["node", "peer.mjs"], cwd=tmp_path, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    theirs = json.loads(ran.stdout)
    assert theirs["same"] is True, "the same bytes from the same randomness"
    assert theirs["valid"] == [True, True, True, False, False]
    assert theirs["decryption"] is True and theirs["possession"] is True
    for made in theirs["made"]:
        cells = [Ciphertext(bytes.fromhex(c)[:32], bytes.fromhex(c)[32:]) for c in made["cells"]]
        assert is_ballot(KEY, cells, bytes.fromhex(made["proof"]), CONTEXT), "we accept theirs"
    part, proof = bytes.fromhex(theirs["part"]), bytes.fromhex(theirs["shown"])
    first = given["vectors"]["cells"][1]
    cell = Ciphertext(bytes.fromhex(first)[:32], bytes.fromhex(first)[32:])
    assert is_decryption(KEY, cell, part, proof, CONTEXT) and is_possessed(KEY, bytes.fromhex(theirs["owned"]), CONTEXT)
