"""Which column of an unknown file is the answer, by its name; else those that say least about who somebody is."""

import re
from collections.abc import Sequence

from safemargin.io import Survey
from safemargin.release.column_texts import words

VOTE_WORDS = ("vote", "voted", "ballot", "choice", "answer", "response", "stance", "opinion")
"""Names of what somebody said or chose: nobody's attribute."""
ANSWER_WORDS = (
    *VOTE_WORDS,
    *("candidate", "party", "outcome", "admit", "admitted", "survived", "improved", "approved", "released", "dead"),
    *(
        "died",
        "liked",
        "like",
        "likes",
        "income",
        "option",
        "satisfaction",
        "satisfied",
        "happy",
        "happiness",
        "support",
    ),
    *(
        "happiness",
        "agree",
        "trust",
        "approve",
        "approval",
        "intention",
        "preference",
        "decision",
        "verdict",
        "attitude",
        "rating",
    ),
)
AMOUNT_WORDS = {"income", "rating"}
"""Names of an answer only where it has few options; else of a band of amounts, which says who somebody is."""
FEW_AMOUNTS = 5
AREA_WORDS = {"area", "code", "county", "district", "municipality", "precinct", "region", "state", "ward", "zip"}
PEOPLE_WORDS = AREA_WORDS | {
    *("age", "sex", "gender", "race", "ethnicity", "religion", "country", "nation", "education", "degree", "marital"),
    *("class", "site", "department", "grade", "group", "type", "kind", "year", "month", "town", "city", "place"),
    *("level", "neighborhood", "neighbourhood", "relationship", "occupation", "tenure", "status", "language", "school"),
    *("zone", "employed", "citizen", "citizenship", "colour", "color", "children", "married", "role", "province"),
    *("population", "urban", "rural", "hispanic", "latino", "black", "white", "afam", "female", "male", "native"),
    *("born", "foreign", "immigrant", "veteran", "household", "qualification", "educ", "nationality", "orientation"),
    *("hand", "handed", "wave", "cohort", "dept", "division", "location", "size", "priv", "public", "private", "hair"),
    *("eye", "eyes", "height", "weight", "insured", "disability", "collegeed", "college", "employment", "job", "rank"),
}
"""Columns that say who somebody is, not what they answered."""
LIKELY_OPTIONS = 12


def is_vote(name: str) -> bool:
    """Whether a column is called like a vote, however the words are joined.

    >>> [is_vote(name) for name in ("votetrump", "AHCAvote", "my_vote", "voters", "votes", "devoted", "choice")]
    [True, True, True, False, False, False, True]
    """
    known = words(name)
    joined = any(re.fullmatch(r"vote(?!rs?$|s$)[a-z]*|[a-z]+vote", word) and word != "devote" for word in known)
    return bool(known & set(VOTE_WORDS)) or joined


def answer_columns(survey: Survey, plain: Sequence[str], most: int) -> list[str]:
    """The column with the answer, then others that may be it: one whose name says so, or those with fewest options.

    Of columns with as many options the last comes first: files of people begin with who they are. Columns that say who
    somebody is come last.
    """
    fit = [name for name in plain if survey.distinct[name] <= most]
    for word in ANSWER_WORDS:
        for name in sorted(fit, key=lambda name: len(words(name))):
            many = word in AMOUNT_WORDS and survey.distinct[name] > FEW_AMOUNTS
            if not many and (
                word in words(name) or (word == "vote" and is_vote(name) and not words(name) & {*VOTE_WORDS})
            ):
                return [name]
    few = [name for name in plain if survey.distinct[name] <= LIKELY_OPTIONS]
    likely = [name for name in few if not words(name) & PEOPLE_WORDS] or few
    return sorted(reversed(likely), key=lambda name: survey.distinct[name])


def vote_columns(survey: Survey, plain: Sequence[str]) -> tuple[str, ...]:
    """Columns called like a vote, with few options: beside questions, they are questions too, and never axes."""
    return tuple(name for name in plain if is_vote(name) and 2 <= survey.distinct[name] <= LIKELY_OPTIONS)
