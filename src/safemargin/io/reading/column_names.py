"""Names that columns beside labels and counts have: a status, remarks, shares, codes, ends of ranges."""

import re

STATUS = (
    *("status", "sdcstatus", "suppressed", "flag", "flags", "obs_status", "obs_flag", "conf_status", "symbol"),
    "marker",
)
HIDDEN_FLAGS = ("c", "x", "s", "d", "(d)", "[c]", "*", "**", "u", "q")
"""Flags that offices put beside a count they do not stand by."""
NOTES = (
    *("note", "notes", "footnote", "footnotes", "comment", "comments", "remark", "remarks", "bemerkung"),
    *("anmerkung", "source", "remarque", "remarques", "hinweis", "observación", "observaciones", "nota", "notas"),
    *("uwagi", "anmärkning", "opmerking", "opmerkingen", "merknad", "poznámka", "備考", "примечание"),
)
SHARES = re.compile(
    r"%|\bper ?cent|\bpct\b|prozent|pourcent|porcentaje|percentuale|\bshare\b|\bshares\b|anteil|"
    r"proportion|\brate\b|\brates\b|\bratio\b|"
    r"\bmean\b|\baverage\b|\bavg\b|\bmedian\b|durchschnitt|mittelwert|moyenne|\bmedia\b|per 1[0., ]?000|"
    r"\bindex\b|\bchange\b|"
    r"veränderung|std|standard (?:error|deviation)|\bcv\b|\bse\b|\bci\b|confidence|quote\b|taux\b|tasa\b",
    re.I,
)
LABELS = re.compile(
    r"^(?:.*[ _.-])?(?:year|years|jahr|année|annee|anno|año|age|alter|âge|code|id|nr|month|monat|quarter|"
    r"week|date|time|time_period|period|"
    r"grade|zip|plz|postcode|rank|geo|nuts|nace|isco|household size|size)$",
    re.I,
)
RANGES = (("lower", "upper"), ("low", "high"), ("min", "max"), ("minimum", "maximum"), ("from", "to"))
