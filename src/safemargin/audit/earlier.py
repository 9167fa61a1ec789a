"""Earlier releases: what this one tells together with what was published before about the same population."""

from safemargin.audit.findings import Attempt, Finding
from safemargin.audit.situation import Situation
from safemargin.bounds.certify import certify_with_earlier


def earlier(situation: Situation) -> Attempt:
    """Take earlier counts from these, assuming that nobody who stayed changed their answer."""
    past, options = situation.onlooker.past, situation.exposure.options
    if past is None:
        return Attempt("earlier", "there is no earlier release", 0)
    proof = certify_with_earlier(situation.release.tables, past, situation.limits, situation.slack)
    found = tuple(
        Finding(
            "earlier",
            one.cell,
            options[one.option] if options else None,
            one.people,
            one.lower,
            one.upper,
            f"with the release of {one.earlier}, only {one.lower} to {one.upper} of {one.people} are possible",
        )
        for one in proof.exposed
    )
    looked = sum(proof.checked.values())
    people = max((one.people for one in proof.exposed), default=0)
    cycles = " and ".join(each.cycle for each in past.earlier)
    cells = len({str(one.cell) for one in proof.exposed})
    summary = f"{cells or 'none'} of {looked:,} cells {'is' if cells < 2 else 'are'} given away with {cycles}"
    return Attempt("earlier", summary, looked, found, people)
