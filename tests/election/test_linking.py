"""Who answered what: an onlooker with all data of the collector and all clocks, and what the storage keeps."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from election_world import PLAN, World
from safemargin.core import numpy_generator
from safemargin.election.accepting import Mixer
from safemargin.election.merkle import leaf_hash
from safemargin.election.records import RecordFormat, split_batch
from safemargin.election.store import Store, open_store
from safemargin.election.verify import check_board

PEOPLE = 20
SMALL = PLAN.replace("well = 8, ill = 4", f"well = {PEOPLE // 2}, ill = {PEOPLE // 2}")
DAYS = 14 * 24 * 3600.0


class HastyMixer(Mixer):
    """Batching switched off: what comes in goes out at once, under the eyes of the collector."""

    log: list[tuple[float, str, bytes]]
    now = 0.0

    def receipt(self, dimension: str, onion: bytes) -> bytes:
        format_ = self.format(self.election.dimension(dimension))
        record = self.secret.sealing.open(onion, format_.layer_info(0))
        self.log.append((self.now, dimension, record))
        return super().receipt(dimension, onion)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Twenty people with tokens."""
    made = World(tmp_path_factory.mktemp("linking"), people=PEOPLE, plan=SMALL, classes={"mixer-1": HastyMixer})
    made.begin()
    made.enrol()
    made.issue()
    return made


@pytest.fixture(scope="module")
def cast(world: World) -> World:
    """Everybody answers two dimensions back to back, in the order of the roll: the worst that people can do."""
    mixer = world.role("mixer-1")
    mixer.log = []
    generator = numpy_generator(1)
    first = generator.uniform(0, DAYS, PEOPLE)
    second = first + 5 + generator.exponential(25, PEOPLE)
    moments = [
        (t, row, n) for n, ts in (("age", first), ("total", second)) for t, row in zip(ts, world.wallets, strict=True)
    ]
    for moment, row, name in sorted(moments):
        mixer.now = float(moment)
        world.cast_one(row, name, "yes", world.board.signers)
    return world


def owners(world: World, name: str, layer: int) -> dict[bytes, str]:
    """The truth: whose message has this hash, at a layer of the onion."""
    return {bytes.fromhex(w.state["tokens"][name]["layers"][layer]): row for row, w in world.wallets.items()}


def hits(world: World, layer: int, first: list[bytes], second: list[bytes], cost: Any) -> int:
    """People whose two messages an optimal assignment by this cost brings together."""
    one, two = owners(world, "age", layer), owners(world, "total", layer)
    pairs = linear_sum_assignment(np.asarray(cost, dtype=float))[1]
    return sum(one[leaf_hash(first[i])] == two[leaf_hash(second[int(j)])] for i, j in enumerate(pairs))


def test_without_batching_a_clock_links_nearly_everybody(cast: World) -> None:
    """The test build: the first mixer passes everything on at once, so the next party has arrival times."""
    seen = {name: [(t, item) for t, d, item in cast.role("mixer-1").log if d == name] for name in ("age", "total")}
    times = {name: np.array([t for t, _ in rows]) for name, rows in seen.items()}
    items = {name: [item for _, item in rows] for name, rows in seen.items()}
    cost = np.abs(times["age"][:, None] - times["total"][None, :])
    assert hits(cast, 1, items["age"], items["total"], cost) / PEOPLE > 0.9


@pytest.mark.statistical
def test_in_the_shipped_mode_nothing_links_better_than_chance(cast: World) -> None:
    """The same people, back to back, through the shipped mixers: all that the collector and the board hold.

    Every rule that pairs the records of two dimensions by their content or place is right for a number of people that
    is Poisson with mean 1 (one in n each), since keys are random. More than 14 of 20 has probability below 1e-12 for
    one rule, and for the six rules together.
    """
    cast.count()
    files = {}
    for name in ("age", "total"):
        size = RecordFormat(cast.election, cast.election.dimension(name), cast.board.signers).size
        files[name] = split_batch((cast.board.folder / "records" / name).read_bytes(), size)
    first, second = files["age"], files["total"]
    stored = [[value for _, value in cast.role("collector").store(name).items()] for name in ("age", "total")]
    place = np.arange(PEOPLE)

    def numbers(items: list[bytes], start: int, stop: int) -> Any:
        return np.array([int.from_bytes(item[start:stop][:7], "big") for item in items])

    rules = {
        "place in the file": (first, second, np.abs(place[:, None] - place[None, :])),
        "opposite place": (first, second, -np.abs(place[:, None] - place[None, :])),
        "place in the database": (*stored, np.abs(place[:, None] - place[None, :])),
        "nearest keys": (first, second, np.abs(numbers(first, 35, 67)[:, None] - numbers(second, 35, 67)[None, :])),
        "nearest prefixes": (
            first,
            second,
            np.abs(numbers(first, 99, 131)[:, None] - numbers(second, 99, 131)[None, :]),
        ),
        "nearest ends": (first, second, np.abs(numbers(first, -64, -57)[:, None] - numbers(second, -64, -57)[None, :])),
    }
    found = {name: hits(cast, -1, *rule) for name, rule in rules.items()}
    assert max(found.values()) <= 14, found


def test_send_times_of_one_person_say_nothing_about_each_other(world: World) -> None:
    """Independent and uniform over the window: an optimal assignment of times links about one person in n."""
    wallet = next(iter(world.wallets.values()))
    linked = []
    for _ in range(60):
        times = [wallet.send_times(["age", "total"], 1_000_000) for _ in range(PEOPLE)]
        first, second = np.array([t["age"] for t in times]), np.array([t["total"] for t in times])
        pairs = linear_sum_assignment(np.abs(first[:, None] - second[None, :]))[1]
        linked.append((pairs == np.arange(PEOPLE)).mean())
    assert np.mean(linked) < 0.15, "mean 1/20 or a little more; sd of the mean 0.006"


def test_the_published_order_is_that_of_the_bytes_whatever_the_arrival(tmp_path: Path) -> None:
    """Two runs with opposite orders of arrival publish the same file: the file is a function of the set."""
    world = World(tmp_path, people=6, plan=PLAN.replace("well = 8, ill = 4", "well = 3, ill = 3"))
    world.begin()
    world.enrol()
    world.issue()
    signers = world.board.signers
    for row in reversed(list(world.wallets)):
        world.cast_one(row, "age", "yes", signers)
        world.cast_one(row, "total", "yes", signers)
    world.count()
    for name in ("age", "total"):
        size = RecordFormat(world.election, world.election.dimension(name), signers).size
        content = (world.board.folder / "records" / name).read_bytes()
        records = [content[place : place + size] for place in range(0, len(content), size)]
        assert records == sorted(records) and len(records) == 6
    for path in world.folder.rglob("*.sqlite"):
        with sqlite3.connect(path) as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(item)")]
            assert columns == ["key", "value"], "no clock, no address, no number"
            with pytest.raises(sqlite3.OperationalError):
                database.execute("SELECT rowid FROM item")


def test_no_database_holds_both_a_person_and_an_answer(tmp_path: Path) -> None:
    world = World(tmp_path, people=6, plan=PLAN.replace("well = 8, ill = 4", "well = 4, ill = 2")).until_cast()
    world.count()
    world.open()
    for role in world.roles.values():
        role.close()
    people = [row.encode() for row in world.wallets]
    people += [w.key.public_key().public_bytes_raw() for w in world.wallets.values()]
    people += [text.hex().encode() for text in people]
    answers = [w._one_time(n).public_key().public_bytes_raw() for w in world.wallets.values() for n in ("age", "total")]
    answers += [text.hex().encode() for text in answers]
    holds: dict[str, set[str]] = {}
    for path in tmp_path.rglob("*"):
        if path.is_file() and "keys.json" not in path.name:
            content = path.read_bytes()
            party = path.relative_to(tmp_path).parts[0]
            for kind, marks in (("person", people), ("answer", answers)):
                if any(mark in content for mark in marks):
                    holds.setdefault(party, set()).add(kind)
    assert holds["registrar"] == {"person"} and holds["issuer-1"] == {"person"}
    assert holds["collector"] == {"answer"} and holds["board"] == {"answer"}
    assert all(len(kinds) == 1 for kinds in holds.values()), holds
    assert "mixer-1" not in holds and "mixer-2" not in holds, "mixers hold sealed messages only"


# --- storage


def check_store(store: Store) -> None:
    assert store.add({b"b": b"1", b"a": b"2"}) == {b"a": b"2", b"b": b"1"}
    assert store.add({b"b": b"9", b"c": b"3"}) == {b"b": b"1", b"c": b"3"}, "the first one wins"
    assert list(store.items()) == [(b"a", b"2"), (b"b", b"1"), (b"c", b"3")]
    assert store.get(b"z") is None and store.get(b"a") == b"2" and store.count() == 3
    assert store.add({}) == {}
    store.clear()
    assert store.count() == 0
    store.close()


def test_sqlite(tmp_path: Path) -> None:
    check_store(open_store(tmp_path, "a table"))


@pytest.mark.slow
def test_postgres(postgres: str) -> None:
    check_store(open_store(postgres, "a table"))


@pytest.mark.slow
def test_an_election_in_postgres_keeps_no_order(tmp_path: Path, postgres: str) -> None:
    import psycopg

    world = World(tmp_path, people=6, plan=PLAN.replace("well = 8, ill = 4", "well = 4, ill = 2"), place=postgres)
    world.until_cast()
    world.count()
    world.open()
    assert check_board(world.board, processes=1).findings == []
    with psycopg.connect(postgres) as connection:
        rows = connection.execute("SELECT key, xmin::text FROM collector_age ORDER BY ctid").fetchall()
    assert [key for key, _ in rows] == sorted(key for key, _ in rows) and len({batch for _, batch in rows}) == 1
    for role in world.roles.values():
        role.close()
