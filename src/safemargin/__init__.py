"""Decide, cell by cell, how group counts may be published: exactly where that is provably safe, protected elsewhere.

One function per command, and the namespaces `aggregate`, `election`, `guarantee` and `noise`. Each is loaded when
it is first used.
"""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin import aggregate, election, noise
    from safemargin import guarantees as guarantee
    from safemargin.audit.audit import audit
    from safemargin.audit.findings import Findings
    from safemargin.bounds import Exposure
    from safemargin.core import InputError, Onlooker, Publication, RefusedError, SafemarginError, Table, Target
    from safemargin.fiber.fiber import fiber
    from safemargin.io import ReadTable, load
    from safemargin.release.bound import bound
    from safemargin.release.compare.compare import compare
    from safemargin.release.draft import Draft
    from safemargin.release.forecast import forecast
    from safemargin.release.growth import growth
    from safemargin.release.init import init
    from safemargin.release.ledger.ledger import ledger
    from safemargin.release.lock import lock
    from safemargin.release.plan import Plan
    from safemargin.release.project import Project, schema
    from safemargin.release.release import Release, demo, release
    from safemargin.suppress.suppress import suppress
    from safemargin.swap.simulate import simulate
    from safemargin.swap.swap import swap
    from safemargin.swap.swap_rates import swap_rates
    from safemargin.topdown.topdown import topdown
    from safemargin.ui import Result
    from safemargin.verify.sign import Signed, sign
    from safemargin.verify.verify import verify
    from safemargin.voting.compare_rules import rules
    from safemargin.voting.outcome import outcome
    from safemargin.web.workbench import open_workbench

__version__ = "0.1.0"

lazy_face(__name__)
