"""Forms that were written down before the reader was tried on them: other languages, symbols and layouts.

Each has the inner counts behind it: a suppressed one is given as None, and follows from the sums.
"""

FORMS: dict[str, tuple[str, dict[tuple[str, str], int]]] = {}
COUNTS = {
    ("Wien", "jung"): 31,
    ("Wien", "alt"): 52,
    ("Graz", "jung"): 24,
    ("Graz", "alt"): 3,
    ("Wels", "jung"): 17,
    ("Wels", "alt"): 44,
}
GAP = ("Graz", "alt")


def add(name: str, text: str) -> None:
    FORMS[name] = (text, COUNTS)


add(
    "german semicolon, dash as total sign, footnote geheim",
    "Tabelle 3;;;\nStadt;jung;alt;Zusammen\nWien;31;52;83\nGraz;24;x;27\nWels;17;44;61\n"
    "Zusammen;72;99;171\nx = Zahlenwert geheim\n",
)
add(
    "french, moins de 5",
    "Ville;jung;alt;Ensemble\nWien;31;52;83\nGraz;24;c;27\nWels;17;44;61\nEnsemble;72;99;171\n\n"
    "c : moins de 5\nSource : INSEE\n",
)
add("total first row and column", "City,Total,jung,alt\nTotal,171,72,99\nWien,83,31,52\nGraz,27,24,..\nWels,61,17,44\n")
add(
    "spanish long with Todos",
    "ciudad;edad;n\nTodos;Todos;171\nTodos;jung;72\nTodos;alt;99\nWien;Todos;83\nWien;jung;31\n"
    "Wien;alt;52\nGraz;Todos;27\nGraz;jung;24\nGraz;alt;:\nWels;Todos;61\nWels;jung;17\nWels;alt;44\n",
)
add("swedish pipe", "Stad|jung|alt|Totalt\nWien|31|52|83\nGraz|24|..|27\nWels|17|44|61\nTotalt|72|99|171\n")
add(
    "finnish tab",
    "Kaupunki\tjung\talt\tYhteensä\nWien\t31\t52\t83\nGraz\t24\t...\t27\nWels\t17\t44\t61\nYhteensä\t72\t99\t171\n",
)
add(
    "polish quoted, ogolem",
    '"Miasto","jung","alt","Ogółem"\n"Wien","31","52","83"\n"Graz","24","#","27"\n'
    '"Wels","17","44","61"\n"Ogółem","72","99","171"\n',
)
add("japanese", "都市,jung,alt,合計\nWien,31,52,83\nGraz,24,x,27\nWels,17,44,61\n合計,72,99,171\n")
add("russian", "Город;jung;alt;Всего\nWien;31;52;83\nGraz;24;*;27\nWels;17;44;61\nВсего;72;99;171\n")
add(
    "percent inside parentheses column",
    "City,jung,alt,Total,share\nWien,31,52,83,48.5%\nGraz,24,*,27,15.8%\nWels,17,44,61,35.7%\nTotal,72,99,171,100.0%\n",
)
add("sep line", "sep=;\nCity;jung;alt;Total\nWien;31;52;83\nGraz;24;;27\nWels;17;44;61\nTotal;72;99;171\n")
add("units row of n", "City,jung,alt,Total\n,n,n,n\nWien,31,52,83\nGraz,24,*,27\nWels,17,44,61\nTotal,72,99,171\n")
add(
    "interleaved percent",
    "City,jung,,alt,,Total\n,n,%,n,%,n\nWien,31,37.3,52,62.7,83\nGraz,24,88.9,*,*,27\n"
    "Wels,17,27.9,44,72.1,61\nTotal,72,42.1,99,57.9,171\n",
)
add(
    "headings per city",
    "Age,Persons\nWien\njung,31\nalt,52\nTotal,83\nGraz\njung,24\nalt,*\nTotal,27\nWels\njung,17\nalt,44\nTotal,61\n",
)
add(
    "indented ages per city",
    "City and age,Persons\nTotal,171\nWien,83\n  jung,31\n  alt,52\nGraz,27\n  jung,24\n  alt,*\n"
    "Wels,61\n  jung,17\n  alt,44\n",
)
add(
    "long with code columns",
    "code,city,age,count\n1,Wien,jung,31\n1,Wien,alt,52\n2,Graz,jung,24\n2,Graz,alt,\n3,Wels,jung,17\n"
    "3,Wels,alt,44\n,Total,jung,72\n,Total,alt,99\n1,Wien,Total,83\n2,Graz,Total,27\n3,Wels,Total,61\n,Total,Total,171\n",
)
add(
    "json records",
    ""
    '[{"city":"Wien","age":"jung","n":31},{"city":"Wien","age":"alt","n":52},{"city":"Graz","age":"jung","n":24},{"city":"Graz","age":"alt","n":null},{"city":"Wels","age":"jung","n":17},{"city":"Wels","age":"alt","n":44},{"city":"Wien","age":"All","n":83},{"city":"Graz","age":"All","n":27},{"city":"Wels","age":"All","n":61}]',
)
add(
    "missing row is suppressed",
    "city,age,count\nWien,jung,31\nWien,alt,52\nGraz,jung,24\nWels,jung,17\nWels,alt,44\nTotal,jung,72\n"
    "Total,alt,99\nWien,Total,83\nGraz,Total,27\nWels,Total,61\nTotal,Total,171\n",
)
add(
    "lower and upper",
    "city,age,lower,upper\nWien,jung,31,31\nWien,alt,52,52\nGraz,jung,24,24\nGraz,alt,1,4\n"
    "Wels,jung,17,17\nWels,alt,44,44\nTotal,jung,72,72\nTotal,alt,99,99\nTotal,Total,171,171\n",
)
add(
    "nbsp and case", "City,jung,alt,TOTAL\n\u00a0Wien\u00a0,31,52,83\nGraz ,24,n/a,27\nWels,17,44,61\nTOTAL,72,99,171\n"
)
add("marks after numbers", "City,jung,alt,Total\nWien,31 r,52,83\nGraz,24,c,27\nWels,17,44,61 p\nTotal,72,99,171\n")
add(
    "trailing source with commas",
    "City,jung,alt,Total\nWien,31,52,83\nGraz,24,*,27\nWels,17,44,61\nTotal,72,99,171\nSource: Office, 2024\n",
)
add(
    "corner with backslash", "City \\ Age,jung,alt,Total\nWien,31,52,83\nGraz,24,*,27\nWels,17,44,61\nTotal,72,99,171\n"
)
add("name over columns", ",Age,,\nCity,jung,alt,Total\nWien,31,52,83\nGraz,24,*,27\nWels,17,44,61\nTotal,72,99,171\n")
add(
    "dutch spaces",
    "Stad;jung;alt;Totaal\nWien;31;52;83\nGraz;24;.;27\nWels;17;44;61\nTotaal;72;99;171\n(. = onbekend)\n",
)
