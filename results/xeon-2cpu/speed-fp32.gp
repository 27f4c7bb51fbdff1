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
TOP = 228.6276254774568
LOW = 40.8163346214789
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
1 134.21556293494962 122.79359447148146 158.19720262753358 "2k" "ok"
2 89.27415761766498 84.25946528791084 100.39088689797788 "4k b1 h1" "ok"
3 135.80478236707873 128.26541815428504 148.48744090683763 "4k b1 h8" "ok"


# panel 1, series 2
1 128.6792816418891 103.14282187993393 165.1392659836938 "2k" "ok"
3 113.53522758289411 107.2222168884553 126.26702025353923 "4k b1 h8" "ok"


# panel 1, series 3
1 199.34961014454785 149.02276634764925 228.6276254774568 "2k" "ok"
2 96.081416456651 87.47535153733787 119.02907232443027 "4k b1 h1" "ok"
3 154.636793539153 138.82400030120203 186.3764615088013 "4k b1 h8" "ok"


# panel 1, series 4
1 113.11025689357899 105.93087476073966 162.1396747102549 "2k" "ok"
2 94.94447012616945 88.62390495920016 104.65156416611465 "4k b1 h1" "ok"
3 123.67842875823814 104.14045326936152 136.94081493430903 "4k b1 h8" "ok"


# panel 1, series 5
1 169.17708182397033 160.24905646500136 246.3831111853666 "2k" "ok"
2 139.99357230679075 117.93043131208256 147.4781887928615 "4k b1 h1" "ok"
3 176.63003263301164 144.36086185225705 189.1610799009709 "4k b1 h8" "ok"


# panel 1, series 6
1 177.25709579689664 164.14171584770168 232.99785415493798 "2k" "ok"
2 138.51861140714428 132.22150718443962 141.5126819958587 "4k b1 h1" "ok"
3 165.1345096956496 140.36423508682702 177.06574545755885 "4k b1 h8" "ok"


# panel 1, series 7
1 126.28829659997093 103.26526772325894 153.73687234565926 "2k" "ok"
3 119.828775177839 104.89187961866803 138.1436038815412 "4k b1 h8" "ok"


# panel 2, series 1
1 74.8191431766258 64.94224460036327 96.2947950533151 "4k b1 h1" "ok"


# panel 2, series 2
NaN NaN NaN NaN "" "absent"


# panel 2, series 3
1 105.25014501193598 87.54300363107279 118.22471296014322 "4k b1 h1" "ok"


# panel 2, series 4
1 80.95969444024048 57.56936139482519 85.25171117519184 "4k b1 h1" "ok"


# panel 2, series 5
1 107.3613087069656 86.6130855535496 122.68978365571718 "4k b1 h1" "ok"


# panel 2, series 6
1 116.82837367370487 61.234253687633355 121.67455928207904 "4k b1 h1" "ok"


# panel 2, series 7
NaN NaN NaN NaN "" "absent"


# panel 3, series 1
1 58.66799879541586 50.06979029815376 74.6379090554559 "2k" "ok"
2 63.37306805983392 53.7645346539712 64.84307255513255 "4k b1 h1" "ok"
3 71.57807413732672 63.21172320159177 78.89740548590342 "4k b1 h8" "ok"


# panel 3, series 2
1 54.65895832475164 51.189354092882986 65.48230427098929 "2k" "ok"
3 57.51524660838243 54.262484853009774 69.64214165929934 "4k b1 h8" "ok"


# panel 3, series 3
1 138.83430636168157 125.3644031538754 180.07017275791898 "2k" "ok"
2 171.74781961216533 128.52742982381454 181.87489087282822 "4k b1 h1" "ok"
3 192.04315283213782 173.5331291740386 211.5150552759346 "4k b1 h8" "ok"


# panel 3, series 4
1 112.72061136154375 88.43083631138501 122.067961264716 "2k" "ok"
2 120.50705501110966 99.35858516189856 145.0192874868078 "4k b1 h1" "ok"
3 141.58004772917573 125.85830954389569 146.87384591101892 "4k b1 h8" "ok"


# panel 3, series 5
1 137.45484380053287 115.39249681664528 167.30273904948152 "2k" "ok"
2 187.46071333983198 177.26202810646103 222.27758933823097 "4k b1 h1" "ok"
3 189.5540615998617 181.93152745127668 216.61827289723854 "4k b1 h8" "ok"


# panel 3, series 6
1 149.79727117096797 139.28016629590016 177.63501943977028 "2k" "ok"
2 204.19032901141563 172.30955949935188 210.20007725594363 "4k b1 h1" "ok"
3 199.7977563053148 185.49335940969684 213.17687188207447 "4k b1 h8" "ok"


# panel 3, series 7
1 114.39719736162898 95.45881371737113 127.38668123968297 "2k" "ok"
3 122.27909446795145 113.20384572281075 139.78901997078043 "4k b1 h8" "ok"


# panel 4, series 1
1 40.8163346214789 28.151944342222446 50.62818111979172 "4k b1 h1" "ok"


# panel 4, series 2
NaN NaN NaN NaN "" "absent"


# panel 4, series 3
1 77.73642331137602 47.38377781676644 117.9338237320902 "4k b1 h1" "ok"


# panel 4, series 4
1 64.3016130590926 39.583335701599445 87.01298332618285 "4k b1 h1" "ok"


# panel 4, series 5
1 114.32042474752691 57.877870556835404 129.825566815825 "4k b1 h1" "ok"


# panel 4, series 6
1 71.92532191381305 56.759522471148074 127.92632690436085 "4k b1 h1" "ok"


# panel 4, series 7
NaN NaN NaN NaN "" "absent"


# panel 5, series 1
1 183.12080042120743 144.1529947555457 206.5041809837059 "2k" "ok"
2 163.28373008528914 154.26410998122043 167.1259635456352 "4k b1 h1" "ok"
3 165.40531215034207 144.6906586384953 219.6578913781569 "4k b1 h8" "ok"


# panel 5, series 2
1 151.308457014868 125.17360344143577 166.0676404403133 "2k" "ok"
3 123.49883859569175 111.18527384682064 135.740770731603 "4k b1 h8" "ok"


# panel 5, series 3
1 182.32034885221947 127.15416813056713 194.76576626279189 "2k" "ok"
2 154.8649626733015 132.54507214845722 172.48614849575614 "4k b1 h1" "ok"
3 152.0980724260323 144.82655976132412 165.74076447100325 "4k b1 h8" "ok"


# panel 5, series 4
1 124.09047048344911 102.67704660856725 141.3193731757909 "2k" "ok"
2 127.00399701657855 121.58181369178325 130.85861515810723 "4k b1 h1" "ok"
3 118.58391838953061 98.60076208137937 139.3154801613261 "4k b1 h8" "ok"


# panel 5, series 5
1 179.57975174871112 126.24511132656995 190.9809872021832 "2k" "ok"
2 164.05791194477754 142.7045523529636 185.41099450697664 "4k b1 h1" "ok"
3 168.31035537231497 139.38257377207597 224.55813499911713 "4k b1 h8" "ok"


# panel 5, series 6
1 178.2425588937041 156.30997345903793 196.71548843415653 "2k" "ok"
2 166.39665762549754 142.13564177436865 182.3879199828591 "4k b1 h1" "ok"
3 163.89910920784286 138.72342809629743 204.92559015213277 "4k b1 h8" "ok"


# panel 5, series 7
1 118.39123668604128 110.2794421972989 147.2448023646358 "2k" "ok"
3 120.1964536722722 109.98166996826431 145.7365707583294 "4k b1 h8" "ok"


# panel 6, series 1
1 91.92071847585487 69.7391481066118 99.30861936441087 "4k b1 h1" "ok"


# panel 6, series 2
NaN NaN NaN NaN "" "absent"


# panel 6, series 3
1 84.59891708423929 72.78771537860956 107.60877221361149 "4k b1 h1" "ok"


# panel 6, series 4
1 60.58004501860318 49.63407190773881 84.94576817063712 "4k b1 h1" "ok"


# panel 6, series 5
1 86.1183414180431 66.91275380105819 105.72509401331858 "4k b1 h1" "ok"


# panel 6, series 6
1 88.07819470670009 66.74884077781454 108.61172228361642 "4k b1 h1" "ok"


# panel 6, series 7
NaN NaN NaN NaN "" "absent"


# panel 7, series 1
1 83.63997421265236 78.48182476464288 92.13061442368466 "2k" "ok"
2 75.75898481060653 72.2409813555808 81.88941077162973 "4k b1 h1" "ok"
3 80.47331588295462 69.80652349360568 87.41705494625437 "4k b1 h8" "ok"


# panel 7, series 2
1 75.52162290867903 71.29533781637704 78.48206930194364 "2k" "ok"
3 64.6905461156933 63.168577455269286 68.49206691159563 "4k b1 h8" "ok"


# panel 7, series 3
1 155.73337457289247 147.9697888010808 163.34996629104012 "2k" "ok"
2 158.23461037481164 118.71791448709828 180.06663480621972 "4k b1 h1" "ok"
3 146.36165940807578 133.33363372624848 158.73436943582428 "4k b1 h8" "ok"


# panel 7, series 4
1 114.73472375809959 111.67279966326996 122.8478301520864 "2k" "ok"
2 128.6270607814597 121.18911220215111 141.6605504453459 "4k b1 h1" "ok"
3 116.00843591029889 99.09338118977747 128.45327659330823 "4k b1 h8" "ok"


# panel 7, series 5
1 166.69209027810453 157.47545123729057 171.50891624597375 "2k" "ok"
2 175.93608635420415 157.49942748475584 195.55719865962425 "4k b1 h1" "ok"
3 164.14803329176274 144.0562718199727 170.22543450327046 "4k b1 h8" "ok"


# panel 7, series 6
1 161.80381443364232 151.9602553455157 174.71354535560477 "2k" "ok"
2 175.27798194383737 162.34319681766618 202.53675175362784 "4k b1 h1" "ok"
3 159.52603475125196 146.89037036839898 176.85752760594713 "4k b1 h8" "ok"


# panel 7, series 7
1 114.63784096166069 100.53417044141065 122.21160635168746 "2k" "ok"
3 116.01546273569403 103.44692107674543 133.36199338965795 "4k b1 h8" "ok"


# panel 8, series 1
1 50.653498126577965 45.54072287075221 52.85422243618909 "4k b1 h1" "ok"


# panel 8, series 2
NaN NaN NaN NaN "" "absent"


# panel 8, series 3
1 87.83758782185109 77.72391859813477 99.37387546811772 "4k b1 h1" "ok"


# panel 8, series 4
1 69.12349994600257 56.56922188985139 89.01602046114303 "4k b1 h1" "ok"


# panel 8, series 5
1 99.405400372031 76.49781912837999 110.38669353700038 "4k b1 h1" "ok"


# panel 8, series 6
1 92.28576261531596 87.35986332066408 124.50430521026693 "4k b1 h1" "ok"


# panel 8, series 7
NaN NaN NaN NaN "" "absent"


EOD
array CEILING[NP]
CEILING[1] = 139.6174231017347
CEILING[2] = 116.32011214001793
CEILING[3] = 151.59837779994058
CEILING[4] = 130.85065441309672
CEILING[5] = 138.98163628708934
CEILING[6] = 100.9559958388427
CEILING[7] = 137.7541879374747
CEILING[8] = 107.48735045288649

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
HEIGHT = 60 + 20 * (1 + NS / 5) + NROW * (PANEL_HEIGHT + 72) + 22
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
