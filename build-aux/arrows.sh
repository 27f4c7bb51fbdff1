#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# arrows.sh: which room may include which. Prints each include that goes against the table below, and
# each circle of includes, a .c file and its .h taken as one; then each .c file that has no .h of its
# own. Run in the root of the sources; ends with 1 where it printed anything.
#
#   ROOM: the rooms it may include from, besides itself and flashback.h
#   FILE -> HEADER: one include more, and why
arrows='
core:
cases:     core store
data:      core
measure:   core
verify:    core reference
store:     core
report:    core store
run:       core cases store
work:      core cases data measure verify store
cli:       core run report
kernels:
variants:  kernels
reference:
'
# cases -> store: a case says what it asks of a file of inputs, and is checked against that file before
# anything runs; describe fills a record.
exceptions='
src/core/backends.c -> kernels/*.h                  the table of backends names what each loads
src/cases/describe.c -> kernels/cpu/hot/ops.h       isa: a column of a case that crashed, too
src/measure/cuda/*.c -> kernels/cuda/device.h       the one place that knows the CUDA device
src/measure/cuda/ceilings.c -> kernels/dense/cublas.h the ceiling is that GEMM
src/verify/device/*.c -> kernels/dense/cublas.h      the reference on the device sums by the same calls
src/verify/golden.c -> store/golden.h               what the reference itself is held to
src/run/check.c -> verify/golden.h                  the reference alone: no variant, no device
src/run/self_test.c -> verify/self_test/self_test.h the judge alone: no variant, no device
src/run/provenance.c -> kernels/cpu/hot/ops.h       isa: a fact of the run
src/run/provenance.c -> measure/machine.h           the facts of /proc and NVML, which no work waits for
src/cli/cmd_worker.c -> work/worker.h               where the process of the worker begins
src/cli/cmd_list.c -> measure/devices.h             list asks the machine itself: nothing is supervised
src/cli/cmd_info.c -> measure/machine.h             so does info
src/cli/cmd_info.c -> store/hdf5/read.h             the version of HDF5
src/cli/cmd_merge.c -> store/*.h                    merge is the store and nothing else
'

# Includes that close a circle and may: FILE -> HEADER, and why.
turns='
src/store/results.c -> store/journal_read.h         results are read in whichever form they are kept,
src/store/results.c -> store/hdf5/*.h               and each form is read into results
src/store/record.c -> store/columns.h               a column is a place in a record, which begins empty
kernels/cpu/naive.c -> kernels/cpu/naive_rows.h     the passes over rows work on the struct of naive.h
'

# Families of kernels, kernels/FAMILY, do not include each other; these stand below all of them: what
# the instructions are, and what the device is.
families=' ptx cuda '

# Files that speak through the header of another: FILE -> HEADER, and why.
headers='
src/cli/main.c -> cli/cli.h                         the program: nothing calls it
src/cli/cmd_*.c -> cli/cli.h                        one function each: the table of sub-commands
src/core/problem_*.c -> core/problem.h              the text of a problem, read and printed
src/measure/cuda/none.c -> measure/cuda/device.h    stands in for device.c where there is no CUDA
src/verify/device/none.c -> verify/device/device.h  so does this
kernels/cpu/hot/*.c -> kernels/cpu/hot/hot.h        compiled once a level, under the names made there
kernels/sm80/sm80.c -> kernels/sm80/args.h          finds the tables that args.h describes
variants/common/sm80_schedule.c -> variants/common/sm80.h who takes which tile, for one caller
reference/*.c -> reference/internal.h               one derivation in several pages, and
reference/mask.c -> reference/reference.h           what of it others call
'

# "FILE HEADER" of each quoted include that lies in this tree, as paths from the root.
includes() {
    grep -rHoE '^[[:space:]]*#[[:space:]]*include "[^"]+"' src kernels variants reference \
        --include='*.[ch]' --include='*.cu' --include='*.cuh' --include='*.def' |
        sed -E 's/^([^:]*):[^"]*"([^"]*)"$/\1 \2/' | sort -u |
        while read -r file header; do
            for path in "src/$header" "$header" "${file%/*}/$header"; do
                [ -f "$path" ] && echo "$file $path" && break
            done
        done
}

# Is "FILE HEADER" one of the rows of a list?
matches() { # FILE HEADER ROW...
    local file=$1 header=${2#src/} row
    shift 2
    for row; do
        # shellcheck disable=SC2053 # patterns
        [[ $file == ${row% *} && $header == ${row#* } ]] && return 0
    done
    return 1
}

check_families() { # FILE HEADER
    local from=${1#kernels/} to=${2#kernels/}
    from=${from%%/*} to=${to%%/*}
    [[ $from == "$to" || $families == *" $to "* ]] ||
        echo "$1 includes $2: no arrow between families of kernels"
}

check_arrows() {
    local file header from to
    while read -r file header; do
        from=${file#src/} to=${header#src/}
        from=${from%%/*} to=${to%%/*}
        if [[ $from == kernels && $to == kernels ]]; then
            check_families "$file" "$header"
            continue
        fi
        [[ $from == "$to" || ${allowed[$from]} == *" $to "* ]] && continue
        matches "$file" "$header" "${excepted[@]}" ||
            echo "$file includes $header: no arrow from $from to $to"
    done
}

# Stems for tsort, which names the files of each circle.
check_circles() {
    local file header
    while read -r file header; do
        matches "$file" "$header" "${turning[@]}" || echo "$file $header"
    done | sed -E 's/\.(c|h|cu|cuh)( |$)/\2/g' | awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null |
        sed -n 's/^tsort: -: input contains a loop:$/circle of includes:/p; s/^tsort: \(.*\)/    \1/p' |
        grep -v 'input contains'
}

# A variant is found by its table, which make lists: variants/*.c need no header.
check_headers() {
    local file row header includes=$1
    for file in $(find src kernels reference variants/common -name '*.c' 2>/dev/null | sort); do
        [ -f "${file%.c}.h" ] && continue
        header=
        for row in "${speaking[@]}"; do
            # shellcheck disable=SC2053 # patterns
            [[ $file == ${row% *} ]] && header=${row#* }
        done
        if [ -z "$header" ]; then
            echo "$file has no header of its own"
        elif ! grep -qE "^$file (src/)?$header\$" <<<"$includes"; then
            echo "$file does not include $header, which speaks for it"
        fi
    done
}

rows_of() {
    sed -nE 's/^([^ ]+) -> ([^ ]+) .*/\1 \2/p' <<<"$1"
}

mapfile -t excepted < <(rows_of "$exceptions")
mapfile -t turning < <(rows_of "$turns")
mapfile -t speaking < <(rows_of "$headers")
declare -A allowed
while IFS=: read -r room rooms; do
    [ -z "$room" ] || allowed[$room]=" ${rooms//  / } "
done <<<"$arrows"

list=$(includes)
found=$(check_arrows <<<"$list"; check_circles <<<"$list"; check_headers "$list")
[ -z "$found" ] && exit 0
echo "$found"
exit 1
