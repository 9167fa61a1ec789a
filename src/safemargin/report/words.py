"""Phrases that the terminal and the page share."""

from collections.abc import Mapping, Sequence

from safemargin.model.exposure import Exposure
from safemargin.model.fiber import Fiber
from safemargin.model.findings import Finding, Findings
from safemargin.model.onlooker import Onlooker
from safemargin.model.plan import Certificate, Plan
from safemargin.model.published import UNBOUNDED

COMPOSITION_WORDS = {
    "joint": "knows how many people have each combination of categories",
    "sizes": "knows how many people each group has",
    "none": "does not know how large the groups are",
}

UNSETTLED = "Not every interval was settled: some may really be narrower than shown."

WITNESSES = "integer witness tables"
"""The method of certificates that is said in plainer words."""

LARGEST_SET = "largest set of fewer axes"
"""What a certificate checked that is no number of cells."""


def plural(count: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "group"), plural(1200, "cell"), plural(2, "person")
    ('1 group', '1,200 cells', '2 people')
    """
    many = {"person": "people", "category": "categories"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else many}"


def percent(rate: float) -> str:
    """A rate with one decimal where there is one; only none is 0 % and only all is 100 %.

    >>> percent(0.25), percent(0.0333), percent(0.99999)
    ('25 %', '3.3 %', '>99.9 %')
    """
    return f"{_trimmed(rate)} %"


def percent_span(interval: Sequence[float] | None) -> str:
    """Both ends of an interval of rates.

    >>> percent_span([0, 0.033]), percent_span([0.5, 0.5]), percent_span(None)
    ('0-3.3 %', '50 %', '-')
    """
    if interval is None:
        return "-"
    low, high = (_trimmed(rate) for rate in interval)
    return f"{low} %" if low == high else f"{low}-{high} %"


def count_span(lower: int, upper: int) -> str:
    """An interval of counts.

    >>> count_span(280, 290), count_span(3, UNBOUNDED)
    ('[280, 290]', '[3, no limit]')
    """
    return f"[{lower}, {upper if upper < UNBOUNDED else 'no limit'}]"


def values_words(values: Sequence[int]) -> str:
    """Counts that are possible; three and more in a row by their ends.

    >>> values_words([0, 2]), values_words([0, 1, 2, 3, 5]), values_words([])
    ('0, 2', '0-3, 5', 'none')
    """
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(parts) or "none"


def fiber_words(fiber: Fiber) -> str:
    """How many tables there are, as far as that is known.

    >>> fiber_words(Fiber(9, 1234)), fiber_words(Fiber(9, None, 1_000)), fiber_words(Fiber(0, 0))
    ('1,234 tables are possible', 'at least 1,000 tables are possible', 'no table of whole people is possible')
    """
    if fiber.tables is None:
        return f"at least {fiber.reached:,} tables are possible" if fiber.reached else "the tables were not counted"
    if fiber.tables < 2:
        return f"{'only one' if fiber.tables else 'no'} table of whole people is possible"
    return f"{fiber.tables:,} tables are possible"


def gap_words(exposure: Exposure) -> str:
    """What the possible tables tell beyond the intervals: that there is but one, or gaps in them."""
    fiber = exposure.fiber
    if fiber is None:
        return ""
    if fiber.tables == 1 and fiber.dimension:
        return f"{fiber_words(fiber).capitalize()}."
    if not fiber.gaps:
        return ""
    place, more = fiber.gaps[0], len(fiber.gaps) - 1
    row, option = divmod(place, exposure.lower.shape[1])
    name = cell_words(exposure.cells.cell(row)) + (f", {exposure.options[option]}" if exposure.options else "")
    others = f", and {plural(more, 'more gap')}" if more else ""
    values = values_words(fiber.gap(place) or ())
    return f"Not every count in an interval is possible: {name} is one of {values}{others}."


def cell_words(cell: Mapping[str, str]) -> str:
    """A cell by its categories alone.

    >>> cell_words({"religion": "none", "age": "18-24"}), cell_words({})
    ('none, 18-24', 'everyone')
    """
    return ", ".join(cell.values()) or "everyone"


def named_cell_words(cell: Mapping[str, str]) -> str:
    """A cell by its axes and categories."""
    return ", ".join(f"{axis} {value}" for axis, value in cell.items()) or "everyone"


def onlooker_words(onlooker: Onlooker, axes: tuple[str, ...]) -> str:
    """What an onlooker knows beside the release."""
    knows = [COMPOSITION_WORDS[onlooker.composition(axes)]]
    if onlooker.facts:
        knows.append(f"holds {', '.join(table.name for table in onlooker.facts)}")
    knows.append(f"{'knows' if onlooker.knows_rule else 'does not know'} the rule by which groups were protected")
    return "; ".join(knows)


def tally_words(tally: Mapping[str, int]) -> str:
    """Counts of verdicts, the worst first."""
    return ", ".join(f"{count:,} {verdict}" for verdict, count in reversed(list(tally.items())))


def attack_words(findings: Findings) -> str:
    """The outcome of all attacks in one sentence."""
    if not findings.attempts:
        return "No attack was tried."
    if findings.is_safe:
        return f"{plural(len(findings.attempts), 'attack')} tried, nothing found."
    broken = [attempt.attack for attempt in findings.attempts if attempt.findings]
    exposed = max(attempt.people_exposed for attempt in findings.attempts)
    return f"{plural(len(broken), 'attack')} succeeded ({', '.join(broken)}): {plural(exposed, 'person')} exposed."


def finding_words(finding: Finding) -> str:
    """One cell that an attack gives away."""
    return f"{named_cell_words(finding.cell)}{f', {finding.option}' if finding.option else ''}: {finding.words}"


def certificate_words(certificate: Certificate) -> str:
    """How the statement was proved; if it was not, what was tried."""
    checked = _checked_words(certificate.checked)
    parts = (certificate.certified and _shown_words(certificate), checked and f"checked: {checked}")
    return "; ".join(part for part in parts if part)


def _shown_words(certificate: Certificate) -> str:
    """Whether whole people or fractions of them show it, and for how many cells."""
    if certificate.proved == "integer":
        return (
            f"shown by {certificate.method}".replace(WITNESSES, "tables of whole people") if certificate.method else ""
        )
    cells = sum(count for what, count in certificate.checked.items() if what != LARGEST_SET)
    some = f"all but {certificate.linear:,} of {plural(cells, 'cell')}" if certificate.linear else "some cells only"
    return f"shown by tables of whole people for {some}, the rest by tables with fractions of people"


def _checked_words(checked: Mapping[str, int]) -> str:
    words = [
        f"{count:,} {what.replace('_', ' ')}" if count != 1 else f"1 {what.replace('_', ' ').replace('cells', 'cell')}"
        for what, count in checked.items()
        if what != LARGEST_SET and count
    ]
    if words and (most := checked.get(LARGEST_SET, 0)) > 1:
        words[-1] += f" (up to {most} at a time)"
    return ", ".join(words)


def is_sound(plan: Plan, findings: Sequence[Findings]) -> bool:
    """Whether the release is certified and no attack found anything."""
    return plan.certificate.certified and all(each.is_safe for each in findings)


def headline(plan: Plan, findings: Sequence[Findings]) -> str:
    """The verdict on the whole release in a few words."""
    if not plan.certificate.certified:
        return "Not certified: do not publish"
    if not is_sound(plan, findings):
        return "An attack succeeded: do not publish"
    return "Certified" if any(each.attempts for each in findings) else "Certified, not attacked yet"


def irregular_words(plan: Plan) -> str:
    """How much would be outside the target if nothing were done."""
    categories, people = plural(len(plan.irregular), "category"), plural(plan.exposed_people, "person")
    return f"Published as they are, {categories} with {people} in all would miss the target."


def _trimmed(rate: float) -> str:
    if 0 < rate < 0.0005:
        return "<0.1"
    if 0.9995 <= rate < 1:
        return ">99.9"
    return f"{100 * rate:.1f}".removesuffix(".0")
