"""Certificates of suppression and of intervals, true and forged: programs that share no code agree on each."""

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import certificate_kinds as kinds
import third_kinds
from certificate_kinds import Kind
from evidence import EVERYTHING, SHIFT
from safemargin import checker, checker_tables, suppress
from safemargin.core import Hierarchy, InputError, Lattice
from safemargin.suppress import public_proof
from safemargin.suppress.pattern import Pattern
from safemargin.suppress.public_proof import prove_in_public
from safemargin.verify.verify import verify
from verify.test_twins import SAID, twins

ROOT = Path(__file__).parent.parent.parent
FILES = [ROOT / "checker" / f"safemargin_verify{name}.py" for name in ("", "_tables", "_intervals")]
MISSING, READING = "a file is missing", "a file is read in another way"
pytestmark = pytest.mark.usefixtures("no_pictures")


def whole_program(kind: Kind, place: Path) -> str:
    """What the program itself says, by arrays and by other code."""
    shutil.rmtree(place, ignore_errors=True)
    path, given = kind.write(place)
    try:
        found = verify(path, given)
        return (
            READING if any("the certificate reads it with" in failure for failure in found.failures) else found.outcome
        )
    except InputError as error:
        return MISSING if "speaks about this file; give it" in str(error) else "fails"


def third(kind: Kind) -> str:
    """What the program says that was written from the page alone."""
    return third_kinds.outcome_of(kind.certificate, {**kind.files, **kind.more})


def test_true_and_forged(tmp_path: Path) -> None:
    """EVIDENCE=all: over 100 true certificates of these kinds and 4,000 forgeries; a sample otherwise.

    The checkers in Python and in JavaScript, the program, and one that was written from the page alone.
    """
    seeds, fields = (range(SHIFT, SHIFT + 45), 40) if EVERYTHING else (range(2), 8)
    true = [one for seed in seeds for one in kinds.true_ones(tmp_path, range(seed, seed + 1))]
    seen, wrong, rng = Counter[tuple[str, str]](), list[object](), random.Random(1)
    for one in true:
        answers = {one.check().outcome, whole_program(one, tmp_path / "w"), third(one)}
        seen[one.kind, one.outcome] += 1
        wrong += [] if answers == {one.outcome} else [(one.name, one.outcome, answers)]
    assert {kind for kind, _ in seen} == {"suppressed tables", "safemargin-pattern", "bounds"}
    for one in true:  # with its forgeries, of which there are too many to be held all at once
        pairs = [(one, one.check())]
        for forged in kinds.forgeries(one, rng, fields):
            found = forged.check()
            program, page = whole_program(forged, tmp_path / "w"), third(forged)
            right = found.outcome in forged.outcome or forged.outcome == "any"
            other = found.outcome != program
            if program == READING:  # which the caller must say, too; the checker names it in its statement
                other = found.outcome == "holds" and "read with" not in found.statement
            elif (
                program == MISSING or "\\ud800" in forged.name
            ):  # half of a surrogate pair, which the program never reads
                other = found.outcome == "holds" and program == MISSING
            if not right or other or found.outcome != page:
                wrong.append((forged.name, forged.outcome, found.outcome, found.failures, program, page))
            seen["forged", found.outcome] += 1
            pairs.append((forged, found))
        said = twins([case for case, _ in pairs], beside=True)
        for (case, own), other in zip(pairs, said, strict=True):
            same = own.outcome == other["outcome"]
            if same and not own.failures:
                same = all(getattr(own, name) == other[name] for name in SAID)
            wrong += [] if same else [(case.name, own.outcome, own.failures, other)]
    assert not wrong, (len(wrong), seen, wrong[:10])
    assert seen["forged", "fails"] > 6 * len(true)


def again(pattern: Pattern, move: int) -> Pattern:
    """The pattern of another true table, which is printed alike."""
    tables = pattern.tables
    counts = tables.counts.copy()
    for place, step in pattern.moves[move]:
        if pattern.hidden[place] < len(counts):
            counts[pattern.hidden[place]] += step
    changed = tuple(
        replace(table, counts=counts[ids].reshape(table.shape))
        for table, ids in zip(tables.tables, tables.cell_ids, strict=False)
    )
    own = np.array([counts[cell] if cell < len(counts) else 0 for cell in pattern.hidden.tolist()], dtype=np.int64)
    return replace(pattern, tables=replace(tables, counts=counts, tables=changed), counts=own)


def test_the_public_certificate_says_nothing_that_is_not_printed(tmp_path: Path) -> None:
    """Two true tables that are printed alike have the same certificate: nobody can infer from it which one is true."""
    from suppress.test_independent_patterns import Case

    compared = 0
    for seed in range(7):
        case = Case(seed, [kinds.KINDS[seed % len(kinds.KINDS)]])
        try:
            pattern = case.suppress(tmp_path / str(seed), case.counts).pattern
        except kinds.RefusedError:
            continue
        files = {f"{number}.csv": "" for number in range(len(pattern.tables.axes))}
        first = prove_in_public(pattern)
        assert first is not None
        for move in range(min(len(pattern.moves), 3)):
            other = again(pattern, move)
            assert (other.tables.counts != pattern.tables.counts).any()
            second = prove_in_public(other)
            assert second is not None and second.certificate(files) == first.certificate(files)
            compared += 1
    assert compared > 5


def test_the_public_certificate_says_nothing_of_an_order_that_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, sums and cells in any order: where labels are printed sorted, the certificate is the same."""
    from suppress.test_independent_patterns import Case

    rng, compared = random.Random(5), 0

    def mixed(table: Lattice, axes: Collection[str]) -> Lattice:
        trees, counts = [], table.counts
        for axis, tree in enumerate(table.trees):
            order = [0, *rng.sample(range(1, len(tree.labels)), len(tree.labels) - 1)]
            place = {old: new for new, old in enumerate(order)}
            splits = [(place[whole], tuple(place[part] for part in parts)) for whole, parts in tree.splits]
            rng.shuffle(splits)
            trees.append(Hierarchy(tree.name, tuple(tree.labels[node] for node in order), tuple(splits)))
            counts = np.take(counts, order, axis=axis)
        return Lattice(tuple(trees), counts)

    for seed in range(7):
        case = Case(seed, [kinds.KINDS[seed % len(kinds.KINDS)]])
        try:
            pattern = case.suppress(tmp_path / str(seed), case.counts).pattern
        except kinds.RefusedError:
            continue
        pattern = replace(pattern, by_labels=frozenset(tree.name for tree in pattern.tables.trees))
        files = {f"{number}.csv": "" for number in range(len(pattern.tables.axes))}
        with monkeypatch.context() as patched:
            patched.setattr(public_proof, "sorted_labels", mixed)
            others = [public_proof.in_printed_order(pattern) for _ in range(3)]
        first = prove_in_public(pattern)
        assert first is not None
        for other in others:
            compared += other.tables.trees != pattern.tables.trees
            second = prove_in_public(other)
            assert second is not None and second.certificate(files) == first.certificate(files)
    assert compared > 5


@pytest.fixture
def published(tmp_path: Path) -> Path:
    table = tmp_path / "t.csv"
    table.write_text("region,sex,count\nn,f,12\nn,m,2\ns,f,7\ns,m,30\ne,f,5\ne,m,19\n")
    return suppress(table).write(tmp_path / "out") / "published"


def run(place: Path, *arguments: str | Path) -> tuple[int, str]:
    command = [sys.executable, "-I", "-S", str(place / FILES[0].name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def test_one_command_for_all_kinds_which_names_the_file_that_is_missing(published: Path, tmp_path: Path) -> None:
    place = tmp_path / "checker"
    place.mkdir()
    shutil.copy(FILES[0], place)
    assert run(place, published)[0] == 3 and FILES[1].name in run(place, published)[1]
    assert run(place, published, "--files-only")[0] == 0
    shutil.copy(FILES[1], place)
    code, text = run(place, published)
    assert code == 0 and "Checked: Nobody can infer a suppressed count exactly" in text
    office = published.parent / "confidential" / "certificate.json"
    assert run(place, office, published)[0] == 0
    one = next(one for seed in range(9) if (one := kinds.intervals(seed, tmp_path)) and one.outcome == "holds")
    path, given = one.write(tmp_path / "w")
    code, text = run(place, path, *given)
    assert code == 3 and FILES[2].name in text
    shutil.copy(FILES[2], place)
    code, text = run(place, path, *given)
    assert code == 0 and "lies within its interval" in text
    (published / "pattern.csv").write_text((published / "pattern.csv").read_text().replace("37", "38"))
    assert run(place, published)[0] == 1


def test_tables_that_were_published_before_are_needed(tmp_path: Path) -> None:
    one = next(one for seed in range(9) for one in kinds.beside_earlier(seed, tmp_path) if one.certificate is None)
    path, given = one.write(tmp_path / "w")
    assert one.check().outcome == "holds" == verify(path, given).outcome
    alone = replace(one, more={}).check()
    assert alone.outcome == "not checked" and any("before.csv: is not here" in note for note in alone.unchecked)
    changed = replace(one, more={"before.csv": one.more["before.csv"] + b"\n"})
    assert "its hash is not that of the certificate" in changed.check().failures[0]


def test_a_column_that_is_called_otherwise_is_named_as_not_checked(tmp_path: Path) -> None:
    """Two tables whose shared axis has two names are not linked: nothing shows that the counts hide each other."""
    ones = (one for seed in range(40) for one in kinds.suppressed(seed, tmp_path) if one.certificate is None)
    one = next(one for one in ones if len(one.stated["tables"]) > 1)
    result = one.check()
    assert result.outcome == "holds" and any("different names" in note for note in result.unchecked)


def test_the_two_files_of_suppression_do_not_pass_for_each_other(published: Path) -> None:
    """The certificate of the office in the published folder would disclose counts; it is refused there."""
    files = checker.read_folder(str(published))
    secret = (published.parent / "confidential" / "certificate.json").read_bytes()
    forged = kinds.sealed({**files, "certificate.json": secret}, json.loads(secret))
    assert checker.check(forged).outcome == "fails"
    result = checker.Result()
    with checker_tables.found(result):
        checker_tables.check_one(files["certificate.json"], files, "c.json", result)
    assert result.outcome == "holds"
