"""Differencing: this release less what was published before about the same population."""

from safemargin.audit.situation import Attempt, Finding, Situation
from safemargin.bounds import certify_with_earlier


def differencing(situation: Situation) -> Attempt:
    """Subtract earlier counts from these, assuming that nobody who stayed changed their answer."""
    past, options = situation.onlooker.past, situation.exposure.options
    if past is None:
        return Attempt("differencing", "there is no earlier release", 0)
    proof = certify_with_earlier(situation.release.tables, past, situation.limits, situation.slack)
    findings = tuple(
        Finding(
            "differencing",
            exposed.cell,
            exposed.secret or (options[exposed.option] if options else None),
            exposed.people,
            exposed.lower,
            exposed.upper,
            f"with the release of {exposed.earlier}, only {exposed.lower} to {exposed.upper} of {exposed.people} are "
            "possible",
        )
        for exposed in proof.exposed
    )
    looked = sum(proof.checked.values())
    people = max((exposed.people for exposed in proof.exposed), default=0)
    cycles = " and ".join(earlier.cycle for earlier in past.earlier)
    cells = len({str(exposed.cell) for exposed in proof.exposed})
    summary = f"{cells or 'none'} of {looked:,} cells {'is' if cells < 2 else 'are'} disclosed with {cycles}"
    return Attempt("differencing", summary, looked, findings, people)
