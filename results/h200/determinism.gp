# determinism: drawn by `gnuplot determinism.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'determinism'
TITLE = 'Determinism and speed of the backward pass, bf16'
SUBTITLE = 'NVIDIA H200'
YLABEL = 'TFLOP/s'
NP = 6
NS = 3
NCOL = 2
array PANEL[6]
PANEL[1] = 'full, head size 64, n=16k'
PANEL[2] = 'causal, head size 64, n=16k'
PANEL[3] = 'full, head size 128, n=16k'
PANEL[4] = 'causal, head size 128, n=16k'
PANEL[5] = 'full, head size 256, n=16k'
PANEL[6] = 'causal, head size 256, n=16k'
array SERIES[3]
SERIES[1] = 'the same bits in every run'
SERIES[2] = 'bits differ from run to run'
SERIES[3] = 'no run differed, but none is ruled out'
array GROUPS[6]
GROUPS[1] = 10
GROUPS[2] = 10
GROUPS[3] = 10
GROUPS[4] = 10
GROUPS[5] = 8
GROUPS[6] = 8
TOP = 671.9800713382247
LOW = 67.37218403619659
XTOP = 335
XLOW = 100
$TICKS << EOD
1 "sm90-atomic"
2 "sm90-ordered"
3 "sm90-split"
4 "cudnn"
5 "cudnn-deterministic"
6 "sm80-atomic"
7 "sm80-ordered"
8 "sm80-partials"
9 "sm80-split"
10 "cublas-naive"


1 "sm90-atomic"
2 "sm90-ordered"
3 "sm90-split"
4 "cudnn"
5 "cudnn-deterministic"
6 "sm80-atomic"
7 "sm80-ordered"
8 "sm80-partials"
9 "sm80-split"
10 "cublas-naive"


1 "sm90-atomic"
2 "sm90-ordered"
3 "sm90-split"
4 "cudnn"
5 "cudnn-deterministic"
6 "sm80-atomic"
7 "sm80-ordered"
8 "sm80-partials"
9 "sm80-split"
10 "cublas-naive"


1 "sm90-atomic"
2 "sm90-ordered"
3 "sm90-split"
4 "cudnn"
5 "cudnn-deterministic"
6 "sm80-atomic"
7 "sm80-ordered"
8 "sm80-partials"
9 "sm80-split"
10 "cublas-naive"


1 "sm90-split"
2 "cudnn"
3 "cudnn-deterministic"
4 "sm80-atomic"
5 "sm80-ordered"
6 "sm80-partials"
7 "sm80-split"
8 "cublas-naive"


1 "sm90-split"
2 "cudnn"
3 "cudnn-deterministic"
4 "sm80-atomic"
5 "sm80-ordered"
6 "sm80-partials"
7 "sm80-split"
8 "cublas-naive"


EOD
$DATA << EOD
# panel 1, series 1
2 571.2892987488243 566.37742178785 572.7023928503431 "sm90-ordered" "3 of 3 equal, D1"
3 423.10884429138025 NaN NaN "sm90-split" "3 of 3 equal, D1"
5 282.58594791094885 NaN NaN "cudnn-deterministic" "3 of 3 equal, D1"
7 281.9367031277901 NaN NaN "sm80-ordered" "3 of 3 equal, D1"
8 287.725188266154 NaN NaN "sm80-partials" "3 of 3 equal, D1"
9 219.13433887683647 NaN NaN "sm80-split" "3 of 3 equal, D1"
10 125.82348561363642 NaN NaN "cublas-naive" "3 of 3 equal, D1"


# panel 1, series 2
1 586.0776417186202 581.3535399664895 587.4765246165076 "sm90-atomic" "1 of 3 equal"
4 484.63346882423826 NaN NaN "cudnn" "1 of 3 equal"
6 296.18574762137325 NaN NaN "sm80-atomic" "1 of 3 equal"


# panel 1, series 3
NaN NaN NaN NaN "" "absent"


# panel 2, series 1
2 549.1848112562935 544.9000696092413 550.8399069991391 "sm90-ordered" "3 of 3 equal, D1"
3 420.2850738844951 414.4134194951599 421.86400565478283 "sm90-split" "3 of 3 equal, D1"
5 358.08723462529343 355.02606314613337 359.4559828708897 "cudnn-deterministic" "3 of 3 equal, D1"
7 272.4625765053426 270.65770740719654 272.85765082887417 "sm80-ordered" "3 of 3 equal, D1"
8 284.12956708871855 NaN NaN "sm80-partials" "3 of 3 equal, D1"
9 218.63959349948706 NaN NaN "sm80-split" "3 of 3 equal, D1"
10 67.37218403619659 NaN NaN "cublas-naive" "3 of 3 equal, D1"


# panel 2, series 2
1 586.4654982667481 580.9231520170342 587.5746568300427 "sm90-atomic" "1 of 3 equal"
4 457.5233674270766 452.87308692216817 458.55645464360475 "cudnn" "1 of 3 equal"
6 300.30638065464876 297.9219098409661 300.98238244793714 "sm80-atomic" "1 of 3 equal"


# panel 2, series 3
NaN NaN NaN NaN "" "absent"


# panel 3, series 1
2 651.7017750992198 649.9401961356801 652.6809660555883 "sm90-ordered" "3 of 3 equal, D1"
3 544.446353912263 543.7596453666811 545.8223776878597 "sm90-split" "3 of 3 equal, D1"
5 530.4802860274112 529.3002580970535 531.348225280646 "cudnn-deterministic" "3 of 3 equal, D1"
7 312.7658737336112 NaN NaN "sm80-ordered" "3 of 3 equal, D1"
8 327.09231185034474 NaN NaN "sm80-partials" "3 of 3 equal, D1"
9 253.40085888010185 NaN NaN "sm80-split" "3 of 3 equal, D1"
10 244.08251300221585 NaN NaN "cublas-naive" "3 of 3 equal, D1"


# panel 3, series 2
1 667.3997012339844 663.4665631558707 668.0562785091115 "sm90-atomic" "1 of 3 equal"
4 607.7819759271622 603.5160762433759 608.3738545681946 "cudnn" "1 of 3 equal"
6 328.8299589242161 NaN NaN "sm80-atomic" "1 of 3 equal"


# panel 3, series 3
NaN NaN NaN NaN "" "absent"


# panel 4, series 1
2 660.4488983949916 659.6273161497726 662.6293348080003 "sm90-ordered" "3 of 3 equal, D1"
3 538.9516990004244 535.7417907799836 539.1850837398332 "sm90-split" "3 of 3 equal, D1"
5 496.9863678010498 496.7621792472861 498.512008279519 "cudnn-deterministic" "3 of 3 equal, D1"
7 295.7800668973095 295.4708114170072 295.80043375245396 "sm80-ordered" "3 of 3 equal, D1"
8 318.1940188461118 317.628720249446 318.52142289937774 "sm80-partials" "3 of 3 equal, D1"
9 253.3154398696584 NaN NaN "sm80-split" "3 of 3 equal, D1"
10 130.24747073568633 NaN NaN "cublas-naive" "3 of 3 equal, D1"


# panel 4, series 2
1 670.5638000304313 668.2893557685919 671.9800713382247 "sm90-atomic" "1 of 3 equal"
4 586.0054276535749 583.1393517402126 586.3354070417012 "cudnn" "1 of 3 equal"
6 331.40092561563966 330.68208560941287 331.76887906303915 "sm80-atomic" "1 of 3 equal"


# panel 4, series 3
NaN NaN NaN NaN "" "absent"


# panel 5, series 1
1 534.7835960113686 531.0952346720211 535.0933788090855 "sm90-split" "3 of 3 equal, D1"
3 284.5621143913049 NaN NaN "cudnn-deterministic" "3 of 3 equal, D1"
5 245.3531053745324 NaN NaN "sm80-ordered" "3 of 3 equal, D1"
6 261.60509866674585 NaN NaN "sm80-partials" "3 of 3 equal, D1"
7 224.6862333706927 NaN NaN "sm80-split" "3 of 3 equal, D1"
8 430.59797159490046 NaN NaN "cublas-naive" "3 of 3 equal, D1"


# panel 5, series 2
2 375.478932571588 NaN NaN "cudnn" "1 of 3 equal"
4 272.3681970896071 NaN NaN "sm80-atomic" "1 of 3 equal"


# panel 5, series 3
NaN NaN NaN NaN "" "absent"


# panel 6, series 1
1 544.4787614957133 542.755283122557 545.2667126612507 "sm90-split" "3 of 3 equal, D1"
3 313.2677214465258 310.88804849235885 314.45458173401045 "cudnn-deterministic" "3 of 3 equal, D1"
5 241.47662622795278 NaN NaN "sm80-ordered" "3 of 3 equal, D1"
6 254.19996717446713 NaN NaN "sm80-partials" "3 of 3 equal, D1"
7 224.89761592627778 NaN NaN "sm80-split" "3 of 3 equal, D1"
8 234.83582748887906 NaN NaN "cublas-naive" "3 of 3 equal, D1"


# panel 6, series 2
2 412.4515726753466 407.3295938414951 414.347474798844 "cudnn" "1 of 3 equal"
4 276.3858470825733 274.2373990121449 276.5103792490147 "sm80-atomic" "1 of 3 equal"


# panel 6, series 3
NaN NaN NaN NaN "" "absent"


EOD
array CEILING[NP]
CEILING[1] = NaN
CEILING[2] = NaN
CEILING[3] = NaN
CEILING[4] = NaN
CEILING[5] = NaN
CEILING[6] = NaN

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
