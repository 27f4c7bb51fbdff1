# speed-fp32: drawn by `gnuplot speed-fp32.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'speed-fp32'
TITLE = 'Speed of the backward pass, fp32'
SUBTITLE = 'Intel(R) Xeon(R) Processor, 2 threads'
YLABEL = 'GFLOP/s'
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
TOP = 249.72898216653522
LOW = 43.84091992005496
XTOP = 1024.1565222842855
XLOW = 256.1253381648294
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
1 103.05396269346723 83.44067344572261 110.49665846634083 "256" "ok"
2 108.59809147706476 95.83530505096185 120.41235502518528 "512" "ok"
3 108.81765732915353 54.64605069568238 120.90682920064768 "1k" "ok"


# panel 1, series 2
1 95.70131670709101 89.39295458540722 96.88963797943525 "256" "ok"
2 87.5708535209946 83.20861629155397 94.97941434204849 "512" "ok"
3 87.82629705322181 41.951161480638476 96.2737843090402 "1k" "ok"


# panel 1, series 3
1 58.137059851218545 52.793803120768864 62.483114298406626 "256" "ok"
2 84.69799500415466 78.59213354295073 87.62231761554877 "512" "ok"
3 99.54312478855893 30.914233567740485 103.56184709774591 "1k" "ok"


# panel 1, series 4
1 69.85907629432859 66.634056213349 86.24000097532242 "256" "ok"
2 76.85054686390347 72.71933521618888 82.11598779870256 "512" "ok"
3 77.22052938858998 63.651625928360616 84.10530573588468 "1k" "ok"


# panel 1, series 5
1 99.48238067853734 95.06625126731792 110.97040471976145 "256" "ok"
2 120.85433258880575 105.59202561319 123.01865115940484 "512" "ok"
3 117.21379778300658 111.27674692183767 122.45623513759216 "1k" "ok"


# panel 1, series 6
1 97.15812227863182 90.29854029769932 111.69857929951746 "256" "ok"
2 112.13667175507 104.7285221780671 122.97005089627868 "512" "ok"
3 115.67149291671723 108.17729063830322 126.38388600286876 "1k" "ok"


# panel 1, series 7
1 66.91155533124454 61.96131593291934 84.6826043769173 "256" "ok"
2 77.83251050373333 68.21599594363782 81.2822244018506 "512" "ok"
3 81.57410914561137 74.34355089443007 86.29523256329998 "1k" "ok"


# panel 2, series 1
1 57.98895219859599 36.95933210379909 62.673876664938014 "256" "ok"
2 57.08206790254846 54.53962154263008 62.712144327004154 "512" "ok"
3 62.77110726196422 43.043347903788565 70.01178875253335 "1k" "ok"


# panel 2, series 2
1 49.95764975627624 38.92409569251495 54.27074460942307 "256" "ok"
2 46.056391059537916 43.78005878167853 48.432229113037586 "512" "ok"
3 49.53736445424676 34.454946094840615 56.979912970408826 "1k" "ok"


# panel 2, series 3
1 43.84091992005496 38.07965197605312 46.347694086218475 "256" "ok"
2 72.06628739558127 70.81483905547705 74.46012603205997 "512" "ok"
3 115.68453485044975 20.92851726488832 130.58766630282105 "1k" "ok"


# panel 2, series 4
1 55.421947368546135 50.595730349535366 56.777735890664246 "256" "ok"
2 66.66832174103014 63.595722975414716 69.421148461376 "512" "ok"
3 100.9864666050906 63.65846049095528 112.16139232246397 "1k" "ok"


# panel 2, series 5
1 70.96525660384053 57.33882409283207 79.40843687040078 "256" "ok"
2 104.07492425500558 98.51959077063762 108.81248621431658 "512" "ok"
3 155.69556500174716 132.08920291206897 178.73532232245816 "1k" "ok"


# panel 2, series 6
1 66.37025089963701 60.38473540358596 73.73059576483274 "256" "ok"
2 90.8745782222086 88.5137105707664 97.05802484291938 "512" "ok"
3 147.69044588349664 124.46101925615058 162.44566149891125 "1k" "ok"


# panel 2, series 7
1 55.36721796566776 51.422660722172715 56.90303471226236 "256" "ok"
2 68.10205365247823 65.61130599011541 69.35879148930624 "512" "ok"
3 108.12805054781434 91.68740320673588 116.95713383341683 "1k" "ok"


# panel 3, series 1
1 118.92699837154304 106.84661670756202 128.80888826275867 "256" "ok"
2 228.2915316859095 133.26078231914346 241.82023701875966 "512" "ok"
3 144.0708872628821 112.23592388425516 200.05027129844737 "1k" "ok"


# panel 3, series 2
1 101.77323508356496 90.04275327366133 108.69388235420892 "256" "ok"
2 187.835688323334 112.48801354411276 197.19590938610705 "512" "ok"
3 122.9275515031899 83.89559690110605 162.43701767687935 "1k" "ok"


# panel 3, series 3
1 61.54861165215642 59.60885411960523 63.46279918148372 "256" "ok"
2 106.09444572842402 75.22059250917573 124.72166945098546 "512" "ok"
3 159.3226524061879 83.7995909548778 170.6356609895889 "1k" "ok"


# panel 3, series 4
1 76.6764082278481 73.78943484074401 81.42868440580413 "256" "ok"
2 131.32525002219506 103.28889977574083 140.23208580689166 "512" "ok"
3 143.31356401939547 124.12889164902771 155.25138783351537 "1k" "ok"


# panel 3, series 5
1 103.48780958013386 102.29311162498068 106.64381730744766 "256" "ok"
2 206.307135102359 137.75565129553556 224.61894838373146 "512" "ok"
3 220.86249230890044 78.24127289830325 249.72898216653522 "1k" "ok"


# panel 3, series 6
1 97.44105677540152 91.6706109067416 102.7851936243243 "256" "ok"
2 185.8595465835226 149.12759440956663 197.15726797876442 "512" "ok"
3 208.79198871771624 166.34708530633506 228.6825798744456 "1k" "ok"


# panel 3, series 7
1 76.98527407696852 74.592390314586 80.05810187751995 "256" "ok"
2 132.3959988137403 108.47418010672811 141.88028495018577 "512" "ok"
3 145.87314154497295 99.73718265281839 163.04628382457577 "1k" "ok"


# panel 4, series 1
1 57.27013668934288 39.193673130894815 60.786339816609456 "256" "ok"
2 108.71306990060505 103.12829319072253 110.41638733099262 "512" "ok"
3 65.3733876845702 41.24038052770839 85.6750649624495 "1k" "ok"


# panel 4, series 2
1 48.68694492975082 45.46128643137835 50.89388792236746 "256" "ok"
2 89.47989561850203 84.68876971989161 91.87857134416292 "512" "ok"
3 53.922113220672216 35.32496947911226 67.06490983183821 "1k" "ok"


# panel 4, series 3
1 52.29162909750254 49.177727449044234 54.59088793672948 "256" "ok"
2 102.07394612231188 96.19017880828784 110.13075509045477 "512" "ok"
3 101.34380749811686 45.29387085139029 136.2007763833406 "1k" "ok"


# panel 4, series 4
1 68.95445017115496 63.66234533726902 71.10618771277554 "256" "ok"
2 107.70450941338908 101.90543343803368 111.77003384179464 "512" "ok"
3 89.55160109484524 83.25014441877089 124.97145447619552 "1k" "ok"


# panel 4, series 5
1 78.66272785006777 70.73166755543072 82.57975442582405 "256" "ok"
2 164.36288545792155 151.7843164160588 172.82727082572154 "512" "ok"
3 147.5968497321979 114.54349642095238 192.17116160670153 "1k" "ok"


# panel 4, series 6
1 79.19419446440806 68.99798024831196 82.72820999036455 "256" "ok"
2 136.59995792590155 129.68130074546465 138.79082611814303 "512" "ok"
3 130.54824042896897 120.06160145318087 151.86367843293354 "1k" "ok"


# panel 4, series 7
1 66.93169502282316 64.13950585424146 69.61563907901058 "256" "ok"
2 108.36296668056272 102.10976848890546 112.75364309117599 "512" "ok"
3 96.63728728603182 87.41260285700254 110.84805839413445 "1k" "ok"


EOD
array CEILING[NP]
CEILING[1] = 129.42543576387095
CEILING[2] = 151.70226499201902
CEILING[3] = 222.15933932248453
CEILING[4] = 224.47268422640838

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
HEIGHT = NROW * (PANEL_HEIGHT + 72) + 40
SAMPLEN = 1.2
KEY_MORE = 1 # the GEMM
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
PANEL_WIDTH = (WIDTH - LEFT) / NCOL - GAP

# A ceiling far above all bars would flatten them: left out.
drawn(p) = (CEILING[p] == CEILING[p] && CEILING[p] < 3 * TOP)
YTOP = TOP * 1.30
has_ceiling = 0
do for [p = 1:NP] {
    has_ceiling = has_ceiling || drawn(p)
    YTOP = (drawn(p) && CEILING[p] * 1.08 > YTOP) ? CEILING[p] * 1.08 : YTOP
}
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

ANY_CUT = 0
stats $DATA using (ANY_CUT = ANY_CUT || cut(0), 0) nooutput
NOTE = ANY_CUT ? NOTE_CUT : ""

# Title and key, in a plot of their own across the figure.
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
         (drawn(p) ? CEILING[p] : NaN) with lines dt 2 lc rgb FAINT notitle, \
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
