"""Rates of issuing, mixing, collecting and verifying, as shares of the bare cryptographic operations.

    python benchmarks/bench_election.py --voters 10000 --dimensions 5

Roles run in this process with their storage on disk; bare loops do the same operations on the same messages and nothing
else. CPU seconds of this process, so that other programs on the machine matter little. `--keep FOLDER` keeps the board
for `safemargin election verify`.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from safemargin.core import numpy_generator
from safemargin.election.accepting import Collector, Mixer, unpack_batch
from safemargin.election.board import Board
from safemargin.election.conduct import Conductor
from safemargin.election.issuing import Issuer, Registrar
from safemargin.election.keeper import BoardKeeper
from safemargin.election.keys import canonical, parse
from safemargin.election.records import RecordFormat, token_message
from safemargin.election.rehearse import made_up_roll, roll_csv, write_parties
from safemargin.election.role import Role
from safemargin.election.setup import ElectionPlan, parse_plan
from safemargin.election.verify import check_board
from safemargin.election.voter import Wallet

CLASSES: dict[str, type[Role]] = {
    "registrar": Registrar,
    "issuer": Issuer,
    "mixer": Mixer,
    "collector": Collector,
    "board": BoardKeeper,
}


def make_plan(dimensions: int) -> ElectionPlan:
    """Two issuers, two mixers, and dimensions of three categories."""
    parts = "".join(f'[dimensions.d{n}]\ncategories = ["a", "b", "c"]\n' for n in range(1, dimensions))
    roles = [("registrar", "A"), ("issuer-1", "A"), ("issuer-2", "B"), ("mixer-1", "A"), ("mixer-2", "B")]
    roles += [("collector", "C"), ("board", "A"), ("trustee-1", "A"), ("trustee-2", "B")]
    parties = "".join(
        f'{name} = {{ role = "{name.partition("-")[0]}", organisation = "{organisation}" }}\n'
        for name, organisation in roles
    )
    head = 'title = "Bench"\nquestion = "?"\noptions = ["yes", "no"]\nbits = 2048\nspread = 0\nleast = 2\n'
    return parse_plan(f"{head}{parts}[parties]\n{parties}")


def timed(action: Callable[[], object]) -> float:
    """CPU seconds."""
    before = time.process_time()
    action()
    return time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voters", type=int, default=1_000)
    parser.add_argument("--dimensions", type=int, default=5, help="With the total.")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name)
        measure(given.voters, make_plan(given.dimensions), folder)


def measure(voters: int, plan: ElectionPlan, folder: Path) -> None:
    """One election without its ceremony, each stage timed against the bare operations."""
    roll = made_up_roll(plan, voters, numpy_generator(1))
    election, secrets = write_parties(plan, roll, folder / "parties")
    roles = {
        n: CLASSES[p.role](election, secrets[n], folder / "parties" / n)
        for n, p in election.parties.items()
        if p.role in CLASSES
    }

    def ask(party: str, step: str, body: bytes = b"") -> bytes:
        if party.startswith("trustee"):  # they only sign the manifest here
            signature = election.sign(secrets[party].signing, party, "all", "manifest", election.content)
            return canonical({party: signature})
        return roles[party].run(step, body)

    conductor = Conductor(election, ask)
    codes = conductor.begin_with_roll(roll_csv(roll))
    wallets = [Wallet.new(election, row, code) for row, code in codes.items()]
    for wallet, answer in zip(
        wallets, roles["registrar"].step("enrol").handle([w.enrolment() for w in wallets]), strict=True
    ):
        assert isinstance(answer, bytes)
        wallet.take_enrolment(answer)
    conductor.close_enrolment()
    requests = [wallet.request(dimension) for wallet in wallets for dimension in election.dimensions]
    answers: dict[str, list[object]] = {}

    def issue(issuer: str) -> None:
        step = roles[issuer].step("sign")
        answers[issuer] = [
            a for start in range(0, len(requests), 500) for a in step.handle(requests[start : start + 500])
        ]

    issuing = timed(lambda: issue("issuer-1"))
    parsed = [parse(request) for request in requests]
    signers = secrets["issuer-1"].signers
    keys = {w.state["row"]: w.key.public_key() for w in wallets}

    def bare_issue() -> None:
        for request in parsed:
            body = canonical({k: v for k, v in request.items() if k != "signature"})
            keys[request["row"]].verify(bytes.fromhex(request["signature"]), b"GV1 issue" + election.mid + body)
            signers[f"{request['dimension']}/{request['category']}"].sign(bytes.fromhex(request["blinded"]["issuer-1"]))

    report("issuing", len(requests), issuing, timed(bare_issue))
    issue("issuer-2")
    pairs = [(wallet, dimension) for wallet in wallets for dimension in election.dimensions]
    for issuer, given in answers.items():
        for (wallet, dimension), answer in zip(pairs, given, strict=True):
            assert isinstance(answer, bytes), issuer
            wallet.take_answer(dimension, answer)
    active = conductor.close_issuing()
    conductor.open_casting(active)
    for dimension in election.dimensions:
        onions = [wallet.cast(dimension, "yes" if n % 3 else "no", active) for n, wallet in enumerate(wallets)]
        roles["mixer-1"].step(f"post/{dimension}").handle(onions)
    conductor.close_casting()
    count(election.dimensions, conductor, roles, secrets, folder, voters)


def count(
    names: object, conductor: Conductor, roles: dict[str, Role], secrets: object, folder: Path, voters: int
) -> None:
    """Mixing, collecting and verifying."""
    election = conductor.election
    spent = dict.fromkeys(("mixing", "collecting"), 0.0)
    bare = dict.fromkeys(("mixing", "collecting"), 0.0)
    for dimension in election.dimensions:
        onions = [value for _, value in roles["mixer-1"].held(dimension).items()]
        format_ = RecordFormat(election, election.dimension(dimension), Board(folder / "parties/board/board").signers)
        key, info = roles["mixer-1"].secret.sealing, format_.layer_info(0)
        bare["mixing"] += timed(lambda o=onions, k=key, i=info: [k.open(onion, i) for onion in o])
        before = time.process_time()
        first = conductor.ask("mixer-1", "mix", canonical({"dimension": dimension, "size": 0}))
        spent["mixing"] += time.process_time() - before
        batch = conductor.mix(dimension)
        _, items = unpack_batch(batch)
        before = time.process_time()
        entry = conductor.ask("collector", "accept", batch)
        spent["collecting"] += time.process_time() - before
        bare["collecting"] += timed(lambda f=format_, r=items: check_bare(f, r))
        conductor.post(entry)
        published = conductor.ask("collector", "records", canonical({"dimension": dimension}))
        conductor._put("records", dimension, published)
        del first
    conductor.post(conductor.ask("collector", "total", b""))
    conductor.witness()
    records = voters * len(election.dimensions)
    for stage in spent:
        report(stage, records, spent[stage], bare[stage])
    board = Board(folder / "parties/board/board")
    started = time.monotonic()
    verifying = timed(lambda: _assert_clean(board))
    wall = time.monotonic() - started
    report("verifying", records, verifying, bare["collecting"])
    print(json.dumps({"board": str(board.folder), "records": records, "verify_wall_seconds": round(wall, 1)}))


def check_bare(format_: RecordFormat, items: list[bytes]) -> None:
    """Two RSA verifications and one of Ed25519 per record."""
    for item in items:
        record = format_.read(item)
        assert record is not None
        message = token_message(format_.context, record.key)
        for key, (prefix, signature) in zip(format_.token_keys(record.category), record.signatures, strict=True):
            assert key.is_signed(prefix + message, signature)
        Ed25519PublicKey.from_public_bytes(record.key).verify(item[-64:], item[:-64])


def _assert_clean(board: Board) -> None:
    findings = check_board(board, processes=1).findings
    assert findings == [], findings


def report(stage: str, number: int, spent: float, bare: float) -> None:
    """One line of figures."""
    print(
        f"{stage:10} {number:9,} {number / spent:9,.0f} per CPU s, bare {number / bare:9,.0f}: {bare / spent:.0%}",
        flush=True,
    )


if __name__ == "__main__":
    main()
