"""A malicious party of each role, with the code at hand: what it tries is noticed, refuted, or stops nobody else."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from election_world import OF_FOUR, SHARED, SMALL, World, election_of, plan_for, secrets_of
from safemargin import election
from safemargin.core import InputError
from safemargin.election import collecting
from safemargin.election.ballots import BallotFormat, Envelope
from safemargin.election.board import Board, Head, make_entry, sign_head
from safemargin.election.board_verification import BoardCheck, check_board
from safemargin.election.client import enrol, fetch_board, send, witness
from safemargin.election.collecting import BallotBox, Collector
from safemargin.election.desk import Desk
from safemargin.election.group import random_scalar
from safemargin.election.issuing import Registrar
from safemargin.election.keys import canonical, new_seed, parse
from safemargin.election.manifests import KnownElection
from safemargin.election.merkle import leaf_hash, root_of
from safemargin.election.receipts import ANOTHER, ENROLLED, NOBODY, judge_objection, registered
from safemargin.election.role import Role
from safemargin.election.roll import roll_csv
from safemargin.election.setup import parse_plan
from safemargin.election.voter import Wallet


def check(world: World) -> BoardCheck:
    return check_board(world.copy(), processes=1, pinned=world.election.fingerprint)


def test_a_collector_that_counts_the_older_ballot_is_seen_by_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding 5: the newer of two ballots is turned away as the older one; its voter need not look."""
    wins = collecting.wins
    monkeypatch.setattr(collecting, "wins", lambda one, other: not wins(one, other))
    world = World(tmp_path).until_cast()
    world.cast_one("row 000", "total", "yes")
    world.close()
    assert "turned away for no true reason" in check(world).findings[0]


class Deaf(Collector):
    """Calls one message unreadable."""

    unwanted = b""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        honest = self.envelope.open
        self.envelope.open = lambda m, key: None if m == self.unwanted else honest(m, key)  # type: ignore[method-assign]


def test_a_collector_that_calls_a_ballot_unreadable_is_refuted(tmp_path: Path) -> None:
    """Finding 5: the receipt and what the voter kept prove which ballot was in the message, to everybody."""
    world = World(tmp_path, classes={"collector": Deaf}).until_cast()
    wallet = world.wallets["row 003"]
    world.role("collector").unwanted = wallet.message("total")
    world.close()
    found = check(world)
    assert found.findings == [] and "1 messages of the box hold no ballot" in found.unchecked[-1]
    desk = Desk(world.election, tmp_path / "wallet.json", world.ask)
    desk.wallet = wallet
    (said,) = [receipt for receipt in desk.check() if not receipt.included]
    assert said.sentence == "collector_dropped"
    objection = parse(wallet.objection("total"))
    assert judge_objection(world.copy(), "total", objection)[0] == "collector_dropped"
    other = parse(world.wallets["row 002"].objection("total"))
    for wrong in (
        {**objection, "nonce": "00" * 32},
        {**objection, "ballot": other["ballot"], "nonce": other["nonce"]},
        {**objection, "signature": other["signature"]},
        {"message": objection["message"], "signature": objection["signature"]},
    ):
        with pytest.raises(InputError):
            world.ask("collector", "object", canonical(wrong))
    assert [receipt.sentence for receipt in desk.object()] == ["objected"]
    world.end_objections()
    assert wallet.check("total", world.copy()).included and world.total() == {"yes": 4, "no": 2, "no answer": 0}
    assert judge_objection(world.copy(), "total", objection)[0] == "on_board"
    with pytest.raises(InputError, match="is of a ballot of total"):
        judge_objection(world.copy(), "age", objection)
    copy = world.copy().folder
    decided = election.complaint(desk.complaints, board=copy, id=world.election.fingerprint)
    assert decided.to_json()["founded"] is False and "unfounded" in decided.to_text()


class Planter(Registrar):
    """Enrols somebody in the name of the last row, and hides it behind a hash that no letter has."""

    def _leaves(self, store: str) -> list[bytes]:
        own = super()._leaves(store)
        last = super()._leaves("roll")
        hidden = next(leaf for leaf in last if leaf == self.hidden)
        return sorted(bytes(32) if leaf == hidden else leaf for leaf in own) if store in self.lists else own

    hidden = b""
    lists: tuple[str, ...] = ()


@pytest.mark.parametrize("lists", [(), ("enrolled",), ("enrolled", "roll")])
def test_a_registrar_that_votes_for_an_abstainer_is_seen_by_the_letter(tmp_path: Path, lists: tuple[str, ...]) -> None:
    """Finding 16: the abstainer's letter is in the register, or the register does not verify, or the letter is not
    among those that the registrar wrote: never an all-clear.
    """
    world = World(tmp_path, classes={"registrar": Planter})
    rows = list(world.wallets)
    absent = world.wallets[rows[5]]
    from safemargin.election.keys import register_leaf

    registrar = world.role("registrar")
    registrar.hidden, registrar.lists = register_leaf(world.election.mid, rows[5], absent.state["code"]), lists
    world.begin().enrol().cast().close()  # row 005 did none of that
    board, code = world.copy(), absent.state["code"]
    findings = check_board(board, processes=1).findings
    state = registered(board, rows[5], code)
    if not lists:
        assert findings == [] and state == ENROLLED
    elif lists == ("enrolled",):
        assert findings == ["register/hashes: somebody enrolled who has no letter"] and state == NOBODY
    else:
        assert findings == [] and state == ANOTHER
        desk = Desk(world.election, tmp_path / "wallet.json", world.ask)
        desk.wallet = absent
        with pytest.raises(InputError, match="does not have you"):
            desk.check()


def forge(world: World, name: str, type_: str, body: dict[str, Any]) -> None:
    """An entry that a trustee signs although it is nonsense."""
    world.ask("board", "append", make_entry(world.election, world.secrets[name], type_, body).content)
    world.desk("board")
    witness(world.election, world.ask)


def test_one_trustee_of_four_that_signs_nonsense_stops_nobody(tmp_path: Path) -> None:
    """Three of four freeze and two decrypt: wrong freeze, wrong total, parts that are kept back and another release are
    named and have no effect.
    """
    world = World(tmp_path, plan=OF_FOUR).until_frozen()
    zero, signature = "00" * 32, "00" * 64
    forge(world, "trustee-3", "freeze", {"root": zero, "list": zero})
    for name in ("trustee-1", "trustee-2", "trustee-4"):
        world.desk(name).tally()
    parts = {option: {"part": zero, "proof": signature} for option in ("yes", "no", "no answer")}
    world.desk("trustee-1").tally()
    forge(world, "trustee-3", "total", {"parts": parts})
    good = ["trustee-1", "trustee-2"]
    world.desk("trustee-2").tally()
    world.desk("collector").publish()
    forge(world, "trustee-3", "private", {"commitment": zero})
    for name in (*good, *good):
        world.desk(name).tally()
    forge(world, "trustee-3", "compared", {"release": zero})
    for name in good:
        world.desk(name).publish()
    body = world.board.of("release")[0].body
    forge(world, "trustee-3", "release", {**body, "files": {**body["files"], "total.csv": zero}})
    with pytest.raises(InputError, match="no entry names this content"):
        world.role("board").board.put("release", "total.csv", b"x")
    found = check(world)
    assert found.findings == [] and found.total == {"yes": 4, "no": 2, "no answer": 0}
    assert found.total_verified and found.certified and found.complete and found.published
    assert len(found.disregarded) == 4 and all("trustee-3" in text for text in found.disregarded)


def test_two_groups_that_freeze_share_an_honest_trustee() -> None:
    """By enumeration, with fewer than T dishonest of U: two sets of Q share an honest trustee, and Q is the least."""
    for trustees in range(2, 8):
        for openers in range(2, trustees + 1):
            needed = (trustees + openers + 1) // 2
            for size in (needed - 1, needed):
                groups = [set(group) for group in itertools.combinations(range(trustees), size)]
                shared = min(len(one & other) for one in groups for other in groups)
                assert (shared >= openers) == (size == needed)


def test_a_fork_opens_no_ballot(tmp_path: Path) -> None:
    """Two of three decrypt. Organiser, one issuer and trustee-3 show trustees 1 and 2 boards that differ by one ballot:
    either board has two that froze it, and neither is decrypted, since a third honest trustee is missing.
    """
    world = World(tmp_path, plan=SHARED).until_frozen()
    for name in ("trustee-1", "trustee-3"):
        world.desk(name).tally()
    assert world.desk("trustee-1").tally() == "waiting for other trustees to freeze"
    copy = canonical({"board": str(world.copy().folder)})
    with pytest.raises(InputError, match="2 trustees froze this set of ballots; 3 must before any decrypts"):
        world.ask("trustee-1", "total", copy)
    early = {"parts": {option: {"part": "00" * 32, "proof": "00" * 64} for option in ("yes", "no", "no answer")}}
    with pytest.raises(InputError, match="too early: 'freeze' is not complete"):
        world.ask("board", "append", make_entry(world.election, world.secrets["trustee-3"], "total", early).content)


def test_a_witness_that_saw_another_board_stops_the_election(tmp_path: Path) -> None:
    """A majority of witnesses does not make up for one that noticed a fork; one that is asked about an older head is
    no alarm.
    """
    world = World(tmp_path).begin()
    issuer, size = world.role("issuer-1"), len(world.board.contents)
    old = canonical({**world.role("board").board.extension(size), "path": []})
    other = Head(size + 1, bytes(32), {})
    issuer.store("heads").add({other.size.to_bytes(8, "big"): canonical(other.document())})
    with pytest.raises(InputError, match="older than the last one"):
        issuer.run("witness", old)
    witness(world.election, world.ask)
    with pytest.raises(InputError, match="issuer-1 signed another log than board shows: the board was forked"):
        world.desk("collector").close()


def test_two_trustees_of_three_that_freeze_something_else_are_a_finding(tmp_path: Path) -> None:
    world = World(tmp_path, plan=SHARED).until_frozen()
    for name in ("trustee-2", "trustee-3"):
        forge(world, name, "freeze", {"root": "00" * 32, "list": "00" * 32})
    assert len(check(world).findings) == 2
    with pytest.raises(InputError, match="does not verify"):
        world.desk("trustee-1").tally()


def test_a_voter_who_uses_randomness_again_stops_nobody(tmp_path: Path) -> None:
    """Ballots 1, 2 and 3 under one token, the third with the randomness of the first, which the second replaced."""
    world = World(tmp_path).begin().enrol().cast([f"row {n:03d}" for n in range(5)])
    wallet = world.wallets["row 005"]
    for name in ("total", "health"):
        world.cast_one("row 005", name, "yes")
    dimension = world.election.dimension("age")
    format_, envelope = BallotFormat(world.election, dimension), Envelope(world.election)
    candidates, signed = wallet._candidate(dimension), wallet._token("age")
    tokens = [(candidates.message(n)[:32], bytes.fromhex(signed["signatures"][n])) for n in format_.issuers]
    key = wallet._one_time("age")
    first, second = ([random_scalar() for _ in range(4 * len(format_.cells) + 1)] for _ in range(2))
    category = format_.category_number(wallet.category(dimension))
    for number, scalars in enumerate((first, second, first), 1):
        public = key.public_key().public_bytes_raw()
        made = format_.make(0, category, number, public, bytes(32), tokens, scalars)
        world.ask("box", "post", envelope.close(format_.sign(made, key), new_seed()))
    world.close().end_objections()
    assert check_board(world.board, processes=1).findings == []
    assert world.total() == {"yes": 4, "no": 2, "no answer": 0}


@pytest.mark.parametrize("blinded", ["zz", "00", "00" * 256, 7])
def test_a_request_that_another_issuer_cannot_answer_is_refused(tmp_path: Path, blinded: object) -> None:
    """A restored issuer takes requests over from the others: one voter could keep it from ever catching up."""
    world = World(tmp_path).begin().enrol(["row 000"])
    wallet = world.wallets["row 001"]
    enrol(wallet, world.ask)
    issuer, other = [party.name for party in world.election.manifest.of("issuer")][:2]
    requests = []
    for name in world.election.dimensions:
        request = wallet.request(name)
        del request["signature"]
        request["blinded"][other] = blinded
        requests.append(parse(wallet._signed(b"GV2 issue", request)))
    with pytest.raises(InputError, match="blinded message|hexadecimal digits"):
        world.ask(issuer, "sign", canonical({"enrolment": wallet.state["enrolment"], "requests": requests}))


def test_no_trustee_goes_on_from_a_total_that_nobody_can_verify(tmp_path: Path) -> None:
    """Collector and one trustee of three, two of which decrypt: a wrong part, then an invented result at once."""
    world = World(tmp_path, plan=SHARED).until_frozen()
    for name in ("trustee-1", "trustee-2", "trustee-3", "trustee-1"):
        world.desk(name).tally()
    liar = world.desk("trustee-3")
    body = parse(liar._own("total", canonical({"board": str(world.copy().folder)})))["body"]
    one, other, *_ = body["parts"]
    body["parts"][one], body["parts"][other] = body["parts"][other], body["parts"][one]
    liar._post(make_entry(world.election, world.secrets["trustee-3"], "total", body).content)
    invented = {"counts": {"yes": 0, "no": 6, "no answer": 0}}
    liar._post(make_entry(world.election, world.secrets["collector"], "result", invented).content)
    check = check_board(world.copy(), processes=1)
    assert check.findings == ["result: stated although fewer than 2 trustees decrypted every option of the total"]
    with pytest.raises(InputError, match="does not verify"):
        world.desk("trustee-1").tally()


def test_where_all_trustees_decrypt_a_wrong_one_is_a_finding(tmp_path: Path) -> None:
    world = World(tmp_path, plan=SMALL).until_frozen()
    forge(world, "trustee-3", "freeze", {"root": "00" * 32, "list": "00" * 32})
    assert "freeze of trustee-3" in check(world).findings[0]


@pytest.mark.parametrize("stage", range(4))
def test_a_trustee_that_was_restored_does_the_same_again(tmp_path: Path, stage: int) -> None:
    """Restored from a backup of the first day at any stage: it takes over what it signed, and stops nobody."""
    world = World(tmp_path).until_frozen()

    def forget() -> None:
        for table in ("state", "files"):
            world.role("trustee-2").store(table).clear()

    names = world.plan.trustees
    for step in range(4):
        world.desk("trustee-2").tally()
        for name in ("trustee-1", "trustee-3"):
            world.desk(name).tally(tmp_path / "release")
        if step == stage:
            forget()
        if step == 1:
            world.desk("collector").publish()
    if stage == 3:
        with pytest.raises(InputError, match="froze other ballots or none"):
            world.desk("trustee-2").publish()
        world.desk("trustee-2").tally()
    for name in names:
        world.desk(name).publish()
    found = check(world)
    assert found.findings == [] and found.complete and found.certified


def test_parts_of_any_trustees_give_one_salt(tmp_path: Path) -> None:
    """The folder for auditors is hidden by a salt that fewer than enough trustees know nothing of."""
    from safemargin.election.trustee import tally_secret

    world = World(tmp_path, plan=SHARED).until_frozen()
    plan = check(world).plan
    assert plan is not None
    made = {name: plan.exchanged(tally_secret(world.election, world.secrets[name]), name) for name in plan_names(world)}
    salts = {
        plan.salt({name: bytes.fromhex(made[name][-1]["part"]) for name in made if name != absent}) for absent in made
    }
    assert len(salts) == 1 and len(salts.pop()) == 64
    assert all(plan.exchange_fault(name, parts) is None for name, parts in made.items())
    assert plan.exchange_fault("trustee-1", made["trustee-2"]) and plan.exchange_fault("trustee-1", [])
    wrong = [*made["trustee-1"][:-1], {**made["trustee-1"][-1], "part": made["trustee-2"][-1]["part"]}]
    assert "salt" in str(plan.exchange_fault("trustee-1", wrong))


def plan_names(world: World) -> list[str]:
    return world.plan.trustees


def forked(world: World, size: int) -> Head:
    """A head of another log that the board signed."""
    leaves = [leaf_hash(b"another entry %d" % number) for number in range(size)]
    fork = Head(size, root_of(leaves), {})
    fork.signatures["board"] = sign_head(world.election, world.secrets["board"].signing, "board", fork)
    return fork


def test_an_issuer_that_was_restored_signs_no_other_history_of_the_board(tmp_path: Path) -> None:
    """Its backup knows fewer heads: it witnesses nothing until it has the last one."""
    world = World(tmp_path).begin().enrol(["row 000"])
    issuer, board = world.role("issuer-1"), world.role("board").board
    issuer.store("heads").clear()
    issuer.mark_restored()
    with pytest.raises(InputError, match="has not caught up"):
        issuer.run("witness")
    world.desk("issuer-1").catch_up()
    with pytest.raises(InputError, match="the board was forked"):
        issuer.run("witness", canonical({"head": forked(world, 1).document(), "path": []}))
    assert parse(issuer.run("witness"))["last"] == len(board.contents)


@pytest.mark.parametrize("size", [1, 7])
def test_one_issuer_and_the_board_move_no_restored_issuer_to_a_fork(tmp_path: Path, size: int) -> None:
    """Shorter or longer than the log that the honest issuer knows."""
    world = World(tmp_path).begin().enrol(["row 000"])
    restored, honest = world.role("issuer-1"), world.role("issuer-3")
    restored.store("heads").clear()
    restored.mark_restored()
    liar = world.role("issuer-2")
    liar.store("heads").clear()
    liar.store("heads").add({size.to_bytes(8, "big"): canonical(forked(world, size).document())})
    with pytest.raises(InputError, match="forked|not show that the board continues"):
        world.desk("issuer-1").catch_up()  # the board answers truly: the liar's head is not on it
    heads = {role.name: parse(role.run("head")) for role in (liar, honest)}
    extension = {"head": forked(world, size).document(), "path": []}
    lodged = {role.name: parse(role.run("lodged")) for role in (liar, honest)}
    with pytest.raises(InputError, match="forked|path|entry meanwhile"):
        extensions = dict.fromkeys(heads, extension)
        restored.run("catch_up", canonical({"heads": heads, "extensions": extensions, "lodged": lodged}))
    heads["issuer-3"] = {**heads["issuer-3"], "head": None}  # in its name, without its signature
    with pytest.raises(InputError, match="issuer-3 knows is not signed"):
        restored.run("catch_up", canonical({"heads": heads, "extensions": {}, "lodged": lodged}))
    with pytest.raises(InputError, match="has not caught up"):
        restored.run("witness")


def test_a_party_that_was_restored_twice_catches_up_twice(tmp_path: Path) -> None:
    """The second backup is of a party that had caught up: that says nothing about what it did since."""
    world = World(tmp_path).begin().enrol(["row 000"])
    issuer = world.role("issuer-1")
    for _ in range(2):
        issuer.mark_restored()
        with pytest.raises(InputError, match="has not caught up"):
            issuer.run("witness")
        world.desk("issuer-1").catch_up()
        issuer.run("witness")


def test_a_trustee_reads_no_shorter_and_no_other_board(tmp_path: Path) -> None:
    """What a trustee verified once is the beginning of every board that it reads, also after a restore."""
    world = World(tmp_path).until_frozen()
    names = world.plan.trustees
    before = fetch_board(world.election, tmp_path / "before", world.ask).folder
    for name in names:
        world.desk(name).tally()
    trustee = world.role("trustee-1")
    older = canonical({"board": str(before)})
    world.desk("trustee-1").tally()  # it has read the entries of the others now
    with pytest.raises(InputError, match="entries; this party read"):
        trustee.run("freeze", older)
    trustee.store("heads").clear()
    trustee.mark_restored()
    for step in ("freeze", "total", "private", "parts", "compare", "release"):
        with pytest.raises(InputError, match="has not caught up"):
            trustee.run(step, older)
    with pytest.raises(InputError, match="most issuers"):
        trustee.run("catch_up", canonical({"heads": {"issuer-1": parse(world.ask("issuer-1", "head"))}}))
    world.desk("trustee-1").catch_up()
    with pytest.raises(InputError, match="entries; this party read"):
        trustee.run("freeze", older)
    for name in (*names[1:], names[0]):
        world.desk(name).tally()
    assert world.desk("collector").publish() == "result"


def test_the_registrar_compares_the_joint_roll(tmp_path: Path) -> None:
    """The sizes of every dimension agree; those of all dimensions together do not."""
    world = World(tmp_path / "world", plan=SMALL)
    manifest, registrar = world.election.manifest, world.secrets["registrar"]
    for number, young in enumerate((3, 2)):
        stated = manifest.model_copy(update={"joint": [["old", 6 - young], ["young", young]]})
        fresh = Registrar(KnownElection(stated), registrar, tmp_path / str(number))
        if young == 3:
            fresh.run("roll", roll_csv(world.roll))
            continue
        with pytest.raises(InputError, match="all dimensions together"):
            fresh.run("roll", roll_csv(world.roll))


def test_nobody_fills_the_box_with_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding 18: so many messages are taken in and no more; those that are there are acknowledged again."""
    monkeypatch.setattr(collecting, "CHANGES", 0)
    monkeypatch.setattr(collecting, "SPARE", 3)
    world = World(tmp_path).begin().enrol(["row 000"])
    box = world.role("box")
    assert isinstance(box, BallotBox)
    wallet = world.wallets["row 000"]
    for name in world.election.dimensions:
        wallet.cast(wallet.prepare(name, "yes", "well"))
        send(wallet, name, world.ask)
    garbage = [number.to_bytes(4, "big") + bytes(box.size - 4) for number in range(5)]
    assert all(isinstance(answer, InputError) for answer in box.post(garbage))
    assert isinstance(box.post([wallet.message("age")])[0], bytes) and box.store("messages").count() == 3
    assert collecting.BallotBox(world.election, world.secrets["box"], tmp_path / "box").room == 0


@pytest.mark.parametrize("spelled", ["union", "Union ", "Ｕnion", "U nion"])
def test_one_organisation_spelled_twice_is_one(spelled: str) -> None:
    """Finding 16: the rules of separation do not depend on capitals, blanks or forms of letters."""
    plan = plan_for(12, 4).replace(
        'box = { role = "box", organisation = "Post" }', f'box = {{ role = "box", organisation = "{spelled}" }}'
    )
    with pytest.raises(InputError, match="the box is run by nobody of"):
        election_of(parse_plan(plan), 12, secrets_of(parse_plan(plan)))


def test_codes_and_ballots_travel_encrypted_only(tmp_path: Path) -> None:
    """Finding 2: an address without TLS is refused where it is named and where it is used."""
    from safemargin.election.client import fetch_manifest

    plan = tmp_path / "plan.toml"
    plan.write_text(SMALL)
    with pytest.raises(InputError, match="must begin with https"):
        election.init(plan, "box", tmp_path / "box", address="http://box.example")
    with pytest.raises(InputError, match="begins with https"):
        fetch_manifest("http://board.example", "00" * 32)
    with pytest.raises(InputError, match="address"):
        parse_plan(SMALL.replace('organisation = "Post"', 'organisation = "Post", address = "http://post.example"'))


def test_the_signers_are_those_of_the_manifest(tmp_path: Path) -> None:
    """Finding 3: no board can give one person other signers; a token of fewer issuers is no token."""
    world = World(tmp_path).begin().enrol(["row 000"])
    wallet = world.wallets["row 000"]
    del wallet.state["tokens"]["age"]["signatures"]["issuer-2"]
    with pytest.raises(InputError, match="not signed yet by all issuers"):
        wallet.prepare("age", "yes")


def test_a_message_holds_the_ballot_that_it_commits_to(tmp_path: Path) -> None:
    """Number and commitment outside are those of the ballot inside, or the message is no ballot."""
    world = World(tmp_path).begin().enrol(["row 000"])
    wallet, envelope, key = world.wallets["row 000"], Envelope(world.election), world.secrets["collector"].sealing
    wallet.cast(wallet.prepare("age", "yes"))
    message = wallet.message("age")
    opened = envelope.open(message, key)
    assert opened is not None and opened[0].dimension.name == "age"
    for place in (0, 4, 35, 36, len(message) - 1):
        assert envelope.open(message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :], key) is None
    from safemargin.election.keys import seal

    outside = message[:4] + bytes(32)
    plain = (bytes(32) + len(opened[1]).to_bytes(4, "big") + opened[1]).ljust(envelope.inner, b"\0")
    assert envelope.open(outside + seal(plain, envelope.key, b"GV2 box" + world.election.mid + outside), key) is None


def test_roles_are_only_those_of_the_manifest(tmp_path: Path) -> None:
    """An entry is written by one role alone, whoever else signs it."""
    world = World(tmp_path).until_cast()
    names: dict[str, Role] = world.roles
    for name in names:
        if name != "collector":
            with pytest.raises(InputError, match="cannot come from"):
                world.ask(
                    "board",
                    "append",
                    make_entry(world.election, world.secrets[name], "closed", {"closed": True}).content,
                )
    assert json.loads(Board(tmp_path / "board" / "board").contents[0])["type"] == "manifest"


def test_a_voter_whose_program_ends_before_the_answer_of_the_registrar_enrols_again(tmp_path: Path) -> None:
    """A new wallet was made, over the one whose key the registrar had taken: that person could never vote."""
    world = World(tmp_path).begin()
    row = "row 000"
    code = world.wallets.pop(row).state["code"]

    def cut(party: str, step: str, body: bytes = b"") -> bytes:
        world.ask(party, step, body)
        raise OSError("killed")

    file = tmp_path / "wallet.json"
    with pytest.raises(OSError, match="killed"):
        Desk(world.election, file, cut).enrol(row, code)
    seed = Wallet.read(world.election, file).state["seed"]
    Desk(world.election, file, world.ask).enrol(f" {row} ", code.lower())
    again = Wallet.read(world.election, file)
    assert again.state["seed"] == seed and "enrolment" in again.state and again.state["tokens"]


def test_the_check_of_a_voter_verifies_the_board(tmp_path: Path) -> None:
    """Finding 7: a board whose signatures are wrong is no proof that a ballot counts."""
    world = World(tmp_path).until_cast().close()
    desk = Desk(world.election, tmp_path / "wallet.json", world.ask)
    desk.wallet = world.wallets["row 000"]
    assert all(receipt.included for receipt in desk.check())
    path = next(p for p in sorted((world.board.folder / "entries").glob("*")) if b'"type":"ballots"' in p.read_bytes())
    stated = json.loads(path.read_bytes())
    stated["signature"] = "00" * 64
    path.write_bytes(canonical(stated))
    world.role("board").board.contents[int(path.stem)] = path.read_bytes()
    desk.path = tmp_path / "again.json"
    with pytest.raises(InputError, match="the board does not verify"):
        desk.check()
