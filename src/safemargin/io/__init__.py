"""Reading and writing files, and data in memory."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.core import hold_signals, sync, write_whole
    from safemargin.io.combined import (
        TOTAL,
        WORDS,
        Hierarchies,
        NoTotalWarning,
        count_column,
        cut,
        hrc_parents,
        read_combined,
        read_hrc,
        total_among,
        tree,
    )
    from safemargin.io.duck import DuckSource, connected, literal, open_counts, open_parts
    from safemargin.io.engines import open_counted, open_data, open_records, open_source, tables_in
    from safemargin.io.excel_writer import xlsx_rows
    from safemargin.io.files import (
        check_keys,
        csv_records,
        parse_json,
        parse_toml,
        read_bytes,
        read_json,
        read_text,
        read_toml,
        require_file,
        require_private,
        suffix,
    )
    from safemargin.io.folder import (
        AUDITORS,
        CONFIDENTIAL,
        MANIFEST,
        Manifest,
        await_draft,
        check_folder,
        file_name,
        fill_draft,
        finish_draft,
        hash_bytes,
        hash_file,
        json_bytes,
        manifest_bytes,
        move_draft,
        new_folder,
        open_draft,
        read_manifest,
        remove_draft,
        remove_stale_drafts,
        stale_drafts,
        with_manifest,
        write_folder,
        write_manifest,
    )
    from safemargin.io.interrupts import interruptible
    from safemargin.io.places import Address, is_address
    from safemargin.io.px import px_rows
    from safemargin.io.reading.attributes import has_attributes
    from safemargin.io.reading.columns import COUNTS
    from safemargin.io.reading.footnotes import AMOUNT_WORDS
    from safemargin.io.reading.found import load, read_all
    from safemargin.io.reading.known import inner_table, read_one, with_answers
    from safemargin.io.reading.labels import ACROSS
    from safemargin.io.reading.options import ReadingOptions, as_reading
    from safemargin.io.reading.read import is_plain
    from safemargin.io.reading.table import ReadAxis, ReadTable, TableForm
    from safemargin.io.reading.values import MONEY
    from safemargin.io.reading.words import doubt_lines, reading_document, reading_lines, reading_words
    from safemargin.io.reading.write import AS_CSV, can_write_back, is_typed, read_again, tidy_back, write_back
    from safemargin.io.respelled import SpellingWarning, respelled, respelled_frame
    from safemargin.io.rows import (
        AMOUNTS,
        MOST_LABELS,
        BadText,
        Countable,
        Profiles,
        Sheet,
        Source,
        Survey,
        check_columns,
        check_labels,
        is_finite,
        is_number,
        natural_order,
        quoted,
        unquoted,
        whole_number,
    )
    from safemargin.io.same_labels import plain_label
    from safemargin.io.scratch import Scratch, new_scratch, scratch_folder
    from safemargin.io.sdmx import tidy_rows
    from safemargin.io.sections import (
        PHRASES,
        ConfigSection,
        Distant,
        File,
        Files,
        Label,
        Labels,
        Name,
        Names,
        Pair,
        Share,
        distinct,
        dotted_key,
        explain,
        shown_value,
        twice_in,
    )
    from safemargin.io.sheets import read_any_sheet, read_sheet
    from safemargin.io.spark import SparkFrame, SparkSource, open_spark
    from safemargin.io.spark_session import in_tasks, quiet
    from safemargin.io.sqlite import transaction
    from safemargin.io.tables import (
        axes,
        check_project_facts,
        hierarchies,
        load_tables,
        onlooker_from_files,
        read_many,
        read_published,
        read_tables,
        read_tidy,
        skip_rules,
        with_earlier_tables,
    )
    from safemargin.io.tidy import rows_of, tidy_table
    from safemargin.io.writers import WRITERS, quoted_formulas, roll_bytes

lazy_face(__name__)
