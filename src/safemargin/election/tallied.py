"""Checks of what trustees did: the freeze, the binding total, and every published count."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from safemargin import checker
from safemargin.election.board import Board, BoardEntry
from safemargin.election.board_check import BoardCheck, content_of, entry_name
from safemargin.election.manifests import NO_ANSWER, TOTAL, KnownElection
from safemargin.election.tallies import Cell, TallyPlan, published_cells
from safemargin.election.turnout import published_totals, turnout


def spare_trustees(election: KnownElection) -> int:
    """How many trustees may sign something wrong without stopping the others: none where all are needed.

    Never as many as decrypt: these could tally another set of ballots.
    """
    needed, trustees = election.manifest.openers, len(election.manifest.tally)
    return min(trustees - needed, needed - 1)


def _wrong(check: BoardCheck, spare: int, faults: dict[str, str]) -> Iterator[str]:
    """Faults by trustee: findings, or disregarded where enough others are left."""
    if len(faults) > spare:
        yield from faults.values()
    else:
        check.disregarded += faults.values()


def freeze_faults(board: Board, check: BoardCheck, plan: TallyPlan) -> Iterator[str]:
    """Enough trustees froze the one set of ballots and the one list of sums before anything was decrypted."""
    expected = {"root": plan.root.hex(), "list": plan.list_hash}
    faults = {
        entry.author: f"{entry_name(index, entry)}: is not the root of the ballots and the list of sums that may be "
        "decrypted"
        for index, entry in enumerate(board.entries)
        if entry.type == "freeze" and entry.body != expected
    }
    manifest = board.election.manifest
    yield from _wrong(check, len(manifest.tally) - manifest.freezers, faults)
    same = len(board.of("freeze")) - len(faults)
    if board.of("total") and same < manifest.freezers:
        yield f"freeze: {same} trustees froze these ballots; {manifest.freezers} must before anything is decrypted"


def total_faults(board: Board, check: BoardCheck, plan: TallyPlan) -> Iterator[str]:
    """The binding total: every trustee's parts, and the numbers that follow from them."""
    stated, parts = board.of("result"), board.of("total")
    check.dimensions[TOTAL]["opened"] = bool(stated)
    if not parts and not stated:
        return
    cells = {cell.option: cell for cell in plan.total_cells}
    right: dict[str, dict[str, bytes]] = {option: {} for option in cells}
    faults: dict[str, str] = {}
    for entry in parts:
        if fault := _total_fault(plan, cells, entry):
            faults[entry.author] = fault
            continue
        for option, given in entry.body["parts"].items():
            right[option][entry.author] = bytes.fromhex(given["part"])
    yield from _wrong(check, spare_trustees(board.election), faults)
    check.right_totals = right
    if not stated:
        return
    needed = board.election.manifest.openers
    if any(len(by) < needed for by in right.values()):  # a number that nobody can verify: trustees must not go on
        yield f"result: stated although fewer than {needed:,} trustees decrypted every option of the total"
        return
    counts = {option: plan.decrypt(cell, right[option]) for option, cell in cells.items()}
    check.total = dict(stated[0].body["counts"])
    for option in sorted({*counts, *check.total}):
        if counts.get(option) != check.total.get(option):
            yield f"result: {option}: {check.total.get(option)} stated, {counts.get(option)} decrypted"
    check.total_verified = counts == check.total


def _total_fault(plan: TallyPlan, cells: dict[str, Cell], entry: BoardEntry) -> str | None:
    if set(entry.body["parts"]) != set(cells):
        return f"total: {entry.author} did not decrypt exactly the options of the total"
    for option, given in entry.body["parts"].items():
        if not plan.is_part(entry.author, cells[option], given):
            return f"total: the part of {entry.author} for {option} is wrong"
    return None


def signed_release(board: Board) -> list[BoardEntry]:
    """The statements about the release that most trustees signed alike; of two such, the first."""
    by_body: dict[str, list[BoardEntry]] = {}
    for entry in board.of("release"):
        body = {key: value for key, value in entry.body.items() if key != "cells"}
        by_body.setdefault(json.dumps(body, sort_keys=True), []).append(entry)
    return max(by_body.values(), key=len, default=[])


def release_faults(board: Board, check: BoardCheck, plan: TallyPlan) -> Iterator[str]:
    """The release: signed alike by enough trustees, and every published count follows from the ballots."""
    stated = signed_release(board)
    for name in plan.accepted:
        check.dimensions[name].setdefault("opened", name in plan.groups and bool(stated))
    if not plan.total_cells:
        check.complete = len(board.of("freeze")) >= board.election.manifest.freezers
    if not stated:
        return
    others = [entry.author for entry in board.of("release") if entry not in stated]
    other = "release: the trustees signed different releases"
    yield from _wrong(check, spare_trustees(board.election), {name: f"{other}: {name} another one" for name in others})
    if len(stated) < board.election.manifest.openers:
        return
    body = {key: value for key, value in stated[0].body.items() if key != "cells"}
    check.certified, check.complete, check.turnout = bool(body["certified"]), True, body["turnout"]
    files = {name: content_of(board, f"release/{name}") for name in body["files"]}
    digest = hashlib.sha256(json.dumps(body["files"], sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    dissent = [entry.author for entry in board.of("compared") if entry.body["release"] != digest]
    yield from _wrong(
        check, spare_trustees(board.election), {name: f"compared: {name} computed another release" for name in dissent}
    )
    if check.certified != bool(files):
        yield "release: is called certified without files, or has files without being certified"
    if body["kappa"] != plan.kappa:
        yield "release: the minimum group does not follow the rule of the manifest"
    if body["turnout"] != turnout(plan.accepted, board.election.manifest.electorate, files):
        yield "release: the turnout does not follow from the ballots and the published tables"
    cells = published_cells(files, plan.groups, board.election.manifest.options) if files else {}
    yield from _cell_faults(stated, check, plan, cells)
    if files:
        yield from _table_faults(board, check, files)


def _cell_faults(stated: list[BoardEntry], check: BoardCheck, plan: TallyPlan, cells: dict[Cell, int]) -> Iterator[str]:
    """Every published count is the decryption of the sum behind it, and nothing else was decrypted in public."""
    parts: dict[Cell, dict[str, bytes]] = {cell: {} for cell in cells}
    faults: dict[str, str] = {}
    for entry in stated:
        if fault := _cell_fault(plan, cells, entry):
            faults[entry.author] = fault
            continue
        for cell, each in zip(cells, entry.body["cells"], strict=True):
            parts[cell][entry.author] = bytes.fromhex(each["part"])
    yield from _wrong(check, spare_trustees(plan.election), faults)
    for cell, count in cells.items():
        if len(parts[cell]) < plan.election.manifest.openers:
            yield f"release: {cell.dimension}, {cell.option}: too few trustees proved this count"
            continue
        number = plan.decrypt(cell, parts[cell])
        check.published += 1
        if number != count:
            where = f"{cell.dimension}: {', '.join(cell.categories)}: {cell.option}"
            yield f"release: {where}: {count:,} published, {number:,} decrypted"


def _cell_fault(plan: TallyPlan, cells: dict[Cell, int], entry: BoardEntry) -> str | None:
    given = [Cell(each["dimension"], tuple(each["categories"]), each["option"]) for each in entry.body["cells"]]
    if given != list(cells):  # in the order of the tables
        return f"release: {entry.author} did not decrypt exactly the published counts"
    for cell, each in zip(given, entry.body["cells"], strict=True):
        if not plan.is_allowed(cell):
            return f"release: {cell.dimension}, {cell.option}: a sum that must not be decrypted"
        if not plan.is_part(entry.author, cell, each):
            return f"release: the part of {entry.author} for {cell.dimension}, {cell.option} is wrong"
    return None


def _table_faults(board: Board, check: BoardCheck, files: dict[str, bytes]) -> Iterator[str]:
    """The total of the release is the binding one, and the certificate passes the checker."""
    totals = published_totals(files["total.csv"])
    expected = +Counter({option: check.total.get(option, 0) for option in board.election.manifest.options})
    if totals is not None and NO_ANSWER in totals:  # with a joint roll, people without an answer are an option
        expected += Counter({NO_ANSWER: board.election.manifest.electorate - expected.total()})
    if totals is None or +totals != expected:
        yield "release/total.csv: is not the binding total"
    found = checker.check(files)
    for failure in found.failures:
        yield f"release: the checker of certificates: {failure}"
    check.unchecked += [f"The release: {note}" for note in found.unchecked]
