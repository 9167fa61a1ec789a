"""The manifest: what it refuses, and that nothing in it can change."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import Run, in_process
from election_world import PLAN, World, election_of, keys_of, plan_for, roll_of, secrets_of
from safemargin import election
from safemargin.core import InputError, OutputError
from safemargin.election.handover import check_release
from safemargin.election.keys import ALPHABET, code_of, read_code
from safemargin.election.manifests import KnownElection
from safemargin.election.parties import read_approvals
from safemargin.election.roll import read_roll, roll_csv
from safemargin.election.service import open_role
from safemargin.election.setup import deal, make_manifest, parse_plan, read_public_keys


def made(plan: str = PLAN, people: int = 12) -> KnownElection:
    """The manifest of a plan."""
    stated = parse_plan(plan)
    return election_of(stated, people, secrets_of(stated))


ELECTION = made()


def changed(**values: Any) -> dict[str, Any]:
    return {**json.loads(ELECTION.content), **values}


def test_it_is_canonical_and_its_name_covers_everything() -> None:
    assert KnownElection.parse(ELECTION.content).mid == ELECTION.mid
    assert KnownElection.parse(ELECTION.content).content == ELECTION.content
    for name, value in (("least", 6), ("title", "Another"), ("release", "{}"), ("share", 7)):
        assert KnownElection.parse(json.dumps(changed(**{name: value})).encode()).mid != ELECTION.mid, name


def test_contexts_belong_to_one_dimension_of_one_election() -> None:
    other = made(PLAN.replace("A small vote", "Another vote"))
    contexts = {election.context(name) for election in (ELECTION, other) for name in election.dimensions}
    assert len(contexts) == 2 * len(ELECTION.dimensions)


def member(name: str, organisation: str) -> str:
    """The line of a party in the plan."""
    return f'{name} = {{ role = "{name.partition("-")[0]}", organisation = "{organisation}" }}'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            f"{member('issuer-1', 'Union')}\n{member('issuer-2', 'Court')}",
            f"{member('issuer-1', 'Company')}\n{member('issuer-2', 'Company')}",
            "issuer: Company alone has 3",
        ),
        (
            f"{member('trustee-1', 'Union')}\n{member('trustee-2', 'Court')}",
            f"{member('trustee-1', 'Company')}\n{member('trustee-2', 'Company')}",
            "trustee: Company alone has 3",
        ),
        ("openers = 3", "openers = 4", "trustee: needs at least 4"),
        ("openers = 3", "openers = 1", "greater than or equal to 2"),
        (member("box", "Post"), member("box", "Union"), "box: Union is also"),
        (member("box", "Post") + "\n", "", "box: needs at least 1"),
        ('options = ["yes", "no"]', 'options = ["yes", "no answer"]', "no option may be"),
        ("sizes = { well = 8, ill = 4 }", "sizes = { well = 8, ill = 5 }", "must add up"),
        ("sizes = { well = 8, ill = 4 }", "", "needs the people per category"),
        (
            "[release.target]",
            "[release.tallies]\nfiles = {}\n[release.target]",
            "release.tallies: a manifest fixes only",
        ),
        ("[dimensions.health]", '[dimensions."..a"]', "should match"),
        ("[dimensions.health]", f'[dimensions."{"ä" * 31}"]', "more than 60 bytes"),
        ('registrar = { role = "registrar"', 'registrar = { role = "box"', "registrar"),
    ],
)
def test_a_plan_that_must_not_be_used(old: str, new: str, message: str) -> None:
    assert old in PLAN
    with pytest.raises((InputError, ValueError), match=message):
        made(PLAN.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("health", "option", "axes.option: the name is reserved"),
        ("beta = 0.05", "beta = 7", "target.beta"),
        ("beta = 0.05", "bta = 0.05", "target.bta"),
        ("beta = 0.05", 'protect = "noise"', "every trustee computes the release"),
        ("[release.target]", "[release.outputs]\nformats = 7\n[release.target]", "outputs.formats"),
        ("ill", "well ", "well"),
    ],
)
def test_trustees_sign_no_manifest_without_a_release(old: str, new: str, message: str) -> None:
    """After the vote nothing can change: what `release` would refuse then is refused before it begins."""
    check_release(ELECTION)
    with pytest.raises(InputError, match=message):
        check_release(made(PLAN.replace(old, new)))


def test_a_plan_is_written_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = in_process(monkeypatch, capsys)
    words = ["election", "plan", "--title", 'A "vote"', "--question", "Shall we?", "--option", "yes", "--option", "no"]
    words += ["--dimension", "age group=young,old", "--dimension", "health=well:8,ill:4", "--collector", "Company"]
    out = tmp_path / "plan.toml"
    assert run(*words, "--other", "Union", "--box", "Post", "--out", out).code == 2
    assert not out.exists(), "the collector's organisation and one other cannot share all roles"
    assert run(*words, "--other", "Union", "--other", "Court", "--box", "Post", "--out", out).code == 0
    plan = parse_plan(out.read_text())
    assert plan.title == 'A "vote"' and plan.dimensions["age group"].categories == ["young", "old"]
    assert plan.dimensions["health"].sizes == {"well": 8, "ill": 4} and plan.dimensions["health"].self_reported
    assert [party.organisation for party in plan.parties.values() if party.role == "box"] == ["Post"]


def test_equal_or_small_issuing_keys_are_refused() -> None:
    document = changed()
    keys = document["dimensions"][1]["keys"]
    keys["issuer-1"]["old"] = keys["issuer-1"]["young"]
    with pytest.raises(InputError, match="issuing keys must differ"):
        KnownElection.parse(json.dumps(document).encode())
    for written in (
        f"0x{keys['issuer-1']['young']}",
        keys["issuer-1"]["young"].upper(),
        f"0{keys['issuer-1']['young']}",
    ):
        document["dimensions"][1]["keys"]["issuer-1"]["old"] = written  # finding 23: one modulus written in two ways
        with pytest.raises(InputError):
            KnownElection.parse(json.dumps(document).encode())
    document["dimensions"][1]["keys"]["issuer-1"]["old"] = hex(2**2000 + 1)[2:]
    with pytest.raises(InputError, match="at least 2048 bits"):
        KnownElection.parse(json.dumps(document).encode())


def test_keys_without_a_certificate_are_refused() -> None:
    document = changed()
    certificates = document["dimensions"][1]["certificates"]["issuer-2"]
    certificates["old"] = certificates["young"]
    with pytest.raises(InputError, match="keys: issuer-2: age/old: the key has no valid certificate"):
        KnownElection.parse(json.dumps(document).encode())


def test_unknown_fields_and_bad_json_are_refused() -> None:
    with pytest.raises(InputError, match="manifest: surprise"):
        KnownElection.parse(json.dumps(changed(surprise=1)).encode())
    with pytest.raises(InputError, match="manifest: is not JSON"):
        KnownElection.parse(b"{")
    with pytest.raises(InputError, match="plan: is not valid TOML"):
        parse_plan("= 1")
    with pytest.raises(InputError, match="plan: options"):
        parse_plan("title = 'x'\nquestion = 'y'\n[dimensions]\n[parties]\n")


def test_keys_and_a_roll_that_do_not_fit_the_plan_are_refused(tmp_path: Path) -> None:
    stated = parse_plan(PLAN)
    secrets = secrets_of(stated)
    keys = {each.name: each for each in keys_of(stated, secrets)}
    dealings = {name: deal(stated, secrets[name], keys) for name in stated.trustees}
    with pytest.raises(InputError, match="roll: has no column 'age'"):
        make_manifest(stated, {"1": {"sex": "f"}}, list(keys.values()), dealings)
    for part, value in (
        ("seal", "00"),
        ("key", "zz" * 32),
        ("moduli", {}),
        ("certificates", {}),
        ("seal", "ff" * 1216),
    ):
        name = "issuer-1" if part in ("moduli", "certificates") else "trustee-1"
        (tmp_path / "public.json").write_bytes(replace(keys[name], **{part: value}).document())
        with pytest.raises(InputError):
            make_manifest(stated, roll_of(12), [*keys.values(), read_public_keys(tmp_path / "public.json")], dealings)


@pytest.mark.parametrize(
    "text", ["", "age\nyoung\n", "row,age\na,x\na,y\n", "row,age\n,x\n", "row,age\na\n", "row,age\na,x,y\n"]
)
def test_a_roll_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="roll: "):
        read_roll(text.encode())


def test_the_minimum_follows_participation() -> None:
    election = made(PLAN.replace("kappa = 2", "kappa = 10").replace("share = 0", "share = 5"))
    assert [election.kappa(accepted) for accepted in (0, 100, 200, 201, 1000)] == [10, 10, 10, 11, 50]


def test_every_party_signs_before_the_board_begins(tmp_path: Any) -> None:
    world = World(tmp_path, people=2, plan=plan_for(2, 1))
    signed = {
        name: world.election.sign(secret.signing, name, "all", "manifest", world.election.content)
        for name, secret in world.secrets.items()
    }
    signed["box"] = signed["board"]
    with pytest.raises(InputError, match="box: has not signed"):
        world.roles["board"].run("begin", json.dumps(signed).encode())


def test_the_tally_key_has_no_dealer_and_no_wrong_part() -> None:
    """A changed commitment, proof or hash is refused by everybody who reads the manifest."""
    document = changed()
    for part in ("commitments", "proof", "pledge"):
        wrong = json.loads(json.dumps(document))
        stated = wrong["tally"]["trustee-2"]
        other = document["tally"]["trustee-1"][part]
        stated[part] = other
        with pytest.raises(InputError, match="tally: trustee-2"):
            KnownElection.parse(json.dumps(wrong).encode())


def test_parties_approve_only_what_is_theirs(tmp_path: Path) -> None:
    """Finding 13: from keys to signatures by the public functions; a manifest with foreign keys is not signed."""
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_for(12, 4).replace("openers = 3", "openers = 2"))
    names = list(parse_plan(plan.read_text()).parties)
    for name in names:
        election.init(plan, name, tmp_path / name)
        election.join(tmp_path / name, tmp_path / "drop")
    roll = tmp_path / "roll.csv"
    roll.write_bytes(roll_csv(roll_of(12)))
    with pytest.raises(InputError, match="trustee-1 has not shown its part"):
        election.manifest(plan, roll, tmp_path / "drop", tmp_path / "manifest.json")
    for name in ("trustee-1", "trustee-2", "trustee-3"):
        election.join(tmp_path / name, tmp_path / "drop")
    election.manifest(plan, roll, tmp_path / "drop", tmp_path / "manifest.json")
    for name in names:
        election.approve(tmp_path / name, tmp_path / "manifest.json", tmp_path / "drop")
    known = KnownElection.read(tmp_path / "manifest.json")
    assert set(read_approvals(known, tmp_path / "drop")) == set(names)
    document = json.loads(known.content)
    for place, (name, part) in enumerate((("box", "key"), ("issuer-1", "seal"), ("board", "address"))):
        other = json.loads(known.content)
        index = next(i for i, party in enumerate(document["parties"]) if party["name"] == name)
        other["parties"][index][part] = "https://evil" if part == "address" else document["parties"][index - 1][part]
        path = tmp_path / f"other {place}.json"
        path.write_text(json.dumps(other))
        (tmp_path / name / "manifest.json").unlink()
        with pytest.raises(InputError, match="other keys, another address"):
            election.approve(tmp_path / name, path, tmp_path / "drop")
    # The organiser's own: nothing that parties agreed on in the plan can be loosened behind its hash.
    (tmp_path / "registrar" / "manifest.json").unlink()
    loosened: dict[str, object] = {
        "kappa": 1,
        "least": 2,
        "share": 1,
        "question": "Shall they?",
        "options": ["no", "yes"],
    }
    for part, value in {**loosened, "release": '{"target": {"beta": 0.4}}'}.items():
        path = tmp_path / "loosened.json"
        path.write_text(json.dumps({**document, part: value}))
        with pytest.raises(InputError, match=f"{part}: it has "):
            election.approve(tmp_path / "registrar", path, tmp_path / "drop")
    (tmp_path / "trustee-3" / "manifest.json").unlink()
    (tmp_path / "trustee-3" / "pledges.json").write_text("{}")
    with pytest.raises(InputError, match="not those that this trustee saw"):
        election.approve(tmp_path / "trustee-3", tmp_path / "manifest.json", tmp_path / "drop")


def test_backup_and_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path / "world", people=2, plan=plan_for(2, 1))
    folder = tmp_path / "issuer-1"
    world.secrets["issuer-1"].write(folder / "keys.json")
    (folder / "manifest.json").write_bytes(world.election.content)
    with pytest.raises(InputError, match="at least 12"):
        election.backup(folder, tmp_path / "file", "short")
    election.backup(folder, tmp_path / "file", "a long passphrase")
    assert b"seed" not in (tmp_path / "file").read_bytes()
    with pytest.raises(InputError, match="the passphrase is wrong"):
        election.restore(tmp_path / "file", tmp_path / "again", "another passphrase")

    change = os.chmod

    def broken(path: Any, mode: int, **more: Any) -> None:
        if str(path).endswith("keys.json"):
            raise OSError(errno.EIO, "input/output error")
        change(path, mode, **more)

    with monkeypatch.context() as patched:  # it was ignored: others could have read the keys
        patched.setattr(os, "chmod", broken)
        with pytest.raises(OutputError, match="again: cannot be written"):
            election.restore(tmp_path / "file", tmp_path / "again", "a long passphrase")
    assert not (tmp_path / "again").exists()
    election.restore(tmp_path / "file", tmp_path / "again", "a long passphrase")
    assert (tmp_path / "again" / "keys.json").read_bytes() == (folder / "keys.json").read_bytes()
    role = open_role(tmp_path / "again")
    with pytest.raises(InputError, match="has not caught up"):
        role.run("sign", b"{}")


def test_codes_and_fingerprints_are_typeable() -> None:
    """Five groups of four from 32 letters; every single wrong letter is found."""
    code = code_of(bytes(range(12)))
    assert len(code) == 24 and read_code(code.lower().replace("-", " ")) == code
    plain = code.replace("-", "")
    for place in range(20):
        for letter in ALPHABET:
            if letter != plain[place]:
                with pytest.raises(InputError, match="wrong letter"):
                    read_code(plain[:place] + letter + plain[place + 1 :])
    assert read_code(code.replace("1", "I").replace("0", "O")) == code, "letters that people confuse"


def test_a_roll_of_any_length_is_kept(tmp_path: Path) -> None:
    """Finding 1: 2,000 people in names of 40 letters are beyond 64 KiB; a wrong roll is refused, and says why."""
    people = {f"{number:040d}": {"age": "young" if number % 2 else "old"} for number in range(2_000)}
    assert len(roll_csv(people)) > 1 << 16
    assert read_roll(roll_csv(people)) == people
    world = World(tmp_path, people=2, plan=plan_for(2, 1))
    with pytest.raises(InputError, match="the roll has other numbers of people by age"):
        world.ask("registrar", "roll", roll_csv(people))
