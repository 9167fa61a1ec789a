"""Every failure that the protocol must survive or catch, as a test of its own."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from election_world import SMALL, World
from safemargin.core import InputError
from safemargin.election.accepting import Mixer, pack_batch, unpack_batch
from safemargin.election.board import Board, make_entry
from safemargin.election.client import fetch_tokens, send
from safemargin.election.issuing import Issuer
from safemargin.election.keys import canonical, seal, sealing_public
from safemargin.election.manifest import KnownElection
from safemargin.election.records import Record, RecordFormat
from safemargin.election.role import ConflictError
from safemargin.election.verify import check_board
from safemargin.election.voter import Wallet


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Six people, enrolled; issuing has begun."""
    return World(tmp_path).until_enrolled()


def request_of(wallet: Wallet, name: str = "age", **changes: Any) -> bytes:
    """A request of this person with some fields changed, signed as it is then."""
    request = {**json.loads(wallet.request(name)), **changes}
    request.pop("signature")
    signature = wallet.key.sign(b"GV1 issue" + wallet.election.mid + canonical(request))
    return canonical({**request, "signature": signature.hex()})


def only_issue(world: World, rows: list[str], names: list[str] | None = None) -> None:
    """Tokens for some people, without closing."""
    for row in rows:
        for name in names or world.election.dimensions:
            for issuer in ("issuer-1", "issuer-2", "issuer-3"):
                answer = world.ask(issuer, "sign", world.wallets[row].request(name))
                world.wallets[row].take_answer(name, answer)


# --- issuing


def test_numbers_beyond_the_key_or_with_a_divisor_are_refused(world: World) -> None:
    wallet = world.wallets["row 000"]
    blinded = json.loads(wallet.request("age"))["blinded"]
    key = world.election.blind_keys["age", "issuer-1", "old"]
    p, _ = world.secrets["issuer-1"].primes["age/old"]
    for value in (key.n, key.n + 1, 256**key.size - 1, p, 0, 1):
        bad = {**blinded, "issuer-1": value.to_bytes(key.size, "big").hex()}
        with pytest.raises(InputError, match="blinded message"):
            world.ask("issuer-1", "sign", request_of(wallet, blinded=bad))
    assert len(list(world.role("issuer-1").store("issuance").items())) == 0


def test_a_second_request_of_one_person_is_refused_and_kept_as_evidence(world: World) -> None:
    wallet = world.wallets["row 000"]
    first = wallet.request("age")
    answer = world.ask("issuer-1", "sign", first)
    assert world.ask("issuer-1", "sign", first) == answer, "the same request again gets the same answer"
    blinded = json.loads(wallet.request("total"))["blinded"]
    second = request_of(wallet, blinded=blinded)
    with pytest.raises(ConflictError):
        world.ask("issuer-1", "sign", second)
    assert [value for _, value in world.role("issuer-1").store("refused").items()] == [second]


def test_two_requests_of_one_person_in_one_batch_give_one_token(world: World) -> None:
    wallet = world.wallets["row 000"]
    blinded = json.loads(wallet.request("total"))["blinded"]
    answers = world.role("issuer-1").sign([wallet.request("age"), request_of(wallet, blinded=blinded)])
    assert isinstance(answers[0], bytes) and isinstance(answers[1], ConflictError)


def test_only_enrolled_people_get_tokens_and_only_of_their_category(world: World) -> None:
    wallet, other = world.wallets["row 000"], world.wallets["row 001"]
    with pytest.raises(InputError, match="not signed by an enrolled person"):
        world.ask("issuer-1", "sign", request_of(wallet, row="row 001"))
    with pytest.raises(InputError, match="not signed by an enrolled person"):
        world.ask("issuer-1", "sign", request_of(wallet, row="row 999"))
    for category in ("young", "*", "everybody"):
        with pytest.raises(InputError, match="does not attest"):
            world.ask("issuer-1", "sign", request_of(wallet, category=category))
    replayed = json.loads(other.request("age"))
    with pytest.raises(InputError):
        world.ask("issuer-1", "sign", canonical({**replayed, "dimension": "total"}))
    blinded = json.loads(wallet.request("age"))["blinded"]
    with pytest.raises(InputError, match="every issuer"):
        world.ask("issuer-1", "sign", request_of(wallet, blinded={"issuer-1": blinded["issuer-1"]}))


def test_enrolment_needs_the_code_and_takes_one_key(world: World, tmp_path: Path) -> None:
    fresh = World(tmp_path / "fresh")
    wallet = fresh.wallets["row 000"]
    wrong = json.loads(wallet.enrolment()) | {"code": world.role("registrar").code("row 001")}
    with pytest.raises(InputError, match="do not belong together"):
        fresh.ask("registrar", "enrol", canonical(wrong))
    receipt = fresh.ask("registrar", "enrol", wallet.enrolment())
    assert fresh.ask("registrar", "enrol", wallet.enrolment()) == receipt
    second = Wallet.new(fresh.election, "row 000", wallet.state["code"])
    with pytest.raises(ConflictError, match="another key"):
        fresh.ask("registrar", "enrol", second.enrolment())
    fresh.ask("registrar", "close", b"")
    with pytest.raises(InputError, match="closed"):
        fresh.ask("registrar", "enrol", fresh.wallets["row 001"].enrolment())
    assert fresh.ask("registrar", "enrol", wallet.enrolment()) == receipt


def test_a_person_finds_their_key_in_the_register(world: World) -> None:
    wallet = world.wallets["row 003"]
    answer = world.ask("registrar", "path", canonical({"row": "row 003", "salt": wallet.state["salt"]}))
    roll = world.board.of("roll")[0].body
    assert wallet.check_enrolment(answer, roll)
    assert not world.wallets["row 002"].check_enrolment(answer, roll)
    with pytest.raises(InputError):
        world.ask("registrar", "path", canonical({"row": "row 003", "salt": "00" * 32}))


class LyingIssuer(Issuer):
    """Answers with another number than the signature."""

    def sign(self, bodies: Any) -> Any:
        answers = [json.loads(answer) for answer in super().sign(bodies)]
        for answer in answers:
            answer["answer"] = f"{int(answer['answer'], 16) ^ 1:0{len(answer['answer'])}x}"
        return [canonical(answer) for answer in answers]


def test_a_wrong_answer_of_an_issuer_is_noticed_at_once(tmp_path: Path) -> None:
    world = World(tmp_path, classes={"issuer-1": LyingIssuer}).until_enrolled()
    wallet = world.wallets["row 000"]
    with pytest.raises(InputError, match="keep it as evidence"):
        wallet.take_answer("age", world.ask("issuer-1", "sign", wallet.request("age")))
    faults = fetch_tokens(wallet, world.ask)
    assert list(faults) == ["issuer-1"] and wallet.has_token("age", ("issuer-2", "issuer-3"))


def test_a_silent_issuer_is_replaced_without_the_people(world: World) -> None:
    """One issuer is away from the start, another misses some people: it signs what they lodged with the third."""
    asked = world.ask
    away = {"issuer-1"}

    def ask(party: str, step: str, body: bytes = b"") -> bytes:
        if party in away:
            raise InputError(f"{party}: does not answer")
        return asked(party, step, body)

    world.ask = world.conductor.ask = ask
    rows = list(world.wallets)
    away.add("issuer-2")
    for row in rows[:2]:
        assert set(fetch_tokens(world.wallets[row], ask)) == {"issuer-1", "issuer-2"}
    away.discard("issuer-2")
    for row in rows[2:]:
        fetch_tokens(world.wallets[row], ask)
    signers = world.conductor.close_issuing()
    assert signers == ("issuer-2", "issuer-3")
    world.conductor.open_casting(signers)
    for row in rows[:2]:
        assert not world.wallets[row].has_token("age", signers)
        fetch_tokens(world.wallets[row], ask)  # the answers wait: the same request gets them after the close
    world.cast()
    assert world.count()["age"]["accepted"] == 6
    assert check_board(world.board, processes=1).findings == []


def test_issuers_that_disagree_stop_the_election(world: World) -> None:
    only_issue(world, list(world.wallets)[:3])
    for issuer, row in (("issuer-1", "row 003"), ("issuer-2", "row 004")):
        world.ask(issuer, "sign", world.wallets[row].request("age"))
    for issuer in ("issuer-1", "issuer-2", "issuer-3"):
        world.ask(issuer, "close", b"")
    with pytest.raises(InputError, match="disagree"):
        world.conductor.close_issuing()
    assert world.board.of("casting") == []


# --- casting


def test_windows_are_entries_of_the_board_not_clocks(world: World) -> None:
    rows = list(world.wallets)
    only_issue(world, rows[:2])
    signers = world.conductor.close_issuing()
    wallet = world.wallets[rows[0]]
    onion = wallet.cast("age", "yes", signers)
    with pytest.raises(InputError, match="refused"):
        world.ask("mixer-1", "post/age", onion)
    world.conductor.open_casting(signers)
    receipt = world.ask("mixer-1", "post/age", onion)
    with pytest.raises(InputError, match="nothing is mixed before"):
        world.ask("mixer-1", "mix", pack_batch({"dimension": "age"}, []))
    world.conductor.close_casting()
    assert world.ask("mixer-1", "post/age", onion) == receipt, "what was taken in is acknowledged again"
    with pytest.raises(InputError, match="refused"):
        world.ask("mixer-1", "post/age", world.wallets[rows[1]].cast("age", "yes", signers))
    with pytest.raises(InputError, match="closed"):
        world.ask("issuer-1", "sign", world.wallets[rows[5]].request("age"))


@pytest.fixture(scope="module")
def cast(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Six people who have cast, for tests that only look at records; one person holds an unused token."""
    return World(tmp_path_factory.mktemp("cast")).until_issued()


def record_of(world: World, row: str, name: str, option: str = "yes", **changes: Any) -> bytes:
    """A record as this person's program would make it, with some parts changed."""
    wallet, signers = world.wallets[row], world.board.signers
    dimension = world.election.dimension(name)
    format_ = RecordFormat(world.election, dimension, signers)
    key = wallet._one_time(name)
    public = key.public_key().public_bytes_raw()
    token = wallet.state["tokens"][name]["signatures"]
    signatures = tuple((wallet._candidate(dimension).message(i)[:32], bytes.fromhex(token[i])) for i in signers)
    category = wallet.category(dimension) or "well"
    number = 0xFFFF if dimension.self_reported else dimension.categories.index(category)
    parts = {"category": number, "key": public, "escrow": bytes(32), "signatures": signatures}
    parts |= {"payload": format_.payload_for(category, option, public)}
    signer = changes.pop("signer", key)
    return format_.write(Record(**(parts | changes)), signer)


def format_of(world: World, name: str) -> RecordFormat:
    return RecordFormat(world.election, world.election.dimension(name), world.board.signers)


def test_a_record_counts(cast: World) -> None:
    for name in cast.election.dimensions:
        assert format_of(cast, name).fault(record_of(cast, "row 000", name)) is None


def test_another_set_of_signers_is_refused(cast: World) -> None:
    """Valid signatures of the issuers 1 and 3, where 1 and 2 are active; and of all three."""
    token = cast.wallets["row 000"].state["tokens"]["age"]["signatures"]
    dimension = cast.election.dimension("age")
    pairs = {i: (cast.wallets["row 000"]._candidate(dimension).message(i)[:32], bytes.fromhex(token[i])) for i in token}
    assert cast.board.signers == ("issuer-1", "issuer-2")
    other = record_of(cast, "row 000", "age", signatures=(pairs["issuer-1"], pairs["issuer-3"]))
    assert format_of(cast, "age").fault(other) == "a token that the active issuers did not sign"
    twice = record_of(cast, "row 000", "age", signatures=(pairs["issuer-1"], pairs["issuer-1"]))
    assert format_of(cast, "age").fault(twice) == "a token that the active issuers did not sign"
    with pytest.raises(InputError, match="exactly the active set"):
        record_of(cast, "row 000", "age", signatures=tuple(pairs.values()))
    longer = record_of(cast, "row 000", "age") + pairs["issuer-3"][1]
    assert format_of(cast, "age").fault(longer) == "another size, version, election or dimension"


def test_a_token_is_worth_nothing_in_another_dimension_or_category(cast: World) -> None:
    record = record_of(cast, "row 000", "age")
    assert format_of(cast, "total").fault(record) == "another size, version, election or dimension"
    assert format_of(cast, "health").fault(record) == "another size, version, election or dimension"
    health = cast.wallets["row 000"].state["tokens"]["health"]["signatures"]
    dimension = cast.election.dimension("health")
    pairs = tuple(
        (cast.wallets["row 000"]._candidate(dimension).message(i)[:32], bytes.fromhex(health[i]))
        for i in cast.board.signers
    )
    assert format_of(cast, "age").fault(record_of(cast, "row 000", "age", signatures=pairs)) is not None
    assert format_of(cast, "age").fault(record_of(cast, "row 000", "age", category=0)) is not None, "attested as old"


def test_a_token_of_another_election_is_refused(cast: World, tmp_path: Path) -> None:
    other = World(tmp_path, plan=SMALL.replace("A small vote", "The next vote"))
    format_ = RecordFormat(other.election, other.election.dimension("age"), cast.board.signers)
    record = record_of(cast, "row 000", "age")
    assert len(record) == format_.size and format_.fault(record) == "another size, version, election or dimension"
    moved = record[:1] + format_.context + record[33:]
    assert format_.fault(moved) == "a token that the active issuers did not sign"


def test_nobody_can_put_another_answer_under_a_token(cast: World) -> None:
    record, other = record_of(cast, "row 000", "total", "yes"), record_of(cast, "row 000", "total", "no")
    swapped = record[:-68] + other[-68:-64] + record[-64:]
    assert record[-68:-64] != other[-68:-64]
    assert format_of(cast, "total").fault(swapped) == "an answer that the token's owner did not sign"
    stranger = cast.wallets["row 001"]._one_time("total")
    signed = record_of(cast, "row 000", "total", signer=stranger)
    assert format_of(cast, "total").fault(signed) == "an answer that the token's owner did not sign"
    for place in (0, 40, 70, 200, len(record) - 70, len(record) - 1):
        flipped = bytearray(record)
        flipped[place] ^= 1
        assert format_of(cast, "total").fault(bytes(flipped)) is not None, place


def test_an_option_that_does_not_exist_is_refused(cast: World) -> None:
    record = record_of(cast, "row 000", "total", payload=b"\x00\x00\x00\x07")
    assert format_of(cast, "total").fault(record) == "an option that does not exist"


# --- mixing and collecting


def counted(world: World) -> dict[str, Any]:
    world.conductor.close_casting()
    return world.conductor.count()


def ready(folder: Path, **options: Any) -> World:
    return World(folder, **options).until_issued()


def test_a_double_vote_counts_once_and_is_published(tmp_path: Path) -> None:
    world = ready(tmp_path)
    world.cast()
    records = sorted([record_of(world, "row 001", "total", option) for option in ("yes", "no")])
    format_ = format_of(world, "total")
    for record in records:  # beside the one that the honest program sent: three records under one token
        world.ask("mixer-1", "post/total", format_.wrap(record)[0])
    statement = counted(world)["total"]
    assert statement["accepted"] == 6 and statement["rejected"] == {"a token that was used twice": len({*records}) - 1}
    assert statement["doubles"] == [format_.nullifier(records[0]).hex()]
    published = (world.board.folder / "records" / "total").read_bytes()
    assert records[0] in published and records[1] not in published, "the first by its bytes"
    assert check_board(world.board, processes=1).findings == []


def test_duplicate_and_unreadable_onions_are_dropped(tmp_path: Path) -> None:
    world = ready(tmp_path)
    world.cast()
    wallet = world.wallets["row 000"]
    onion = bytes.fromhex(wallet.state["tokens"]["age"]["onion"])
    world.ask("mixer-1", "post/age", onion)
    format_ = format_of(world, "age")
    record = format_.wrap(record_of(world, "row 000", "age"))
    inner = seal(record[1], world.election.mixer_keys[0], format_.layer_info(0))
    world.ask("mixer-1", "post/age", inner)
    world.ask("mixer-1", "post/age", bytes(len(onion)))
    with pytest.raises(InputError):
        world.ask("mixer-1", "post/age", onion[:-1])
    statement = counted(world)["age"]
    assert statement["accepted"] == 6
    mixed = {entry.author: entry.body for entry in world.board.of("mix") if entry.body["dimension"] == "age"}
    assert mixed["mixer-1"]["in_count"] == 8 and mixed["mixer-1"]["out_count"] == 7
    assert check_board(world.board, processes=1).findings == []


class DroppingMixer(Mixer):
    """Drops one item of every batch of the dimension age."""

    def mix(self, body: bytes) -> bytes:
        header, items = unpack_batch(super().mix(body))
        if header["dimension"] != "age":
            return pack_batch({k: v for k, v in header.items() if k != "size"}, items)
        kept = items[1:]
        self.dropped = items[0]
        leaves = sorted(hashlib.sha256(b"\x00" + item).digest() for item in kept)
        from safemargin.election.merkle import root_of

        statement = header["entry"]["body"] | {"out_root": root_of(leaves).hex(), "out_count": len(kept)}
        entry = make_entry(self.election, self.secret, "mix", statement)
        return pack_batch({"dimension": "age", "entry": json.loads(entry.content)}, kept)


@pytest.mark.parametrize("mixer", ["mixer-1", "mixer-2"])
def test_a_mixer_that_drops_is_named_by_the_person(tmp_path: Path, mixer: str) -> None:
    world = ready(tmp_path, classes={mixer: DroppingMixer})
    world.cast()
    assert counted(world)["age"]["accepted"] == 5
    receipts = [wallet.check("age", world.board) for wallet in world.wallets.values()]
    (missing,) = [receipt for receipt in receipts if not receipt.included]
    assert missing.statement.startswith(f"{mixer} did not pass the record on")
    assert all(receipt.holds() for receipt in receipts if receipt is not missing)
    (row,) = [row for row, r in zip(world.wallets, receipts, strict=True) if not r.included]
    assert "taken" in world.wallets[row].state["tokens"]["age"], "the signed receipt is the evidence"


def test_a_batch_that_the_mixer_before_did_not_sign_is_refused(tmp_path: Path) -> None:
    world = ready(tmp_path)
    world.cast()
    world.conductor.close_casting()
    batch = world.ask("mixer-1", "mix", pack_batch({"dimension": "age"}, []))
    header, items = unpack_batch(batch)
    header.pop("size")
    with pytest.raises(InputError, match="is not the one that mixer-1 signed"):
        world.ask("mixer-2", "mix", pack_batch(header, items[1:]))
    with pytest.raises(InputError, match="does not carry the statement of mixer-2"):
        world.ask("collector", "accept", batch)
    with pytest.raises(InputError, match="does not carry the statement"):
        world.ask("mixer-2", "mix", pack_batch({**header, "dimension": "total"}, items))


def test_below_the_minimum_nothing_is_stored_published_or_opened(tmp_path: Path) -> None:
    world = ready(tmp_path)
    signers = world.board.signers
    for row in list(world.wallets)[:4]:
        world.cast_one(row, "age", "yes", signers)
    for row in world.wallets:
        world.cast_one(row, "total", "yes" if row > "row 002" else "no", signers)
        world.cast_one(row, "health", "yes" if row > "row 002" else "no", signers, "ill" if row > "row 003" else "well")
    statements = counted(world)
    assert (statements["age"]["accepted"], statements["age"]["opened"]) == (4, False)
    assert len(list(world.role("collector").held("age").items())) == 0
    assert not (world.board.folder / "records" / "age").exists()
    statement = world.open()
    assert statement["opened"] == ["health"] and "age.csv" not in statement["files"]
    check = check_board(world.board, processes=1)
    assert check.findings == [] and check.dimensions["age"]["opened"] is False
    assert world.wallets["row 000"].check("age", world.board).statement.startswith("too few people answered")


# --- board


def test_a_forked_board_is_refused_by_its_witnesses(tmp_path: Path) -> None:
    world = ready(tmp_path / "one")
    keeper = world.role("board")
    fork = Board(tmp_path / "fork", world.election, world.secrets["board"])
    for content in keeper.board.contents[:-1]:
        fork.append(content)
    fork.append(
        make_entry(world.election, world.secrets["collector"], "casting", {"signers": ["issuer-2", "issuer-3"]}).content
    )
    last = json.loads(world.ask("issuer-1", "witness", b""))["last"]
    assert last == len(fork.contents)
    for old in (last, last - 1, 0):
        with pytest.raises(InputError, match="forked"):
            world.ask("issuer-1", "witness", canonical(fork.extension(old)))
    with pytest.raises(InputError, match="not signed by the board and enough witnesses"):
        world.ask("mixer-1", "window", canonical(fork.proof(len(fork.contents) - 1)))
    shorter = Board(tmp_path / "shorter", world.election, world.secrets["board"])
    for content in keeper.board.contents[:-2]:
        shorter.append(content)
    with pytest.raises(InputError, match="forked"):
        world.ask("issuer-1", "witness", canonical(shorter.extension(len(shorter.contents))))


def test_the_board_takes_only_what_its_author_may_say_and_never_a_second_version(world: World) -> None:
    entry = make_entry(world.election, world.secrets["mixer-1"], "total", {"counts": {}})
    with pytest.raises(InputError, match="cannot come from"):
        world.ask("board", "append", entry.content)
    forged = json.loads(make_entry(world.election, world.secrets["mixer-1"], "mix", {"dimension": "age"}).content)
    with pytest.raises(InputError, match="signature of mixer-2 is wrong"):
        world.ask("board", "append", canonical({**forged, "author": "mixer-2"}))
    second = make_entry(world.election, world.secrets["registrar"], "roll", {"enrolled": 7, "root": "00"})
    with pytest.raises(InputError, match="entries never change"):
        world.ask("board", "append", second.content)
    for body in (b"", b"[]", b"{}", b"\xff", b"[" * 100_000):
        with pytest.raises(InputError):
            world.ask("board", "append", body)
    with pytest.raises(InputError, match="no entry names"):
        world.ask("board", "put", b'{"kind":"records","name":"age"}\nabc')


# --- ceremony


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Everybody has cast, everything is counted; nothing is opened."""
    made = ready(tmp_path_factory.mktemp("finished"))
    made.cast()
    counted(made)
    made.conductor.post(made.ask("trustee-1", "convene", canonical({"board": str(made.board.folder)})))
    made.conductor.witness()
    return made


def shares_for(world: World, *senders: str) -> list[dict[str, Any]]:
    proof = json.loads(world.ask("board", "proof", canonical({"type": "ceremony"})))
    return [
        json.loads(
            world.ask(sender, "share", canonical({"board": str(world.board.folder), "proof": proof, "to": "trustee-1"}))
        )
        for sender in senders
    ]


def test_one_trustee_opens_nothing(finished: World) -> None:
    request = {"board": str(finished.board.folder), "shares": []}
    with pytest.raises(InputError, match="1 shares: 2 trustees are needed"):
        finished.ask("trustee-1", "open", canonical(request))
    with pytest.raises(InputError, match="1 shares"):
        finished.ask("trustee-1", "open", canonical({**request, "shares": shares_for(finished, "trustee-1")}))


def test_a_wrong_share_is_named(finished: World) -> None:
    info = finished.role("trustee-2")._info("trustee-2", "trustee-1")
    key = sealing_public(finished.election.parties["trustee-1"].seal)
    wrong = {"from": "trustee-2", "sealed": seal(bytes(66), key, info).hex()}
    request = {"board": str(finished.board.folder), "shares": [wrong]}
    with pytest.raises(InputError, match="trustee-2: the share is not the one of the manifest"):
        finished.ask("trustee-1", "open", canonical(request))


def test_shares_go_to_trustees_only_and_after_the_board_convened(finished: World, tmp_path: Path) -> None:
    proof = json.loads(finished.ask("board", "proof", canonical({"type": "ceremony"})))
    with pytest.raises(InputError, match="no trustee"):
        finished.ask(
            "trustee-2", "share", canonical({"board": str(finished.board.folder), "proof": proof, "to": "collector"})
        )
    early = json.loads(finished.ask("board", "proof", canonical({"type": "closed"})))
    with pytest.raises(InputError, match="not about an entry of type 'ceremony'"):
        finished.ask(
            "trustee-2", "share", canonical({"board": str(finished.board.folder), "proof": early, "to": "trustee-1"})
        )


def test_more_answers_than_people_stop_the_opening(tmp_path: Path) -> None:
    """Self-reported: three people state a category that two people have on the roll."""
    world = ready(tmp_path)
    signers = world.board.signers
    for number, row in enumerate(world.wallets):
        for name in world.election.dimensions:
            world.cast_one(row, name, "yes" if number % 2 else "no", signers, "ill" if number < 3 else "well")
    counted(world)
    with pytest.raises(InputError, match="health: ill: 3 answers of 2 people"):
        world.open()


def test_an_answer_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    world = ready(tmp_path)
    signers, format_ = world.board.signers, format_of
    for number, row in enumerate(world.wallets):
        for name in world.election.dimensions:
            if (row, name) != ("row 000", "age"):
                world.cast_one(row, name, "yes" if number % 3 else "no", signers, "ill" if number % 3 == 2 else "well")
    record = record_of(world, "row 000", "age", payload=bytes(format_(world, "age").payload))
    world.ask("mixer-1", "post/age", format_(world, "age").wrap(record)[0])
    assert counted(world)["age"]["accepted"] == 6
    from safemargin.election.ceremony import open_dimensions

    key = world.role("trustee-1")
    world.conductor.post(world.ask("trustee-1", "convene", canonical({"board": str(world.board.folder)})))
    world.conductor.witness()
    opened = open_dimensions(world.board, ["age"], key._tally_key(shares_for(world, "trustee-2")))
    assert sum(counts.total() for counts in opened["age"].values()) == 5


def test_a_wallet_is_of_one_election_and_never_sends_two_answers(world: World, tmp_path: Path) -> None:
    only_issue(world, ["row 000"])
    path = tmp_path / "wallet.json"
    wallet = world.wallets["row 000"]
    wallet.path = path
    signers = ("issuer-1", "issuer-2")
    first = wallet.cast("age", "yes", signers)
    assert path.stat().st_mode & 0o77 == 0, "for its owner alone"
    assert Wallet.read(world.election, path).cast("age", "no", signers) == first
    with pytest.raises(InputError, match="another election"):
        Wallet(KnownElection.parse(canonical({**json.loads(world.election.content), "title": "x"})), wallet.state)
    wallet.forget()
    assert "seed" not in wallet.state["tokens"]["age"] and b"onion" not in path.read_bytes()


def test_a_receipt_of_the_first_mixer_is_checked(world: World) -> None:
    world.issue()
    wallet = world.wallets["row 000"]
    onion = wallet.cast("age", "yes", world.board.signers)
    with pytest.raises(InputError, match="receipt is not signed"):
        send(wallet, "age", onion, lambda *_: world.role("mixer-2").receipt("age", onion))
    send(wallet, "age", onion, world.ask)
