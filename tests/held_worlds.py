"""Tables of made-up offices in many languages and scripts, each with gaps that follow or do not.

Written from the definition of the reader's task alone: what is printed around a table, and the counts in it. Every
printed count is 6 or more, so that an audit which succeeds has subtracted. In an exposed table no two gaps share a row
or a column: all follow. In a safe one four gaps are the corners of a rectangle, and each may be any of eleven counts or
more, for the two tables differ by a shift of the rectangle.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

Cell = int | float | str | None
Grid = list[list[Cell]]


@dataclass(frozen=True)
class World:
    """How one office prints: its words, the sign of a gap, what explains it, and how numbers are written."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str
    column_name: str
    total: str
    title: str
    foot: str
    source: str
    sign: str = "*"
    thousands: str = ""
    digits: str = "0123456789"


def _world(name: str, rows: str, columns: str, axes: str, total: str, title: str, foot: str, source: str,
           sign: str = "*", thousands: str = "", digits: str = "0123456789") -> World:  # fmt: skip
    down, across = axes.split("|")
    return World(name, tuple(rows.split("|")), tuple(columns.split("|")), down, across, total, title, foot, source,
                 sign, thousands, digits)  # fmt: skip


WORLDS = [
    _world("english", "Ashby|Brook|Corby|Dunley|Exmoor", "Bus|Train|Bicycle|On foot", "Ward|Travel to work", "All ways",
           "Table 7b. Ways of travelling to work by ward, 2023", "* fewer than 10 people", "Source: Borough survey"),
    _world("german", "Altstadt|Neustadt|Westend|Ostend", "ledig|verheiratet|verwitwet|geschieden",
    "Bezirk|Familienstand",
           "Insgesamt", "Tabelle 3: Bevölkerung nach Bezirk und Familienstand", "x = Zahlenwert geheim zu halten",
           "Quelle: Einwohnermelderegister", "x", "."),
    _world("french", "Ain|Creuse|Doubs|Gers|Isère", "Maison|Appartement|Foyer", "Département|Logement", "Ensemble",
           "Tableau 12 – Ménages selon le logement", "s : donnée soumise au secret statistique",
           "Champ : France entière",
           "s", "\u202f"),
    _world("spanish", "Álava|Burgos|Cádiz|Lugo", "Soltero|Casado|Viudo", "Provincia|Estado civil", "Total general",
           "Cuadro 2. Población por estado civil", ".. Dato no disponible por secreto estadístico",
           "Fuente: padrón municipal", "..", "."),
    _world("portuguese", "Braga|Évora|Faro|Leiria", "Público|Privado|Próprio", "Distrito|Emprego", "Total",
           "Quadro 4 - Emprego por distrito", "… Dado confidencial", "Fonte: inquérito", "…", " "),
    _world("polish", "Gdynia|Łódź|Płock|Żory", "panna|mężatka|wdowa|rozwiedziona", "Miasto|Stan cywilny", "Ogółem",
           "Tabl. 5. Kobiety według stanu cywilnego", "# dane objęte tajemnicą statystyczną", "Źródło: spis", "#",
           "\u00a0"),
    _world("czech", "Brno|Cheb|Děčín|Zlín", "základní|střední|vysoké", "Okres|Vzdělání", "Celkem",
           "Tab. 1 Obyvatelstvo podle vzdělání", "i.d. individuální data", "Zdroj: sčítání", "i.d.", "\u00a0"),
    _world("hungarian", "Baja|Eger|Győr|Vác", "férfi|nő|ismeretlen", "Város|Nem", "Összesen",
           "3. tábla: Népesség nem szerint", ".. nem közölhető adat", "Forrás: népszámlálás", "..", " "),
    _world("finnish", "Espoo|Kuopio|Oulu|Vaasa", "Omistus|Vuokra|Muu", "Kunta|Hallinta", "Yhteensä",
           "Taulukko 8. Asunnot hallinnan mukaan", ".. tieto on salassapitosäännön alainen", "Lähde: rekisteri",
           "..", " "),
    _world("turkish", "Bursa|Çorum|Muş|Şırnak", "İlkokul|Lise|Üniversite", "İl|Eğitim", "Toplam",
           "Tablo 6. Eğitim durumu", "(c) Gizli veri", "Kaynak: anket", "(c)", "."),
    _world("greek", "Άρτα|Βόλος|Δράμα|Ξάνθη", "Άγαμοι|Έγγαμοι|Χήροι", "Πόλη|Οικογένεια", "Σύνολο",
           "Πίνακας 2. Πληθυσμός", "* εμπιστευτικό στοιχείο", "Πηγή: απογραφή", "*", "."),
    _world("russian", "Вологда|Казань|Омск|Тула", "мужчины|женщины|не указано", "Город|Пол", "Всего",
           "Таблица 3. Население по полу", "… данные не публикуются", "Источник: перепись", "…", "\u00a0"),
    _world("hebrew", "אילת|חיפה|יפו|עכו", "רווקים|נשואים|גרושים", "עיר|מצב משפחתי", 'סה"כ',
           "לוח 2. אוכלוסייה לפי מצב משפחתי", ".. נתון חסוי", "מקור: מרשם", "..", ","),
    _world("arabic", "عدن|حلب|صور|دبا", "ذكور|إناث|غير مبين", "المدينة|النوع", "المجموع",
           "جدول 4: السكان حسب النوع", "* بيانات سرية", "المصدر: التعداد", "*", "٬", "٠١٢٣٤٥٦٧٨٩"),
    _world("persian", "یزد|قم|ساری|بم", "شاغل|بیکار|محصل", "شهر|وضع فعالیت", "جمع",
           "جدول ۲: جمعیت بر حسب وضع فعالیت", "× محرمانه", "مأخذ: سرشماری", "×", "٬", "۰۱۲۳۴۵۶۷۸۹"),
    _world("hindi", "आगरा|दिल्ली|पटना|रीवा", "पुरुष|महिला|अन्य", "नगर|लिंग", "कुल",
           "सारणी 5: लिंग के अनुसार जनसंख्या", "* गोपनीय", "स्रोत: जनगणना", "*", "", "०१२३४५६७८९"),
    _world("thai", "ตาก|น่าน|เลย|ตรัง", "ชาย|หญิง|ไม่ระบุ", "จังหวัด|เพศ", "รวม",
           "ตาราง 3 ประชากรจำแนกตามเพศ", "- ข้อมูลปกปิด", "ที่มา: สำมะโน", "..", ","),
    _world("vietnamese", "Huế|Vinh|Cần Thơ|Đà Lạt", "Nam|Nữ|Khác", "Thành phố|Giới tính", "Tổng số",
           "Bảng 4. Dân số theo giới tính", ".. số liệu bảo mật", "Nguồn: tổng điều tra", "..", "."),
    _world("chinese", "鹿港|淡水|花蓮|宜蘭", "未婚|有偶|喪偶|離婚", "地區|婚姻狀況", "總計",
           "表四 人口按婚姻狀況分", "* 為保護個資不予公布", "資料來源:戶籍登記", "*", ","),
    _world("mainland", "大理|昆明|丽江|曲靖", "小学|中学|大学", "地区|学历", "总计",
           "表2 按学历分的人口", "… 数据保密", "资料来源:普查", "…", ","),
    _world("japanese", "青森市|長崎市|那覇市|富山市", "持家|借家|社宅|その他", "市|住居", "総数",
           "第3表 住居の種類別世帯数", "X 秘匿した数値", "出典:国勢調査", "X", ","),
    _world("korean", "강릉|경주|목포|여수", "남자|여자|미상", "도시|성별", "합계",
           "표 5. 성별 인구", "x 비밀보호 자료", "자료: 인구조사", "x", ","),
    _world("georgian", "გორი|ფოთი|თელავი|ბათუმი", "ქალი|კაცი|სხვა", "ქალაქი|სქესი", "სულ",
           "ცხრილი 2. მოსახლეობა", "… კონფიდენციალური", "წყარო: აღწერა", "…", " "),
    _world("dutch", "Assen|Breda|Ede|Venlo", "fiets|auto|trein|te voet", "Gemeente|Vervoer", "Totaal",
           "Tabel 9. Vervoer naar werk", "x geheim", "Bron: enquête", "x", "."),
    _world("italian", "Aosta|Bari|Como|Enna", "celibe|coniugato|vedovo", "Comune|Stato civile", "Totale",
           "Tavola 3 – Popolazione per stato civile", "(a) dato oscurato per la tutela del segreto",
           "Fonte: anagrafe", "(a)", "."),
    _world("swedish", "Boden|Eksjö|Falun|Gävle", "hyresrätt|bostadsrätt|äganderätt", "Kommun|Upplåtelse", "Samtliga",
           "Tabell 2. Hushåll efter upplåtelseform", ".. uppgiften är sekretessbelagd", "Källa: register", "..",
           "\u00a0"),
]  # fmt: skip


@dataclass(frozen=True)
class Table:
    """One table of a world: its counts, and which of them are gaps."""

    world: World
    counts: np.ndarray
    gaps: frozenset[tuple[int, int]]
    exposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.counts.shape[0]), int(self.counts.shape[1])

    @property
    def truths(self) -> set[int]:
        """What is suppressed."""
        return {int(self.counts[spot]) for spot in self.gaps}

    def text(self, number: int) -> str:
        """A count as this office writes it."""
        grouped = f"{number:,}".replace(",", self.world.thousands) if self.world.thousands else str(number)
        return "".join(self.world.digits[int(s)] if s.isascii() and s.isdigit() else s for s in grouped)

    def cell(self, i: int, j: int, sign: Cell = None, number: Callable[[int], Cell] = int) -> Cell:
        """What is printed at a place."""
        if (i, j) in self.gaps:
            return self.world.sign if sign is None else sign
        return number(int(self.counts[i, j]))

    def wide(self, sign: Cell = None, number: Callable[[int], Cell] = int) -> Grid:
        """A cross table, both totals last."""
        w, (n, m) = self.world, self.shape
        body: Grid = [
            [w.rows[i], *(self.cell(i, j, sign, number) for j in range(m)), number(int(self.counts[i].sum()))]
            for i in range(n)
        ]
        sums = [number(int(self.counts[:, j].sum())) for j in range(m)]
        return [[w.row_name, *w.columns, w.total], *body, [w.total, *sums, number(int(self.counts.sum()))]]

    def with_words(self, **words: object) -> "Table":
        """The same table printed in other words."""
        return replace(self, world=replace(self.world, **words))  # type: ignore[arg-type]


KINDS = ("apart", "row", "column", "chain", "zeros", "grand")
"""Ways in which gaps follow: from either margin, from one alone, in turn, as zeros, or from the total."""


def draw(world: World, seed: int, kind: str, most: int = 400) -> Table:
    """A table with gaps that follow in the way of `kind`, or that do not (`safe`).

    The rows of a safe rectangle are in the last half of the table and its columns are the first two, so that subtotals
    of either say nothing about it.
    """
    rng = np.random.default_rng(seed)
    n, m = len(world.rows), len(world.columns)
    counts = rng.integers(21, most, size=(n, m))
    rows, columns = rng.permutation(n).tolist(), rng.permutation(m).tolist()
    small = rng.permutation([1, 2, 3, 4]).tolist()
    if kind == "apart":
        spots = list(zip(rows[: min(3, n, m)], columns[: min(3, n, m)], strict=True))
    elif kind == "row":  # rows have one gap each, columns two
        spots = [(rows[0], columns[0]), (rows[1], columns[0])]
    elif kind == "column":
        spots = [(rows[0], columns[0]), (rows[0], columns[1])]
    elif kind == "chain":
        spots = [(rows[0], columns[0]), (rows[0], columns[1]), (rows[1], columns[0])]
    elif kind == "zeros":  # a rectangle of four of which two are nobody: the margins say so
        spots = [(i, j) for i in rows[:2] for j in columns[:2]]
        small = [0, 0, *small[:2]] if spots[0][0] == spots[1][0] else small
    elif kind == "grand":  # one gap
        spots = [(rows[0], columns[0])]
    else:
        spots = [(i, j) for i in (n - 2, n - 1) for j in (0, 1)]
        small = rng.permutation([6, 7, 8, 9]).tolist()
    for spot, value in zip(spots, small, strict=False):
        counts[spot] = value
    return Table(world, counts, frozenset(spots), kind != "safe")


def transposed(grid: Sequence[Sequence[Cell]]) -> Grid:
    return [list(row) for row in zip(*grid, strict=True)]
