# SPDX-License-Identifier: BSD-3-Clause
# memory.gp: bytes beyond inputs and outputs against sequence length, on log axes: a materialised
# variant climbs with slope 2, the others with slope 1. The last series is the measure: o, lse, delta.

WIDTH = 820
HEIGHT = 540
load 'style.gp'

FLOOR = LOW / 2
# Series that lie on each other stay visible: the ones drawn first are wider.
floored(y) = (y > 0) ? y : FLOOR

set title TITLE font FONT . ",12" offset 0, 0.2 textcolor rgb INK
set lmargin at screen from_left(104)
set rmargin at screen from_left(WIDTH - 24)
set tmargin at screen from_top(44)
set bmargin at screen from_top(HEIGHT - 56)
set key left top Left reverse samplen 3 opaque textcolor rgb INK
set logscale x 2
set logscale y 10
set xrange [XLOW / 1.25:XTOP * 1.25]
set yrange [LOW / 3:TOP * 4]
set format y "%.0s %cB"
set mytics 1
set grid xtics ytics back lt 1 lc rgb "#d8d8d8" lw 0.7
set xlabel "sequence length" textcolor rgb INK
set ylabel YLABEL offset 0.5, 0 textcolor rgb INK

plot $TICKS using 1:(LOW / 100):xtic(2) with points notitle, \
     for [s = 1:NS - 1] $DATA index (s - 1) using 1:(floored($2)) \
         with linespoints lw (1.5 + 0.6 * (NS - s)) ps (0.9 + 0.25 * (NS - s)) pt point(s) lc rgb color(s) title SERIES[s], \
     $DATA index (NS - 1) using 1:2 with lines dt 2 lw 1.5 lc rgb INK title SERIES[NS], \
     for [s = 1:NS - 1] $DATA index (s - 1) using 1:($2 > 0 ? NaN : FLOOR):("none") \
         with labels offset 0, -1 font FONT . ",8" textcolor rgb INK notitle
set output
