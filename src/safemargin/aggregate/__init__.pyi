from .api import attack as attack, privacy as privacy, rehearse as rehearse, structure as structure, views as views
from .run import collect as collect, key as key, plan as plan, serve as serve, submit as submit
from .sum import sum as sum
