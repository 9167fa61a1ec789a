"""Results of the four commands as JSON, text and pages."""

from dataclasses import asdict, dataclass, field

from safemargin.aggregate.privacy_figures import PrivacyFigures, cost_bits, paper_curves, paper_full_figures
from safemargin.aggregate.rates import Rate
from safemargin.ui import SCHEMA, Document, Grid, Paragraph, Report, Result, plural


@dataclass(frozen=True)
class AggregateSum(Result):
    """Totals by question, and what they cost every client to send."""

    totals: dict[str, int] = field(hash=False)
    clients: int
    backend: str
    bytes_per_client: int
    seconds: float
    learns: str
    validity: str
    dishonest: str
    largest: int

    def to_json(self) -> Document:
        """The document of `aggregate sum --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        return Report(
            "Totals",
            f"{plural(self.clients, 'client')}, {self.backend}, {self.bytes_per_client:,} bytes per client.",
            self.learns,
            Grid(["question", "total"], list(self.totals.items())),
            Paragraph(self.validity, "quiet"),
            Paragraph(self.dishonest, "quiet"),
        )


@dataclass(frozen=True)
class AttackRates(Result):
    """How often every attack is right, for one variant."""

    variant: str
    bits: int
    weights: int
    rates: tuple[Rate, ...]

    def to_json(self) -> Document:
        """The document of `aggregate.attack`."""
        return {
            "schema": SCHEMA,
            "variant": self.variant,
            "bits": self.bits,
            "weights": self.weights,
            "attacks": [{**asdict(rate), "interval": rate.interval and list(rate.interval)} for rate in self.rates],
        }

    @property
    def rows(self) -> list[list[str]]:
        """A row per attack, the most successful first."""
        ordered = sorted(self.rates, key=lambda rate: -1.0 if rate.rate is None else rate.rate, reverse=True)
        return [
            [
                rate.name,
                "-" if rate.rate is None else f"{rate.rate:.1%}",
                "-" if rate.interval is None else f"{rate.interval[0]:.1%} to {rate.interval[1]:.1%}",
                rate.of,
                rate.note,
            ]
            for rate in ordered
        ]

    def to_report(self) -> Report:
        return Report(
            f"Attacks on {self.variant}",
            f"Variant {self.variant}, {plural(self.bits, 'bit')} per client, {self.weights} decoys.",
            Grid(["attack", "right", "95 % interval", "of", "note"], self.rows),
        )


@dataclass(frozen=True)
class PrivacyReport(Result):
    """The paper's figures, and valid ones beside them."""

    figures: PrivacyFigures

    def curves(self) -> list[dict[str, float]]:
        """Figure 6 of the paper at these bits and this delta, one row per number of decoys."""
        names = ("decoys", "epsilon_eq_79", "signal_to_noise", "remainder", "mmse_eq_87")
        setting = self.figures.setting
        return [dict(zip(names, row, strict=True)) for row in paper_curves(setting.bits, setting.delta)]

    def to_json(self) -> Document:
        """The figures as a document."""
        figures = self.figures
        full = paper_full_figures(figures.setting.bits, figures.setting.delta)
        return {
            "schema": SCHEMA,
            "bits": figures.setting.bits,
            "weights": figures.setting.weights,
            "delta": figures.setting.delta,
            "clients": figures.clients,
            "paper": {"sound": False, **figures.paper, "full": full},
            "valid": {
                "epsilon": figures.epsilon,
                "reason": "" if figures.epsilon is not None else figures.reason,
                "shuffled_epsilon": figures.shuffled,
                "delta_floor": figures.atoms,
            },
            "exact": {
                "epsilon": figures.epsilon,
                "delta_floor": figures.atoms,
                "mass": figures.mass + figures.atoms,
                "gaussian_epsilon": figures.gaussian,
                "shuffled_pair_delta": {
                    "epsilon": figures.paper["shuffled_epsilon_eq_96"],
                    "delta_in_the_paper_model": figures.pair,
                    "delta": figures.exact_pair,
                },
            },
            "cost_bits": cost_bits(figures.setting.bits, figures.clients),
        }

    @property
    def rows(self) -> list[list[str]]:
        """Figure, value, and whether it holds."""
        figures = self.figures
        paper = [[name.replace("_", " "), f"{value:.4g}", "paper, not proved"] for name, value in figures.paper.items()]
        exact = f"none: {figures.reason}" if figures.epsilon is None else f"{figures.epsilon:.4f}"
        shuffled = "nothing better is proved" if figures.shuffled is None else f"{figures.shuffled:.4f}"
        return [
            ["epsilon of one masked number", exact, "holds, from the exact law, for what polyveil-scalar sends"],
            ["delta is at least", f"{figures.atoms:.3g}", "holds: the chance that the noise is a known number"],
            ["epsilon after shuffling", shuffled, "holds (Feldman, McMillan and Talwar)"],
            [
                f"delta after shuffling at epsilon {figures.paper['shuffled_epsilon_eq_96']:.3f}",
                f"at least {figures.exact_pair:.2g}",
                "holds, from the exact law: one client's sum is 0 or n, all others are 0",
            ],
            [
                f"delta after shuffling at epsilon {figures.paper['shuffled_epsilon_eq_96']:.3f}, Gaussian",
                f"at least {figures.pair:.2g}",
                "the same pair in the paper's model (its mu), which claims delta",
            ],
            *paper,
        ]

    def to_report(self) -> Report:
        setting = self.figures.setting
        return Report(
            "What a masked number discloses",
            f"{setting.bits} bits, {setting.weights} decoys, alpha 1/{4 * setting.bits}, delta {setting.delta:g}.",
            Grid(["figure", "value", "status"], self.rows),
            Paragraph(
                "These figures are about one masked sum per client, which the backend polyveil-scalar sends. The other "
                "variants mask every bit by itself with alpha 1/4: a quarter of the bits are certain.",
                "quiet",
            ),
        )


@dataclass(frozen=True)
class StructureReport(Result):
    """Quantities of the paper's hardness section, by name, for masks of one size. No protection rests on them."""

    bits: int
    weights: int
    values: dict[str, float] = field(hash=False)

    def to_json(self) -> Document:
        """The document of `aggregate.structure`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        return Report(
            "Structure of masked matrices",
            f"{plural(self.bits, 'bit')} per client, {self.weights} decoys.",
            Grid(["quantity", "value"], [[name, f"{value:,.4g}"] for name, value in self.values.items()]),
        )
