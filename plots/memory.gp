# SPDX-License-Identifier: BSD-3-Clause
# memory.gp: bytes beyond inputs and outputs against sequence length, on log axes: a materialised
# variant climbs with slope 2, the others with slope 1. The last series is the measure: o, lse and
# delta. No bytes at all are drawn hollow at the bottom, and a note says so. Lines drawn first are
# wider, so that those which lie on each other stay visible.

WIDTH = 820
HEIGHT = 516
SAMPLEN = 3
load 'style.gp'

YLOW = 10 ** floor(log10(LOW) - 0.3)
YLOW = (YLOW < 1) ? 1 : YLOW
FLOOR = YLOW * 1.5
ANY_NONE = 0
stats $DATA using (ANY_NONE = ANY_NONE || column(2) == 0, 0) nooutput
NOTE = ANY_NONE ? "▽  no bytes at all" : ""
line_width(s) = 1.5 + 3.0 * (NS - s) / NS
point_size(s) = 0.9 + 0.9 * (NS - s) / NS

set multiplot

# Inside the panel the key would hide points.
eval HEAD_BEGIN
plot for [s = 1:NS - 1] -1 with linespoints lw line_width(s) ps point_size(s) \
         pt point(s) lc rgb color(s) title SERIES[s], \
     -1 with lines dt 2 lw 1.5 lc rgb INK title SERIES[NS]
eval HEAD_END

set lmargin at screen from_left(104)
set rmargin at screen from_left(WIDTH - 24)
set tmargin at screen from_top(HEAD + 10)
set bmargin at screen from_top(HEIGHT - 70)
set grid xtics ytics back lt 1 lc rgb "#d8d8d8" lw 0.7
set logscale x 2
set logscale y 10
set xrange [XLOW / 1.25:XTOP * 1.25]
set yrange [YLOW:10 ** ceil(log10(TOP) + 0.3)]
set format y "%.0s %cB"
set mytics 1
set xlabel "sequence length" offset 0, 0.5 textcolor rgb INK
set label 1 YLABEL at screen from_left(18), screen from_top((HEIGHT + HEAD - 60) / 2) \
    center rotate by 90 textcolor rgb INK

plot $TICKS using 1:(LOW / 100):xtic(2) with points notitle, \
     for [s = 1:NS - 1] $DATA index (s - 1) using 1:($2 > 0 ? $2 : NaN) \
         with linespoints lw line_width(s) ps point_size(s) \
         pt point(s) lc rgb color(s) notitle, \
     $DATA index (NS - 1) using 1:2 with lines dt 2 lw 1.5 lc rgb INK notitle, \
     for [s = 1:NS - 1] $DATA index (s - 1) using 1:($2 > 0 ? NaN : FLOOR) \
         with points ps 1.2 pt 10 lc rgb color(s) notitle
unset multiplot
set output
