"""Exact sums over clients whose answers nobody sees. One function per subcommand of `aggregate`."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.aggregate.api import attack, privacy, rehearse, structure, views
    from safemargin.aggregate.run import collect, key, plan, serve, submit
    from safemargin.aggregate.sum import sum

lazy_face(__name__)
