"""`verify` notices every change: every field of every entry, raw and re-signed by its author, and every file."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evidence
from election_world import World
from safemargin.election.board import Board, Head, make_entry, sign_head
from safemargin.election.board_verification import check_board
from safemargin.election.keys import canonical
from safemargin.election.merkle import leaf_hash, root_of

MEANINGLESS = {("private", "commitment"), ("issued", "root")}
"""Hashes of what is never published: parts that trustees exchanged, and requests for tokens. Nobody relies on them
afterwards, so that a change by their own author is not noticed."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A finished election."""
    return World(tmp_path_factory.mktemp("verified")).run()


@pytest.fixture
def board(world: World, tmp_path: Path) -> Path:
    """A copy of its board that a test may damage."""
    folder = world.copy().folder
    shutil.copytree(folder, tmp_path / "board")
    return tmp_path / "board"


def variants(value: Any) -> Iterator[Any]:
    """Other values of the same kind."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        last = "0" if value[-1:] != "0" else "1"
        yield value[:-1] + last
        yield ""
    elif isinstance(value, list):
        yield value[:-1] if value else ["x"]
        if len(value) > 1:
            yield value[1:] + value[:1]
    elif isinstance(value, dict):
        yield {k: v for k, v in list(value.items())[1:]} if value else {"x": 1}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field at every depth; of long lists the first and last element."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1}) if value else ():
            yield from places(value[index], (*path, index))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A document with another value at one place."""
    made = copy.deepcopy(document)
    if not path:
        return value
    here = made
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return made


def found(board: Path, path: tuple[Any, ...], document: Any) -> Any:
    here = document
    for step in path:
        here = here[step]
    return here


def mutations(board: Path) -> list[tuple[Path, tuple[Any, ...], Any]]:
    """All changes of all fields of all entries."""
    cases = []
    for path in sorted((board / "entries").glob("*.json")):
        document = json.loads(path.read_bytes())
        for place in places(document):
            for value in variants(found(board, place, document)):
                if value != found(board, place, document):
                    cases.append((path, place, value))
    return cases


@pytest.mark.slow
def test_a_clean_board_verifies_and_names_what_it_does_not_show(world: World, board: Path) -> None:
    check = check_board(Board(board), processes=1, pinned=world.election.fingerprint)
    assert check.findings == [] and check.complete and check.total_verified and check.certified
    assert any("device" in text for text in check.unchecked) and any("roll" in text for text in check.unchecked)


@pytest.mark.slow
def test_every_raw_change_of_every_field_is_noticed(world: World, board: Path) -> None:
    """Somebody who keeps a copy of the board changes it; no signature fits."""
    cases = mutations(board)
    known = check_board(Board(board), processes=1).plan
    for path, place, value in evidence.sample(cases, 40):
        content = path.read_bytes()
        path.write_bytes(canonical(changed(json.loads(content), place, value)))
        try:
            assert check_board(_board(board), processes=1, known=known).findings, (path.name, place, value)
        finally:
            path.write_bytes(content)


def _board(folder: Path) -> Board:
    return Board(folder)


@pytest.mark.slow
def test_every_change_signed_by_its_author_is_noticed(world: World, board: Path) -> None:
    """The author changes an entry and signs it again, and board and witnesses sign the new log: the worst insiders."""
    known = check_board(Board(board), processes=1).plan
    cases = [case for case in mutations(board) if case[1][:1] == ("body",) and len(case[1]) > 1]
    unnoticed = []
    for path, place, value in evidence.sample(cases, 40):
        kept = {each: each.read_bytes() for each in [path, *sorted((board / "heads").glob("*"))]}
        entry = changed(json.loads(kept[path]), place, value)
        signed = make_entry(world.election, world.secrets[entry["author"]], entry["type"], entry["body"])
        path.write_bytes(signed.content)
        _sign_heads(world, board)
        if not check_board(_board(board), processes=1, known=known).findings:
            unnoticed.append((entry["type"], place[1], place, value))
        for each, content in kept.items():
            each.write_bytes(content)
    assert {(type_, field) for type_, field, *_ in unnoticed} <= MEANINGLESS, unnoticed


def _sign_heads(world: World, folder: Path) -> None:
    contents = [path.read_bytes() for path in sorted((folder / "entries").glob("*.json"))]
    for path in sorted((folder / "heads").glob("*.json")):
        size = int(path.stem)
        head = Head(size, root_of([leaf_hash(content) for content in contents[:size]]), {})
        for name in ("board", "issuer-1", "issuer-2", "issuer-3"):
            head.signatures[name] = sign_head(world.election, world.secrets[name].signing, name, head)
        path.write_bytes(canonical(head.document()))


@pytest.mark.slow
def test_every_file_is_compared(world: World, board: Path) -> None:
    """A byte of every file changed, every file missing, and a file that no entry names."""
    known = check_board(Board(board), processes=1).plan
    for path in sorted(p for p in board.rglob("*") if p.is_file() and p.parent.name not in ("heads", "entries")):
        content = path.read_bytes()
        if path.name == "manifest.json" and path.parent == board:
            continue
        if content:
            place = len(content) // 2
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert check_board(_board(board), processes=1, known=known).findings, path
        path.unlink()
        if content:
            assert check_board(_board(board), processes=1, known=known).findings, f"{path} missing"
        path.write_bytes(content)
    (board / "release" / "more.csv").write_bytes(b"")
    assert "no entry names" in check_board(_board(board), processes=1, known=known).findings[0]


@pytest.mark.parametrize(
    "name",
    ["entries/index.html", "entries/.result.json", "heads/.page", "heads/x.json", ".hidden", "ballots/.more", "more/"],
)
def test_no_page_and_no_hidden_file_stands_beside_the_board(world: World, board: Path, name: str) -> None:
    assert check_board(_board(board), processes=1).findings == []
    if name.endswith("/"):
        (board / name).mkdir()
    else:
        last = sorted((board / "heads").glob("0*.json"))[-1]
        (board / name).write_bytes(last.read_bytes())
    findings = check_board(_board(board), processes=1).findings
    assert findings == [f"{name.rstrip('/')}: is a file that no entry names"]


def test_a_link_is_no_file_of_a_board(board: Path) -> None:
    path = board / "received" / "hashes"
    path.rename(board.parent / "elsewhere")
    path.symlink_to(board.parent / "elsewhere")
    assert "no entry names" in check_board(_board(board), processes=1).findings[-1]


def test_a_head_holds_nothing_else(board: Path) -> None:
    path = board / "heads" / "000001.json"
    path.write_bytes(canonical({**json.loads(path.read_bytes()), "result": "the vote was cancelled"}))
    assert "canonical form" in check_board(_board(board), processes=1).findings[0]


def test_trustees_cannot_publish_an_invented_table(world: World, board: Path) -> None:
    """Finding 9: all trustees sign a table with another count, and board and witnesses follow; the sum does not."""
    import hashlib

    cells = json.loads(
        next(p for p in sorted((board / "entries").glob("*")) if b'"type":"release"' in p.read_bytes()).read_bytes()
    )
    assert cells["body"]["cells"], "something is published about a dimension"
    manifest = board / "release" / "manifest.json"
    document = json.loads(manifest.read_bytes())
    totals = document["inconsistency"]["totals"]["age"]
    totals[0], totals[1] = totals[0] + 1, totals[1] - 1
    manifest.write_text(json.dumps(document))
    for path in sorted((board / "entries").glob("*.json")):
        entry = json.loads(path.read_bytes())
        if entry["type"] == "release":
            entry["body"]["files"]["manifest.json"] = hashlib.sha256(manifest.read_bytes()).hexdigest()
            path.write_bytes(
                make_entry(world.election, world.secrets[entry["author"]], "release", entry["body"]).content
            )
    _sign_heads(world, board)
    findings = check_board(_board(board), processes=1).findings
    assert any("published" in text and "decrypted" in text for text in findings), findings


def test_a_manifest_of_somebody_else_is_refused(world: World, board: Path) -> None:
    """Finding 8: the manifest in the folder is compared with the id from the letter."""
    path = board / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"A small vote", b"A large vote"))
    assert check_board(_board(board), pinned=world.election.fingerprint).findings
    assert check_board(_board(board)).findings, "and nobody signed it"
