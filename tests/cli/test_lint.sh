#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_lint.sh: the tree keeps the rules that `make lint` checks, and lint finds what breaks them.
. "$(dirname "$0")/../lib.sh"

lint=$top_srcdir/build-aux/lint.sh
if ! command -v git >/dev/null || ! git --version >/dev/null 2>&1; then
    skip "lint: no git"
    tap_done
fi

# The test of the test: a tree that breaks each rule once.
licence='SPDX-License-Identifier: BSD-3-Clause'
mkdir -p "$scratch/tree/src/core" "$scratch/tree/kernels/sm80" "$scratch/tree/doc" "$scratch/tree/crowd"
cd "$scratch/tree" || exit 99
long=$(printf 'x%.0s' {1..101})
printf '/* %s */\nsrc/core/fine.c doc/tables.md\n' "$licence" >files.am
printf '/* %s */\n' "$licence" >src/core/fine.c
printf '/* bare */\n' >src/core/bare.c
{ printf '/* %s */\nvoid f(void)\n{\n' "$licence" && printf '    ;\n%.0s' {1..61} && echo '}'; } >src/core/long.c
{ printf '/* %s */\n' "$licence" && printf '\n%.0s' {1..400}; } >src/core/tall.c
printf '/* %s */\n// %s\n#if 0\n#endif\ntypedef int x;\n\tint y;\nexit(1);\n#include "hdf5.h"\n' \
    "$licence" "$long" >src/core/style.c
printf '/* %s\n * Two lines.\n */\n' "$licence" >kernels/sm80/head.cuh
printf '# Page\n\n%s\n' "$long" >doc/page.md
printf '# Page\n\n| %s |\n\n[x](%s)\n' "$long" "$long" >doc/tables.md
printf '#!/bin/sh\n# %s\ncd /home/me/x || exit\n' "$licence" >run.sh
printf '%s\n' crowd/{1..31} | xargs touch
git init -q . && git add . || exit 99
bash "$lint" >"$scratch/found"
[ $? -eq 1 ]
ok $? "a tree that breaks the rules fails"
finds() {
    awk -v title="lint: $1" '/^lint:/ { in_rule = index($0, title) == 1 } in_rule && /^  /' "$scratch/found" |
        grep -qF "$2"
    ok $? "lint finds $1: $2"
}
finds "no licence line" src/core/bare.c
finds "a path of one machine" run.sh:3
finds "in no file list" src/core/long.c
finds "a folder of more than 30 files" "crowd: 31"
finds "longer than 400 lines" src/core/tall.c
finds "wider than 100 columns" src/core/style.c:2
finds "code switched off" src/core/style.c:3
finds "a typedef" src/core/style.c:5
finds "a tab or blanks" src/core/style.c:6
finds "exit outside main.c" src/core/style.c:7
finds "hdf5.h outside src/store" src/core/style.c
finds "a function longer than 60 lines" "src/core/long.c:3: 61 lines"
finds "a kernel file whose head" kernels/sm80/head.cuh
finds "prose wider than 100 columns" doc/page.md:3
! grep -qE 'fine.c$|tables.md' "$scratch/found"
ok $? "and nothing else"

# The tree itself.
cd "$top_srcdir" || exit 99
if [ ! -e .git ] || ! git ls-files >/dev/null 2>&1; then
    skip "the tree: not from git"
    tap_done
fi
bash "$lint" >"$scratch/found" 2>&1
ok $? "the tree keeps the rules"
grep -v '^lint: nothing found' "$scratch/found" | sed 's/^/# /'
for tool in clang-format shellcheck cppcheck; do
    command -v $tool >/dev/null || skip "the tree: no $tool"
done
tap_done
