# speed-fp32: drawn by `gnuplot speed-fp32.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'speed-fp32'
TITLE = 'Speed of the backward pass, fp32'
SUBTITLE = 'Intel(R) Xeon(R) Processor'
YLABEL = 'GFLOP/s'
CEILING = 237.65095358486508
NP = 8
NS = 4
NCOL = 2
array PANEL[8]
PANEL[1] = 'full, head size 64, 2 threads'
PANEL[2] = 'full, head size 64, 1 threads'
PANEL[3] = 'causal, head size 64, 2 threads'
PANEL[4] = 'causal, head size 64, 1 threads'
PANEL[5] = 'full, head size 128, 2 threads'
PANEL[6] = 'full, head size 128, 1 threads'
PANEL[7] = 'causal, head size 128, 2 threads'
PANEL[8] = 'causal, head size 128, 1 threads'
array SERIES[4]
SERIES[1] = 'cpu-naive'
SERIES[2] = 'cpu-naive-recompute'
SERIES[3] = 'cpu-atomic'
SERIES[4] = 'cpu-split'
array GROUPS[8]
GROUPS[1] = 2
GROUPS[2] = 1
GROUPS[3] = 2
GROUPS[4] = 1
GROUPS[5] = 2
GROUPS[6] = 1
GROUPS[7] = 2
GROUPS[8] = 1
TOP = 250.35610124391917
LOW = 50.21708172755947
XTOP = 4.0960004096001e+15
XLOW = 2.0480002048001e+15
$TICKS << EOD
1 "2k"
2 "4k b1 h8"


1 "4k b1 h1"


1 "2k"
2 "4k b1 h8"


1 "4k b1 h1"


1 "2k"
2 "4k b1 h8"


1 "4k b1 h1"


1 "2k"
2 "4k b1 h8"


1 "4k b1 h1"


EOD
$DATA << EOD
# panel 1, series 1
1 181.27096477368002 145.71981168035026 216.05110978232278 "2k" "ok"
2 163.93465668638862 125.31559517021543 187.63757550314529 "4k b1 h8" "ok"


# panel 1, series 2
1 135.41423079276987 114.8858390384468 169.7145684281248 "2k" "ok"
2 120.99510151969233 103.08172893745436 150.62125061776362 "4k b1 h8" "ok"


# panel 1, series 3
1 212.58088057567082 105.2662138363275 244.65011884330997 "2k" "ok"
2 202.78159094681445 176.72300994330666 239.9677214979241 "4k b1 h8" "ok"


# panel 1, series 4
1 150.38804195347782 90.18699890630532 174.6746271296076 "2k" "ok"
2 148.6486461015614 107.8541838049551 167.26373248352093 "4k b1 h8" "ok"


# panel 2, series 1
1 73.50403023871006 47.888654602695645 98.8354707931751 "4k b1 h1" "ok"


# panel 2, series 2
NaN NaN NaN NaN "" "absent"


# panel 2, series 3
1 99.6854477992003 86.99092545076832 127.80473102286874 "4k b1 h1" "ok"


# panel 2, series 4
1 83.44791131603513 47.6422543546884 93.06377018161035 "4k b1 h1" "ok"


# panel 3, series 1
1 79.40375544402087 50.19309237124938 90.36626240586105 "2k" "ok"
2 77.80543383678545 62.094491883219014 94.68961886918879 "4k b1 h8" "ok"


# panel 3, series 2
1 60.790794864152545 52.16122665389981 71.96689008594586 "2k" "ok"
2 58.45303204458233 51.00846881240167 65.68708048548764 "4k b1 h8" "ok"


# panel 3, series 3
1 173.64566907660696 153.98515884789327 187.94322567106335 "2k" "ok"
2 209.47026856800136 138.07992880192216 226.9212977620734 "4k b1 h8" "ok"


# panel 3, series 4
1 131.80275590388277 107.26014345757902 144.11767392285844 "2k" "ok"
2 139.88804907590193 119.9857414121854 157.15312287433233 "4k b1 h8" "ok"


# panel 4, series 1
1 50.329927765494666 48.09627143363997 51.53332316622926 "4k b1 h1" "ok"


# panel 4, series 2
NaN NaN NaN NaN "" "absent"


# panel 4, series 3
1 114.9128631509178 107.4173107292678 123.90055026346502 "4k b1 h1" "ok"


# panel 4, series 4
1 86.47158068364075 77.1719984451842 89.7936806341409 "4k b1 h1" "ok"


# panel 5, series 1
1 189.2607697644074 128.75435983357266 200.5382944513729 "2k" "ok"
2 224.7603570471372 180.76160071810511 250.35610124391917 "4k b1 h8" "ok"


# panel 5, series 2
1 147.80391693040968 120.7639761061967 156.24839302155496 "2k" "ok"
2 170.09246001500074 148.95578325746965 206.28592167415803 "4k b1 h8" "ok"


# panel 5, series 3
1 138.1992923684938 122.61535082040174 210.4412057180637 "2k" "ok"
2 200.35169773913253 168.44991527286504 239.9857545157456 "4k b1 h8" "ok"


# panel 5, series 4
1 117.34287679055032 89.3624545160601 132.64654951782467 "2k" "ok"
2 165.57926883073168 116.01390175052525 184.32258617392537 "4k b1 h8" "ok"


# panel 6, series 1
1 98.39582283872839 68.54592919156954 130.24865819661932 "4k b1 h1" "ok"


# panel 6, series 2
NaN NaN NaN NaN "" "absent"


# panel 6, series 3
1 89.5315773722353 85.27806722904295 130.7871117601685 "4k b1 h1" "ok"


# panel 6, series 4
1 67.03664019040419 56.24065895121723 96.76016031268391 "4k b1 h1" "ok"


# panel 7, series 1
1 96.10285331832685 87.57195619822184 110.7638889611209 "2k" "ok"
2 95.19338287852659 85.5429244694637 119.19034106227105 "4k b1 h8" "ok"


# panel 7, series 2
1 75.59960567248163 74.19710752895521 79.94662704055817 "2k" "ok"
2 85.55119270309355 76.74640581321978 90.17783334695726 "4k b1 h8" "ok"


# panel 7, series 3
1 154.5467877857344 100.11761716693478 181.22145748802723 "2k" "ok"
2 170.16429198689988 141.1699638349345 236.80713371554415 "4k b1 h8" "ok"


# panel 7, series 4
1 130.3160453027675 114.55062328503912 151.80253025903184 "2k" "ok"
2 152.40436169629956 112.5771582117296 175.31887725136778 "4k b1 h8" "ok"


# panel 8, series 1
1 50.21708172755947 40.21535520214993 60.51488863313487 "4k b1 h1" "ok"


# panel 8, series 2
NaN NaN NaN NaN "" "absent"


# panel 8, series 3
1 87.29464238783959 58.771709410700794 115.92926156506067 "4k b1 h1" "ok"


# panel 8, series 4
1 66.99551892355963 49.47150249782069 82.97375029994893 "4k b1 h1" "ok"


EOD

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
HEIGHT = 60 + 20 * (1 + NS / 5) + NROW * (PANEL_HEIGHT + 72) + 6
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
PANEL_WIDTH = (WIDTH - LEFT) / NCOL - GAP

has_ceiling = (CEILING == CEILING && CEILING < 3 * TOP)
YTOP = TOP * 1.30
YTOP = (has_ceiling && CEILING * 1.08 > YTOP) ? CEILING * 1.08 : YTOP
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

# Title and key, in a plot of their own across the figure.
eval TITLES
set lmargin at screen from_left(10)
set rmargin at screen from_left(WIDTH - 10)
set tmargin at screen from_top(KEY_TOP)
set bmargin at screen from_top(HEAD - 4)
set key center center horizontal Left reverse maxrows KEY_ROWS samplen 1.2 textcolor rgb INK
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
         (has_ceiling ? CEILING : NaN) with lines dt 2 lc rgb FAINT notitle, \
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
