"""Record keys and lookups: secret, stable, uniform, and exact at the ends."""

import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from cell_key_vectors import CELLS, PERTURBED, PTABLES
from safemargin.core import InputError
from safemargin.samplers.cell_key import (
    DECIMAL,
    HASHED,
    KeyForm,
    integer_keys,
    noise_of,
    read_secret,
    record_keys,
    secret_of,
)
from safemargin.samplers.ptables import Law, PTable, key_table, ptable, request

ALARM = 1e-8
"""False-alarm rate of one statistical check; the tests here make fewer than a hundred, so they alarm below 1e-6."""

SECRET = secret_of(b"a secret of more than sixteen bytes")


def reference(setting: tuple[int, str, int]) -> PTable:
    rows = []
    for count, law in PTABLES[setting].items():
        rows.append(Law(count, tuple(law), tuple(round(p * 10**8) for p in law.values())))
    return PTable(tuple(rows))


@pytest.mark.parametrize("setting", PERTURBED, ids=str)
def test_perturbed_counts_are_those_of_the_reference(setting: tuple[int, str, int]) -> None:
    """Every cell and margin of sex by age, from the exact keys of the inner cells."""
    for sex, age, true, perturbed in PERTURBED[setting]:
        inside = [cell for cell in CELLS if sex in ("Total", cell[0]) and age in ("Total", cell[1])]
        key = sum(int(Fraction(cell[4]) * 10**15) for cell in inside) % 10**15
        assert sum(cell[2] for cell in inside) == true
        assert true + noise_of(reference(setting), np.array([true]), np.array([key]), DECIMAL)[0] == perturbed


def test_record_keys_are_keyed_hashes() -> None:
    keys = record_keys(["7", "8", "7"], SECRET)
    assert keys[0] == keys[2] != keys[1]
    assert (record_keys(["7"], secret_of(b"another secret, long enough")) != keys[:1]).all()
    digest = hashlib.blake2b(b"8", digest_size=8, key=SECRET).digest()
    assert keys[1] == int.from_bytes(digest, "little") % 2**48
    assert record_keys([], SECRET).tolist() == []


def test_a_secret_must_be_long_enough(tmp_path: Path) -> None:
    for name in ("short", "long"):
        (tmp_path / name).touch(0o600)
    (tmp_path / "short").write_bytes(b"0123456789\n")
    with pytest.raises(InputError, match="short: has 10 bytes; a secret needs at least 16"):
        read_secret(tmp_path / "short")
    with pytest.raises(InputError, match="absent: there is no such file"):
        read_secret(tmp_path / "absent")
    (tmp_path / "long").write_bytes(bytes(range(1, 200)))
    assert len(read_secret(tmp_path / "long")) == 32


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o602])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    secret = tmp_path / "my secret"
    secret.write_bytes(bytes(range(1, 200)))
    secret.chmod(mode)
    with pytest.raises(InputError, match=r"other users can read or change this secret; run: chmod 600 '.*my secret'$"):
        read_secret(secret)
    secret.chmod(0o600)
    read_secret(secret)


def test_the_order_of_records_and_tables_does_not_matter() -> None:
    """Same participants, same noise: a group found twice, in other company and order, has the same key."""
    ids = [str(n) for n in range(1000)]
    keys = record_keys(ids, SECRET)
    halves = HASHED.cell_keys(np.arange(1000) % 2, keys, 2)
    again = HASHED.cell_keys(np.zeros(500, dtype=np.int64), record_keys(ids[::2][::-1], SECRET), 1)
    assert halves[0] == again[0]
    assert halves.sum() % 2**48 == int(keys.sum()) % 2**48


@pytest.mark.parametrize("form", [DECIMAL, HASHED, integer_keys(256)], ids=str)
def test_sums_of_many_keys_are_exact(form: KeyForm) -> None:
    keys = np.array([form.modulus - 1 - n % min(97, form.modulus) for n in range(5000)])
    places = np.arange(5000) % 3
    sums = form.cell_keys(places, keys, 3)
    for cell in range(3):
        assert int(sums[cell]) == sum(int(k) for k in keys[places == cell]) % form.modulus


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 2, 3, 9])
@pytest.mark.parametrize("js", [0, 1])
def test_noise_by_hashed_keys_follows_the_table(count: int, js: int) -> None:
    """Groups of `count` people, each once; chi-square, false alarms below 1e-6."""
    table, _ = ptable(request(4, 2, js))
    groups = 30_000
    keys = record_keys((str(n) for n in range(groups * count)), SECRET)
    cells = HASHED.cell_keys(np.arange(groups * count) % groups, keys, groups)
    noise = noise_of(table, np.full(groups, count), cells)
    law = table.law(count)
    seen = np.array([np.sum(noise == v) for v in law.noise])
    assert seen.sum() == groups
    assert chisquare(seen, groups * np.array(law.probabilities)).pvalue > ALARM


def test_the_ends_of_keys() -> None:
    table = PTable((Law(0, (0,), (1,)), Law(1, (-1, 0, 1), (1, 2, 1))))
    ones = np.ones(4, dtype=np.int64)
    quarter = 10**15 // 4
    decimal = noise_of(table, ones, np.array([0, quarter, quarter + 1, 10**15 - 1]), DECIMAL)
    assert decimal.tolist() == [-1, -1, 0, 1], "as in the reference, an upper end belongs to its range"
    whole = noise_of(table, ones, np.array([0, 63, 64, 255]), integer_keys(256))
    assert whole.tolist() == [-1, -1, 0, 1]
    every = noise_of(table, np.ones(256, dtype=np.int64), np.arange(256), integer_keys(256))
    assert np.bincount(every + 1).tolist() == [64, 128, 64]


def test_tables_for_integer_keys() -> None:
    table, _ = ptable(request(5, 2))
    keyed = key_table(table)
    counts = np.array([0, 1, 5, 750, 751, 1000, 1001])
    assert keyed.table.row_numbers(counts).tolist() == [0, 1, 5, 750, 501, 750, 501]
    keys = np.array([255, 255, 255, 0, 255, 0, 255 + 256])
    expected = [keyed.values[row, key % 256] for row, key in zip([0, 1, 5, 750, 501, 750, 501], keys, strict=True)]
    assert noise_of(keyed, counts, keys).tolist() == expected and expected[0] == 0 and expected[1] > 0 > expected[3]
    with pytest.raises(InputError, match="integer keys from 0 to 255"):
        noise_of(keyed, counts, keys, DECIMAL)
    with pytest.raises(InputError, match="count -1"):
        noise_of(table, np.array([-1]), np.array([0]))
