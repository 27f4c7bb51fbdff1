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
load 'style.gp'
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
set label 14 LEVELS at screen 0.5, screen from_top(HEIGHT - 25) center font fs(8) textcolor rgb '#606060'
eval HEAD_BEGIN
plot for [s = 1:NS] (USED[s] ? -1 : NaN) with boxes lc rgb SHADE[s] title (USED[s] ? SERIES[s] : "")
eval HEAD_END
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
