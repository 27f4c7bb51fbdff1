# determinism-bf16: drawn by `gnuplot determinism-bf16.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'determinism-bf16'
TITLE = 'Determinism and speed of the backward pass, bf16'
SUBTITLE = 'Intel(R) Xeon(R) Processor, 2 threads'
YLABEL = 'GFLOP/s'
NP = 2
NS = 3
NCOL = 2
array PANEL[2]
PANEL[1] = 'full, head size 64, n=1k'
PANEL[2] = 'causal, head size 64, n=1k'
array SERIES[3]
SERIES[1] = 'the same bits in every run'
SERIES[2] = 'bits differ from run to run'
SERIES[3] = 'no run differed, but none is ruled out'
array GROUPS[2]
GROUPS[1] = 3
GROUPS[2] = 3
TOP = 139.64478517092908
LOW = 62.71762595134027
XTOP = 113
XLOW = 108
$TICKS << EOD
1 "cpu-naive"
2 "cpu-atomic"
3 "cpu-split"


1 "cpu-naive"
2 "cpu-atomic"
3 "cpu-split"


EOD
$DATA << EOD
# panel 1, series 1
1 132.50447820428727 119.85260258969478 139.64478517092908 "cpu-naive" "10 of 10 equal, D1+D2+D4"
3 105.10518841642451 97.3740328026347 105.68428225139849 "cpu-split" "10 of 10 equal, D1+D2+D4"


# panel 1, series 2
2 126.33375032205674 122.67827796206024 129.30747082409016 "cpu-atomic" "7 of 10 equal"


# panel 1, series 3
NaN NaN NaN NaN "" "absent"


# panel 2, series 1
1 62.71762595134027 54.97129029196135 77.00617934949925 "cpu-naive" "10 of 10 equal, D1+D2+D4"
3 94.63622977118892 86.70018285032603 110.95875997330712 "cpu-split" "10 of 10 equal, D1+D2+D4"


# panel 2, series 2
NaN NaN NaN NaN "" "absent"


# panel 2, series 3
2 115.55328405357824 107.13912614880778 138.28727706796937 "cpu-atomic" "10 of 10 equal, D1+D2+D4"


EOD
array CEILING[NP]
CEILING[1] = NaN
CEILING[2] = NaN

# SPDX-License-Identifier: BSD-3-Clause
# determinism.gp: what determinism costs. A panel a mask and head size, a bar a variant, its length
# the rate, its colour whether all runs gave the same bits; the whisker is the 95 % interval of the
# median (cut off a quarter above the bar, which an arrow tells), the words count the runs and name the
# levels that held, which the lines at the foot explain.

NROW = (NP + NCOL - 1) / NCOL
NAME_MOST = 0
longer(a, b) = (a > b) ? a : b
stats $TICKS using (NAME_MOST = longer(strlen(strcol(2)), NAME_MOST), 0) nooutput
LEFT = 24 + 8.2 * NAME_MOST # wide() of style.gp, which is read later
PANEL_WIDTH = 460
# A row of panels is as high as its longest; START[r] is where row r begins, below the head.
panel_height(bars) = 30 * bars + 10
array BARS[NROW]
array START[NROW + 1]
START[1] = 0
do for [r = 1:NROW] { BARS[r] = 1 }
do for [p = 1:NP] { BARS[(p - 1) / NCOL + 1] = longer(GROUPS[p], BARS[(p - 1) / NCOL + 1]) }
do for [r = 1:NROW] { START[r + 1] = START[r] + panel_height(BARS[r]) + 78 }
WIDTH = NCOL * (LEFT + PANEL_WIDTH + 20)
WIDTH = (WIDTH < 760) ? 760 : WIDTH
HEIGHT = 66 + START[NROW + 1]
SAMPLEN = 1.2
# The key names the kinds of bars that are drawn. KEY_MORE is style.gp's.
array USED[NS]
KEY_MORE = -NS
do for [s = 1:NS] {
    USED[s] = 0
    do for [p = 1:NP] {
        stats $DATA index ((p - 1) * NS + s - 1) using (USED[s] = USED[s] || strcol(2) ne "NaN", 0) nooutput
    }
    KEY_MORE = KEY_MORE + USED[s]
}
# SPDX-License-Identifier: BSD-3-Clause
# style.gp: what all figures share: terminal, font, colours, axes. A figure sets WIDTH and, below its
# title and key, HEIGHT (pixels of 1/96 inch) and loads this file before its first plot; WIDTH grows to
# hold the title, HEIGHT by the HEAD: title, subtitle and a key of all series across the figure.

# Width of a text in pixels, about.
wide(text, size) = strlen(text) * size * 0.82
WIDTH = (WIDTH < wide(TITLE, 12) + 40) ? wide(TITLE, 12) + 40 : WIDTH
WIDTH = (WIDTH < wide(SUBTITLE, 9) + 40) ? wide(SUBTITLE, 9) + 40 : WIDTH

# Rows of the key: gnuplot makes all its columns as wide as the longest name. SAMPLEN is the length of
# its samples, KEY_MORE counts entries that are no series.
if (!exists("KEY_MORE")) KEY_MORE = 0
NAME_WIDTH = 0
do for [s = 1:NS] {
    NAME_WIDTH = (NAME_WIDTH < strlen(SERIES[s])) ? strlen(SERIES[s]) : NAME_WIDTH
}
KEY_COLUMNS = int((WIDTH - 20) / (9.3 * NAME_WIDTH + 10 * SAMPLEN + 30))
KEY_COLUMNS = (KEY_COLUMNS < 1) ? 1 : KEY_COLUMNS
KEY_ROWS = (NS + KEY_MORE + KEY_COLUMNS - 1) / KEY_COLUMNS
KEY_TOP = (SUBTITLE eq "") ? 34 : 50
HEAD = KEY_TOP + 10 + 20 * KEY_ROWS
HEIGHT = HEIGHT + HEAD

if (!exists("FORMAT")) FORMAT = "svg"
if (!exists("OUTPUT")) OUTPUT = NAME . "." . FORMAT

# Names are shown as they are: no enhanced text, so that '_' and '^' stay what they are.
FONT = "DejaVu Sans"
set encoding utf8
# A font of that many points; svg counts pixels.
fs(size) = sprintf("%s,%.3g", FONT, size * ((FORMAT eq "svg") ? 96 / 72.0 : 1))
if (FORMAT eq "png") {
    set terminal pngcairo noenhanced font fs(10) fontscale 2 linewidth 2 pointscale 2 \
        size int(2 * WIDTH), int(2 * HEIGHT)
} else {
    if (FORMAT eq "pdf") {
        set terminal pdfcairo noenhanced font fs(10) fontscale 0.75 size WIDTH / 96.0, HEIGHT / 96.0
    } else {
        set terminal svg noenhanced font fs(10) size WIDTH, HEIGHT background "#ffffff"
    }
}
set output OUTPUT

# Okabe and Ito's colours, told apart by all readers, grey first for the baseline.
array COLOR[8]
COLOR[1] = 0x999999
COLOR[2] = 0x56B4E9
COLOR[3] = 0x0072B2
COLOR[4] = 0xD55E00
COLOR[5] = 0x009E73
COLOR[6] = 0xCC79A7
COLOR[7] = 0xE69F00
COLOR[8] = 0xF0E442
# A variant keeps its colour in every figure, by its idea, as long as no two series share one (the
# same idea on two backends, accumulators of one variant): then colours go by order.
idea(n) = strstrt(n, "naive-recompute") ? 2 : strstrt(n, "naive") ? 1 : strstrt(n, "atomic") ? 3 : \
    strstrt(n, "split") ? 4 : strstrt(n, "ordered") ? 5 : strstrt(n, "partials") ? 6 : \
    strstrt(n, "-ml") ? 7 : 0
BY_IDEA = 0
do for [i = 1:NS] { if (idea(SERIES[i])) { BY_IDEA = 1 } }
do for [i = 1:NS] { do for [j = i + 1:NS] {
    if (idea(SERIES[i]) && idea(SERIES[i]) == idea(SERIES[j])) { BY_IDEA = 0 }
} }
# One of no idea that is known here (a plug-in's, a library's) takes a colour that is left.
array SLOT[NS]
array TAKEN[8]
do for [k = 1:8] { TAKEN[k] = 0 }
do for [i = 1:NS] {
    SLOT[i] = BY_IDEA ? idea(SERIES[i]) : (i - 1) % 8 + 1
    if (SLOT[i]) { TAKEN[SLOT[i]] = 1 }
}
do for [i = 1:NS] { if (!SLOT[i]) {
    SLOT[i] = (i - 1) % 8 + 1
    do for [k in "8 1 2 3 4 5 6 7"] { if (!TAKEN[int(k)]) { SLOT[i] = int(k) } }
    TAKEN[SLOT[i]] = 1
} }
color(s) = COLOR[(NS == 1) ? 3 : SLOT[int(s)]]
array POINT[8]
POINT[1] = 4
POINT[2] = 7
POINT[3] = 5
POINT[4] = 9
POINT[5] = 13
POINT[6] = 11
POINT[7] = 6
POINT[8] = 3
# Colours come again after eight series, but with other points.
point(s) = POINT[(int(s) - 1 + 3 * ((int(s) - 1) / 8)) % 8 + 1]
INK = "#303030"
FAINT = "#909090"
ALARM = 0xB00020

# From pixels, counted from the left and from the top, to gnuplot's screen coordinates.
from_left(x) = real(x) / WIDTH
from_top(y) = 1 - real(y) / HEIGHT

# What an arrow at the end of a whisker means.
NOTE_CUT = "→  the 95 % interval of the median goes further than drawn"
NOTE = ""

# Title, subtitle and a note at the foot; set again after each `unset label`.
TITLES = "set label 11 TITLE at screen 0.5, screen from_top(18) center font fs(12) " . \
    "textcolor rgb INK; set label 12 SUBTITLE at screen 0.5, screen from_top(38) center " . \
    "font fs(9) textcolor rgb '#606060'; set label 13 NOTE at screen 0.5, " . \
    "screen from_top(HEIGHT - 9) center font fs(8) textcolor rgb '#606060'"

set border 3 lc rgb INK
set xtics nomirror out textcolor rgb INK
set ytics nomirror out textcolor rgb INK
set grid ytics back lt 1 lc rgb "#d8d8d8" lw 0.7
set style fill solid border lc rgb INK
set errorbars small
unset key
PANEL_WIDTH = WIDTH / NCOL - LEFT - 20

SHOWN = (TOP >= 200) ? "%.0f" : (TOP >= 10) ? "%.1f" : "%.2f"
low(dummy) = (strcol(3) eq "NaN") ? column(2) : column(3)
cut(dummy) = strcol(4) ne "NaN" && column(4) > 1.25 * column(2)
high(dummy) = (strcol(4) eq "NaN") ? column(2) : cut(0) ? 1.25 * column(2) : column(4)
caption(dummy) = sprintf(SHOWN . "%s   %s", column(2), cut(0) ? " →" : "", strcol(6))
# The axis goes on until the longest words have room between the end of their whisker and the panel's.
room(dummy) = PANEL_WIDTH - 16 - wide(caption(0), 8.5)
XMOST = TOP * 1.1
stats $DATA using (XMOST = longer(high(0) * PANEL_WIDTH / room(0), XMOST), 0) nooutput
array SHADE[3]
SHADE[1] = COLOR[3]
SHADE[2] = COLOR[7]
SHADE[3] = COLOR[2]

ANY_CUT = 0
stats $DATA using (ANY_CUT = ANY_CUT || cut(0), 0) nooutput
LEVELS = "the same bits in every run   D1: at rest   D2: under a second load   D4: with other " . \
    "thread counts"
NOTE = "D3, in another batch, stands in the table" . (ANY_CUT ? "      " . NOTE_CUT : "")

set multiplot
eval TITLES
set label 14 LEVELS at screen 0.5, screen from_top(HEIGHT - 25) center font fs(8) textcolor rgb '#606060'
set lmargin at screen from_left(10)
set rmargin at screen from_left(WIDTH - 10)
set tmargin at screen from_top(KEY_TOP)
set bmargin at screen from_top(HEAD - 4)
set key center center horizontal Left reverse maxrows KEY_ROWS samplen SAMPLEN textcolor rgb INK
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
plot for [s = 1:NS] (USED[s] ? -1 : NaN) with boxes lc rgb SHADE[s] title (USED[s] ? SERIES[s] : "")
unset label
unset key
set border 3 lc rgb INK
set xtics nomirror out textcolor rgb INK
set ytics nomirror out textcolor rgb INK
set ytics scale 0
set grid xtics back lt 1 lc rgb "#d8d8d8" lw 0.7
set xrange [0:XMOST]

do for [p = 1:NP] {
    column_of = (p - 1) % NCOL
    x0 = LEFT + column_of * (LEFT + PANEL_WIDTH + 20)
    y0 = HEAD + 32 + START[(p - 1) / NCOL + 1]
    set lmargin at screen from_left(x0)
    set rmargin at screen from_left(x0 + PANEL_WIDTH)
    set tmargin at screen from_top(y0)
    set bmargin at screen from_top(y0 + panel_height(GROUPS[p]))
    set title PANEL[p] font fs(10) offset 0, -0.4 textcolor rgb INK
    set xlabel (p > NP - NCOL ? YLABEL : "") offset 0, 0.4 textcolor rgb INK
    set yrange [-GROUPS[p] - 0.6:-0.4]
    plot $TICKS index (p - 1) using (-1):(-$1):ytic(2) with points notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using ($2 / 2):(-$1):(0):2:(-$1 - 0.36):(-$1 + 0.36) \
             with boxxyerror lc rgb SHADE[s] notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using 2:(-$1):(low(0)):(high(0)) with xerrorbars pt -1 lc rgb INK notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using (high(0)):(-$1):(caption(0)) \
             with labels left offset 0.8, 0 font fs(8.5) textcolor rgb INK notitle
}
unset multiplot
set output
