"""Text, pages and options; knows no feature."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.ui.blocks import (
        MOST_ROWS,
        SCHEMA,
        UNNAMED_COUNT,
        Answers,
        AnswerStrips,
        Bar,
        Bars,
        Cell,
        Chart,
        Columns,
        Document,
        Figures,
        Fold,
        Grid,
        Headline,
        Heat,
        HeatCell,
        HeatRow,
        InTerminal,
        Link,
        Map,
        OnPage,
        Paragraph,
        Part,
        Particulars,
        Points,
        Report,
        Section,
        Signatures,
        Spec,
        Square,
        Tag,
    )
    from safemargin.ui.charts import (
        CONFIG,
        FAMILY_COLOURS,
        FAMILY_SHAPES,
        GAP,
        LETTER,
        STACK_WIDTH,
        TEXT_MARK,
        TICK_MARK,
        WIDTH,
        row_label,
        row_positions,
        to_svg,
    )
    from safemargin.ui.commands import command, show, show_with_page
    from safemargin.ui.counts import CountCell, CountNote, CountRow, CountTable
    from safemargin.ui.crosstab import Key, crosstab, layout, pivot
    from safemargin.ui.elements import Html, element, joined, page_in, paragraphs, points, render_page, section
    from safemargin.ui.formatting import (
        band_label,
        cell_label,
        count_range,
        describe_onlooker,
        exact_percent,
        list_values,
        named_cell_label,
        percent,
        percent_range,
        plural,
        short_number,
    )
    from safemargin.ui.options import (
        DOUBTFUL,
        READING,
        Axes,
        Beta,
        By,
        Count,
        DecideOnly,
        EarlierRolls,
        EarlierTables,
        Engine,
        Facts,
        Hierarchy,
        Kappa,
        Master,
        Option,
        Page,
        ReadingOptions,
        Rolls,
        Skip,
        Tau,
        Tolerance,
        call,
        check_tolerance,
        override_target,
        parse_integers,
        project_file,
        target_of_tables,
        with_reading,
    )
    from safemargin.ui.output import (
        PROGRESS,
        Json,
        PlainConsole,
        Result,
        check_page,
        finite,
        note,
        notes,
        out,
        print_json,
        print_result,
        progress_bar,
        say,
        unused_folder,
        write_text,
    )
    from safemargin.ui.page import render_report, script, templates
    from safemargin.ui.plans import AxisStrip, AxisStrips, ChoiceBar, ChoiceBars, Remedies, StripGroup
    from safemargin.ui.results import Coverage, Dot, DotPlot, Downloads, Protection, ResultBar, Strip
    from safemargin.ui.terminal import show_report

lazy_face(__name__)
