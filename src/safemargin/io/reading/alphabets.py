"""Which of two encodings a text of one byte per letter has: Windows-1252 of the West, or Windows-1250 of the middle.

Every byte is a letter in both: `Jièín` is `Jičín`. The letters of one language are few, so a text that holds letters
of one language in one encoding, and of none in the other, has the first. If both fit, or neither, that is a doubt.
"""

import re

WEST = (
    *(
        "äöüß",
        "àâæçéèêëîïôùûüÿœ",
        "áéíóúüñ",
        "áàâãçéêíóôõú",
        "àèéìíòóùú",
        "åäöæøéü",
        "éèëïóöü",
        "áðéíóúýþæö",
        "àáçèéíïòóúü",
    ),
)
MIDDLE = ("áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "ąćęłńóśźż", "áéíóöőúüű", "čćđšž", "ăâîşţ", "äöüß")


OLDER = ("cp850", "mac_roman")
"""Encodings of DOS and of the first Macintosh."""
WEST_WORDS = frozenset(
    "ensemble insgesamt gesamt totale totaal totalt summa der die das und von nach des du les et par sur avec selon "
    "los las por con di della dello degli per van het een och efter av og etter dos das em".split()
)
MIDDLE_WORDS = frozenset(
    "podle celkem obyvatel podla spolu razem kobiety szerint nem ukupno prema skupaj muski zenski ze ve osob podiel "
    "lat okres kraj szt".split()
)
"""Words without accents that languages of the West and of the middle have, where the letters fit both."""


def likely_encoding(content: bytes) -> tuple[str, bool]:
    """The encoding of a text, and whether its letters say so.

    >>> likely_encoding("Jičín, Žďár".encode("cp1250")), likely_encoding("Îles, forêt".encode("cp1252"))
    (('cp1250', True), ('cp1252', True))
    >>> likely_encoding("Český".encode("cp1250")), likely_encoding("Köln".encode("cp1252"))
    (('cp1250', True), ('cp1252', True))
    """
    west, middle = _letters(content, "cp1252"), _letters(content, "cp1250")
    fits_west, fits_middle = _fits(west, WEST), _fits(middle, MIDDLE)
    if not (fits_west or fits_middle):
        older = [name for name in OLDER if _fits(_letters(content, name), WEST)]
        if older:
            return older[0], len(older) == 1
    if west == middle or fits_west != fits_middle:
        return ("cp1252" if west is not None and (west == middle or fits_west) else "cp1250"), True
    words = set(re.findall(r"[a-z]+", content.decode("ascii", "replace").lower()))
    if fits_west and bool(words & WEST_WORDS) != bool(words & MIDDLE_WORDS):
        return ("cp1252" if words & WEST_WORDS else "cp1250"), True
    return "cp1252", False


def may_be_latin(content: bytes) -> bool:
    """Whether the letters are those of one language in either encoding, so that another encoding is a doubt."""
    return _fits(_letters(content, "cp1252"), WEST) or _fits(_letters(content, "cp1250"), MIDDLE)


def _fits(letters: set[str] | None, languages: tuple[str, ...]) -> bool:
    return letters is not None and any(letters <= set(language) for language in languages)


def _letters(content: bytes, encoding: str) -> set[str] | None:
    """Small letters beyond ASCII, and signs that stand between two letters; None if some byte is no sign at all."""
    try:
        text = content.decode(encoding).lower()
    except UnicodeDecodeError:
        return None
    found = {sign for sign in text if not sign.isascii() and sign.isalpha() and sign not in "ªº"}
    inside = zip(text, text[1:], text[2:], strict=False)
    return found | {
        b for a, b, c in inside if a.isalpha() and c.isalpha() and not b.isascii() and b not in "’‘–—·\xad\xa0"
    }
