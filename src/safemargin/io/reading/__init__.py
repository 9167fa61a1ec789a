"""One reader for tables as they are found: from a file of any format to one value, `ReadTable`.

A file becomes a `Grid` of cells (`grid`, `texts`, `excel`, `typed`). In the grid, `frame` finds the header, the body
and the footnotes, `values` what each cell states, `layout` which columns are axes and which hold counts. `sums` finds
totals by arithmetic. `read` puts them together. What is not certain is said: a note where the reading is safe, a doubt
where it may be wrong.
"""
