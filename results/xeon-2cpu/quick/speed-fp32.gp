# speed-fp32: drawn by `gnuplot speed-fp32.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'speed-fp32'
TITLE = 'Speed of the backward pass, fp32'
SUBTITLE = 'Intel(R) Xeon(R) Processor, 2 threads'
YLABEL = 'GFLOP/s'
CEILING = 205.56582176510915
NP = 4
NS = 7
NCOL = 2
array PANEL[4]
PANEL[1] = 'full, head size 64'
PANEL[2] = 'causal, head size 64'
PANEL[3] = 'full, head size 128'
PANEL[4] = 'causal, head size 128'
array SERIES[7]
SERIES[1] = 'cpu-naive'
SERIES[2] = 'cpu-naive-recompute'
SERIES[3] = 'cpu-atomic'
SERIES[4] = 'cpu-split'
SERIES[5] = 'cpu-ordered'
SERIES[6] = 'cpu-partials'
SERIES[7] = 'cpu-ml'
array GROUPS[4]
GROUPS[1] = 3
GROUPS[2] = 3
GROUPS[3] = 3
GROUPS[4] = 3
TOP = 214.98805063339236
LOW = 45.14604397185935
XTOP = 1.0240001024001e+15
XLOW = 256000025600100
$TICKS << EOD
1 "256"
2 "512"
3 "1k"


1 "256"
2 "512"
3 "1k"


1 "256"
2 "512"
3 "1k"


1 "256"
2 "512"
3 "1k"


EOD
$DATA << EOD
# panel 1, series 1
1 125.43347139617615 124.14637782408091 127.34187788393491 "256" "ok"
2 151.40764329511117 135.09606857200973 170.1941935374466 "512" "ok"
3 165.7452100414946 150.02787555470397 179.1860420774981 "1k" "ok"


# panel 1, series 2
1 101.05648664576319 99.57821218111674 102.96712372656114 "256" "ok"
2 124.81656899540734 121.58499807753076 132.522186159054 "512" "ok"
3 128.1284918883911 121.97838068424969 146.8564431420503 "1k" "ok"


# panel 1, series 3
1 45.189766546171306 40.89520264996775 48.28895746597878 "256" "ok"
2 104.97701133721128 102.99348232160689 117.63813822421722 "512" "ok"
3 146.85806610081352 133.2147012317174 159.85776205210166 "1k" "ok"


# panel 1, series 4
1 65.28264720635201 64.0017577870564 68.03578349949561 "256" "ok"
2 103.70889435938514 96.36393242803348 114.65658136925468 "512" "ok"
3 132.63049902647737 116.38773259263182 137.57928520644995 "1k" "ok"


# panel 1, series 5
1 96.78991818840551 95.12834815026028 98.4169488244717 "256" "ok"
2 168.23282353842458 152.23049239408172 185.05265458289628 "512" "ok"
3 195.17735377758618 160.54172206996532 214.98805063339236 "1k" "ok"


# panel 1, series 6
1 89.85183764500887 87.52785126616646 90.72924226661132 "256" "ok"
2 162.05279029025974 147.93483797003412 167.52673338293246 "512" "ok"
3 190.25580641233702 183.79522056180872 204.5732824731378 "1k" "ok"


# panel 1, series 7
1 64.86969195786936 63.68355484522183 67.09523018446697 "256" "ok"
2 104.29736021850223 94.46508292630244 111.84217902022053 "512" "ok"
3 128.18702213367015 122.33735200359921 136.0812656880672 "1k" "ok"


# panel 2, series 1
1 82.96374535971255 78.01890293074696 87.19134455020435 "256" "ok"
2 70.47991163007946 67.12013998205043 76.00312697528786 "512" "ok"
3 81.59339754956335 79.83953744174114 81.97774431059064 "1k" "ok"


# panel 2, series 2
1 64.87553187364735 63.09545785379528 67.21667836424156 "256" "ok"
2 56.40051314023257 54.01837654841808 60.69710382138962 "512" "ok"
3 66.049971882238 62.44763833274845 68.4058976977783 "1k" "ok"


# panel 2, series 3
1 45.14604397185935 40.63523431300623 52.96869330881145 "256" "ok"
2 64.0820250692459 55.92822813380972 72.82913510573661 "512" "ok"
3 127.75178713579477 113.8911867285298 142.29946983085534 "1k" "ok"


# panel 2, series 4
1 63.254458539736824 60.10606060449352 67.65418123679908 "256" "ok"
2 64.75840681717459 62.64180222322625 72.2187237241861 "512" "ok"
3 105.397175948126 96.57906492339502 121.07321843040882 "1k" "ok"


# panel 2, series 5
1 89.2731364020777 85.80300301952467 103.55644747517049 "256" "ok"
2 102.048958011037 98.25475775354879 116.04496834592723 "512" "ok"
3 152.15882283973946 149.161788740831 176.97266676153316 "1k" "ok"


# panel 2, series 6
1 79.8858634419966 74.60309146173617 94.41089156625647 "256" "ok"
2 90.73368046991968 88.31171068081164 103.60908826438445 "512" "ok"
3 142.25694916894534 137.88644213050046 166.8213000688132 "1k" "ok"


# panel 2, series 7
1 65.67614321635054 59.55189208574103 77.62953361770772 "256" "ok"
2 65.58490102868076 63.81561561100532 75.02842694391124 "512" "ok"
3 104.33122504626486 99.40733902877022 119.04874991780457 "1k" "ok"


# panel 3, series 1
1 143.83222166483526 132.75855210302066 164.31465103047367 "256" "ok"
2 183.93329830087978 179.82661211007073 188.90846722404964 "512" "ok"
3 178.97190885621598 74.26600106214116 193.6942352869266 "1k" "ok"


# panel 3, series 2
1 121.77221761871037 110.09365416810101 139.9125026607185 "256" "ok"
2 153.56427780407304 147.52741542054778 157.12015950074544 "512" "ok"
3 129.36692435385763 57.82859223609484 150.21893644893723 "1k" "ok"


# panel 3, series 3
1 58.709598730705096 52.40122386285826 67.37607751485973 "256" "ok"
2 102.15189166007669 92.00415897440857 108.67270823951355 "512" "ok"
3 110.13189382959644 39.48625924420367 133.39448394076052 "1k" "ok"


# panel 3, series 4
1 75.65805811693212 70.71117406511593 85.46217342852847 "256" "ok"
2 102.69280361581035 85.61363473988312 111.4354611540458 "512" "ok"
3 107.0380188014808 35.31938028405615 119.89261649494843 "1k" "ok"


# panel 3, series 5
1 109.45094843882045 103.89829404716444 126.86100757355904 "256" "ok"
2 167.08874614559917 150.4087147207039 173.08357567971098 "512" "ok"
3 145.86147385428893 46.45486415722014 177.04144128863473 "1k" "ok"


# panel 3, series 6
1 99.96741280346654 94.92537962851475 114.99041130926877 "256" "ok"
2 147.98993800959335 143.7134197520042 150.30465479151388 "512" "ok"
3 143.05013698178868 41.95528110943415 165.78562339853224 "1k" "ok"


# panel 3, series 7
1 75.662374352068 71.65393011119643 88.50096269537316 "256" "ok"
2 105.01817937448028 100.61564442008824 106.68979725142293 "512" "ok"
3 105.67243769498972 41.045194959285595 118.21858089677642 "1k" "ok"


# panel 4, series 1
1 83.87966725400582 76.63913141249894 87.14677178541608 "256" "ok"
2 94.01952737412529 88.76381096712446 95.67272041089288 "512" "ok"
3 92.32151304102979 78.46333600502874 95.83604877941721 "1k" "ok"


# panel 4, series 2
1 69.10277894615895 62.61869950738022 70.76447594489693 "256" "ok"
2 73.48736914825933 72.5510814308013 76.18698506315468 "512" "ok"
3 73.23448796746975 56.24569309410917 76.57375577669886 "1k" "ok"


# panel 4, series 3
1 48.69116747409597 37.795101436235285 52.28735964445265 "256" "ok"
2 97.31346558333088 96.9930622031384 100.27941651750068 "512" "ok"
3 118.81908078618238 95.36154059005399 124.05345491047397 "1k" "ok"


# panel 4, series 4
1 64.94908271878587 60.985397784191136 70.65298024088368 "256" "ok"
2 97.39119955086753 94.83185099649563 100.01626676764606 "512" "ok"
3 102.65373154311314 90.03493064541813 108.94719497204893 "1k" "ok"


# panel 4, series 5
1 92.47928057779676 81.08196897765075 97.70665874896488 "256" "ok"
2 146.86801270878615 142.18763626874755 149.25842640837536 "512" "ok"
3 143.72553281631934 115.68214413626887 156.81451834874667 "1k" "ok"


# panel 4, series 6
1 83.9970057672197 80.46051825451377 86.65696642812748 "256" "ok"
2 130.71029179006968 128.3216639481599 133.96907472533692 "512" "ok"
3 141.64011439618574 121.94501631076814 149.3726072037242 "1k" "ok"


# panel 4, series 7
1 64.96301100663423 62.53319029698857 65.4483959996832 "256" "ok"
2 98.5993367235508 97.13797505749274 100.05058482198223 "512" "ok"
3 101.94445901365441 92.22270440339587 107.9606654744464 "1k" "ok"


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
