#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh: the rules of the house that a program can check, over what git tracks in the current
# folder; then clang-format, cppcheck and shellcheck where they are installed. Prints what it finds,
# a title a rule, and fails if that is anything.
set -u
found=0

# Prints the lines of stdin under a title, if there are any.
report()
{
    local lines
    lines=$(cat)
    [ -n "$lines" ] || return 0
    printf '%s\n%s\n' "lint: $1" "$lines" | sed '2,$s/^/  /'
    found=1
}

# tracked PATTERN...: what git tracks, without what was deleted and not yet committed. What lies in
# results/ was written by the program, but for its prose.
tracked()
{
    git ls-files "$@" | grep -v '^results/.*\.\(gp\|ini\)$' | while read -r f; do [ -e "$f" ] && echo "$f"; done
}

mapfile -t code < <(tracked '*.c' '*.h' '*.cu' '*.cuh')
mapfile -t device < <(tracked 'kernels/*.cu' 'kernels/*.cuh')
mapfile -t scripts < <(tracked '*.sh' bootstrap .ci/run)
mapfile -t sources < <(tracked '*.c' '*.h' '*.cu' '*.cuh' '*.sh' '*.py' '*.gp' '*.ini')
mapfile -t text < <(printf '%s\n' "${sources[@]}" && tracked bootstrap .ci/run '*.am' '*.m4' '*.ac')
# Prose that people write: no tables of results, no page that a test generates.
mapfile -t prose < <(tracked '*.md' NEWS | grep -vE '^results/[^/]+/[a-z0-9-]+\.md$|^doc/results-format\.md$'
    tracked 'results/*/ladder-*.md')

# ---- Every file -----------------------------------------------------------------------------------

report "no licence line in the first five" < <(awk '
    FNR == 1 { bare[FILENAME] = 1 }
    FNR <= 5 && /SPDX-License-Identifier: BSD-3-Clause/ { delete bare[FILENAME] }
    END { for (f in bare) print f }' "${text[@]}" /dev/null | sort)
report "a path of one machine" < <(grep -nE '(^|[^a-zA-Z0-9_.)}])/(home|root|work|mnt|scratch)/' \
    "${text[@]}" "${prose[@]}" /dev/null | grep -vE '^(build-aux/lint|tests/cli/test_lint).sh:')
# A program of tests/ and a family of variants stand there without the end of their file's name.
report "in no file list (files.am, variants.am, Makefile.am)" < <(
    tracked '*.am' | xargs cat /dev/null | tr -s ' \t\\' '\n' | awk '
        NR == FNR { listed[$0] = 1; next }
        { stem = $0; sub(/\.[^.]*$/, "", stem) }
        !($0 in listed) && !(stem in listed)' - <(printf '%s\n' "${sources[@]}" && tracked 'doc/*'))
# Apart from lists by nature (tests, results, variants), and from the CPU's kernels: 27 with their headers.
report "a folder of more than 30 files" < <(tracked | grep -vE '^(tests|results|variants|kernels/cpu)/' |
    sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 30 { print $2 ": " $1 }')

# ---- Code -----------------------------------------------------------------------------------------

report "longer than 400 lines" < <(wc -l "${code[@]}" | awk '$1 > 400 && $2 != "total"')
report "wider than 100 columns" < <(awk 'length > 100 { print FILENAME ":" FNR }' "${code[@]}")
report "code switched off" < <(grep -nE '^ *# *if +0' "${code[@]}")
# Vector and aliasing types of gcc can be named in no other way.
report "a typedef" < <(grep -nE '^ *typedef ' "${code[@]}" | grep -v __attribute__)
report "a tab or blanks at the end" < <(grep -nP '\t|[ \t]+$' "${code[@]}")
report "hdf5.h outside src/store" < <(grep -lE '# *include [<"]hdf5' "${code[@]}" |
    grep -vE '^(src/store|tests)/')
report "exit outside main.c" < <(grep -nE '(^|[^_a-z])exit\(' "${code[@]}" |
    grep -vE '^(src/cli/main|src/(run|work)/(process|worker|supervisor)|tests/)')
# functions_over LINES FILE...: the functions whose body is longer.
functions_over()
{
    awk -v most="$1" '
        FNR == 1 { start = 0 }
        /^{$/ { start = FNR }
        /^}/ && start {
            if (FNR - start - 1 > most) print FILENAME ":" start ": " FNR - start - 1 " lines"
            start = 0
        }' "${@:2}" /dev/null
}
mapfile -t host < <(tracked '*.c')
report "a function longer than 60 lines" < <(functions_over 60 "${host[@]}")
# A device main loop is its helpers in the order of the algorithm.
report "a device function longer than 150 lines" < <(functions_over 150 "${device[@]}")
report "a kernel file whose head has fewer than 8 lines" < <(awk '
    FNR == 1 { open = 1 }
    open && /\*\// { open = 0; if (FNR < 8) print FILENAME ": " FNR }' "${device[@]}" /dev/null)
[ ! -f build-aux/arrows.sh ] || report "an arrow that points the wrong way" < <(
    bash build-aux/arrows.sh 2>&1 || echo "build-aux/arrows.sh: status $?")

# ---- Prose ----------------------------------------------------------------------------------------

# Tables and lines with a link may be wider; columns, not bytes.
report "prose wider than 100 columns" < <(LC_ALL=C.UTF-8 grep -nE '^.{101,}' "${prose[@]}" /dev/null |
    grep -vE '^[^:]*:[0-9]+:\||\]\(' | cut -d: -f1,2)

# ---- Tools ----------------------------------------------------------------------------------------

if command -v clang-format >/dev/null; then
    report "not as clang-format writes it" < <(clang-format --dry-run "${code[@]}" 2>&1 |
        sed -n 's/^\([^ ]*\):[0-9]*:[0-9]*: warning.*/\1/p' | sort | uniq -c)
fi
if command -v shellcheck >/dev/null; then
    # The variables of tests/lib.sh, which each test sources by a path that is known at run time.
    report "shellcheck" < <(shellcheck -S warning -e SC1091,SC2154 -f gcc "${scripts[@]}")
fi
if command -v cppcheck >/dev/null; then
    # log(0) is the lse of a row without keys, -inf; a saved block is aligned to 256 bytes and cut
    # at multiples of 64. Said here and not in the sources: their digests tell whether results are stale.
    report "cppcheck" < <(cppcheck --quiet --std=c11 --enable=warning,portability,performance \
        --suppress=invalidFunctionArg:kernels/cpu/forward.c --suppress=invalidPointerCast:kernels/cpu/naive.c \
        --inline-suppr --suppress=missingIncludeSystem --template='{file}:{line}: {id}: {message}' \
        -Iinclude -Isrc -I. -D_GNU_SOURCE -DHAVE_CONFIG_H -DFB_ISA=generic \
        -DFB_SRCDIR='""' -DFB_BUILDDIR='""' -DFB_PKGDATADIR='""' \
        src reference variants kernels 2>&1)
fi
[ $found -eq 0 ] && echo "lint: nothing found"
exit $found
