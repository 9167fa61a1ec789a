"""Which labels may be sums, by name, and whether they are, by arithmetic.

Let p be the count of a label and q_1, ..., q_k those of its parts, all else equal. Each is in a range [l, u], one
value if it is printed. The label can be the sum of the parts iff [l(p), u(p)] meets [sum l(q), sum u(q)] wherever it is
listed. Where all are printed this is an equation. That it holds by chance is the less likely the larger the counts:
the evidence of an equation is log10(1 + p), and an equation of zeros is no evidence.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, IntArray, row_keys

TOTAL = "Total"
STRONG = frozenset(
    "úhrnem souhrn всі összes bendra kopsumma suma: "
    "total totals tot all _t sum sums overall everyone everybody everything insgesamt gesamt gesamtsumme "
    "summe zusammen "
    "ensemble totale totaux somme suma totaal totalt totalsumma yhteensä kaikki ogółem razem celkem "
    "spolu összesen ukupno "
    "skupaj skupno toplam kokku viso iš viso kopā pavisam σύνολο всего итого усього разом общо samtals "
    "jumla tổng alle mindösszesen ukupno: kopskaits "
    "總計 總數 總和 总和 รวม รวมทั้งสิ้น جمع مجموع الجملة جملة ჯამი "
    "alla samtliga sammanlagt 合計 総数 計 总计 合计 总数 합계 총계 계 المجموع الإجمالي सभी कुल jami barcha total: "
    "סה״כ סה''כ סהכ ทั้งหมด jumlah kabuuan всичко вкупно общ gjithsej სულ ընդամենը барлығы "
    "grand-total celkem: insg. ges. tot.".split()
) | frozenset(
    (
        *("grand total", "סך הכל", "סך הכול", 'סה"כ', "tổng số", "tổng cộng"),
        *("i alt", "hela landet", "iš viso", "tất cả", "all categories", "total general", "gesamt:"),
        *("alle zusammen", "total count", "tous", "toutes", "total (all)", "all (total)", "total all", "all total"),
        *("the whole", "row total", "column total", "col total", "total row", "total column", "sum total", "tutti"),
        *("todos", "todas", "allemaal", "genel toplam", "suma całkowita", "γενικό σύνολο", "total generale", "всего:"),
        *("totale generale", "total général", "eindtotaal", "gesamtergebnis", "celkový součet", "suma końcowa"),
    )
)
"""What offices call a sum over all categories; a label of this name that is no sum is an error."""
WEAK = re.compile(
    r"(?:(?:un)?(?:weighted )?base(?: \(n\))?|basis|"
    r"t|0|00|000|99|999|_z|both(?: sexes)?|both genders|persons|people|population|total .+|.+ total|"
    r".+, total|all .+|"
    r".+ insgesamt|.+ zusammen|ensemble .+|.+ ensemble|alle .+|total\(.+\)|whole .+|entire .+|national|"
    r"country|nationwide|"
    r"world|deutschland|france|sverige|(?:the )?united .+|eu ?-?[0-9]{0,2}(?:_[0-9]{4})?|.+ \(total\)|.+ \(all\)|tous "
    r".+|toutes .+|todos .+|tutti .+)",
    re.I,
)
"""Names of sums that are also names of categories: they are sums if the arithmetic says so."""
LIKELY = re.compile(
    r"(?:grand )?total\b.*|.*\btotal|both (?:sexes|genders)|ambos (?:sexos|géneros)|"
    r"(?:all|alle|tous les|toutes les|todos los|todas las|tutti i|tutte le|wszystkie) "
    r"(?!other|übrigen|anderen|autres|otr[oa]s|altr[ie]|inne)\w+(?: (?:groups?|years))?|"
    r".+ insgesamt|insgesamt .+|ensemble .+|totaal .+|totalt .+|totale .+|celkem .+|ogółem .+|razem .+|всего .+",
    re.I,
)
"""Names of sums that other things hardly have: `All persons`, `Total - all`; sums where nothing speaks against it."""
PARTIAL = re.compile(
    r"(?:sub-?totals?|zwischensumme|sous-?totaux?|subtotale|deelsom|delsumma|of which|davon|dont)\b", re.I
)


def is_strong(label: str) -> bool:
    """Whether a label can hardly name anything but a sum.

    >>> is_strong("INSGESAMT"), is_strong("Total (n)"), is_strong("Totnes")
    (True, True, False)
    """
    return _plain(label) in STRONG or label.casefold().strip() in STRONG


def _plain(label: str) -> str:
    """A label without what may be the mark of a footnote."""
    plain = re.sub(
        r"\s*(?:[¹²³⁴⁵⁶⁷⁸⁹⁰ᵃᵇᶜᵈ]+|\(n\)|\[n\]|n ?=.*|[:.*†1-9]+|\([0-9]\))$", "", " ".join(label.casefold().split())
    )
    return plain.strip(" ()[]-–—")


def strong_among(labels: Sequence[str]) -> list[int]:
    """Places of the labels that can hardly name anything but a sum; numbers that count labels up mark no footnotes.

    >>> strong_among(["A", "Total1"]), strong_among(["SUM1", "SUM2", "A"]), strong_among(["Total", "Total1"])
    ([1], [], [0])
    """
    strong = [code for code, label in enumerate(labels) if is_strong(label)]
    alike = Counter(_plain(labels[code]) for code in strong)
    return [c for c in strong if alike[_plain(labels[c])] == 1 or not labels[c].strip()[-1:].isdigit()]


def total_among(labels: Sequence[str]) -> str | None:
    """The label that stands for the sum over all others, by its name alone."""
    return next((labels[code] for code in strong_among(labels)), None)


@dataclass(frozen=True)
class Test:
    """Whether a label is the sum of its parts: where not (a row, else -1), and how much says that it is.

    `tested` is the number of equations, `evidence` their weight, `short` rows where the parts that are listed are
    too few and others are not listed, `over` rows where they are too many, `within` how far sums are from being right.
    """

    wrong: int
    tested: int
    evidence: float
    short: tuple[int, ...] = ()
    within: int = 0
    sure: BoolArray | None = None

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against it."""
        return self.wrong < 0


class Rows:
    """The cells of a table as rows of codes and ranges, ready to be added up along any axis."""

    def __init__(self, codes: IntArray, lower: IntArray, upper: IntArray) -> None:
        self.codes, self.lower, self.upper = codes, lower, upper
        self._rest: dict[int, IntArray] = {}

    def rest(self, axis: int) -> IntArray:
        """For every row the number of its combination of all other axes."""
        if axis not in self._rest:
            others = [a for a in range(self.codes.shape[1]) if a != axis]
            if not others:
                self._rest[axis] = np.zeros(len(self.codes), dtype=np.int64)
            else:
                kept = self.codes[:, others]
                keys = row_keys(kept, [int(kept[:, i].max()) + 1 for i in range(len(others))])
                self._rest[axis] = np.unique(keys, return_inverse=True)[1].ravel().astype(np.int64)
        return self._rest[axis]

    def test(self, axis: int, parent: int, children: Sequence[int], skip: BoolArray | None = None) -> Test:
        """Whether `parent` is the sum of `children` along an axis, all else equal."""
        rest = self.rest(axis)
        size = int(rest.max()) + 1
        at_parent = np.flatnonzero(self.codes[:, axis] == parent)
        is_child = np.isin(self.codes[:, axis], list(children))
        inner = np.flatnonzero(is_child if skip is None else is_child & ~skip)
        low = np.bincount(rest[inner], self.lower[inner], minlength=size).astype(np.int64)
        high = np.bincount(rest[inner], np.minimum(self.upper[inner], UNBOUNDED), minlength=size)
        high = np.minimum(high, UNBOUNDED).astype(np.int64)
        listed = np.bincount(rest[inner], minlength=size)
        exact = np.bincount(rest[inner], self.lower[inner] != self.upper[inner], minlength=size) == 0
        keys = rest[at_parent]
        least, most = self.lower[at_parent], self.upper[at_parent]
        below, above = low[keys] > most, high[keys] < least
        missing = listed[keys] < len(set(children))
        short = above & missing & (listed[keys] > 0)
        wrong = (below | above) & ~short & (listed[keys] > 0)
        tested = exact[keys] & (least == most) & ~wrong & ~short & (least > 0) & (listed[keys] > 0)
        apart = np.maximum(low[keys] - most, least - high[keys])[wrong]
        return Test(
            int(at_parent[np.flatnonzero(wrong)[0]]) if wrong.any() else -1,
            int(tested.sum()),
            float(np.log10(1.0 + least[tested]).sum()),
            tuple(at_parent[short].tolist()),
            int(apart.max()) if len(apart) else 0,
        )

    def shortfall(self, axis: int, parent: int, children: Sequence[int], row: int) -> tuple[int, int]:
        """What the parts of a label add up to at least, and what it says, at one row."""
        rest = self.rest(axis)
        inner = (rest == rest[row]) & np.isin(self.codes[:, axis], list(children))
        return int(self.lower[inner].sum()), int(self.lower[row])
