from .attack import attack as attack
from .bounded import exploit as exploit
from .calculators import (
    average as average,
)
from .calculators import (
    budget as budget,
)
from .calculators import (
    compose as compose,
)
from .calculators import (
    reconstruct as reconstruct,
)
from .calculators import (
    reidentify as reidentify,
)
from .calculators import (
    reveal as reveal,
)
from .calculators import (
    tail as tail,
)
from .calculators import (
    truncated as truncated,
)
from .calculators import (
    utility as utility,
)
from .calculators import (
    variance as variance,
)
from .composition import composition as composition
from .distortion import distort as distort
from .inference import independence as independence
from .inference import interval as interval
from .perturb import key as key
from .perturb import perturb as perturb
from .plan import plan as plan
from .posterior import posterior as posterior
from .ptable import ptable as ptable
from .publish import publish as publish
from .redundancy import redundancy as redundancy
