"""A made-up staff survey: people of five sites, five grades and three genders, questions on a scale of 1 to 5."""

from collections.abc import Mapping

import numpy as np

SITES, GRADES, GENDERS = ("Bath", "Hull", "Kent", "Leeds", "York"), ("G1", "G2", "G3", "G4", "G5"), ("F", "M", "X")


def staff_survey(people: int = 900, questions: int = 20, seed: int = 0) -> list[Mapping[str, str]]:
    """Rows of a survey: moods differ by person, levels by question, grade and site; 4 % skip a question."""
    rng = np.random.default_rng(seed)
    site = rng.choice(5, people, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    grade = rng.choice(5, people, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    gender = rng.choice(3, people, p=[0.5, 0.47, 0.03])
    level = rng.normal(0, 0.5, questions)[None, :] + 0.15 * (grade - 1)[:, None] + 0.1 * (site - 2)[:, None]
    mood = rng.normal(0, 0.6, people)[:, None]
    answers = np.clip(np.rint(3.2 + level + mood + rng.normal(0, 0.9, level.shape)), 1, 5).astype(int)
    silent = rng.random(answers.shape) < 0.04
    return [
        {
            "site": SITES[site[p]],
            "grade": GRADES[grade[p]],
            "gender": GENDERS[gender[p]],
            **{f"q{q + 1}": "" if silent[p, q] else str(answers[p, q]) for q in range(questions)},
        }
        for p in range(people)
    ]
