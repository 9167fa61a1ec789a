from .api import (
    approve as approve,
)
from .api import (
    audit as audit,
)
from .api import (
    backup as backup,
)
from .api import (
    catch_up as catch_up,
)
from .api import (
    close as close,
)
from .api import (
    complaint as complaint,
)
from .api import (
    enrolled as enrolled,
)
from .api import (
    init as init,
)
from .api import (
    join as join,
)
from .api import (
    letters as letters,
)
from .api import (
    manifest as manifest,
)
from .api import (
    plan as plan,
)
from .api import (
    publish as publish,
)
from .api import (
    rehearse as rehearse,
)
from .api import (
    restore as restore,
)
from .api import (
    serve as serve,
)
from .api import (
    simulate as simulate,
)
from .api import (
    status as status,
)
from .api import (
    step as step,
)
from .api import (
    tally as tally,
)
from .api import (
    verify as verify,
)
from .api import (
    vote as vote,
)
