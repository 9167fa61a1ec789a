"""The words of the page for readers who have not met them."""

from safemargin.core import Target
from safemargin.release.plan import Action
from safemargin.ui import exact_percent, plural

ACTION_WORDS = {
    Action.EXACT: "the true count",
    Action.MERGED: "the true count of several categories together",
    Action.NOISED: "a count with random noise",
    Action.SUPPRESSED: "no count",
}

ONLOOKER = "Somebody who sees all that is published and may know more, such as the size of every group."
INTERVAL = "The smallest and the largest count, or share, of a group that agree with all that the onlooker knows."
CONTAINED = (
    "The whole interval lies within the limits, and the group is large enough: whatever the onlooker believed before, "
    "the release does not tell how its members chose."
)
OPEN = "The interval reaches beyond a limit but also lies within: the release by itself forces nothing."
DISCLOSED = "The interval lies outside the limits, or is so narrow that the count is known: somebody's answer is out."
MANY_OPTIONS = (
    "Where there are three or more options, the limit of a rare option is half its share of everybody, which is public "
    "anyway."
)
EPSILON = "The most that noise may cost anyone: how far one person's answer may change the odds of what is published."


def glossary_words(target: Target) -> dict[str, str]:
    """Every term with its meaning under this target."""
    low, high, few = exact_percent(target.beta), exact_percent(1 - target.beta), plural(target.kappa, "person")
    return {
        "exact, merged, noised, suppressed": "What is published of a group. "
        + "; ".join(f"{action}: {words}" for action, words in ACTION_WORDS.items())
        + ".",
        "onlooker": ONLOOKER,
        "interval": INTERVAL,
        "contained": CONTAINED,
        "open": OPEN,
        "disclosed": DISCLOSED,
        f"beta = {target.beta:g}": f"The limits: no share may be forced below {low} or above {high}. {MANY_OPTIONS}",
        f"kappa = {target.kappa}": f"Fewer than {few} are too few to be published by themselves.",
        f"tau = {target.tau}": f"A count that is known to within {target.tau} counts as known.",
        f"epsilon_max = {target.epsilon_max:g}": EPSILON,
    }
