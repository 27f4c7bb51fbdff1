# speed-fp32: drawn by `gnuplot speed-fp32.gp`; FORMAT and OUTPUT may be set before with -e.
# The data come first, then the style and the script that the program ships.
NAME = 'speed-fp32'
TITLE = 'Speed of the backward pass, fp32'
SUBTITLE = 'Intel(R) Xeon(R) Processor'
YLABEL = 'GFLOP/s'
NP = 8
NS = 7
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
array SERIES[7]
SERIES[1] = 'cpu-naive'
SERIES[2] = 'cpu-naive-recompute'
SERIES[3] = 'cpu-atomic'
SERIES[4] = 'cpu-split'
SERIES[5] = 'cpu-ordered'
SERIES[6] = 'cpu-partials'
SERIES[7] = 'cpu-ml'
array GROUPS[8]
GROUPS[1] = 3
GROUPS[2] = 1
GROUPS[3] = 3
GROUPS[4] = 1
GROUPS[5] = 3
GROUPS[6] = 1
GROUPS[7] = 3
GROUPS[8] = 1
TOP = 266.71996277047697
LOW = 39.908941360752316
XTOP = 4096.187761924644
XLOW = 2048.172142426075
$TICKS << EOD
1 "2k"
3 "4k b1 h8"
2 "4k b1 h1"


1 "4k b1 h1"


1 "2k"
3 "4k b1 h8"
2 "4k b1 h1"


1 "4k b1 h1"


1 "2k"
3 "4k b1 h8"
2 "4k b1 h1"


1 "4k b1 h1"


1 "2k"
3 "4k b1 h8"
2 "4k b1 h1"


1 "4k b1 h1"


EOD
$DATA << EOD
# panel 1, series 1
1 139.89949413319735 122.95198073301269 159.6461758826796 "2k" "ok"
2 115.98033373383929 100.97520968388469 122.68940234422647 "4k b1 h1" "ok"
3 117.4441081523061 110.10067322084228 144.63109497402408 "4k b1 h8" "ok"


# panel 1, series 2
1 115.79717636935143 96.16207832931245 129.6073804355667 "2k" "ok"
3 87.48423766458043 85.75936973371181 119.2340837178522 "4k b1 h8" "ok"


# panel 1, series 3
1 184.892629592749 138.78052369946542 196.4790078939456 "2k" "ok"
2 173.50363010342772 115.88530442097031 194.58269743864295 "4k b1 h1" "ok"
3 145.1774953832035 138.47381392526347 168.90263590050435 "4k b1 h8" "ok"


# panel 1, series 4
1 123.89981952698199 109.71600637372245 141.95209244618536 "2k" "ok"
2 130.8086469970269 123.59121761831636 153.54524315270052 "4k b1 h1" "ok"
3 104.21828848107137 90.84487668859819 145.99982911920847 "4k b1 h8" "ok"


# panel 1, series 5
1 196.7149595604871 157.64355192937586 201.42094701592643 "2k" "ok"
2 188.34960775922033 170.66563856787818 218.28909690141 "4k b1 h1" "ok"
3 150.62019551272851 130.52875928544518 185.86899844277704 "4k b1 h8" "ok"


# panel 1, series 6
1 193.50534249227158 163.47947507017741 215.6220762349236 "2k" "ok"
2 190.77600184462435 176.73556077902938 209.76701900542258 "4k b1 h1" "ok"
3 157.11815871055614 138.1452767877689 171.30366775137986 "4k b1 h8" "ok"


# panel 1, series 7
1 130.38849418562188 107.28531368304444 153.12415062379065 "2k" "ok"
3 101.814730318729 99.0269186047697 118.25072422801341 "4k b1 h8" "ok"


# panel 2, series 1
1 71.10929470216664 57.52374925184583 87.06123874337494 "4k b1 h1" "ok"


# panel 2, series 2
NaN NaN NaN NaN "" "absent"


# panel 2, series 3
1 91.38001355748854 72.86410896422936 117.07076648253167 "4k b1 h1" "ok"


# panel 2, series 4
1 61.4072513695293 51.99571177142829 80.12585081921691 "4k b1 h1" "ok"


# panel 2, series 5
1 88.38326204504212 67.65520685603352 133.31522558364424 "4k b1 h1" "ok"


# panel 2, series 6
1 97.23568316433867 73.42050396887657 127.77728029807791 "4k b1 h1" "ok"


# panel 2, series 7
NaN NaN NaN NaN "" "absent"


# panel 3, series 1
1 69.3234820108632 56.73432650482776 81.24963414043559 "2k" "ok"
2 54.488137184903046 52.66846065003582 55.24659535318193 "4k b1 h1" "ok"
3 64.6713189533398 58.608756641616885 70.79341732565855 "4k b1 h8" "ok"


# panel 3, series 2
1 62.079743604553954 52.941294206390495 75.63379390573557 "2k" "ok"
3 52.5330739522197 48.73842518315216 60.127258817245604 "4k b1 h8" "ok"


# panel 3, series 3
1 168.91296370441228 150.37486516255467 205.17165223164932 "2k" "ok"
2 165.64201897526192 98.34803637597247 188.12273266509715 "4k b1 h1" "ok"
3 173.75676400849161 156.91480223283858 181.11477867640198 "4k b1 h8" "ok"


# panel 3, series 4
1 139.9617537823756 124.903935520427 147.57549389031774 "2k" "ok"
2 134.8699570824001 118.39452153954801 138.97656072691532 "4k b1 h1" "ok"
3 107.65058510278709 100.29809440767178 123.10749284146254 "4k b1 h8" "ok"


# panel 3, series 5
1 184.85012470047738 167.98860475743348 211.52666106776832 "2k" "ok"
2 174.54156081166283 166.85325494409838 192.39860774012027 "4k b1 h1" "ok"
3 170.695540912685 157.00863746122266 174.88088520740112 "4k b1 h8" "ok"


# panel 3, series 6
1 187.3225017602436 166.66964219287843 225.0895807543348 "2k" "ok"
2 165.18281088108822 158.0304941220189 191.11320608813705 "4k b1 h1" "ok"
3 175.15282025030535 157.4427896489508 198.26528539887778 "4k b1 h8" "ok"


# panel 3, series 7
1 130.87951002930237 110.47945461694782 156.82618517172855 "2k" "ok"
3 114.49681798053624 100.09237732650404 124.86961468640278 "4k b1 h8" "ok"


# panel 4, series 1
1 39.908941360752316 36.61224357361776 45.32049353137575 "4k b1 h1" "ok"


# panel 4, series 2
NaN NaN NaN NaN "" "absent"


# panel 4, series 3
1 111.35051165522457 87.03958099558574 114.95442940648347 "4k b1 h1" "ok"


# panel 4, series 4
1 84.39353707895924 77.31508646474069 86.23069966792796 "4k b1 h1" "ok"


# panel 4, series 5
1 116.76748185318232 86.77565745565491 125.28721381168486 "4k b1 h1" "ok"


# panel 4, series 6
1 93.10574351511882 81.97586569781159 120.9219660135503 "4k b1 h1" "ok"


# panel 4, series 7
NaN NaN NaN NaN "" "absent"


# panel 5, series 1
1 171.2285883128428 157.8579604731807 184.27280260661786 "2k" "ok"
2 147.54828183712843 132.17546506459146 162.91582013708714 "4k b1 h1" "ok"
3 170.84815965223376 137.300400013952 239.2265552193362 "4k b1 h8" "ok"


# panel 5, series 2
1 127.94895644415713 116.76966684291646 146.2986882726399 "2k" "ok"
3 146.5419712030629 134.57208647699662 184.84686095642027 "4k b1 h8" "ok"


# panel 5, series 3
1 154.52367940046565 125.44796827561436 173.5019647965329 "2k" "ok"
2 148.37457151748313 118.5067019823608 194.0117225575177 "4k b1 h1" "ok"
3 185.84588080256356 175.06428374223316 189.21643997670893 "4k b1 h8" "ok"


# panel 5, series 4
1 120.65414766538096 110.53236167214352 147.99256059125364 "2k" "ok"
2 145.28571253303107 120.97774308270678 156.66782143375997 "4k b1 h1" "ok"
3 133.52882545793076 121.25303604381293 159.99914303891575 "4k b1 h8" "ok"


# panel 5, series 5
1 171.19711340274648 148.6583406773574 186.91733770743892 "2k" "ok"
2 173.7156369425003 157.88746709748628 194.1587145909304 "4k b1 h1" "ok"
3 196.03363667739347 172.8135457823296 231.4880208409567 "4k b1 h8" "ok"


# panel 5, series 6
1 170.7142018753574 161.62704847357273 186.47662422050053 "2k" "ok"
2 172.8530219868748 152.9580781171783 231.70114768039943 "4k b1 h1" "ok"
3 202.04926456419122 172.43974884995094 220.80045617567313 "4k b1 h8" "ok"


# panel 5, series 7
1 128.4234574448138 116.29243434029954 150.46431296953185 "2k" "ok"
3 144.82232229749818 106.59596761279437 161.95894206984883 "4k b1 h8" "ok"


# panel 6, series 1
1 76.58561134699056 71.24170294151496 87.01603346726051 "4k b1 h1" "ok"


# panel 6, series 2
NaN NaN NaN NaN "" "absent"


# panel 6, series 3
1 71.97368406308568 69.79185187949705 88.98943794398804 "4k b1 h1" "ok"


# panel 6, series 4
1 59.24620301207322 52.965751948686574 65.85920897133536 "4k b1 h1" "ok"


# panel 6, series 5
1 87.02873346041638 66.89547621138567 105.7096341016437 "4k b1 h1" "ok"


# panel 6, series 6
1 75.46992698038146 66.48565757124699 99.18768056500079 "4k b1 h1" "ok"


# panel 6, series 7
NaN NaN NaN NaN "" "absent"


# panel 7, series 1
1 100.6339060646055 86.42179552819472 113.42731904447353 "2k" "ok"
2 98.17249630223321 87.69909431202697 103.56221539781089 "4k b1 h1" "ok"
3 86.16584537920787 63.83115834277511 101.78171038031977 "4k b1 h8" "ok"


# panel 7, series 2
1 89.01122154740372 72.51723760466763 97.33991662351114 "2k" "ok"
3 63.86097889661023 52.53986619309185 82.75347023635061 "4k b1 h8" "ok"


# panel 7, series 3
1 177.0466490809586 162.22214166228025 212.55713979136323 "2k" "ok"
2 162.23308025853495 118.83841346846121 232.09023496941998 "4k b1 h1" "ok"
3 156.88471634719005 142.74979658318097 177.62763230043313 "4k b1 h8" "ok"


# panel 7, series 4
1 148.22560325677685 109.87208023626268 168.00724617448353 "2k" "ok"
2 178.42410763016224 157.71720549422773 189.772348598695 "4k b1 h1" "ok"
3 134.62315729955657 112.19548968096034 145.82557064856357 "4k b1 h8" "ok"


# panel 7, series 5
1 222.14013408048635 188.30529093561748 248.00983594604415 "2k" "ok"
2 255.4619095965458 235.2722148812547 266.71996277047697 "4k b1 h1" "ok"
3 184.76093252506865 162.6171162833766 197.50121303531037 "4k b1 h8" "ok"


# panel 7, series 6
1 190.343001537809 179.40191197085952 247.21562677759968 "2k" "ok"
2 253.45206048811676 228.1096504134889 264.0337716245401 "4k b1 h1" "ok"
3 170.14085020145274 154.64367574784046 202.44121393470863 "4k b1 h8" "ok"


# panel 7, series 7
1 157.6283114995614 140.77374761103962 161.76573585956146 "2k" "ok"
3 130.07390590540618 113.27566067789557 147.66974681639215 "4k b1 h8" "ok"


# panel 8, series 1
1 58.50889020806849 48.75233379280056 65.02396169399132 "4k b1 h1" "ok"


# panel 8, series 2
NaN NaN NaN NaN "" "absent"


# panel 8, series 3
1 119.33621531434174 107.77544024771213 125.88545031910822 "4k b1 h1" "ok"


# panel 8, series 4
1 90.16050920628744 82.3598061659923 95.45549514478786 "4k b1 h1" "ok"


# panel 8, series 5
1 131.7471874519411 130.0387285200232 136.74318583235788 "4k b1 h1" "ok"


# panel 8, series 6
1 129.41307255562094 117.35631253280275 132.63327526007157 "4k b1 h1" "ok"


# panel 8, series 7
NaN NaN NaN NaN "" "absent"


EOD
array CEILING[NP]
CEILING[1] = 178.69198162083822
CEILING[2] = 117.56761016539575
CEILING[3] = 173.32951383550903
CEILING[4] = 124.56551958688424
CEILING[5] = 158.71508081038536
CEILING[6] = 81.35098162258238
CEILING[7] = 241.93352808510127
CEILING[8] = 141.14422422702313

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
