# determinism-fp32: drawn by `gnuplot determinism-fp32.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'determinism-fp32'
TITLE = 'Determinism and speed of the backward pass, fp32'
SUBTITLE = 'Intel(R) Xeon(R) Processor, 2 threads'
YLABEL = 'GFLOP/s'
CEILING = NaN
NP = 4
NS = 2
NCOL = 2
array PANEL[4]
PANEL[1] = 'full, head size 64, n=1k'
PANEL[2] = 'causal, head size 64, n=1k'
PANEL[3] = 'full, head size 128, n=1k'
PANEL[4] = 'causal, head size 128, n=1k'
array SERIES[2]
SERIES[1] = 'the same bits in every run'
SERIES[2] = 'bits differ from run to run'
array GROUPS[4]
GROUPS[1] = 7
GROUPS[2] = 7
GROUPS[3] = 7
GROUPS[4] = 7
TOP = 214.98805063339236
LOW = 66.049971882238
XTOP = 94
XLOW = 64
$TICKS << EOD
1 "cpu-naive"
2 "cpu-naive-recompute"
3 "cpu-atomic"
4 "cpu-split"
5 "cpu-ordered"
6 "cpu-partials"
7 "cpu-ml"


1 "cpu-naive"
2 "cpu-naive-recompute"
3 "cpu-atomic"
4 "cpu-split"
5 "cpu-ordered"
6 "cpu-partials"
7 "cpu-ml"


1 "cpu-naive"
2 "cpu-naive-recompute"
3 "cpu-atomic"
4 "cpu-split"
5 "cpu-ordered"
6 "cpu-partials"
7 "cpu-ml"


1 "cpu-naive"
2 "cpu-naive-recompute"
3 "cpu-atomic"
4 "cpu-split"
5 "cpu-ordered"
6 "cpu-partials"
7 "cpu-ml"


EOD
$DATA << EOD
# panel 1, series 1
1 165.7452100414946 150.02787555470397 179.1860420774981 "cpu-naive" "10 of 10 equal, D1"
2 128.1284918883911 121.97838068424969 146.8564431420503 "cpu-naive-recompute" "10 of 10 equal, D1"
4 132.63049902647737 116.38773259263182 137.57928520644995 "cpu-split" "10 of 10 equal, D1"
5 195.17735377758618 160.54172206996532 214.98805063339236 "cpu-ordered" "10 of 10 equal, D1"
6 190.25580641233702 183.79522056180872 204.5732824731378 "cpu-partials" "10 of 10 equal, D1"
7 128.18702213367015 122.33735200359921 136.0812656880672 "cpu-ml" "10 of 10 equal, D1"


# panel 1, series 2
3 146.85806610081352 133.2147012317174 159.85776205210166 "cpu-atomic" "1 of 10 equal"


# panel 2, series 1
1 81.59339754956335 79.83953744174114 81.97774431059064 "cpu-naive" "10 of 10 equal, D1"
2 66.049971882238 62.44763833274845 68.4058976977783 "cpu-naive-recompute" "10 of 10 equal, D1"
4 105.397175948126 96.57906492339502 121.07321843040882 "cpu-split" "10 of 10 equal, D1"
5 152.15882283973946 149.161788740831 176.97266676153316 "cpu-ordered" "10 of 10 equal, D1"
6 142.25694916894534 137.88644213050046 166.8213000688132 "cpu-partials" "10 of 10 equal, D1"
7 104.33122504626486 99.40733902877022 119.04874991780457 "cpu-ml" "10 of 10 equal, D1"


# panel 2, series 2
3 127.75178713579477 113.8911867285298 142.29946983085534 "cpu-atomic" "1 of 10 equal"


# panel 3, series 1
1 178.97190885621598 74.26600106214116 193.6942352869266 "cpu-naive" "10 of 10 equal, D1"
2 129.36692435385763 57.82859223609484 150.21893644893723 "cpu-naive-recompute" "10 of 10 equal, D1"
4 107.0380188014808 35.31938028405615 119.89261649494843 "cpu-split" "10 of 10 equal, D1"
5 145.86147385428893 46.45486415722014 177.04144128863473 "cpu-ordered" "10 of 10 equal, D1"
6 143.05013698178868 41.95528110943415 165.78562339853224 "cpu-partials" "10 of 10 equal, D1"
7 105.67243769498972 41.045194959285595 118.21858089677642 "cpu-ml" "10 of 10 equal, D1"


# panel 3, series 2
3 110.13189382959644 39.48625924420367 133.39448394076052 "cpu-atomic" "1 of 10 equal"


# panel 4, series 1
1 92.32151304102979 78.46333600502874 95.83604877941721 "cpu-naive" "10 of 10 equal, D1"
2 73.23448796746975 56.24569309410917 76.57375577669886 "cpu-naive-recompute" "10 of 10 equal, D1"
4 102.65373154311314 90.03493064541813 108.94719497204893 "cpu-split" "10 of 10 equal, D1"
5 143.72553281631934 115.68214413626887 156.81451834874667 "cpu-ordered" "10 of 10 equal, D1"
6 141.64011439618574 121.94501631076814 149.3726072037242 "cpu-partials" "10 of 10 equal, D1"
7 101.94445901365441 92.22270440339587 107.9606654744464 "cpu-ml" "10 of 10 equal, D1"


# panel 4, series 2
3 118.81908078618238 95.36154059005399 124.05345491047397 "cpu-atomic" "4 of 10 equal"


EOD

# SPDX-License-Identifier: BSD-3-Clause
# determinism.gp: what determinism costs. A panel a mask and head size, a bar a variant, its length
# the rate, its colour whether all runs gave the same bits; the whisker is the 95 % interval of the
# median (cut off a quarter above the bar, which an arrow tells), the words count the runs.

NROW = (NP + NCOL - 1) / NCOL
BARS_MOST = 1
NAME_MOST = 0
do for [p = 1:NP] { BARS_MOST = (GROUPS[p] > BARS_MOST) ? GROUPS[p] : BARS_MOST }
longer(a, b) = (a > b) ? a : b
stats $TICKS using (NAME_MOST = longer(strlen(strcol(2)), NAME_MOST), 0) nooutput
LEFT = 24 + 7.6 * NAME_MOST
PANEL_WIDTH = 430
PANEL_HEIGHT = 30 * BARS_MOST + 10
ROW = PANEL_HEIGHT + 78
WIDTH = NCOL * (LEFT + PANEL_WIDTH + 20)
WIDTH = (WIDTH < 640) ? 640 : WIDTH
HEIGHT = 104 + NROW * ROW
# SPDX-License-Identifier: BSD-3-Clause
# style.gp: what all figures share: terminal, font, colours, axes. A figure sets WIDTH and HEIGHT
# (pixels of 1/96 inch) and loads this file before its first plot; WIDTH grows to hold the title.

# Width of a text in pixels, about.
wide(text, size) = strlen(text) * size * 0.82
WIDTH = (WIDTH < wide(TITLE, 12) + 40) ? wide(TITLE, 12) + 40 : WIDTH
WIDTH = (WIDTH < wide(SUBTITLE, 9) + 40) ? wide(SUBTITLE, 9) + 40 : WIDTH

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
BY_IDEA = 1
do for [i = 1:NS] { do for [j = i + 1:NS] {
    if (idea(SERIES[i]) == idea(SERIES[j])) { BY_IDEA = 0 }
} }
slot(s) = BY_IDEA && idea(SERIES[int(s)]) ? idea(SERIES[int(s)]) : (int(s) - 1) % 8 + 1
color(s) = COLOR[(NS == 1) ? 3 : slot(s)]
array POINT[8]
POINT[1] = 4
POINT[2] = 7
POINT[3] = 5
POINT[4] = 9
POINT[5] = 13
POINT[6] = 11
POINT[7] = 6
POINT[8] = 3
point(s) = POINT[(int(s) - 1) % 8 + 1]
INK = "#303030"
FAINT = "#909090"
ALARM = 0xB00020

# From pixels, counted from the left and from the top, to gnuplot's screen coordinates.
from_left(x) = real(x) / WIDTH
from_top(y) = 1 - real(y) / HEIGHT

# Rows that a key of all series needs across the figure.
KEY_WIDTH = 0
do for [s = 1:NS] { KEY_WIDTH = KEY_WIDTH + wide(SERIES[s], 10) + 60 }
KEY_ROWS = int(KEY_WIDTH / (WIDTH - 40.0)) + 1
KEY_TOP = (SUBTITLE eq "") ? 34 : 50
HEAD = KEY_TOP + 10 + 20 * KEY_ROWS

# Title and subtitle; set again after each `unset label`.
TITLES = "set label 11 TITLE at screen 0.5, screen from_top(18) center font fs(12) " . \
    "textcolor rgb INK; set label 12 SUBTITLE at screen 0.5, screen from_top(38) center " . \
    "font fs(9) textcolor rgb '#606060'"

set border 3 lc rgb INK
set xtics nomirror out textcolor rgb INK
set ytics nomirror out textcolor rgb INK
set grid ytics back lt 1 lc rgb "#d8d8d8" lw 0.7
set style fill solid border lc rgb INK
set errorbars small
unset key
PANEL_WIDTH = WIDTH / NCOL - LEFT - 20

XMOST = TOP * 1.62
SHOWN = (TOP >= 200) ? "%.0f" : (TOP >= 10) ? "%.1f" : "%.2f"
low(dummy) = (strcol(3) eq "NaN") ? column(2) : column(3)
cut(dummy) = strcol(4) ne "NaN" && column(4) > 1.25 * column(2)
high(dummy) = (strcol(4) eq "NaN") ? column(2) : cut(0) ? 1.25 * column(2) : column(4)
caption(dummy) = sprintf(SHOWN . "%s   %s", column(2), cut(0) ? " →" : "", strcol(6))
array SHADE[2]
SHADE[1] = COLOR[3]
SHADE[2] = COLOR[7]

set multiplot
eval TITLES
set lmargin at screen from_left(10)
set rmargin at screen from_left(WIDTH - 10)
set tmargin at screen from_top(KEY_TOP)
set bmargin at screen from_top(HEAD - 4)
set key center center horizontal Left reverse maxrows 1 samplen 1.2 textcolor rgb INK
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
plot for [s = 1:NS] -1 with boxes lc rgb SHADE[s] title SERIES[s]
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
    row_of = (p - 1) / NCOL
    x0 = LEFT + column_of * (LEFT + PANEL_WIDTH + 20)
    y0 = HEAD + 32 + row_of * ROW
    set lmargin at screen from_left(x0)
    set rmargin at screen from_left(x0 + PANEL_WIDTH)
    set tmargin at screen from_top(y0)
    set bmargin at screen from_top(y0 + 30 * GROUPS[p] + 10)
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
