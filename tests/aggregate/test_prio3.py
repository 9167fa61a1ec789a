"""Prio3 against the published vectors, good and bad, against another implementation, and from its definitions."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from safemargin.aggregate.prio3.circuit import (
    Circuit,
    CountCircuit,
    Histogram,
    MultihotCountVec,
    Polynomial,
    SumCircuit,
    SumVec,
    Wires,
)
from safemargin.aggregate.prio3.field import Field, Field64, Field128, Nodes
from safemargin.aggregate.prio3.proof import ValidityProofs
from safemargin.aggregate.prio3.scheme import OLD, Held, InvalidReport, Prio3

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "prio3.json").read_text(encoding="utf-8")
)["vectors"]


class HigherDegree(Circuit):
    """0, 1 or 2, by a gadget of degree 3: a circuit of the vectors only."""

    def __init__(self) -> None:
        self.field, self.calls, self.elements, self.outputs = Field64, 1, 1, 1
        self.gadget = Polynomial((0, 2, -3, 1))

    def encode(self, measurement: Sequence[int]) -> list[int]:
        return list(measurement)

    def wires(self, elements: Sequence[int], joint: Sequence[int], share: int) -> Wires:
        return [list(elements)]

    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        return list(answers)


def scheme_of(name: str, vector: dict[str, Any]) -> Prio3:
    kind = name.split("_")[0].removeprefix("Prio3")
    context, shares = bytes.fromhex(vector["ctx"]), vector["shares"]

    def size(*names: str) -> list[int]:
        return [vector[each] for each in names]

    if kind == "SumVecWithMultiproof":
        circuit = SumVec(*size("length", "max_measurement", "chunk_length"), field=Field64)
        return Prio3(circuit, shares=shares, proofs=3, context=context, identifier=0xFFFFFFFF)
    if kind == "HigherDegree":
        return Prio3(HigherDegree(), shares=shares, context=context, identifier=0xFFFFFFFF)
    makers: dict[str, Callable[[], Circuit]] = {
        "Count": CountCircuit,
        "Sum": lambda: SumCircuit(*size("max_measurement")),
        "SumVec": lambda: SumVec(*size("length", "max_measurement", "chunk_length")),
        "Histogram": lambda: Histogram(*size("length", "chunk_length")),
        "MultihotCountVec": lambda: MultihotCountVec(*size("length", "max_weight", "chunk_length")),
    }
    return Prio3(makers[kind](), shares=shares, context=context)


def listed(value: Any) -> list[int]:
    return [int(each) for each in value] if isinstance(value, list) else [int(value)]


class Replay:
    """All operations of a vector, one after another, each with the outcome that it states."""

    def __init__(self, name: str) -> None:
        self.vector = VECTORS[name]
        self.scheme = scheme_of(name, self.vector)
        self.held: dict[tuple[int, int], Held] = {}
        self.outputs: dict[int, list[list[int]]] = {}

    def run(self) -> None:
        for step in self.vector["operations"]:
            act = getattr(self, step["operation"])
            if step["success"]:
                act(step)
            else:
                with pytest.raises(InvalidReport):
                    act(step)

    def report(self, step: dict[str, Any]) -> dict[str, Any]:
        report: dict[str, Any] = self.vector["reports"][step["report_index"]]
        return report

    def shard(self, step: dict[str, Any]) -> None:
        report = self.report(step)
        public, shares = self.scheme.shard(
            listed(report["measurement"]), bytes.fromhex(report["nonce"]), bytes.fromhex(report["rand"])
        )
        assert public.hex() == report["public_share"]
        assert [share.hex() for share in shares] == report["input_shares"]
        assert [len(share) for share in shares] == [
            self.scheme.share_bytes[min(place, 1)] for place in range(self.scheme.shares)
        ]

    def verify_init(self, step: dict[str, Any]) -> None:
        report, place = self.report(step), step["aggregator_id"]
        held = self.scheme.verify_init(
            bytes.fromhex(self.vector["verify_key"]),
            place,
            bytes.fromhex(report["nonce"]),
            bytes.fromhex(report["public_share"]),
            bytes.fromhex(report["input_shares"][place]),
        )
        self.held[step["report_index"], place] = held
        if report["verifier_shares"] and place < len(report["verifier_shares"][0]):
            assert held.verifier.hex() == report["verifier_shares"][0][place]

    def verifier_shares_to_message(self, step: dict[str, Any]) -> None:
        report = self.report(step)
        message = self.scheme.combine([bytes.fromhex(share) for share in report["verifier_shares"][0]])
        assert message.hex() == report["verifier_messages"][0]

    def verify_next(self, step: dict[str, Any]) -> None:
        report, place = self.report(step), step["aggregator_id"]
        message = bytes.fromhex(report["verifier_messages"][0])
        output = self.scheme.verify_next(self.held[step["report_index"], place], message)
        assert self.scheme.field.encode(output).hex() == "".join(report["out_shares"][place])
        self.outputs.setdefault(place, []).append(output)

    def aggregate(self, step: dict[str, Any]) -> None:
        place = step["aggregator_id"]
        total = self.scheme.unshard(self.outputs[place])
        assert self.scheme.field.encode(total).hex() == self.vector["agg_shares"][place]

    def unshard(self, step: dict[str, Any]) -> None:
        shares = [self.scheme.field.decode(bytes.fromhex(share)) for share in self.vector["agg_shares"]]
        assert self.scheme.unshard(shares) == listed(self.vector["agg_result"])


@pytest.mark.parametrize("name", [name for name in VECTORS if name.startswith("Prio3")])
def test_published_vector(name: str) -> None:
    Replay(name).run()


def test_published_randomness() -> None:
    vector = VECTORS["XofTurboShake128"]
    seed, domain, binder = (bytes.fromhex(vector[each]) for each in ("seed", "dst", "binder"))
    scheme = Prio3.histogram(4)
    scheme._domains[1] = len(domain).to_bytes(2, "little") + domain + bytes([len(seed)])
    assert scheme._stream(seed, 1, binder, 32).hex() == vector["derived_seed"]
    expanded = scheme._vector(seed, 1, binder, vector["length"])
    assert scheme.field.encode(expanded).hex() == vector["expanded_vec_field128"]


def run(scheme: Prio3, elements: Sequence[int], random: np.random.Generator) -> list[int]:
    """Both aggregators of one report from its elements; what they add up, or the refusal."""
    nonce, key = random.bytes(16), random.bytes(scheme.draft.seed)
    public, shares = scheme.shard_elements(elements, nonce, random.bytes(scheme.random_bytes))
    held = [scheme.verify_init(key, place, nonce, public, share) for place, share in enumerate(shares)]
    message = scheme.combine([each.verifier for each in held])
    return scheme.unshard([scheme.verify_next(each, message) for each in held])


KINDS: dict[str, tuple[Prio3, Callable[[Sequence[int]], bool]]] = {
    "count": (Prio3.count(), lambda e: e[0] in (0, 1)),
    "sum": (Prio3.sum(5), lambda e: set(e) <= {0, 1}),
    "sum of draft 08": (Prio3.sum(7, draft=OLD), lambda e: set(e) <= {0, 1}),
    "vector": (Prio3.sum_vec(2, 2, 3), lambda e: set(e) <= {0, 1}),
    "three aggregators": (Prio3.sum_vec(3, 1, shares=3), lambda e: set(e) <= {0, 1}),
    "one of three": (Prio3.histogram(3, 2), lambda e: sorted(e) == [0, 0, 1]),
    "one of three, draft 08": (Prio3.histogram(3, 2, draft=OLD), lambda e: sorted(e) == [0, 0, 1]),
    "up to two of three": (
        Prio3.multihot(3, 2),
        lambda e: set(e) <= {0, 1} and sum(e[:3]) == e[3] + e[4],  # the digits of 2 have the weights 1 and 1
    ),
    "weighted": (Prio3.weighted([5, -3], 1), lambda e: set(e) <= {0, 1}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_the_valid_elements_are_accepted(kind: str) -> None:
    """All vectors over a few elements of the field, valid and not, honestly proved: the circuit decides alone."""
    scheme, is_valid = KINDS[kind]
    random = np.random.default_rng(5)
    modulus, length = scheme.field.modulus, scheme.circuit.elements
    tried = [0, 1, 2, modulus - 1] if length < 4 else [0, 1, modulus - 1]
    for elements in product(tried, repeat=length):
        if is_valid(elements):
            assert run(scheme, elements, random) == scheme.circuit.truncate(elements)
        else:
            with pytest.raises(InvalidReport, match="proof of validity"):
                run(scheme, elements, random)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_sums_are_exact(data: st.DataObject) -> None:
    length, largest = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 300))
    scheme = Prio3.sum_vec(length, largest, data.draw(st.integers(1, length * 9)))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = [[int(random.integers(0, largest + 1)) for _ in range(length)] for _ in range(3)]
    outputs = [run(scheme, scheme.circuit.encode(row), random) for row in rows]
    assert scheme.unshard(outputs) == [sum(column) for column in zip(*rows, strict=True)]


def test_one_statistic_is_opened() -> None:
    scheme = Prio3.weighted([3, 5, -2], 4)
    total = run(scheme, scheme.circuit.encode([4, 0, 1]), np.random.default_rng(1))
    assert total == [10]
    assert scheme.circuit.outputs == 1


def test_every_changed_byte_is_refused() -> None:
    """A flipped bit anywhere in shares, nonce or public share: the report is refused, except where it is the sum."""
    scheme = Prio3.histogram(5, 2)
    random = np.random.default_rng(7)
    nonce, key = random.bytes(16), random.bytes(32)
    public, shares = scheme.shard([3], nonce, random.bytes(scheme.random_bytes))
    whole = [nonce, public, *shares]
    for part, body in enumerate(whole):
        for place in range(0, len(body), 7):
            changed = list(whole)
            changed[part] = body[:place] + bytes([body[place] ^ 1 << place % 8]) + body[place + 1 :]
            with pytest.raises(InvalidReport):
                held = [scheme.verify_init(key, p, changed[0], changed[1], changed[2 + p]) for p in (0, 1)]
                message = scheme.combine([each.verifier for each in held])
                for each in held:
                    scheme.verify_next(each, message)


def test_two_aggregators_with_other_nonces_refuse() -> None:
    scheme = Prio3.sum_vec(4, 1)
    random = np.random.default_rng(8)
    public, shares = scheme.shard([1, 0, 1, 1], bytes(16), random.bytes(scheme.random_bytes))
    held = [scheme.verify_init(bytes(32), place, bytes([place] * 16), public, shares[place]) for place in (0, 1)]
    with pytest.raises(InvalidReport):
        scheme.combine([each.verifier for each in held])


TINY = Field(97, 1, 5, 32)


def test_words_beyond_the_modulus_are_skipped() -> None:
    """Of a field of 97, 7 bits of a byte are kept and 31 of 128 words are skipped: all elements are as likely."""
    scheme = Prio3(SumVec(4, 1, field=TINY))
    drawn = np.array(scheme._vector(bytes(32), 1, b"", 20_000))
    assert drawn.min() == 0 and drawn.max() == 96
    expected = 20_000 / 97
    chi = float(((np.bincount(drawn, minlength=97) - expected) ** 2 / expected).sum())
    assert chi < 180  # 96 degrees of freedom: above 180 fewer than once in a million; the stream is fixed anyway


def test_false_proofs_pass_as_rarely_as_the_theorem_says() -> None:
    """Count over 97 elements with every proof for the measurement 2: over all random points, few pass."""
    circuit = CountCircuit()
    circuit.field = TINY
    flp = ValidityProofs(circuit)
    points = [t for t in range(97) if pow(t, flp.wire, 97) != 1]
    best = 0
    for seeds in ((0, 0), (3, 8)):
        for values in product(range(0, 97, 16), range(0, 97, 4)):
            # The circuit's output must be 0, so the gadget's answer to the call (the last value) is 2, not 4.
            proof = [*seeds, *values, 2]
            passed = sum(flp.decide(flp.query([2], proof, [t], [], 1)) for t in points)
            best = max(best, passed)
    assert 0 < best <= circuit.gadget.degree * (flp.wire - 1)


def test_shares_say_nothing_about_the_measurement() -> None:
    """What one aggregator holds and sees has the same law whatever the bit is: here all of it, over a field of 5."""
    field = Field(5, 1, 2, 4)
    circuit = CountCircuit()
    circuit.field = field
    flp = ValidityProofs(circuit)
    point = 3  # a root of unity of order 4, but not of order 2: allowed
    laws = []
    for bit in (0, 1):
        seen: dict[tuple[int, ...], int] = {}
        for seeds in product(range(5), repeat=2):
            proof = flp.prove([bit], seeds, [])
            verifier = flp.query([bit], proof, [point], [], 1)
            # Wires at the point are uniform by the seeds; the rest of the verifier follows from them.
            seen[tuple(verifier)] = seen.get(tuple(verifier), 0) + 1
        laws.append(seen)
    assert laws[0] == laws[1]
    assert len(laws[0]) == 25


def test_polynomials_by_brute_force() -> None:
    random = np.random.default_rng(3)
    for field, order, count in ((TINY, 8, 5), (TINY, 16, 16), (Field128, 8, 7)):
        coefficients = [int(each) for each in random.integers(0, 97, size=count)]
        known = Nodes(field, order, count)
        values = [sum(c * x**p for p, c in enumerate(coefficients)) % field.modulus for x in known.points]
        for at in (0, 2, 50, known.points[1], field.roots(order)[-1]):
            value = sum(a * b for a, b in zip(known.coefficients(at), values, strict=True)) % field.modulus
            assert value == sum(c * at**p for p, c in enumerate(coefficients)) % field.modulus


def test_wrong_use_is_refused() -> None:
    for wrong in (
        lambda: Prio3.sum_vec(0, 1),
        lambda: Prio3.sum_vec(3, 0),
        lambda: Prio3.sum(0),
        lambda: Prio3.multihot(3, 4),
        lambda: Prio3.sum(6, draft=OLD),
        lambda: Prio3.count(shares=1),
        lambda: Prio3.histogram(4).circuit.encode([4]),
        lambda: Prio3.multihot(4, 2).circuit.encode([1, 1, 1, 0]),
        lambda: Prio3.sum_vec(2, 3).circuit.encode([1]),
        lambda: Prio3.count().shard([1], b"", b""),
        lambda: Field64.decode(b"\xff" * 8),
        lambda: Field64.decode(b"\0" * 7),
    ):
        with pytest.raises(ValueError):
            wrong()
    scheme, random = Prio3.histogram(4), np.random.default_rng(1)
    public, shares = scheme.shard([1], bytes(16), random.bytes(scheme.random_bytes))
    for public_share, share in ((public[:-1], shares[0]), (public, shares[0][:-1]), (public, b"\xff" * len(shares[0]))):
        with pytest.raises(InvalidReport):
            scheme.verify_init(bytes(32), 0, bytes(16), public_share, share)
    with pytest.raises(InvalidReport):
        scheme.combine([b""])


NODE = """
import { Prio3Count, Prio3Sum, Prio3SumVec, Prio3Histogram } from '@divviup/prio3';
const chunks = []; for await (const c of process.stdin) chunks.push(c);
const given = JSON.parse(Buffer.concat(chunks));
const hex = (t) => Buffer.from(t, 'hex');
const kinds = { count: () => new Prio3Count({ shares: 2 }), sum: () => new Prio3Sum({ shares: 2, bits: 8 }),
  vector: () => new Prio3SumVec({ shares: 2, length: 7, bits: 3, chunkLength: 4 }),
  histogram: () => new Prio3Histogram({ shares: 2, length: 10, chunkLength: 3 }) };
const out = {};
for (const [kind, report] of Object.entries(given)) {
  const vdaf = kinds[kind](), nonce = hex(report.nonce), rand = hex(report.rand), key = hex(report.key);
  const sharded = await vdaf.shardEncoded(report.measurement, nonce, rand);
  // Their verification of our shares: what they hold is what our bytes say.
  const theirs = await vdaf.shard(report.measurement, nonce, rand);
  const field = vdaf.flp.field, size = field.encodedSize, whole = hex(report.shares[0]);
  const elements = vdaf.flp.measurementLen * size, proofs = elements + vdaf.flp.proofLen * size;
  const leader = { measurementShare: field.decode(whole.subarray(0, elements)),
    proofsShare: field.decode(whole.subarray(elements, proofs)), blind: whole.subarray(proofs) };
  const cut = (b) => b.length ? [b.subarray(0, 16), ...cut(b.subarray(16))] : [];
  const parts = (text) => cut(hex(text));
  const prepared = [];
  for (const [place, share] of [leader, theirs.inputShares[1]].entries())
    prepared.push(await vdaf.prepareInit(key, place, null, nonce, { jointRandParts: parts(report.public) }, share));
  let accepted = true;
  try {
    const message = await vdaf.unshardPreparationShares(null, prepared.map((p) => p.preparationShare));
    prepared.forEach((p) => vdaf.prepareNext(p.preparationState, message));
  } catch { accepted = false; }
  out[kind] = { public: sharded.publicShare.toString('hex'), shares: sharded.inputShares.map((s) => s.toString('hex')),
    verifiers: prepared.map((p) => vdaf.encodePreparationShare(p.preparationShare).toString('hex')), accepted };
}
console.log(JSON.stringify(out));
"""


def prio3_modules() -> Path | None:
    """Where another implementation, in TypeScript, is installed (npm install --no-save @divviup/prio3)."""
    if shutil.which("node") is None:
        return None
    root = Path(os.environ.get("NODE_MODULES", "node_modules")).resolve()
    return root if (root / "@divviup" / "prio3").exists() else None


@pytest.mark.slow
@pytest.mark.parametrize("spoiled", [False, True])
def test_another_implementation_agrees_both_ways(spoiled: bool, tmp_path: Path) -> None:
    """Draft 08: their shares are ours byte for byte, they verify ours, we verify theirs, both refuse the same."""
    modules = prio3_modules()
    if modules is None:
        pytest.skip("npm package @divviup/prio3 is not installed")
    random = np.random.default_rng(9)
    kinds: dict[str, tuple[Prio3, Any, list[int]]] = {
        "count": (Prio3.count(draft=OLD), True, [1]),
        "sum": (Prio3.sum(255, draft=OLD), 201, [201]),
        "vector": (Prio3.sum_vec(7, 7, 4, draft=OLD), [7, 0, 3, 1, 6, 2, 5], [7, 0, 3, 1, 6, 2, 5]),
        "histogram": (Prio3.histogram(10, 3, draft=OLD), 6, [6]),
    }
    asked: dict[str, Any] = {}
    made: dict[str, tuple[bytes, list[bytes]]] = {}
    for kind, (scheme, theirs, ours) in kinds.items():
        nonce, rand, key = random.bytes(16), random.bytes(scheme.random_bytes), random.bytes(16)
        made[kind] = scheme.shard(ours, nonce, rand)
        public, shares = made[kind]
        sent = bytes([shares[0][0] ^ 1]) + shares[0][1:] if spoiled else shares[0]
        asked[kind] = {"measurement": theirs, "nonce": nonce.hex(), "rand": rand.hex(), "key": key.hex()}
        asked[kind] |= {"public": public.hex(), "shares": [sent.hex(), shares[1].hex()]}
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "peer.mjs").write_text(NODE)
    ran = subprocess.run(
        ["node", "peer.mjs"], cwd=tmp_path, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    for kind, answer in json.loads(ran.stdout).items():
        scheme, report = kinds[kind][0], asked[kind]
        public, shares = made[kind]
        assert answer["public"] == public.hex()
        assert answer["shares"] == [share.hex() for share in shares]
        assert answer["accepted"] is not spoiled
        held = [
            scheme.verify_init(
                bytes.fromhex(report["key"]), place, bytes.fromhex(report["nonce"]), public, bytes.fromhex(share)
            )
            for place, share in enumerate(report["shares"])
        ]
        assert [each.verifier.hex() for each in held] == answer["verifiers"]
        if spoiled:
            with pytest.raises(InvalidReport):
                scheme.combine([each.verifier for each in held])
        else:
            scheme.combine([each.verifier for each in held])
