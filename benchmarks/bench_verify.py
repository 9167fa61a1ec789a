"""Verify a board of very many records: rate and memory of `safemargin election verify`.

    python benchmarks/bench_verify.py --records 1000000 --keep FOLDER

The board is made here, quickly: issuing keys have many small primes, with which a signature costs a twentieth of one by
a real key. Verifying them costs what it always does, since a verifier sees the modulus alone. Sealed answers are random
bytes, which nobody opens.
"""

import argparse
import hashlib
import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import gmpy2
from bench_election import make_plan
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.election.blind import EXPONENT, ROOTS, SALT, BlindKey, encode_pss
from safemargin.election.board import Board, make_entry, sign_head
from safemargin.election.keys import new_seed
from safemargin.election.manifest import TOTAL, KnownElection
from safemargin.election.merkle import leaf_hash, root_of
from safemargin.election.records import ANSWER, Record, RecordFormat, token_message
from safemargin.election.secret import Secret
from safemargin.election.setup import make_manifest, public_keys
from safemargin.io import write_whole

PRIMES, BITS = 32, 2048
BLOCK = 10_000


class QuickSigner:
    """Signs with the Chinese remainder theorem over many small primes; worthless as a key, and fast."""

    def __init__(self, primes: list[int]) -> None:
        self.n = gmpy2.mpz(1)
        for prime in primes:
            self.n *= prime
        self.parts = []
        for prime in primes:
            rest = self.n // prime
            self.parts.append((prime, gmpy2.invert(EXPONENT, prime - 1), rest * gmpy2.invert(rest, prime)))

    def sign(self, message: bytes) -> bytes:
        """A PSS signature."""
        return self.root(int.from_bytes(encode_pss(message, BITS - 1, secrets.token_bytes(SALT)), "big"))

    def root(self, value: int) -> bytes:
        """The raw RSA step."""
        signed = sum(gmpy2.powmod(value, d, prime) * weight for prime, d, weight in self.parts) % self.n
        return int(signed).to_bytes(BITS // 8, "big")

    def certificate(self) -> str:
        """The certificate of the key."""
        key = BlindKey(int(self.n))
        return b"".join(self.root(key._challenge(number)) for number in range(ROOTS)).hex()


def small_primes() -> list[int]:
    """Primes whose product has exactly the bits of a key: the six highest bits of each are set."""
    width = BITS // PRIMES
    while True:
        drawn = [int(gmpy2.next_prime(secrets.randbits(width) | 63 << width - 6)) for _ in range(PRIMES)]
        if all((prime - 1) % EXPONENT and prime.bit_length() == width for prime in drawn):
            return drawn


def make_block(content: bytes, name: str, primes: dict[str, list[list[int]]], count: int) -> list[bytes]:
    """Records of one dimension, each under a token of its own."""
    election = KnownElection.parse(content)
    format_ = RecordFormat(election, election.dimension(name), ("issuer-1", "issuer-2"))
    signers = {label: [QuickSigner(each) for each in pair] for label, pair in primes.items()}
    records = []
    for number in range(count):
        category = number % len(format_.categories)
        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes_raw()
        message = token_message(format_.context, public)
        prefixes = [secrets.token_bytes(32) for _ in range(2)]
        own = signers[f"{name}/{format_.categories[category]}"]
        signatures = tuple(
            (prefix, signer.sign(prefix + message)) for prefix, signer in zip(prefixes, own, strict=True)
        )
        sealed = ANSWER.pack(category, number % 2) if format_.dimension.is_open else os.urandom(format_.payload)
        records.append(format_.write(Record(category, public, bytes(32), signatures, sealed), key))
    return records


def make_board(count: int, folder: Path) -> None:
    """A board with so many records, half in the total and half in another dimension; before its ceremony."""
    plan = make_plan(2)
    labels = plan.key_names()
    primes = {label: [small_primes() for _ in range(2)] for label in labels}
    parties: dict[str, Secret] = {}
    for name in plan.parties:
        own = {}
        if name.startswith("issuer"):
            for label in labels:
                p = q = 1
                for index, prime in enumerate(primes[label][int(name[-1]) - 1]):
                    p, q = (p * prime, q) if index % 2 else (p, q * prime)
                own[label] = (p, q)
        parties[name] = Secret(name, new_seed(), own)
    people = count // 2
    categories = plan.dimensions["d1"].categories
    rows = {str(number): {"d1": categories[number % len(categories)]} for number in range(people)}
    handed_in = []
    for name, secret in parties.items():
        certificates = {label: QuickSigner(primes[label][int(name[-1]) - 1]).certificate() for label in secret.primes}
        handed_in.append(public_keys(secret, certificates or None))
    election = make_manifest(plan, rows, handed_in)
    board = Board(folder, election, parties["board"])

    def post(author: str, type_: str, body: dict[str, object]) -> None:
        board.append(make_entry(election, parties[author], type_, body).content)

    signatures = {
        name: election.sign(secret.signing, name, "all", "manifest", election.content)
        for name, secret in parties.items()
    }
    post("board", "manifest", {"manifest": election.mid.hex(), "signatures": signatures})
    post("registrar", "roll", {"enrolled": people, "root": "00" * 32})
    sizes = {TOTAL: {"everybody": people}, "d1": dict(Counter(row["d1"] for row in rows.values()))}
    for issuer in ("issuer-1", "issuer-2"):
        post(issuer, "issued", {"counts": sizes, "root": "00" * 32})
    post("collector", "casting", {"signers": ["issuer-1", "issuer-2"]})
    post("collector", "closed", {})
    options: Counter[str] = Counter()
    for name in election.dimensions:
        # Blocks begin with the first category, so that their lengths must be multiples of the number of categories.
        step = BLOCK // len(categories) * len(categories)
        lengths = [min(step, people - start) for start in range(0, people, step)]
        with ProcessPoolExecutor() as pool:
            own = {label: pair for label, pair in primes.items() if label.startswith(f"{name}/")}
            tasks = [pool.submit(make_block, election.content, name, own, length) for length in lengths]
            records = sorted(record for task in tasks for record in task.result())
        publish(board, post, name, records)
        if name == TOTAL:
            format_ = RecordFormat(election, election.dimension(name), ("issuer-1", "issuer-2"))
            options.update(str(format_.option(record)) for record in records)
    post("collector", "total", {"counts": dict(options)})
    head = board.head()
    for issuer in ("issuer-1", "issuer-2"):
        board.add_witness(issuer, sign_head(election, parties[issuer].signing, issuer, head))


def publish(board: Board, post: object, name: str, records: list[bytes]) -> None:
    """The files and statements of one dimension."""
    assert callable(post)
    leaves = [leaf_hash(record) for record in records]
    passed = sorted(leaves)
    mixed = {
        "in_root": "00" * 32,
        "in_count": len(records),
        "out_root": root_of(passed).hex(),
        "out_count": len(records),
    }
    post("mixer-1", "mix", {"dimension": name, **mixed})
    post("mixer-2", "mix", {"dimension": name, **mixed, "in_root": mixed["out_root"]})
    for mixer in ("mixer-1", "mixer-2"):
        write_whole(board.folder / "mixes" / f"{mixer}-{name}", b"".join(passed))
    (board.folder / "records").mkdir(exist_ok=True)
    content_hash = hashlib.sha256()
    with (board.folder / "records" / name).open("wb") as file:
        for record in records:
            file.write(record)
            content_hash.update(record)
    body = {
        "dimension": name,
        "accepted": len(records),
        "root": root_of(leaves).hex(),
        "sha256": content_hash.hexdigest(),
    }
    post("collector", "batch", {**body, "rejected": {}, "doubles": [], "opened": True})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--processes", default="1")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name) / "board"
        if not folder.exists():
            make_board(given.records, folder)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        command = [sys.executable, "-m", "safemargin", "election", "verify", str(folder), "--json"]
        ran = subprocess.run([*command, "--processes", given.processes], stdout=subprocess.PIPE, check=False)
        seconds = time.monotonic() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        found = json.loads(ran.stdout)
        figures = {
            **{key: found[key] for key in ("verified", "records", "findings")},
            "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
            "cpu_seconds": round(spent, 1),
            "records_per_cpu_second": round(found["records"] / spent),
            "wall_seconds": round(seconds, 1),
            # Kilobytes of the largest of all child processes so far; with --keep of a board that is there: of verify.
            "peak_megabytes": round(after.ru_maxrss / 1024),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
