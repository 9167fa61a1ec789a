"""A guesser who has everything in `published`, knows the program, and guesses the confidential files to the letter.

A right guess must not be confirmed: no text in `published` is a hash of confidential content, whatever the hash, the
way of writing it or the public key; and where hidden numbers differ but the tables do not, no byte differs.
"""

import base64
import csv
import hashlib
import hmac
import io
import json
import re
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from commands import Run, in_process
from safemargin import Target, release, suppress

pytestmark = pytest.mark.usefixtures("no_pictures")
HASHES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "sha3_256", "sha3_512")
SHORTEST = 12
"""Letters of a shortened hash: one in 2 ** 48 texts is equal by chance."""


def written(content: bytes) -> Iterator[bytes]:
    """Content as programs write it: lines in other orders, without their header, documents without spaces."""
    yield content
    yield content.strip()
    lines = content.splitlines()
    for some in (lines, lines[1:], sorted(lines), sorted(lines[1:])):
        yield b"\n".join(some)
        yield b"\n".join(some) + b"\n"
        yield b"\r\n".join(some) + b"\r\n"
    yield from lines
    try:
        document = json.loads(content)
    except ValueError:
        if content.startswith(b"<"):  # a page
            return
        document = list(csv.DictReader(io.StringIO(content.decode("utf-8", "replace")), restkey="more"))
    yield json.dumps(document).encode()
    yield json.dumps(document, separators=(",", ":")).encode()
    yield json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def confirmed(published: Path, guesses: Iterable[bytes], keys: Iterable[bytes] = ()) -> list[str]:
    """Texts in the published files that a guess explains, the hashes of published files themselves excepted."""
    files = contents(published)
    own = {hashlib.sha256(content).hexdigest() for content in files}
    text = b"\n".join(files).decode("latin-1")
    marks = set(re.findall(rf"[0-9a-f]{{{SHORTEST},}}", text.lower())) - own
    marks |= {base64.b64decode(each + "=" * (-len(each) % 4)).hex() for each in re.findall(r"[A-Za-z0-9+/]{22,}", text)
              if len(each) % 4 != 1}  # fmt: skip
    starts = {mark[:SHORTEST]: mark for mark in marks}
    found = []
    for guess in {way for content in guesses for way in written(content)}:
        for name in HASHES:
            hashed = [hashlib.new(name, guess).hexdigest()]
            hashed += [hmac.new(key, guess, name).hexdigest() for key in keys]
            hashed += [hashlib.new(name, key + guess).hexdigest() for key in keys]
            found += [starts[each[:SHORTEST]] for each in hashed if each[:SHORTEST] in starts]
    return found


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]


def hidden(out: Path) -> list[bytes]:
    """What is confidential or for auditors; their manifest holds the salt, which nobody guesses."""
    inside = contents(out / "confidential") + contents(out / "auditors" if (out / "auditors").exists() else out / "-")
    return [content for content in inside if b'"salt"' not in content]


ROWS = [
    {"id": f"p{n}", "site": "NSEW"[n % 4], "grade": "xyz"[n % 7 % 3], "answer": ("yes", "no")[n * n % 5 % 2]}
    for n in range(240)
]
PUBLIC = (b"staff", b"1", b"safemargin", b"release", b"site,grade,people")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def people(folder: Path) -> Path:
    lines = [",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    return folder / "people.csv"


def test_the_guesser_confirms_a_hash_that_is_left_behind(tmp_path: Path) -> None:
    roll = b"site,grade,people\nN,x,20\nS,y,21\n"
    for number, mark in enumerate((
        hashlib.sha256(roll).hexdigest(),
        hashlib.md5(roll.strip()).hexdigest()[:16],
        base64.b64encode(hashlib.sha256(roll).digest()).decode(),
        hmac.new(b"staff", b"S,y,21", "sha256").hexdigest(),
    )):  # fmt: skip
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "certificate.json").write_text(json.dumps({"seal": mark}))
        assert confirmed(folder, [roll], [b"staff"]) != []
        assert confirmed(folder, [roll.replace(b"20", b"19").replace(b"21", b"22")], [b"staff"]) == []


@pytest.mark.parametrize("protect", ["merge", "noise"])
def test_no_guess_is_confirmed_by_a_release(tmp_path: Path, protect: str) -> None:
    rows = [{**row, "answer": "yes"} if row["site"] == "W" else row for row in ROWS]
    ledger = {"file": str(tmp_path / "l.sqlite"), "population": "staff", "cycle": "1", "id": "id", "answers": "kept"}
    made = release(
        rows,
        answer="answer",
        by=["site", "grade"],
        target=Target(kappa=5),
        protect=protect,
        ledger=None if protect == "noise" else ledger,
    )
    made.write(tmp_path / "out")
    names = [json.dumps(row).encode() for row in rows[:20]] + [row["id"].encode() for row in rows[:20]]
    assert confirmed(tmp_path / "out/published", hidden(tmp_path / "out") + names, PUBLIC) == []


def test_no_guess_is_confirmed_by_swapped_records_nor_by_their_order(tmp_path: Path, run: Run) -> None:
    source = people(tmp_path)
    asked = ("--swap", "site", "--match", "grade", "--hold", "answer", "--rate", "0.2")
    assert run("swap", source, *asked, "--format", "csv", "--out", tmp_path / "out").code == 0
    published = tmp_path / "out/published"
    lines = (published / "swapped.csv").read_text().splitlines()[1:]
    assert lines == sorted(lines), "the order of the records says nothing about who they are"
    assert confirmed(published, [source.read_bytes(), *hidden(tmp_path / "out")], PUBLIC) == []
    checked = run("verify", published)
    assert checked.code == 3, "there is a manifest and no certificate"


def every_file(folder: Path) -> dict[str, bytes]:
    """The content of every file below a folder, by its name there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_no_guess_is_confirmed_by_noised_records_and_their_order_leaves_no_trace(tmp_path: Path, run: Run) -> None:
    source, secret = people(tmp_path), tmp_path / "secret"
    secret.write_text("a5" * 32)
    secret.chmod(0o600)
    asked = ("--by", "site,grade,answer", "--id", "id", "--secret", secret, "--variance", "2", "--bound", "5")
    assert run("noise", "perturb", source, *asked, "--out", tmp_path / "out").code == 0
    published = tmp_path / "out/published"
    names = [row["id"].encode() for row in ROWS] + [json.dumps(row).encode() for row in ROWS[:20]]
    known = [source.read_bytes(), secret.read_bytes(), *hidden(tmp_path / "out"), *names]
    assert confirmed(published, known, PUBLIC) == []
    head, *lines = source.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([head, *lines[::-1]]) + "\n")
    assert run("noise", "perturb", other, *asked, "--out", tmp_path / "again").code == 0
    assert every_file(published) == every_file(tmp_path / "again/published")


@pytest.mark.slow
def test_no_guess_is_confirmed_by_topdown_and_only_noise_depends_on_people(tmp_path: Path, run: Run) -> None:
    """Two countries of equally many people in each region: what is not drawn is the same, whoever lives there."""
    assert run("topdown", "--demo", tmp_path / "country", "--people", "300", "--blocks", "8").code == 0
    table = parquet.read_table(tmp_path / "country/people.parquet")
    turned = table.set_column(table.schema.get_field_index("sex"), "sex", pyarrow.array(["f"] * table.num_rows))
    made = []
    for name, rows in (("one", table), ("two", turned)):
        parquet.write_table(rows, tmp_path / "country/people.parquet")
        assert run("topdown", tmp_path / "country/topdown.toml", "--out", tmp_path / name).code == 0
        published = tmp_path / name / "published"
        source = [(tmp_path / "country" / f).read_bytes() for f in ("people.parquet", "topdown.toml")]
        known = [json.dumps(row).encode() for row in rows.slice(0, 50).to_pylist()]
        assert confirmed(published, [*source, *known, *hidden(tmp_path / name)], PUBLIC) == []
        made.append(every_file(published))
    drawn = ("noisy/", "estimates/", "tables/", "manifest.json", "index.html")
    first, second = ({n: c for n, c in files.items() if not n.startswith(drawn)} for files in made)
    assert first == second and {"design.json", "guarantee.json"} <= set(first)
    assert set(made[0]) == set(made[1])


FORMATS = ["csv", "xlsx", "parquet", "json", "px", "sdmx.csv"]


@pytest.mark.parametrize("protect", ["merge", "suppress"])
def test_the_order_of_people_leaves_no_trace_in_any_format(tmp_path: Path, protect: str) -> None:
    """Only the salted hash of the auditors' folder, which is drawn, and what contains it may differ."""
    rows = [{**row, "answer": "yes"} if row["site"] == "W" else row for row in ROWS]
    made = []
    for number, order in enumerate((rows, rows[::-1], sorted(rows, key=lambda row: (row["answer"], row["grade"])))):
        asked = {"outputs": {"formats": FORMATS}, "protect": protect, "tables": {"pairs": "all"}}
        out = release(order, answer="answer", by=["site", "grade"], target=Target(kappa=5), **asked)
        out.write(tmp_path / str(number))
        files = every_file(tmp_path / str(number) / "published")
        own = [hashlib.sha256(files["certificate.json"]).hexdigest(), hashlib.sha256(files["index.html"]).hexdigest()]
        text = {name: content.decode("latin-1") for name, content in files.items()}
        for mark in [json.loads(files["manifest.json"])["auditors"], *own]:
            text = {name: content.replace(mark, "-") for name, content in text.items()}
        made.append(text)
    assert made[0] == made[1] == made[2]
    assert len(made[0]) > 12


def test_suppressed_tables_with_other_hidden_counts_are_the_same_files(tmp_path: Path) -> None:
    """Every exchange of one person around four gaps that leaves the pattern as it is leaves every byte as it is."""
    counts = {(a, b): n for (a, b), n in zip(product("pqr", "xyz"), (2, 9, 3, 8, 12, 7, 3, 10, 2), strict=True)}

    def files(counts: dict[tuple[str, str], int], name: str) -> dict[str, bytes]:
        lines = ["a,b,count", *(f"{a},{b},{n}" for (a, b), n in counts.items())]
        (tmp_path / f"{name}").mkdir()
        (tmp_path / f"{name}/t.csv").write_text("\n".join(lines) + "\n")
        place = Path(suppress(tmp_path / f"{name}/t.csv").write(tmp_path / f"{name}/out"))
        assert confirmed(place / "published", [*hidden(place), "\n".join(lines).encode()], PUBLIC) == []
        return {path.name: path.read_bytes() for path in sorted((place / "published").iterdir())}

    first, twins = files(counts, "0"), 0
    for (r, s), (x, y) in product(combinations("pqr", 2), combinations("xyz", 2)):
        moved = counts | {(r, x): counts[r, x] - 1, (s, y): counts[s, y] - 1}
        moved |= {(r, y): counts[r, y] + 1, (s, x): counts[s, x] + 1}
        other = files(moved, f"{r}{s}{x}{y}")
        table = next(name for name in first if name.endswith(".csv"))
        if other[table] == first[table]:
            twins += 1
            assert other == first, (r, s, x, y)
    assert twins, "some exchange is hidden"
