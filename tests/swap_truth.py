"""Published and recomputed truth about swapping and census budgets.

`EXACT`: losses of all universes by brute force in rational arithmetic, by an implementation of its own, to five digits.
`TABLE_1`, `TABLE_2`, `TABLE_5`: Bailie, Gong and Meng, "A Refreshment Stirred, Not Shaken"; largest strata of Table 5
from the 2020 Demographic and Housing Characteristics file. Certificates: signed ones of the 2020 redistricting data.
"""

from math import inf

RATES = ("0.01", "0.1", "0.5", "0.7", "0.9", "0.99", "1")
EXACT: dict[str, tuple[int, tuple[float, ...]]] = {
    "1,1|1,1": (2, (4.59512, 2.19722, 0, 0.84730, 2.19722, 4.59512, inf)),
    "1,1,1|1,1,1": (6, (4.82617, 2.42827, 0.34657, 0.84730, 2.19722, 4.59512, inf)),
    "2,1|2,1": (2, (4.59265, 2.17633, 0.14384, 0.30228, 0.84624, 1.96094, inf)),
    "2,1|1,1,1": (3, (4.59265, 2.17633, 0.14384, 0.30228, 0.84624, 1.96094, inf)),
    "2,2|2,2": (3, (5.00562, 2.65599, 0.77907, 0.24354, 0.31954, 0.64922, 0.69315)),
    "1,1,1,1|1,1,1,1": (24, (5.69373, 3.29584, 1.09861, 0.84730, 2.19722, 4.59512, inf)),
    "2,1,1|2,1,1": (7, (5.34968, 2.97630, 0.95477, 0.30228, 1.14516, 3.49692, inf)),
    "3,1|2,2": (2, (4.24371, 1.82155, 0.22599, 0.01760, 0.20600, 0.33165, 0.34657)),
    "3,2|3,2": (3, (5.00607, 2.66051, 0.80351, 0.28666, 0.21699, 0.46202, 0.49041)),
    "2,2,1|2,2,1": (11, (5.44974, 3.07397, 1.05173, 0.41815, 0.51858, 1.83083, inf)),
    "1,1,1,1,1|1,1,1,1,1": (120, (6.14064, 3.74275, 1.54552, 0.84730, 2.19722, 4.59512, inf)),
    "1,1,2,2|1,1,2,2": (58, (6.28637, 3.88848, 1.69125, 0.84395, 0.68983, 2.91869, inf)),
    "3,3|3,3": (4, (5.19188, 2.83414, 0.92759, 0.39253, 0.13775, 0.37558, 0.40547)),
    "2,2,2|2,2,2": (21, (5.59529, 3.21776, 1.18149, 0.53108, 0.22620, 0.63500, 0.69315)),
}

TABLE_2 = {"0.01": 17.08, "0.05": 15.43, "0.10": 14.68, "0.50": 12.48}
TABLE_2_LARGEST = 264_331

TABLE_5 = {
    13_475_623: (19.36, 16.42),
    3_948_028: (18.13, 15.19),
    3_420_628: (17.99, 15.05),
    939_185: (16.70, 13.75),
    6_204: (11.68, 8.73),
    4_549: (11.37, 8.42),
}

TABLE_1 = {
    "Barnstable": (7461, 3825, 5907, 5379),
    "Berkshire": (14736, 18417, 13770, 19383),
    "Bristol": (33747, 63931, 35537, 62141),
    "Dukes": (1207, 534, 946, 795),
    "Essex": (53936, 81300, 52631, 82605),
    "Franklin": (7433, 6442, 6337, 7538),
    "Hampden": (30597, 58166, 32267, 56496),
    "Hampshire": (9427, 8630, 8145, 9912),
    "Middlesex": (104144, 147687, 100372, 151459),
    "Nantucket": (593, 432, 471, 554),
    "Norfolk": (44885, 40285, 38566, 46604),
    "Plymouth": (24857, 23882, 21549, 27190),
    "Suffolk": (49656, 176553, 67357, 158852),
    "Worcester": (53126, 78535, 51950, 79711),
}
"""Households of Massachusetts in 1940, owned and rented by county: true, and after one run at 50 %."""

TABLE_3 = {
    ("Redistricting Data", "household"): (0.07, 2.70, 2.6091, 0.07455, 0.07509),
    ("Redistricting Data", "person"): (2.56, 17.90, 17.9153, 2.55493, 2.55743),
    ("Demographic and Housing Characteristics", "household"): (7.70, 34.33, 34.3307, 7.69790, 7.70156),
    ("Demographic and Housing Characteristics", "person"): (4.96, 26.34, 26.3336, 4.96043, 4.96360),
    ("both", "all"): (15.29, 52.83, 52.8168, 15.29368, 15.29817),
}
"""Rho squared and epsilon at delta 1e-10 as printed; epsilon of that rho squared; which others it leaves."""

PERSON_ATTRIBUTES = {"hhgq": 7.24, "votingage": 7.57, "hispanic": 10.04, "cenrace": 10.08}
PERSON_WITHIN = {"Block_Group": 2.93, "Tract": 9.38, "County": 11.70, "State": 13.05, "US": 16.89}
PUERTO_RICO_WITHIN = {"Block_Group": 2.93, "Tract": 11.18, "County": 13.51, "State": 15.41}
PUERTO_RICO_ATTRIBUTES = {"hhgq": 8.69, "votingage": 9.49, "hispanic": 11.65, "cenrace": 11.69}
UNIT_WITHIN = {"Block_Group": 0.82, "Tract": 1.81, "County": 2.35, "State": 2.46, "US": 2.47}
SIGMAS = {
    ("State", "total"): 1.10,
    ("County", "total"): 2.17,
    ("Tract", "total"): 2.47,
    ("Block_Group", "total"): 1.75,
    ("Block", "total"): 89.2,
    ("Block", "detailed"): 3.18,
    ("Tract", "hispanic*cenrace"): 2.23,
    ("Block_Group", "hispanic*cenrace"): 2.23,
}
UNIT_TEST_WITHIN = {  # scale 343/256, shares 44, 44, 44, 44, 127, 721 of 1024: unit test of the census code
    "Block_Group": (6.40258934429583, 5.991352275),
    "Tract": (6.979563690595705, 6.544831172),
    "County": (7.170466618419704, 6.728181243),
    "State": (7.357299847062839, 6.907723397),
    "US": (7.540347207875253, 7.083721310),
}

MASSACHUSETTS_ERRORS = {
    "0.01": (0.00287, 0.00037),
    "0.05": (0.01378, 0.00122),
    "0.1": (0.02723, 0.00138),
    "0.5": (0.13597, 0.00336),
}
"""Mean relative error of county by tenure and its deviation over runs: `TABLE_1` as records, another implementation.
With eight strata by size the means are 0.00286, 0.01331, 0.02667 and 0.13685."""
