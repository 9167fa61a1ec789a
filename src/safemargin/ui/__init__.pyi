from .blocks import (
    MOST_ROWS as MOST_ROWS,
)
from .blocks import (
    SCHEMA as SCHEMA,
)
from .blocks import (
    UNNAMED_COUNT as UNNAMED_COUNT,
)
from .blocks import (
    Answers as Answers,
)
from .blocks import (
    AnswerStrips as AnswerStrips,
)
from .blocks import (
    Bar as Bar,
)
from .blocks import (
    Bars as Bars,
)
from .blocks import (
    Cell as Cell,
)
from .blocks import (
    Chart as Chart,
)
from .blocks import (
    Columns as Columns,
)
from .blocks import (
    Document as Document,
)
from .blocks import (
    Figures as Figures,
)
from .blocks import (
    Fold as Fold,
)
from .blocks import (
    Grid as Grid,
)
from .blocks import (
    Headline as Headline,
)
from .blocks import (
    Heat as Heat,
)
from .blocks import (
    HeatCell as HeatCell,
)
from .blocks import (
    HeatRow as HeatRow,
)
from .blocks import (
    InTerminal as InTerminal,
)
from .blocks import (
    Link as Link,
)
from .blocks import (
    Map as Map,
)
from .blocks import (
    OnPage as OnPage,
)
from .blocks import (
    Paragraph as Paragraph,
)
from .blocks import (
    Part as Part,
)
from .blocks import (
    Particulars as Particulars,
)
from .blocks import (
    Points as Points,
)
from .blocks import (
    Report as Report,
)
from .blocks import (
    Section as Section,
)
from .blocks import (
    Signatures as Signatures,
)
from .blocks import (
    Spec as Spec,
)
from .blocks import (
    Square as Square,
)
from .blocks import (
    Tag as Tag,
)
from .charts import (
    CONFIG as CONFIG,
)
from .charts import (
    FAMILY_COLOURS as FAMILY_COLOURS,
)
from .charts import (
    FAMILY_SHAPES as FAMILY_SHAPES,
)
from .charts import (
    GAP as GAP,
)
from .charts import (
    LETTER as LETTER,
)
from .charts import (
    STACK_WIDTH as STACK_WIDTH,
)
from .charts import (
    TEXT_MARK as TEXT_MARK,
)
from .charts import (
    TICK_MARK as TICK_MARK,
)
from .charts import (
    WIDTH as WIDTH,
)
from .charts import (
    row_label as row_label,
)
from .charts import (
    row_positions as row_positions,
)
from .charts import (
    to_svg as to_svg,
)
from .commands import command as command
from .commands import show as show
from .commands import show_with_page as show_with_page
from .counts import CountCell as CountCell
from .counts import CountNote as CountNote
from .counts import CountRow as CountRow
from .counts import CountTable as CountTable
from .crosstab import Key as Key
from .crosstab import crosstab as crosstab
from .crosstab import layout as layout
from .crosstab import pivot as pivot
from .elements import (
    Html as Html,
)
from .elements import (
    element as element,
)
from .elements import (
    joined as joined,
)
from .elements import (
    page_in as page_in,
)
from .elements import (
    paragraphs as paragraphs,
)
from .elements import (
    points as points,
)
from .elements import (
    render_page as render_page,
)
from .elements import (
    section as section,
)
from .formatting import (
    band_label as band_label,
)
from .formatting import (
    cell_label as cell_label,
)
from .formatting import (
    count_range as count_range,
)
from .formatting import (
    describe_onlooker as describe_onlooker,
)
from .formatting import (
    exact_percent as exact_percent,
)
from .formatting import (
    list_values as list_values,
)
from .formatting import (
    named_cell_label as named_cell_label,
)
from .formatting import (
    percent as percent,
)
from .formatting import (
    percent_range as percent_range,
)
from .formatting import (
    plural as plural,
)
from .formatting import (
    short_number as short_number,
)
from .options import (
    DOUBTFUL as DOUBTFUL,
)
from .options import (
    READING as READING,
)
from .options import (
    Axes as Axes,
)
from .options import (
    Beta as Beta,
)
from .options import (
    By as By,
)
from .options import (
    Count as Count,
)
from .options import (
    DecideOnly as DecideOnly,
)
from .options import (
    EarlierRolls as EarlierRolls,
)
from .options import (
    EarlierTables as EarlierTables,
)
from .options import (
    Engine as Engine,
)
from .options import (
    Facts as Facts,
)
from .options import (
    Hierarchy as Hierarchy,
)
from .options import (
    Kappa as Kappa,
)
from .options import (
    Master as Master,
)
from .options import (
    Option as Option,
)
from .options import (
    Page as Page,
)
from .options import (
    ReadingOptions as ReadingOptions,
)
from .options import (
    Rolls as Rolls,
)
from .options import (
    Skip as Skip,
)
from .options import (
    Tau as Tau,
)
from .options import (
    Tolerance as Tolerance,
)
from .options import (
    call as call,
)
from .options import (
    check_tolerance as check_tolerance,
)
from .options import (
    override_target as override_target,
)
from .options import (
    parse_integers as parse_integers,
)
from .options import (
    project_file as project_file,
)
from .options import (
    target_of_tables as target_of_tables,
)
from .options import (
    with_reading as with_reading,
)
from .output import (
    PROGRESS as PROGRESS,
)
from .output import (
    Json as Json,
)
from .output import (
    PlainConsole as PlainConsole,
)
from .output import (
    Result as Result,
)
from .output import (
    check_page as check_page,
)
from .output import (
    finite as finite,
)
from .output import (
    note as note,
)
from .output import (
    notes as notes,
)
from .output import (
    out as out,
)
from .output import (
    print_json as print_json,
)
from .output import (
    print_result as print_result,
)
from .output import (
    progress_bar as progress_bar,
)
from .output import (
    say as say,
)
from .output import (
    unused_folder as unused_folder,
)
from .output import (
    write_text as write_text,
)
from .page import render_report as render_report
from .page import script as script
from .page import templates as templates
from .plans import (
    AxisStrip as AxisStrip,
)
from .plans import (
    AxisStrips as AxisStrips,
)
from .plans import (
    ChoiceBar as ChoiceBar,
)
from .plans import (
    ChoiceBars as ChoiceBars,
)
from .plans import (
    Remedies as Remedies,
)
from .plans import (
    StripGroup as StripGroup,
)
from .results import (
    Coverage as Coverage,
)
from .results import (
    Dot as Dot,
)
from .results import (
    DotPlot as DotPlot,
)
from .results import (
    Downloads as Downloads,
)
from .results import (
    Protection as Protection,
)
from .results import (
    ResultBar as ResultBar,
)
from .results import (
    Strip as Strip,
)
from .terminal import show_report as show_report
