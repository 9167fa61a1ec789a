"""An equal-opportunity report: promotions by gender and site, which the employer can link to nobody.

Run it with a new folder: python examples/equal_opportunity.py report
"""

import sys
from pathlib import Path

from safemargin import Result, election


def run(folder: Path) -> Result:
    """The whole election with 120 made-up employees."""
    plan = folder / "plan.toml"
    election.plan(
        plan,
        title="Promotions in two years",
        question="Were you promoted in the last two years?",
        options=["promoted", "not promoted"],
        dimensions={
            # People report these themselves; the sizes are those of the last published report.
            "gender": {"women": 66, "men": 54},
            # The registrar knows the site of everybody from the payroll, and attests it.
            "site": ["Harbour", "Hill"],
        },
        collector="Employer",
        others=["Works council", "Regulator"],
        box="Post",
        settings={"least": 30, "kappa": 10, "share": 5, "bits": 2048},
        target={"beta": 0.05, "tau": 1},
    )
    return election.rehearse(folder / "election", voters=120, plan=plan, seed=7)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])).to_text())
