from . import aggregate as aggregate, election as election, guarantee as guarantee, noise as noise
from .audit.audit import audit as audit
from .audit.findings import Findings as Findings
from .bounds import Exposure as Exposure
from .core import (
    InputError as InputError,
    Onlooker as Onlooker,
    Publication as Publication,
    RefusedError as RefusedError,
    SafemarginError as SafemarginError,
    Table as Table,
    Target as Target,
)
from .fiber.fiber import fiber as fiber
from .io import ReadTable as ReadTable, load as load
from .release.bound import bound as bound
from .release.compare.compare import compare as compare
from .release.draft import Draft as Draft
from .release.forecast import forecast as forecast
from .release.growth import growth as growth
from .release.init import init as init
from .release.ledger.ledger import ledger as ledger
from .release.lock import lock as lock
from .release.plan import Plan as Plan
from .release.project import Project as Project, schema as schema
from .release.release import Release as Release, demo as demo, release as release
from .suppress.suppress import suppress as suppress
from .swap.simulate import simulate as simulate
from .swap.swap import swap as swap
from .swap.swap_rates import swap_rates as swap_rates
from .topdown.topdown import topdown as topdown
from .ui import Result as Result
from .verify.sign import Signed as Signed, sign as sign
from .verify.verify import verify as verify
from .voting.compare_rules import rules as rules
from .voting.outcome import outcome as outcome
from .web.workbench import open_workbench as open_workbench

__version__: str
__all__: list[str]
