"""Exact numbers from text: what is read, and what would take for ever."""

from fractions import Fraction
from pathlib import Path

import pytest

from safemargin.core import InputError, exact_number
from safemargin.noise.ptable_file import read_ptable


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e-2", Fraction(1, 100)),
        ("1e00000000002", Fraction(100)),
        ("1e0", Fraction(1)),
        ("1e-4_00", Fraction(1, 10**400)),
    ],
)
def test_powers_of_ten_are_written_out(text: str, number: Fraction) -> None:
    assert exact_number(text) == number


@pytest.mark.parametrize(
    "text",
    ["\u0661", "1e401", "1E-99999999", "1e+0000000000099999999", "1e9_999_999_999", "1/0", "inf", "", "1e_"],
)
def test_endless_powers_of_ten_are_no_numbers(text: str) -> None:
    with pytest.raises(ValueError):
        exact_number(text)


def test_a_ptable_with_an_endless_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("i,j,p,v,p_int_lb,p_int_ub,type\n0,0,1e-99999999,0,0,1,all\n")
    with pytest.raises(InputError, match=r"table\.csv: line 2: .* = '1e-99999999': is not a number"):
        read_ptable(path)
