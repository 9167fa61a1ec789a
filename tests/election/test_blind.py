"""Blind RSA against the vectors of RFC 9474, its refusals, and another implementation where there is one."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import gmpy2
import pytest

from election_world import PRIMES
from safemargin.core import InputError
from safemargin.election.blind import BlindKey, BlindSigner, encode_pss

FILE = json.loads((Path(__file__).parent.parent / "vectors" / "rfc9474.json").read_text())
CASES = [*FILE["vectors"], *({**FILE["vectors"][3], **case} for case in FILE["alternates"])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}{' alternate' if 'note' in case else ''}")
def test_vectors(case: dict[str, str]) -> None:
    """Every step of every variant: encoding, blinding, signing, finishing, verifying."""
    value = {name: bytes.fromhex(text) for name, text in case.items() if name not in ("name", "note", "same_sig")}
    signer = BlindSigner(int(case["p"], 16), int(case["q"], 16))
    key = signer.public
    assert key.n == int(case["n"], 16)
    assert value["prepared_msg"] == value["msg_prefix"] + value["msg"]
    assert encode_pss(value["prepared_msg"], key.n.bit_length() - 1, value["salt"]) == value["encoded_msg"]
    inverse = int(case["inv"], 16)
    blinded, found = key.blind(value["prepared_msg"], value["salt"], pow(inverse, -1, key.n))
    assert (blinded, found) == (value["blinded_msg"], inverse)
    answer = signer.sign(blinded)
    assert answer == value["blind_sig"]
    assert key.finish(value["prepared_msg"], answer, inverse, len(value["salt"])) == value["sig"]
    assert key.is_signed(value["prepared_msg"], value["sig"], len(value["salt"]))
    assert not key.is_signed(value["prepared_msg"] + b"x", value["sig"], len(value["salt"]))


@pytest.fixture(scope="module")
def signer() -> BlindSigner:
    return BlindSigner(*PRIMES[0])


def test_numbers_that_are_no_blinded_message_are_refused(signer: BlindSigner) -> None:
    size = signer.public.size
    wrong = [0, 1, signer.public.n, signer.public.n + 5, PRIMES[0][0], 7 * PRIMES[0][1]]
    for value in wrong:
        with pytest.raises(InputError, match="blinded message"):
            signer.sign(value.to_bytes(size + 1, "big")[-size:] if value < 256**size else bytes(size + 1))
    for body in (b"", bytes(size - 1), b"\x02" * (size + 1)):
        with pytest.raises(InputError):
            signer.sign(body)


def test_a_key_certifies_that_signing_is_a_permutation(signer: BlindSigner) -> None:
    key, certificate = signer.public, signer.certificate()
    assert key.is_permutation(certificate)
    changed = bytearray(certificate)
    changed[700] ^= 1
    assert not key.is_permutation(bytes(changed)) and not key.is_permutation(certificate[:-1])
    assert not BlindSigner(*PRIMES[1]).public.is_permutation(certificate)
    # A modulus with a prime that is 1 modulo e: most numbers have no root, so that no certificate exists.
    p, _ = PRIMES[0]
    bad = next(n for n in range(65537 * 2**1008, 65537 * 2**1009, 65537) if gmpy2.is_prime(n + 1)) + 1
    without_root = [pow(BlindKey(p * bad)._challenge(i), (bad - 1) // 65537, bad) != 1 for i in range(8)]
    assert any(without_root), "by Euler's criterion"


def test_a_wrong_answer_is_noticed(signer: BlindSigner) -> None:
    key = signer.public
    blinded, inverse = key.blind(b"a message", bytes(48), 12345)
    answer = bytearray(signer.sign(blinded))
    assert key.finish(b"a message", bytes(answer), inverse)
    answer[9] ^= 1
    with pytest.raises(InputError, match="evidence"):
        key.finish(b"a message", bytes(answer), inverse)
    with pytest.raises(InputError, match="bytes"):
        key.finish(b"a message", bytes(answer[:-1]), inverse)


def test_what_the_signer_sees_says_nothing() -> None:
    """Perfect blindness: for every blinded message and every token there is a factor that joins them."""
    signer = BlindSigner(*PRIMES[1])
    key = signer.public
    blinded, _ = key.blind(b"token A", bytes(48), 987654321)
    other = int.from_bytes(encode_pss(b"token B", key.n.bit_length() - 1, b"\x01" * 48), "big")
    # factor^e = blinded / encoded: the holder of the key can compute it, so both tokens are equally possible.
    ratio = int.from_bytes(blinded, "big") * pow(other, -1, key.n) % key.n
    factor = int.from_bytes(signer.sign(ratio.to_bytes(key.size, "big")), "big")
    assert key.blind(b"token B", b"\x01" * 48, factor)[0] == blinded


NODE = """
import { RSABSSA } from '@cloudflare/blindrsa-ts';
import { createPrivateKey, createPublicKey } from 'node:crypto';
const chunks = []; for await (const c of process.stdin) chunks.push(c);
const given = JSON.parse(Buffer.concat(chunks));
const suite = RSABSSA.SHA384.PSS.Randomized();
const hex = (b) => Buffer.from(b).toString('hex'), bytes = (t) => new Uint8Array(Buffer.from(t, 'hex'));
const algorithm = { name: 'RSA-PSS', hash: 'SHA-384' };
const priv = await crypto.subtle.importKey('pkcs8', bytes(given.pkcs8), algorithm, true, ['sign']);
const pub = await crypto.subtle.importKey('spki', bytes(given.spki), algorithm, true, ['verify']);
const prepared = suite.prepare(bytes(given.message));
const { blindedMsg, inv } = await suite.blind(pub, prepared);
const own = await suite.finalize(pub, prepared, await suite.blindSign(priv, blindedMsg), inv);
console.log(JSON.stringify({
  answer: hex(await suite.blindSign(priv, bytes(given.blinded))),
  valid: await suite.verify(pub, bytes(given.signature), bytes(given.prepared)),
  prepared: hex(prepared), signature: hex(own), blinded: hex(blindedMsg), inv: hex(inv),
}));
"""


def blindrsa_modules() -> Path | None:
    """Where Cloudflare's implementation in TypeScript is installed (npm install --no-save @cloudflare/blindrsa-ts)."""
    if shutil.which("node") is None:
        return None
    root = Path(os.environ.get("NODE_MODULES", "node_modules")).resolve()
    return root if (root / "@cloudflare" / "blindrsa-ts").exists() else None


@pytest.mark.slow
def test_another_implementation_agrees_both_ways(tmp_path: Path) -> None:
    modules = blindrsa_modules()
    if modules is None:
        pytest.skip("npm package @cloudflare/blindrsa-ts is not installed")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    p, q = PRIMES[0]
    d = pow(65537, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(65537, p * q)
    )
    private = numbers.private_key()
    der = serialization.Encoding.DER
    pkcs8 = private.private_bytes(der, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    spki = private.public_key().public_bytes(der, serialization.PublicFormat.SubjectPublicKeyInfo)
    signer = BlindSigner(p, q)
    key: BlindKey = signer.public
    prepared = bytes(32) + b"ours"
    blinded, inverse = key.blind(prepared, b"\x07" * 48, 31337)
    signature = key.finish(prepared, signer.sign(blinded), inverse)
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "peer.mjs").write_text(NODE)
    given = {"pkcs8": pkcs8.hex(), "spki": spki.hex(), "message": b"theirs".hex(), "blinded": blinded.hex()}
    given |= {"signature": signature.hex(), "prepared": prepared.hex()}
    ran = subprocess.run(
        ["node", "peer.mjs"], cwd=tmp_path, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    theirs = json.loads(ran.stdout)
    assert theirs["valid"] is True, "they verify ours"
    assert key.finish(prepared, bytes.fromhex(theirs["answer"]), inverse) == signature, "they sign what we blinded"
    message = bytes.fromhex(theirs["prepared"])
    assert key.is_signed(message, bytes.fromhex(theirs["signature"])), "we verify theirs"
    answer = signer.sign(bytes.fromhex(theirs["blinded"]))
    assert key.finish(message, answer, int(theirs["inv"], 16)).hex() == theirs["signature"], "we sign what they blinded"
