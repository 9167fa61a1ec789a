from .combined import (
    TOTAL as TOTAL,
)
from .combined import (
    WORDS as WORDS,
)
from .combined import (
    Hierarchies as Hierarchies,
)
from .combined import (
    NoTotalWarning as NoTotalWarning,
)
from .combined import (
    count_column as count_column,
)
from .combined import (
    cut as cut,
)
from .combined import (
    hrc_parents as hrc_parents,
)
from .combined import (
    read_combined as read_combined,
)
from .combined import (
    read_hrc as read_hrc,
)
from .combined import (
    total_among as total_among,
)
from .combined import (
    tree as tree,
)
from .duck import (
    DuckSource as DuckSource,
)
from .duck import (
    connected as connected,
)
from .duck import (
    literal as literal,
)
from .duck import (
    open_counts as open_counts,
)
from .duck import (
    open_parts as open_parts,
)
from .engines import (
    open_counted as open_counted,
)
from .engines import (
    open_data as open_data,
)
from .engines import (
    open_records as open_records,
)
from .engines import (
    open_source as open_source,
)
from .engines import (
    tables_in as tables_in,
)
from .excel_writer import xlsx_rows as xlsx_rows
from .files import (
    check_keys as check_keys,
)
from .files import (
    csv_records as csv_records,
)
from .files import (
    parse_json as parse_json,
)
from .files import (
    parse_toml as parse_toml,
)
from .files import (
    read_bytes as read_bytes,
)
from .files import (
    read_json as read_json,
)
from .files import (
    read_text as read_text,
)
from .files import (
    read_toml as read_toml,
)
from .files import (
    require_file as require_file,
)
from .files import (
    require_private as require_private,
)
from .files import (
    suffix as suffix,
)
from .folder import (
    AUDITORS as AUDITORS,
)
from .folder import (
    CONFIDENTIAL as CONFIDENTIAL,
)
from .folder import (
    MANIFEST as MANIFEST,
)
from .folder import (
    Manifest as Manifest,
)
from .folder import (
    await_draft as await_draft,
)
from .folder import (
    check_folder as check_folder,
)
from .folder import (
    file_name as file_name,
)
from .folder import (
    fill_draft as fill_draft,
)
from .folder import (
    finish_draft as finish_draft,
)
from .folder import (
    hash_bytes as hash_bytes,
)
from .folder import (
    hash_file as hash_file,
)
from .folder import (
    json_bytes as json_bytes,
)
from .folder import (
    manifest_bytes as manifest_bytes,
)
from .folder import (
    move_draft as move_draft,
)
from .folder import (
    new_folder as new_folder,
)
from .folder import (
    open_draft as open_draft,
)
from .folder import (
    read_manifest as read_manifest,
)
from .folder import (
    remove_draft as remove_draft,
)
from .folder import (
    remove_stale_drafts as remove_stale_drafts,
)
from .folder import (
    stale_drafts as stale_drafts,
)
from .folder import (
    with_manifest as with_manifest,
)
from .folder import (
    write_folder as write_folder,
)
from .folder import (
    write_manifest as write_manifest,
)
from .interrupts import interruptible as interruptible
from .places import Address as Address
from .places import is_address as is_address
from .px import px_rows as px_rows
from .reading.attributes import has_attributes as has_attributes
from .reading.columns import COUNTS as COUNTS
from .reading.footnotes import AMOUNT_WORDS as AMOUNT_WORDS
from .reading.found import load as load
from .reading.found import read_all as read_all
from .reading.known import inner_table as inner_table
from .reading.known import read_one as read_one
from .reading.known import with_answers as with_answers
from .reading.labels import ACROSS as ACROSS
from .reading.options import ReadingOptions as ReadingOptions
from .reading.options import as_reading as as_reading
from .reading.read import is_plain as is_plain
from .reading.table import ReadAxis as ReadAxis
from .reading.table import ReadTable as ReadTable
from .reading.table import TableForm as TableForm
from .reading.values import MONEY as MONEY
from .reading.words import (
    doubt_lines as doubt_lines,
)
from .reading.words import (
    reading_document as reading_document,
)
from .reading.words import (
    reading_lines as reading_lines,
)
from .reading.words import (
    reading_words as reading_words,
)
from .reading.write import (
    AS_CSV as AS_CSV,
)
from .reading.write import (
    can_write_back as can_write_back,
)
from .reading.write import (
    is_typed as is_typed,
)
from .reading.write import (
    tidy_back as tidy_back,
)
from .reading.write import (
    write_back as write_back,
)
from .respelled import SpellingWarning as SpellingWarning
from .respelled import respelled as respelled
from .respelled import respelled_frame as respelled_frame
from .rows import (
    AMOUNTS as AMOUNTS,
)
from .rows import (
    MOST_LABELS as MOST_LABELS,
)
from .rows import (
    BadText as BadText,
)
from .rows import (
    Countable as Countable,
)
from .rows import (
    Profiles as Profiles,
)
from .rows import (
    Sheet as Sheet,
)
from .rows import (
    Source as Source,
)
from .rows import (
    Survey as Survey,
)
from .rows import (
    check_columns as check_columns,
)
from .rows import (
    check_labels as check_labels,
)
from .rows import (
    is_finite as is_finite,
)
from .rows import (
    is_number as is_number,
)
from .rows import (
    natural_order as natural_order,
)
from .rows import (
    quoted as quoted,
)
from .rows import (
    unquoted as unquoted,
)
from .rows import (
    whole_number as whole_number,
)
from .same_labels import plain_label as plain_label
from .scratch import Scratch as Scratch
from .scratch import new_scratch as new_scratch
from .scratch import scratch_folder as scratch_folder
from .sdmx import tidy_rows as tidy_rows
from .sections import (
    PHRASES as PHRASES,
)
from .sections import (
    ConfigSection as ConfigSection,
)
from .sections import (
    Distant as Distant,
)
from .sections import (
    File as File,
)
from .sections import (
    Files as Files,
)
from .sections import (
    Label as Label,
)
from .sections import (
    Labels as Labels,
)
from .sections import (
    Name as Name,
)
from .sections import (
    Names as Names,
)
from .sections import (
    Pair as Pair,
)
from .sections import (
    Share as Share,
)
from .sections import (
    distinct as distinct,
)
from .sections import (
    dotted_key as dotted_key,
)
from .sections import (
    explain as explain,
)
from .sections import (
    shown_value as shown_value,
)
from .sections import (
    twice_in as twice_in,
)
from .sheets import read_any_sheet as read_any_sheet
from .sheets import read_sheet as read_sheet
from .spark import SparkFrame as SparkFrame
from .spark import SparkSource as SparkSource
from .spark import open_spark as open_spark
from .spark_session import in_tasks as in_tasks
from .spark_session import quiet as quiet
from .sqlite import transaction as transaction
from .tables import (
    axes as axes,
)
from .tables import (
    check_project_facts as check_project_facts,
)
from .tables import (
    hierarchies as hierarchies,
)
from .tables import (
    load_tables as load_tables,
)
from .tables import (
    onlooker_from_files as onlooker_from_files,
)
from .tables import (
    read_many as read_many,
)
from .tables import (
    read_published as read_published,
)
from .tables import (
    read_tables as read_tables,
)
from .tables import (
    read_tidy as read_tidy,
)
from .tables import (
    skip_rules as skip_rules,
)
from .tables import (
    with_earlier_tables as with_earlier_tables,
)
from .tidy import rows_of as rows_of
from .tidy import tidy_table as tidy_table
from .writers import WRITERS as WRITERS
from .writers import quoted_formulas as quoted_formulas
from .writers import roll_bytes as roll_bytes
