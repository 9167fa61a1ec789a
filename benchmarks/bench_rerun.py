"""Attack releases that are certified against somebody who knows the rule, as many as fit into a time.

Every release is that of a random city of 2 to 4 axes and 60 to 5,000 people. The attack is `tests/reruns.py`: answers
that agree with what is published are put through the whole program, and what is left of every cell is compared with
the target. Run it with `python benchmarks/bench_rerun.py --seconds 900`; it prints how many releases it attacked.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cases import Town
from question_reruns import attacked_battery, random_battery
from reruns import attacked, attacked_crossed, random_city, random_secrets, run, unguarded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds to spend")
    parser.add_argument("--first", type=int, default=100_000, help="first seed")
    parser.add_argument("--people", type=int, default=5_000, help="most people of a city")
    parser.add_argument("--wide", action="store_true", help="cities of which single groups are suppressed")
    parser.add_argument("--sensitive", action="store_true", help="with a sensitive category in each")
    parser.add_argument(
        "--answers", type=int, nargs="*", default=(), help="how many options, with secrets of all kinds"
    )
    parser.add_argument("--questions", type=int, nargs="*", default=(), help="how many questions, in one release")
    parser.add_argument(
        "--labels", type=int, nargs="*", default=(), help="only how often `rerun` is reached by options"
    )
    parser.add_argument("--crossed", action="store_true", help="with tables of two axes, also those with another label")
    parser.add_argument("--unguarded", action="store_true", help="attack the rule without its guard")
    given = parser.parse_args()
    if given.labels or given.questions:
        (count_labels if given.labels else attack_questions)(given)
        return
    labels: Counter[str] = Counter()
    broken, different, seed = [], [], given.first
    while time.process_time() < given.seconds:
        place, target = random_city(
            seed, given.people, (1, 2, 3) if given.wide else (2, 3, 4), given.wide, given.answers or (2, 2, 2, 3)
        )
        if given.answers:
            target = replace(target, secrets=random_secrets(seed, place.options))
        if given.sensitive:
            target = replace(target, sensitive=((place.axes[0], max(place.categories[0])),))
        program = {"program": unguarded} if given.unguarded else {}
        attack = partial(attacked_crossed, seed) if given.crossed else partial(attacked, **program)
        plan, found, same = attack(place, target)
        label = plan.certificate.rule if plan.certificate.certified else "refused"
        printed = f", {sum(margin.is_published for margin in plan.margins)} crossed" if given.crossed else ""
        labels[f"{label}, {'nothing' if plan.data_independent else 'something'} merged for its answers{printed}"] += 1
        attacks = given.unguarded or given.crossed or plan.certificate.rule == "rerun"
        if attacks and found:
            broken.append((seed, found[:2]))
            print("broken", seed, found[:2], flush=True)
        if attacks and not same:
            different.append(seed)
            print("a witness leads elsewhere", seed, flush=True)
        seed += 1
        if (seed - given.first) % 10 == 0:
            print(f"{seed - given.first} cities, {time.process_time():.0f} s, {len(broken)} broken", flush=True)
    print(f"{seed - given.first} cities from seed {given.first}: {dict(labels)}")
    print(f"releases broken: {len(broken)}; with a witness that leads elsewhere: {len(different)}")


def attack_questions(given: argparse.Namespace) -> None:
    """Attack releases of several questions as `tests/question_reruns.py` does."""
    labels: Counter[str] = Counter()
    broken, different, seed = [], [], given.first
    while time.process_time() < given.seconds:
        survey = random_battery(seed, given.people, given.questions)
        plans, found, same = attacked_battery(survey)
        label = "rerun" if all(plan.certificate.rule == "rerun" for plan in plans) else "not shown"
        labels[f"{label}, {survey.grouping}, {survey.protect}"] += 1
        for name, wrong, kept in (("broken", bool(found), broken), ("a tuple leads elsewhere", not same, different)):
            if wrong:
                kept.append(seed)
                print(name, seed, found[:2], flush=True)
        seed += 1
        if (seed - given.first) % 10 == 0:
            print(f"{seed - given.first} cities, {time.process_time():.0f} s, {len(broken)} broken", flush=True)
    print(f"{seed - given.first} cities from seed {given.first}: {dict(labels)}")
    print(f"releases broken: {len(broken)}; with a tuple that leads elsewhere: {len(different)}")


def with_fewer_options(place: Town, options: int) -> Town:
    """The same people with neighbouring options counted as one, so that so many are left."""
    home = [option * options // len(place.options) for option in range(len(place.options))]
    votes = {
        profile: tuple(
            sum(votes for votes, to in zip(row, home, strict=True) if to == option) for option in range(options)
        )
        for profile, row in place.votes.items()
    }
    return replace(place, options=place.options[:options], votes=votes)


def count_labels(given: argparse.Namespace) -> None:
    """How often the same answers, with options counted as one until so many are left, reach `rerun`.

    The pairs have the same roll, limits and seed. Cities in which fewer options reach it and more do not are named.
    """
    reached, cities = Counter[int](), 0
    while time.process_time() < given.seconds:
        place, target = random_city(given.first + cities, given.people, answers=(max(given.labels),))
        shown = {}
        for options in given.labels:
            plan, _ = run(with_fewer_options(place, options), target)
            shown[options] = plan.certificate.certified and plan.certificate.rule == "rerun"
            reached[options] += shown[options]
        cities += 1
        lost = [options for options in given.labels if not shown[options]]
        print(
            f"{cities} cities: " + ", ".join(f"{n} options {reached[n]}" for n in given.labels),
            f"; seed {given.first + cities - 1}: not with {lost}" if lost else "",
            flush=True,
        )


if __name__ == "__main__":
    main()
