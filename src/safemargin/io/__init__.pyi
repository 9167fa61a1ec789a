from .combined import (
    TOTAL as TOTAL,
    WORDS as WORDS,
    Hierarchies as Hierarchies,
    NoTotalWarning as NoTotalWarning,
    count_column as count_column,
    cut as cut,
    hrc_parents as hrc_parents,
    read_combined as read_combined,
    read_hrc as read_hrc,
    total_among as total_among,
    tree as tree,
)
from .duck import (
    DuckSource as DuckSource,
    connected as connected,
    literal as literal,
    open_counts as open_counts,
    open_parts as open_parts,
)
from .engines import (
    open_counted as open_counted,
    open_data as open_data,
    open_records as open_records,
    open_source as open_source,
    tables_in as tables_in,
)
from .excel_writer import xlsx_rows as xlsx_rows
from .files import (
    check_keys as check_keys,
    csv_records as csv_records,
    parse_json as parse_json,
    parse_toml as parse_toml,
    read_bytes as read_bytes,
    read_json as read_json,
    read_text as read_text,
    read_toml as read_toml,
    require_file as require_file,
    require_private as require_private,
    suffix as suffix,
)
from .folder import (
    AUDITORS as AUDITORS,
    CONFIDENTIAL as CONFIDENTIAL,
    MANIFEST as MANIFEST,
    Manifest as Manifest,
    await_draft as await_draft,
    check_folder as check_folder,
    file_name as file_name,
    fill_draft as fill_draft,
    finish_draft as finish_draft,
    hash_bytes as hash_bytes,
    hash_file as hash_file,
    json_bytes as json_bytes,
    manifest_bytes as manifest_bytes,
    move_draft as move_draft,
    new_folder as new_folder,
    open_draft as open_draft,
    read_manifest as read_manifest,
    remove_draft as remove_draft,
    remove_stale_drafts as remove_stale_drafts,
    stale_drafts as stale_drafts,
    with_manifest as with_manifest,
    write_folder as write_folder,
    write_manifest as write_manifest,
)
from .interrupts import interruptible as interruptible
from .places import Address as Address, is_address as is_address
from .px import px_rows as px_rows
from .reading.attributes import has_attributes as has_attributes
from .reading.columns import COUNTS as COUNTS
from .reading.footnotes import AMOUNT_WORDS as AMOUNT_WORDS
from .reading.found import load as load, read_all as read_all
from .reading.known import inner_table as inner_table, read_one as read_one, with_answers as with_answers
from .reading.labels import ACROSS as ACROSS
from .reading.options import ReadingOptions as ReadingOptions, as_reading as as_reading
from .reading.read import is_plain as is_plain
from .reading.table import ReadAxis as ReadAxis, ReadTable as ReadTable, TableForm as TableForm
from .reading.values import MONEY as MONEY
from .reading.words import (
    doubt_lines as doubt_lines,
    reading_document as reading_document,
    reading_lines as reading_lines,
    reading_words as reading_words,
)
from .reading.write import (
    can_write_back as can_write_back,
    is_typed as is_typed,
    read_again as read_again,
    tidy_back as tidy_back,
    write_back as write_back,
    written_kind as written_kind,
)
from .respelled import SpellingWarning as SpellingWarning, respelled as respelled, respelled_frame as respelled_frame
from .rows import (
    AMOUNTS as AMOUNTS,
    MOST_LABELS as MOST_LABELS,
    BadText as BadText,
    Countable as Countable,
    Profiles as Profiles,
    Sheet as Sheet,
    Source as Source,
    Survey as Survey,
    check_columns as check_columns,
    check_labels as check_labels,
    is_finite as is_finite,
    is_number as is_number,
    natural_order as natural_order,
    quoted as quoted,
    unquoted as unquoted,
    whole_number as whole_number,
)
from .same_labels import plain_label as plain_label
from .scratch import Scratch as Scratch, new_scratch as new_scratch, scratch_folder as scratch_folder
from .sdmx import tidy_rows as tidy_rows
from .sections import (
    PHRASES as PHRASES,
    ConfigSection as ConfigSection,
    Distant as Distant,
    File as File,
    Files as Files,
    Label as Label,
    Labels as Labels,
    Name as Name,
    Names as Names,
    Pair as Pair,
    Share as Share,
    distinct as distinct,
    dotted_key as dotted_key,
    explain as explain,
    shown_value as shown_value,
    twice_in as twice_in,
)
from .sheets import read_any_sheet as read_any_sheet, read_sheet as read_sheet
from .spark import SparkFrame as SparkFrame, SparkSource as SparkSource, open_spark as open_spark
from .spark_session import in_tasks as in_tasks, quiet as quiet
from .sqlite import transaction as transaction
from .tables import (
    axes as axes,
    check_project_facts as check_project_facts,
    hierarchies as hierarchies,
    load_tables as load_tables,
    onlooker_from_files as onlooker_from_files,
    read_many as read_many,
    read_published as read_published,
    read_tables as read_tables,
    read_tidy as read_tidy,
    skip_rules as skip_rules,
    with_earlier_tables as with_earlier_tables,
)
from .tidy import rows_of as rows_of, tidy_table as tidy_table
from .writers import WRITERS as WRITERS, quoted_formulas as quoted_formulas, roll_bytes as roll_bytes
