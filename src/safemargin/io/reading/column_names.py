"""Names that columns beside labels and counts have: a status, remarks, shares, codes, ends of ranges."""

import re

STATUS = (
    *(
        "status",
        "sdcstatus",
        "suppressed",
        "is_suppressed",
        "suppression",
        "suppression_flag",
        "flag",
        "flags",
        "obs_status",
        "obs_flag",
        "conf_status",
        "symbol",
    ),
    "marker",
    "disclosure_code",
    "obs_conf",
    "conf_flag",
    "flag codes",
)
HIDDEN_WORDS = ("suppressed", "u", "m", "c", "confidential", "secret", "true", "x", "q", "s")
"""What a status column says of a suppressed count; capitals or not."""
YES = ("yes", "y", "1", "ja", "j", "oui", "sí", "si", "sim", "tak", "ano", "primary", "secondary")
"""What a column about secrecy says of a suppressed count."""
NO = (
    *("", "no", "n", "0", "false", "f", "free", "public", "published", "exact", "safe", "open", "none", "-"),
    *("nein", "non", "não", "nao", "nie", "nej", "nei", "ne", "nee", "not suppressed", "unsuppressed"),
)
"""What it says of another one. What is in none of these lists is doubted."""
HIDDEN_FLAGS = ("c", "x", "s", "d", "(d)", "[c]", "*", "**", "u", "q")
"""Flags that offices put beside a count they do not stand by."""
ATTRIBUTES = frozenset(
    "dguid vector coordinate uom uom_id scalar_factor scalar_id symbol terminated decimals unit_mult unit_measure "
    "time_format powercode dataflow structure structure_id structure_name action value_unit value_q "
    "value_variable_code value_variable_label _type_".split()
) | {"last update", "unit code", "powercode code", "reference period code", "reference period", "cv (%)"}
"""Columns that international and national offices write beside dimensions and values."""
NOTES = (
    *("note", "notes", "footnote", "footnotes", "comment", "comments", "remark", "remarks", "bemerkung"),
    *("anmerkung", "source", "remarque", "remarques", "hinweis", "observación", "observaciones", "nota", "notas"),
    *(
        "not",
        "notlar",
        "huom.",
        "huom",
        "pozn.",
        "pozn",
        "σημ.",
        "megjegyzés",
        "observații",
        "obs.",
        "opomba",
        "märkus",
    ),
    *("uwagi", "anmärkning", "opmerking", "opmerkingen", "merknad", "poznámka", "備考", "примечание"),
)
EDGE = r"(?:\b|(?<=_)|(?=_))"
"""The edge of a word, where `share_women` has two words."""
SHARES = re.compile(
    (
        r"%|\bper ?cent|\bpct\b|prozent|procent|prosent|százalék|yüzde|ποσοστό|"
        r"porcentagem|percentual|odsetek|podíl|osuus|pourcent|porcentaje|percentuale|\bshare\b|\bshares\b|anteil|"
        r"proportion|\brates?\b|\bratio\b|"
        r"\bmean\b|\baverage\b|\bavg\b|\bmedian\b|durchschnitt|mittelwert|moyenne|\bmedia\b|per 1[0., ]?000|"
        r"\bftes?\b|full.time equivalents?|vollzeitäquiv|\bvzä\b|\betp\b|équivalents? temps plein|"
        r"\bindex\b|\bchange\b|"
        r"veränderung|std|standard (?:error|deviation)|\bcv\b|\bse\b|\bci\b|confidence|quote\b|taux\b|tasa\b"
    ).replace(r"\b", EDGE),
    re.I,
)
LABELS = re.compile(
    r"^(?:.*[ _.-])?(?:year|years|jahr|année|annee|anno|año|age|alter|âge|code|id|nr|month|monat|quarter|"
    r"week|date|time|time_period|period|"
    r"grade|zip|plz|postcode|rank|rang|kod|koodi|kood|clave|cod|codice|"
    r"codgeo|ags|fips|geoid|lau|geo|nuts|nace|isco|household size|size)$",
    re.I,
)
ROW_NUMBERS = (
    *(
        "",
        "unnamed: 0",
        "row",
        "index",
        "no.",
        "no",
        "#",
        "nr",
        "nr.",
        "lfd. nr.",
        "lfd.nr.",
        "lfd nr",
        "lp.",
        "lp",
        "n°",
    ),
    *(
        "s.no",
        "s.no.",
        "sl. no.",
        "p.č.",
        "poř. č.",
        "sıra",
        "sıra no",
        "α/α",
        "ssz.",
        "nr. crt.",
        "№",
        "№ п/п",
        "item",
        "rownames",
        "row.names",
        ".rownames",
        "rank",
        "rang",
        "pos.",
        "id",
    ),
)
"""Names of a column that numbers the rows."""
RANGES = (("lower", "upper"), ("low", "high"), ("min", "max"), ("minimum", "maximum"), ("from", "to"))
