# speed-bf16: drawn by `gnuplot speed-bf16.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'speed-bf16'
TITLE = 'Speed of the backward pass, bf16'
SUBTITLE = 'Intel(R) Xeon(R) Processor, 2 threads'
YLABEL = 'GFLOP/s'
NP = 4
NS = 3
NCOL = 2
array PANEL[4]
PANEL[1] = 'full, head size 64'
PANEL[2] = 'causal, head size 64'
PANEL[3] = 'full, head size 128'
PANEL[4] = 'causal, head size 128'
array SERIES[3]
SERIES[1] = 'cpu-naive'
SERIES[2] = 'cpu-atomic'
SERIES[3] = 'cpu-split'
array GROUPS[4]
GROUPS[1] = 1
GROUPS[2] = 1
GROUPS[3] = 1
GROUPS[4] = 1
TOP = 210.02828667304027
LOW = 63.478747959779064
XTOP = 2048.172142426075
XLOW = 2048.172142426075
$TICKS << EOD
1 "2k"


1 "2k"


1 "2k"


1 "2k"


EOD
$DATA << EOD
# panel 1, series 1
1 122.9291383140982 107.59426647024321 129.92621634680648 "2k" "ok"


# panel 1, series 2
1 154.26167430485123 136.76498960889876 175.77594028686167 "2k" "ok"


# panel 1, series 3
1 117.61923277025166 95.36756520523856 126.51165408420975 "2k" "ok"


# panel 2, series 1
1 63.478747959779064 56.024036014317815 69.32782025098301 "2k" "ok"


# panel 2, series 2
1 162.67139724418678 109.66885454197636 173.52571092330888 "2k" "ok"


# panel 2, series 3
1 108.96003188261139 103.4023230787574 118.86427889027914 "2k" "ok"


# panel 3, series 1
1 158.83482471411583 149.4630548773586 176.4896526790509 "2k" "ok"


# panel 3, series 2
1 152.0841424709414 142.55299163886033 172.73225370944868 "2k" "ok"


# panel 3, series 3
1 128.17098386613048 114.34526491737745 135.21066143588965 "2k" "ok"


# panel 4, series 1
1 89.6502226670899 70.08708511821519 103.00988075172788 "2k" "ok"


# panel 4, series 2
1 192.42648513922265 153.61315302952403 210.02828667304027 "2k" "ok"


# panel 4, series 3
1 149.89367155204897 145.35310481829475 163.84866998111508 "2k" "ok"


EOD
array CEILING[NP]
CEILING[1] = 154.1005102049069
CEILING[2] = 177.06904575218627
CEILING[3] = 163.32793976646883
CEILING[4] = 215.30018455281507

# SPDX-License-Identifier: BSD-3-Clause
# speed.gp: grouped bars as the FlashAttention papers draw them. A panel a mask and head size, a
# group a sequence length, a bar a variant; whiskers are the 95 % interval of the median. One that
# reaches a quarter above its bar is cut off there, which an arrow tells.

GROUPS_MOST = 1
do for [p = 1:NP] { GROUPS_MOST = (GROUPS[p] > GROUPS_MOST) ? GROUPS[p] : GROUPS_MOST }
NROW = (NP + NCOL - 1) / NCOL
BAR = (NS > 5) ? 14 : 17
PANEL_WIDTH = BAR * (NS + 1) * GROUPS_MOST
PANEL_WIDTH = (PANEL_WIDTH < 300) ? 300 : (PANEL_WIDTH > 800) ? 800 : PANEL_WIDTH
PANEL_HEIGHT = 230
LEFT = 74
GAP = 26
WIDTH = LEFT + NCOL * (PANEL_WIDTH + GAP)
WIDTH = (WIDTH < 640) ? 640 : WIDTH
HEIGHT = NROW * (PANEL_HEIGHT + 72) + 40
SAMPLEN = 1.2
KEY_MORE = 1 # the GEMM
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
PANEL_WIDTH = (WIDTH - LEFT) / NCOL - GAP

# A ceiling far above all bars would flatten them: left out.
drawn(p) = (CEILING[p] == CEILING[p] && CEILING[p] < 3 * TOP)
YTOP = TOP * 1.30
has_ceiling = 0
do for [p = 1:NP] {
    has_ceiling = has_ceiling || drawn(p)
    YTOP = (drawn(p) && CEILING[p] * 1.08 > YTOP) ? CEILING[p] * 1.08 : YTOP
}
SHOWN = (TOP >= 200) ? "%.0f" : (TOP >= 10) ? "%.1f" : "%.2f"

bw = 0.84 / NS
bw_most = 64.0 * GROUPS_MOST / PANEL_WIDTH
bw = (bw > bw_most) ? bw_most : bw
place(x, s) = x + (s - 1 - (NS - 1) / 2.0) * bw
low(dummy) = (strcol(3) eq "NaN") ? column(2) : column(3)
cut(dummy) = strcol(4) ne "NaN" && column(4) > 1.25 * column(2)
high(dummy) = (strcol(4) eq "NaN") ? column(2) : cut(0) ? 1.25 * column(2) : column(4)
caption(dummy) = sprintf(SHOWN, column(2)) . (cut(0) ? " →" : "")
missing(dummy) = strcol(6) ne "ok" && strcol(6) ne "absent"
roomy = PANEL_WIDTH / real(GROUPS_MOST * NS) > 9.5

set multiplot

ANY_CUT = 0
stats $DATA using (ANY_CUT = ANY_CUT || cut(0), 0) nooutput
NOTE = ANY_CUT ? NOTE_CUT : ""

# Title and key, in a plot of their own across the figure.
eval TITLES
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
plot for [s = 1:NS] -1 with boxes lc rgb color(s) title SERIES[s], \
     (has_ceiling ? -1 : NaN) with lines dt 2 lc rgb FAINT title (has_ceiling ? "GEMM" : "")
unset label
unset key
set border 3 lc rgb INK
set xtics nomirror out textcolor rgb INK
set ytics nomirror out textcolor rgb INK
set xtics scale 0
set grid ytics back lt 1 lc rgb "#d8d8d8" lw 0.7
set yrange [0:YTOP]

do for [p = 1:NP] {
    column_of = (p - 1) % NCOL
    row_of = (p - 1) / NCOL
    x0 = LEFT + column_of * (PANEL_WIDTH + GAP)
    y0 = HEAD + 34 + row_of * (PANEL_HEIGHT + 72)
    set lmargin at screen from_left(x0)
    set rmargin at screen from_left(x0 + PANEL_WIDTH)
    set tmargin at screen from_top(y0)
    set bmargin at screen from_top(y0 + PANEL_HEIGHT)
    set title PANEL[p] font fs(10) offset 0, -0.4 textcolor rgb INK
    set format y (column_of == 0 ? "%g" : "")
    set label 2 (column_of == 0 ? YLABEL : "") at screen from_left(16), \
        screen from_top(y0 + PANEL_HEIGHT / 2) center rotate by 90 textcolor rgb INK
    set xlabel (p > NP - NCOL ? "sequence length" : "") offset 0, 0.4 textcolor rgb INK
    set xrange [0.5:GROUPS[p] + 0.5]
    plot $TICKS index (p - 1) using 1:(-1):xtic(2) with points notitle, \
         (drawn(p) ? CEILING[p] : NaN) with lines dt 2 lc rgb FAINT notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using (place($1, s)):2:(low(0)):(high(0)):(bw * 0.94) \
             with boxerrorbars lc rgb color(s) notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using (place($1, s)):(roomy ? high(0) : NaN):(caption(0)) \
             with labels rotate by 90 left offset 0, 0.3 font fs(7.5) textcolor rgb INK \
             notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using (missing(0) ? place($1, s) : NaN):(0):6 \
             with labels rotate by 90 left offset 0, 0.3 font fs(7.5) textcolor rgb ALARM \
             notitle
}
unset multiplot
set output
