"""Reading and writing files."""

from safemargin.io.combined import WORDS, Hierarchies, count_column, read_any_sheet, read_combined, total_among
from safemargin.io.counts import BadText, is_finite, is_number, whole_number
from safemargin.io.duck import DuckSource, connected, literal, quoted
from safemargin.io.engines import ENGINES, open_source
from safemargin.io.facts import check_project_facts
from safemargin.io.files import csv_records, require_file, suffix
from safemargin.io.folder import WRITERS, check_folder, file_name, json_bytes, new_folder, write_folder
from safemargin.io.hierarchy import TOTAL, cut, hrc_parents, tree
from safemargin.io.onlooker import axes, hierarchies, public, read_tables, remembering, skip_rules
from safemargin.io.profiles import MOST_LABELS, Profiles, Source, Survey, check_columns, check_labels, natural_order
from safemargin.io.sections import (
    PHRASES,
    File,
    Files,
    Name,
    Names,
    Pair,
    Section,
    distinct,
    dotted_key,
    shown_value,
    twice_in,
)
from safemargin.io.sqlite import open_sqlite, table_names
from safemargin.io.tidy import Sheet, read_many, read_sheet, read_tidy
from safemargin.io.tidy_rows import rows_of

__all__ = [
    "BadText",
    "DuckSource",
    "ENGINES",
    "File",
    "Files",
    "Hierarchies",
    "MOST_LABELS",
    "Name",
    "Names",
    "PHRASES",
    "Pair",
    "Profiles",
    "Section",
    "Sheet",
    "Source",
    "Survey",
    "TOTAL",
    "WORDS",
    "WRITERS",
    "axes",
    "check_columns",
    "check_folder",
    "check_labels",
    "check_project_facts",
    "connected",
    "count_column",
    "csv_records",
    "cut",
    "distinct",
    "dotted_key",
    "file_name",
    "hierarchies",
    "hrc_parents",
    "is_finite",
    "is_number",
    "json_bytes",
    "literal",
    "natural_order",
    "new_folder",
    "open_source",
    "open_sqlite",
    "public",
    "quoted",
    "read_any_sheet",
    "read_combined",
    "read_many",
    "read_sheet",
    "read_tables",
    "read_tidy",
    "remembering",
    "require_file",
    "rows_of",
    "shown_value",
    "skip_rules",
    "suffix",
    "table_names",
    "total_among",
    "tree",
    "twice_in",
    "whole_number",
    "write_folder",
]
