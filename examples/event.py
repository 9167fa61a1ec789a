"""An event that asks its visitors: one answer per person who came through the door, and no list of who said what.

The registrar stands at the door: a visitor gets the enrolment code there, on a device that is checked, so that only
people who are present can enrol. Run it with a new folder: python examples/event.py report
"""

import sys
from pathlib import Path

from safemargin import Result, election


def run(folder: Path) -> Result:
    """The whole election with 150 made-up visitors."""
    plan = folder / "plan.toml"
    election.plan(
        plan,
        title="Harbour festival",
        question="Would you come again?",
        options=["yes", "no"],
        dimensions={
            # The age band is on the wristband that visitors get at the door: attested.
            "age": ["18-29", "30-49", "50+"],
            # Where visitors came from is what they say; the sizes are those of the tickets sold.
            "home": {"town": 80, "elsewhere": 70},
        },
        collector="Organiser",
        others=["Visitors' club", "University"],
        box="Town hall",
        settings={"least": 30, "kappa": 10, "share": 5, "bits": 2048},
        target={"beta": 0.05, "tau": 1},
    )
    return election.rehearse(folder / "election", voters=150, plan=plan, seed=7)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])).to_text())
