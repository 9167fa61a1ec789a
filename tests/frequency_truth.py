"""Frequency tables of disclosure control and what tools made of them: numbers, with their origin.

`mun` (accidents by municipality and injury) and `z1` come with the R package SSBtools, hair and eye colour and the
Titanic with R itself, the 8x6x5 and 20x10 tables are random. Suppressed cells are those that tau-ARGUS (OPT and MOD,
also with a margin of 100 %), sdcTable and GaussSuppression chose for counts of 1 to 3; intervals were computed apart
from this project by programs over whole tables in which every suppressed count is at least one.
"""

INPUTS = {
    "mun": (
        {"mun": "k1 k2 k3 k4 k5 k6", "inj": "light none serious unknown"},
        "0 0 4 0 0 1 5 0 2 1 3 0 1 4 4 0 0 0 1 0 0 0 6 0",
    ),
    "z1": (
        {"region": "A B C D E F G H", "hovedint": "annet arbeid soshjelp trygd"},
        "11 11 55 36 7 1 29 18 5 8 35 25 13 2 17 13 9 14 63 52 12 9 24 22 6 4 22 8 9 3 38 15",
    ),
    "HairEyeColor": (
        {"Hair": "Black Blond Brown Red", "Eye": "Blue Brown Green Hazel", "Sex": "Female Male"},
        "9 11 36 32 2 3 5 10 64 30 4 3 8 8 5 5 34 50 66 53 14 15 29 25 7 10 16 10 7 7 7 7",
    ),
    "Titanic": (
        {"Class": "1st 2nd 3rd Crew", "Sex": "Female Male", "Age": "Adult Child", "Survived": "No Yes"},
        "4 140 0 1 118 57 0 5 13 80 0 13 154 14 0 11 89 76 17 14 387 75 35 13 3 20 0 0 670 192 0 0",
    ),
    "r20x10": (
        {
            "a": "a01 a02 a03 a04 a05 a06 a07 a08 a09 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20",
            "b": "b01 b02 b03 b04 b05 b06 b07 b08 b09 b10",
        },
        "2 4 1 4 1 1 2 5 2 1 3 2 4 3 4 1 5 4 3 4 5 3 2 2 1 2 4 5 2 0 3 3 4 1 1 2 8 2 4 2 2 2 2 4 2 4 2 4 2 2 5 0 2 "
        "1 5 3 0 5 2 2 1 2 0 1 8 1 1 1 1 3 2 1 0 2 2 1 2 1 3 0 2 1 1 1 5 0 0 5 1 3 4 3 4 0 1 1 1 1 0 0 3 3 3 1 3 2 "
        "3 3 0 1 4 3 2 2 7 3 1 4 3 5 2 2 1 1 3 4 2 2 4 2 1 2 5 2 3 1 2 2 6 5 3 1 2 1 3 4 3 2 1 2 3 5 2 3 3 2 4 8 1 "
        "4 2 1 0 0 1 1 3 3 3 3 7 3 3 2 0 3 1 7 1 1 2 2 1 3 4 1 4 2 5 1 4 3 3 3 1 3 6 4 4 3",
    ),
    "r8x6x5": (
        {"a": "a01 a02 a03 a04 a05 a06 a07 a08", "b": "b01 b02 b03 b04 b05 b06", "c": "c01 c02 c03 c04 c05"},
        "1 1 2 0 1 1 2 3 0 1 2 3 0 0 4 3 4 1 0 0 0 4 3 0 0 0 1 0 1 1 3 2 1 2 2 0 1 1 0 2 0 1 1 0 0 1 1 2 0 2 0 4 0 "
        "2 1 1 4 3 3 1 0 0 2 1 1 3 2 2 2 0 1 4 1 1 1 2 3 0 0 2 3 1 0 1 1 2 1 0 1 2 3 1 2 0 5 2 0 0 1 0 0 2 2 2 0 2 "
        "1 0 2 1 1 0 1 0 1 1 2 0 0 2 2 1 1 3 1 2 0 2 1 0 0 2 2 4 1 3 2 3 1 0 3 2 3 0 1 3 2 1 1 1 0 3 2 1 3 3 0 1 0 "
        "4 3 0 0 1 0 1 3 2 2 3 3 0 2 0 3 1 1 1 2 0 2 0 3 4 0 1 0 1 2 2 2 2 0 3 0 1 1 2 0 2 2 1 5 2 1 1 3 2 2 2 2 0 "
        "0 2 0 0 2 0 3 1 3 5 0 4 2 2 2 0 0 1 2 0 1 1 2 3 1 5 1 2",
    ),
}
"""Axes with their categories, and the counts in C order."""

MUN_ATTACKED = {
    ("Total", "none"): (3, 7),
    ("Total", "light"): (2, 6),
    ("k2", "Total"): (6, 6),
    ("k2", "none"): (1, 1),
    ("k3", "none"): (1, 2),
    ("k3", "light"): (1, 2),
    ("k3", "serious"): (3, 3),
    ("k4", "none"): (1, 4),
    ("k4", "light"): (1, 4),
    ("k5", "Total"): (1, 1),
    ("k5", "serious"): (1, 1),
}
"""What tau-ARGUS OPT suppresses of `mun`, and the sharp interval of each count."""

R8X6X5_SUPPRESSED = {
    "tauargus_OPT": (173, 33, "49d758524ad27edb1d0d700779765b6c073239bd5901f58d79d7c03d4c9f57e0145da75b7c048b4595df"),
    "tauargus_MOD": (176, 33, "dd758724ac07edb1d2d70c779765b6c073239bd5901f58d79d7c03d5c9f57e0145da75b7c048b4595df"),
    "tauargus_OPT_m100": (
        178,
        8,
        "49d759724ad27cdb1d8d700779765b6c073239bd5901f58d79d7c03f4c9f57e0165da75b7c048b4d95df",
    ),
    "tauargus_MOD_m100": (
        178,
        8,
        "49d759724ad27cdb1d8d700779765b6c073239bd5901f58d79d7c03f4c9f57e0165da75b7c048b4d95df",
    ),
    "sdcTable_GAUSS": (178, 0, "dd759524ac07cdb1d0f700779f65b6c073239bd590df58d79d7c03d449f55e0145da75b7c04abe59dff"),
    "GaussSuppression": (185, 0, "fd75950cac07edb1d0d702779f67b6ca7323bbd7925f58d79d7c03d5c9f57e0145da75b7c0c8b4795df"),
}
"""Cells suppressed, how many of them follow exactly, and which they are: bits over 9 x 7 x 6 nodes, totals first."""
