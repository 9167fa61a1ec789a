"""An equal-opportunity report: promotions by gender and site, which the employer can link to nobody.

Run it with a new folder: python examples/equal_opportunity.py report
"""

import sys
from pathlib import Path

from safemargin import Result, election

PLAN = """
title = "Promotions in two years"
question = "Were you promoted in the last two years?"
options = ["promoted", "not promoted"]
signers = 2
openers = 2
least = 30
kappa = 10
share = 5
tolerance = 10
spread = 1
bits = 2048

# People report these themselves; the sizes are those of the last published report.
[dimensions.gender]
categories = ["women", "men"]
self_reported = true
sizes = { women = 66, men = 54 }

# The registrar knows the site of everybody from the payroll, and attests it.
[dimensions.site]
categories = ["Harbour", "Hill"]

[parties]
registrar = { role = "registrar", organisation = "Works council" }
issuer-1 = { role = "issuer", organisation = "Works council" }
issuer-2 = { role = "issuer", organisation = "Regulator" }
issuer-3 = { role = "issuer", organisation = "Employer" }
mixer-1 = { role = "mixer", organisation = "Works council" }
mixer-2 = { role = "mixer", organisation = "Regulator" }
collector = { role = "collector", organisation = "Employer" }
board = { role = "board", organisation = "Regulator" }
trustee-1 = { role = "trustee", organisation = "Works council" }
trustee-2 = { role = "trustee", organisation = "Regulator" }
trustee-3 = { role = "trustee", organisation = "Employer" }

[release.target]
beta = 0.05
tau = 1
"""


def run(folder: Path) -> Result:
    """The whole election with 120 made-up employees."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return election.rehearse(folder / "election", voters=120, plan=folder / "plan.toml", seed=7)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])).to_text())
