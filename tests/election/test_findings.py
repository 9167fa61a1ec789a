"""The findings of the attack on the construction before this one: every one has tests, and they exist."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
FINDINGS: dict[int, tuple[str, tuple[str, ...]]] = {
    1: (
        "more than 480 voters fail; a long roll is refused silently",
        ("pilot:test_a_pilot_by_documented_commands", "manifest:test_a_roll_of_any_length_is_kept"),
    ),
    2: ("the client speaks no TLS", ("attacks:test_codes_and_ballots_travel_encrypted_only",)),
    3: (
        "a board that gives one person other signers",
        ("attacks:test_the_signers_are_those_of_the_manifest", "proofs:test_a_valid_ballot_cannot_be_changed_or_moved"),
    ),
    4: ("one voter stops the election", ("election:test_a_voter_who_attacks_the_issuers_stops_nobody",)),
    5: (
        "the collector drops votes unseen",
        (
            "election:test_a_dropped_ballot_is_added_by_its_receipt",
            "attacks:test_a_collector_that_counts_the_older_ballot_is_seen_by_everybody",
            "attacks:test_a_collector_that_calls_a_ballot_unreadable_is_refuted",
        ),
    ),
    6: ("the wallet shows the answer", ("election:test_the_wallet_never_holds_an_answer",)),
    7: ("the check of a voter verifies no signature", ("attacks:test_the_check_of_a_voter_verifies_the_board",)),
    8: (
        "verification has no anchor",
        (
            "verify:test_a_manifest_of_somebody_else_is_refused",
            "election:test_a_manifest_has_one_id_that_letters_print",
        ),
    ),
    9: (
        "trustees publish invented tables, or decrypt twice",
        (
            "verify:test_trustees_cannot_publish_an_invented_table",
            "election:test_trustees_decrypt_one_set_of_ballots_once",
            "proofs:test_a_key_without_a_dealer",
        ),
    ),
    10: (
        "an early or empty entry bricks the board",
        (
            "election:test_the_board_refuses_early_empty_and_foreign_entries",
            "attacks:test_one_trustee_of_four_that_signs_nonsense_stops_nobody",
        ),
    ),
    11: ("poison refuses whole batches", ("election:test_poison_in_a_batch_costs_nobody_else_anything",)),
    12: ("two processes on one folder", ("election:test_two_processes_on_one_board_or_folder_are_refused",)),
    13: ("a manifest with foreign keys is signed", ("manifest:test_parties_approve_only_what_is_theirs",)),
    14: ("who skips a dimension kills the release", ("election:test_skipping_a_dimension_loses_nothing",)),
    15: ("a program must keep running", ("page:test_a_program_that_was_stopped_sends_the_rest_later",)),
    16: (
        "organisations have too much; the registrar votes for abstainers",
        (
            "manifest:test_a_plan_that_must_not_be_used",
            "attacks:test_one_organisation_spelled_twice_is_one",
            "attacks:test_a_registrar_that_votes_for_an_abstainer_is_seen_by_the_letter",
        ),
    ),
    17: (
        "the order of arrival is on disk",
        (
            "election:test_a_box_keeps_no_order_and_cannot_open_anything",
            "election:test_published_ballots_say_nothing_about_arrival",
        ),
    ),
    18: ("blobs without limit", ("attacks:test_nobody_fills_the_box_with_garbage",)),
    19: ("bodies that stall", ("service:test_a_stalled_message_ends",)),
    20: ("requests can be replayed", ("service:test_operators_sign_and_strangers_get_nothing",)),
    21: (
        "the order of options decides double votes",
        ("election:test_the_highest_number_counts_whatever_the_order",),
    ),
    22: ("the expiry of escrow is ignored", ("election:test_escrow_is_off_for_the_total_and_expires",)),
    23: ("one modulus written twice", ("manifest:test_equal_or_small_issuing_keys_are_refused",)),
    24: ("one process holds all keys", ("pilot:test_a_pilot_by_documented_commands",)),
    25: ("shipped examples publish nothing", ("worked_examples:test_the_example_ends_in_a_certified_release",)),
}


@pytest.mark.parametrize("number", FINDINGS)
def test_every_finding_has_tests(number: int) -> None:
    finding, tests = FINDINGS[number]
    for test in tests:
        file, _, name = test.partition(":")
        assert f"\ndef {name}(" in (HERE / f"test_{file}.py").read_text(encoding="utf-8"), finding


def test_the_table_has_all_of_them() -> None:
    assert list(FINDINGS) == list(range(1, 26))
