"""Who looks at a release, and what they know beside it."""

from dataclasses import dataclass, field

from safemargin.core.earlier import Past
from safemargin.core.published import PublishedTable


@dataclass(frozen=True)
class Onlooker:
    """An adversary: the rolls and facts they hold, whether they know the rule by which cells were protected, and what
    they remember of earlier releases.
    """

    name: str = "public"
    roll: tuple[PublishedTable, ...] = ()
    facts: tuple[PublishedTable, ...] = ()
    knows_rule: bool = False
    past: Past | None = field(default=None, compare=False)

    def composition(self, axes: tuple[str, ...]) -> str:
        """`joint` if a roll covers all `axes` together, `sizes` if only some, `none` without a roll."""
        if not self.roll:
            return "none"
        return "joint" if any(set(table.axes) >= set(axes) for table in self.roll) else "sizes"

    def describe(self, axes: tuple[str, ...]) -> dict[str, object]:
        """What this onlooker knows, for a document."""
        return {
            "name": self.name,
            "composition": self.composition(axes),
            "facts": [table.name for table in self.facts],
            "knows_rule": self.knows_rule,
            **({} if self.past is None else {"earlier": [each.cycle for each in self.past.earlier]}),
        }
