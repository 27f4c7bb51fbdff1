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
HEIGHT = 120 + NROW * ROW
load 'style.gp'
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

ANY_CUT = 0
stats $DATA using (ANY_CUT = ANY_CUT || cut(0), 0) nooutput
NOTE = "D1: the same bits in every run with the same inputs on this machine" . \
    (ANY_CUT ? "      " . NOTE_CUT : "")

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
