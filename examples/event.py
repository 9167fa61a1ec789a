"""An event that asks its visitors: one answer per person who came through the door, and no list of who said what.

The registrar stands at the door: a visitor gets the enrolment code there, on a device that is checked, so that only
people who are present can enrol. Run it with a new folder: python examples/event.py report
"""

import sys
from pathlib import Path

from safemargin import Result, election

PLAN = """
title = "Harbour festival"
question = "Would you come again?"
options = ["yes", "no"]
signers = 2
openers = 2
least = 30
kappa = 10
share = 5
tolerance = 10
spread = 1
bits = 2048

# The age band is on the wristband that visitors get at the door: attested.
[dimensions.age]
categories = ["18-29", "30-49", "50+"]

# Where visitors came from is what they say; the sizes are those of the tickets sold.
[dimensions.home]
categories = ["town", "elsewhere"]
self_reported = true
sizes = { town = 80, elsewhere = 70 }

[parties]
registrar = { role = "registrar", organisation = "Visitors' club" }
issuer-1 = { role = "issuer", organisation = "Visitors' club" }
issuer-2 = { role = "issuer", organisation = "University" }
issuer-3 = { role = "issuer", organisation = "Organiser" }
mixer-1 = { role = "mixer", organisation = "Visitors' club" }
mixer-2 = { role = "mixer", organisation = "University" }
collector = { role = "collector", organisation = "Organiser" }
board = { role = "board", organisation = "University" }
trustee-1 = { role = "trustee", organisation = "Visitors' club" }
trustee-2 = { role = "trustee", organisation = "University" }
trustee-3 = { role = "trustee", organisation = "Organiser" }

[release.target]
beta = 0.05
tau = 1
"""


def run(folder: Path) -> Result:
    """The whole election with 150 made-up visitors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return election.rehearse(folder / "election", voters=150, plan=folder / "plan.toml", seed=7)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])).to_text())
