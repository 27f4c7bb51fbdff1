#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh: the rules of the house that a program can check, over what git tracks; then cppcheck and
# clang-format where they are installed. Prints what it finds and fails if that is anything.
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

mapfile -t code < <(git ls-files '*.c' '*.h' '*.cu' '*.cuh')
# What lies in results/ was written by the program.
mapfile -t text < <(git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.sh' '*.py' '*.gp' '*.ini' '*.am' '*.m4' '*.ac' |
    grep -v '^results/')

report "no licence line in the first five" < <(for f in "${text[@]}"; do
    head -n 5 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$f"
done)
report "longer than 400 lines" < <(wc -l "${code[@]}" | awk '$1 > 400 && $2 != "total"')
report "wider than 100 columns" < <(awk 'length > 100 { print FILENAME ":" FNR }' "${code[@]}")
report "code switched off" < <(grep -nE '^ *# *if +0' "${code[@]}")
# Vector and aliasing types of gcc can be named in no other way.
report "a typedef" < <(grep -nE '^ *typedef ' "${code[@]}" | grep -v __attribute__)
report "a tab or blanks at the end" < <(grep -nP '\t|[ \t]+$' "${code[@]}")
report "hdf5.h outside src/store" < <(grep -lE '# *include [<"]hdf5' "${code[@]}" | grep -vE '^(src/store|tests)/')
report "exit outside main.c" < <(grep -nE '(^|[^_a-z])exit\(' "${code[@]}" |
    grep -vE '^(src/cli/main|src/run/(process|worker|supervisor)|tests/)')
report "a function longer than 60 lines" < <(awk '
    FNR == 1 { start = 0 }
    /^{$/ { start = FNR }
    /^}/ && start { if (FNR - start > 61) print FILENAME ":" start ": " FNR - start - 1 " lines"; start = 0 }
    ' $(git ls-files 'src/*.c' 'reference/*.c' 'variants/*.c' 'kernels/*.c' 'tests/*.c'))

if command -v clang-format >/dev/null; then
    report "not as clang-format writes it" < <(clang-format --dry-run "${code[@]}" 2>&1 |
        sed -n 's/^\([^ ]*\):[0-9]*:[0-9]*: warning.*/\1/p' | sort | uniq -c)
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
