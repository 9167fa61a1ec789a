"""The manifest: what it refuses, and that nothing in it can change."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import Run, in_process
from election_world import PLAN, World, keys_of, plan_for, roll_of, secrets_of
from safemargin.core import InputError
from safemargin.election.handover import check_release
from safemargin.election.manifest import KnownElection
from safemargin.election.setup import make_manifest, parse_plan, read_public_keys, read_roll


def made(plan: str = PLAN, people: int = 12) -> KnownElection:
    """The manifest of a plan."""
    stated = parse_plan(plan)
    return make_manifest(stated, roll_of(people), keys_of(secrets_of(stated)))


ELECTION = made()


def changed(**values: Any) -> dict[str, Any]:
    return {**json.loads(ELECTION.content), **values}


def test_it_is_canonical_and_its_name_covers_everything() -> None:
    assert KnownElection.parse(ELECTION.content).mid == ELECTION.mid
    assert KnownElection.parse(ELECTION.content).content == ELECTION.content
    for name, value in (("least", 6), ("title", "Another"), ("spread", 5), ("release", "{}"), ("share", 7)):
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
        (member("issuer-2", "Court"), member("issuer-2", "Company"), "issuer: the collector's"),
        (member("trustee-2", "Court"), member("trustee-2", "Company"), "trustee: the collector's"),
        (member("mixer-2", "Court"), member("mixer-2", "Company"), "mixer: the collector's"),
        (member("mixer-2", "Court"), member("mixer-2", "Union"), "at least two organisations"),
        (member("mixer-2", "Court") + "\n", "", "mixer: needs at least 2"),
        ("signers = 2", "signers = 4", "issuer: needs at least 4"),
        ("signers = 2", "signers = 1", "greater than or equal to 2"),
        ("openers = 2", "openers = 1", "greater than or equal to 2"),
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
        ('registrar = { role = "registrar"', 'registrar = { role = "mixer"', "registrar"),
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
    assert run(*words, "--other", "Union", "--out", out).code == 2
    assert not out.exists(), "the collector's organisation and one other cannot share all roles"
    assert run(*words, "--other", "Union", "--other", "Court", "--out", out).code == 0
    plan = parse_plan(out.read_text())
    assert plan.title == 'A "vote"' and plan.dimensions["age group"].categories == ["young", "old"]
    assert plan.dimensions["health"].sizes == {"well": 8, "ill": 4} and plan.dimensions["health"].self_reported
    assert len({party.organisation for party in plan.parties.values() if party.role == "mixer"}) == 2


def test_equal_or_small_issuing_keys_are_refused() -> None:
    document = changed()
    keys = document["dimensions"][1]["keys"]
    keys["issuer-1"]["old"] = keys["issuer-1"]["young"]
    with pytest.raises(InputError, match="issuing keys must differ"):
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
    with pytest.raises(InputError, match="manifest: Invalid JSON"):
        KnownElection.parse(b"{")
    with pytest.raises(InputError, match="plan: is not valid TOML"):
        parse_plan("= 1")
    with pytest.raises(InputError, match="plan: options"):
        parse_plan("title = 'x'\nquestion = 'y'\n[dimensions]\n[parties]\n")


def test_keys_and_a_roll_that_do_not_fit_the_plan_are_refused(tmp_path: Path) -> None:
    stated = parse_plan(PLAN)
    keys = {each.name: each for each in keys_of(secrets_of(stated))}
    with pytest.raises(InputError, match="roll: has no column 'age'"):
        make_manifest(stated, {"1": {"sex": "f"}}, list(keys.values()))
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
            make_manifest(stated, roll_of(12), [*keys.values(), read_public_keys(tmp_path / "public.json")])


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
    signatures = {name: json.loads(world.roles[name].run("approve"))[name] for name in world.roles}
    signatures["mixer-2"] = signatures["mixer-1"]
    with pytest.raises(InputError, match="mixer-2: has not signed"):
        world.roles["board"].run("begin", json.dumps(signatures).encode())
