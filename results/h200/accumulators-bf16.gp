# drift-bf16: drawn by `gnuplot drift-bf16.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'drift-bf16'
TITLE = 'Error of the gradients by accumulator, sm80-atomic, bf16, head size 64, full'
SUBTITLE = ''
YLABEL = 'relative L2 error'
NP = 3
NS = 2
NCOL = 3
array PANEL[3]
PANEL[1] = 'dq'
PANEL[2] = 'dk'
PANEL[3] = 'dv'
array SERIES[2]
SERIES[1] = 'fp32'
SERIES[2] = 'bf16'
array GROUPS[3]
GROUPS[1] = 6
GROUPS[2] = 6
GROUPS[3] = 6
TOP = 0.013755215246360858
LOW = 0.0022801317557501776
XTOP = 16384
XLOW = 512
$TICKS << EOD
512 "512"
1024 "1k"
2048 "2k"
4096 "4k"
8192 "8k"
16384 "16k"


512 "512"
1024 "1k"
2048 "2k"
4096 "4k"
8192 "8k"
16384 "16k"


512 "512"
1024 "1k"
2048 "2k"
4096 "4k"
8192 "8k"
16384 "16k"


EOD
$DATA << EOD
# panel 1, series 1
512 0.002427070278645498 0.002427070278645498 0.002427070278645498 "512" "ok"
1024 0.0023873876848766397 0.0023873876848766397 0.0023873876848766397 "1k" "ok"
2048 0.0023922589392971765 0.0023922589392971765 0.0023922589392971765 "2k" "ok"
4096 0.002387546097844155 0.002387546097844155 0.002387546097844155 "4k" "ok"
8192 0.0023903307009599524 0.0023903307009599524 0.0023903307009599524 "8k" "ok"
16384 0.0023880834294707077 0.0023880834294707077 0.0023880834294707077 "16k" "ok"


# panel 1, series 2
512 0.0035816329868197595 0.0035816329868197595 0.0035816329868197595 "512" "ok"
1024 0.00440997132552802 0.00440997132552802 0.00440997132552802 "1k" "ok"
2048 0.0056114067769741155 0.0056114067769741155 0.0056114067769741155 "2k" "ok"
4096 0.007382842935773465 0.007382842935773465 0.007382842935773465 "4k" "ok"
8192 0.00994901536721422 0.00994901536721422 0.00994901536721422 "8k" "ok"
16384 0.013755215246360858 0.013755215246360858 0.013755215246360858 "16k" "ok"


# panel 2, series 1
512 0.0023795286133049044 0.0023795286133049044 0.0023795286133049044 "512" "ok"
1024 0.0023434009117815806 0.0023434009117815806 0.0023434009117815806 "1k" "ok"
2048 0.0023473894760581483 0.0023473894760581483 0.0023473894760581483 "2k" "ok"
4096 0.0023516016360404955 0.0023516016360404955 0.0023516016360404955 "4k" "ok"
8192 0.0023454158938943643 0.0023454158938943643 0.0023454158938943643 "8k" "ok"
16384 0.0023412405294133847 0.0023412405294133847 0.0023412405294133847 "16k" "ok"


# panel 2, series 2
512 0.003114110326494928 0.003114110326494928 0.003114110326494928 "512" "ok"
1024 0.0039026531169460217 0.0039026531169460217 0.0039026531169460217 "1k" "ok"
2048 0.005097563862671719 0.005097563862671719 0.005097563862671719 "2k" "ok"
4096 0.006939756020266752 0.006939756020266752 0.006939756020266752 "4k" "ok"
8192 0.0096058239910799 0.0096058239910799 0.0096058239910799 "8k" "ok"
16384 0.013390411947078266 0.013390411947078266 0.013390411947078266 "16k" "ok"


# panel 3, series 1
512 0.0023659004941220213 0.0023659004941220213 0.0023659004941220213 "512" "ok"
1024 0.002339861699647018 0.002339861699647018 0.002339861699647018 "1k" "ok"
2048 0.002327391519228893 0.002327391519228893 0.002327391519228893 "2k" "ok"
4096 0.0022803126117968437 0.0022803126117968437 0.0022803126117968437 "4k" "ok"
8192 0.0022801317557501776 0.0022801317557501776 0.0022801317557501776 "8k" "ok"
16384 0.0022973770163629303 0.0022973770163629303 0.0022973770163629303 "16k" "ok"


# panel 3, series 2
512 0.003064587981737605 0.003064587981737605 0.003064587981737605 "512" "ok"
1024 0.0038391243339825944 0.0038391243339825944 0.0038391243339825944 "1k" "ok"
2048 0.005044375656090851 0.005044375656090851 0.005044375656090851 "2k" "ok"
4096 0.006772048906751084 0.006772048906751084 0.006772048906751084 "4k" "ok"
8192 0.009621592005554456 0.009621592005554456 0.009621592005554456 "8k" "ok"
16384 0.013557917755630864 0.013557917755630864 0.013557917755630864 "16k" "ok"


EOD
array CEILING[NP]
CEILING[1] = NaN
CEILING[2] = NaN
CEILING[3] = NaN

# SPDX-License-Identifier: BSD-3-Clause
# drift.gp: relative L2 error of the gradients against sequence length, one line an accumulator (or
# a variant). A point is the median over the seeds, its whisker their range; an error of exactly
# zero has no place on a log axis and is drawn hollow at the bottom. Lines drawn first are wider, so
# that those which lie on each other stay visible.

PANEL_WIDTH = (NP == 1) ? 560 : 330
PANEL_HEIGHT = 330
LEFT = 92
GAP = 26
WIDTH = LEFT + NP * (PANEL_WIDTH + GAP)
HEIGHT = PANEL_HEIGHT + 108
SAMPLEN = 2.5
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
PANEL_WIDTH = (WIDTH - LEFT) / NP - GAP

FLOOR = 10 ** floor(log10(LOW) - 0.1) * 1.15
low(dummy) = (strcol(3) eq "NaN" || column(3) <= 0) ? column(2) : column(3)
high(dummy) = (strcol(4) eq "NaN") ? column(2) : column(4)

set multiplot
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
plot for [s = 1:NS] -1 with linespoints lw 2 ps 1 pt point(s) lc rgb color(s) title SERIES[s]
unset label
unset key
set border 3 lc rgb INK
set xtics nomirror out textcolor rgb INK
set ytics nomirror out textcolor rgb INK
set grid xtics ytics back lt 1 lc rgb "#d8d8d8" lw 0.7
set logscale x 2
set logscale y 10
set xrange [XLOW / 1.25:XTOP * 1.25]
# Whole decades, so that at least two of them carry a number.
set yrange [10 ** floor(log10(LOW) - 0.1):10 ** ceil(log10(TOP) + 0.1)]
set xlabel "sequence length" textcolor rgb INK

do for [p = 1:NP] {
    x0 = LEFT + (p - 1) * (PANEL_WIDTH + GAP)
    set lmargin at screen from_left(x0)
    set rmargin at screen from_left(x0 + PANEL_WIDTH)
    set tmargin at screen from_top(HEAD + 30)
    set bmargin at screen from_top(HEAD + 30 + PANEL_HEIGHT)
    set title PANEL[p] font fs(11) offset 0, -0.4 textcolor rgb INK
    if (p == 1) {
        set format y "%g"
        set label 2 YLABEL at screen from_left(18), screen from_top(HEAD + 30 + PANEL_HEIGHT / 2) \
            center rotate by 90 textcolor rgb INK
    } else {
        set format y ""
        unset label 2
    }
    plot $TICKS index (p - 1) using 1:(LOW / 100):xtic(2) with points notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using 1:($2 > 0 ? $2 : NaN):(low(0)):(high(0)) \
             with yerrorlines lw (1.5 + 2.0 * (NS - s) / NS) ps (0.8 + 0.7 * (NS - s) / NS) \
             pt point(s) lc rgb color(s) notitle, \
         for [s = 1:NS] $DATA index ((p - 1) * NS + s - 1) \
             using 1:($2 > 0 ? NaN : FLOOR) with points pt 10 ps 1.2 lc rgb color(s) notitle
}
unset multiplot
set output
