from .attack import attack as attack
from .bounded import exploit as exploit
from .calculators import (
    average as average,
    budget as budget,
    compose as compose,
    reconstruct as reconstruct,
    reidentify as reidentify,
    reveal as reveal,
    tail as tail,
    truncated as truncated,
    utility as utility,
    variance as variance,
)
from .composition import composition as composition
from .distortion import distort as distort
from .inference import independence as independence, interval as interval
from .perturb import key as key, perturb as perturb
from .plan import plan as plan
from .posterior import posterior as posterior
from .ptable import ptable as ptable
from .publish import publish as publish
from .redundancy import redundancy as redundancy
