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
load 'style.gp'
PANEL_WIDTH = (WIDTH - LEFT) / NP - GAP

FLOOR = 10 ** floor(log10(LOW) - 0.1) * 1.15
low(dummy) = (strcol(3) eq "NaN" || column(3) <= 0) ? column(2) : column(3)
high(dummy) = (strcol(4) eq "NaN") ? column(2) : column(4)

set multiplot
eval HEAD_BEGIN
plot for [s = 1:NS] -1 with linespoints lw 2 ps 1 pt point(s) lc rgb color(s) title SERIES[s]
eval HEAD_END
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
