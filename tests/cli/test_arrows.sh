#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_arrows.sh: build-aux/arrows.sh finds what it is to find, in a tree that breaks each rule once. That
# this tree breaks none is a part of test_lint.sh.
. "$(dirname "$0")/../lib.sh"

arrows=$top_srcdir/build-aux/arrows.sh
mkdir -p "$scratch/tree" && cd "$scratch/tree" || exit 99
mkdir -p src/{core,run,store,cli,measure} kernels/{ptx,sm80,sm90} variants reference
# file PATH HEADER...: a file that includes these.
file() {
    local path=$1
    shift
    : >"$path"
    for header; do echo "#include \"$header\"" >>"$path"; done
}
file src/core/base.h
file src/core/base.c core/base.h
file src/run/run.h
file src/run/run.c run/run.h core/base.h
file src/cli/cli.h
file src/cli/cmd_run.c cli/cli.h run/run.h
file kernels/ptx/mma.cuh
file kernels/sm90/fwd.cuh kernels/ptx/mma.cuh
file variants/sm90_x.cu kernels/sm90/fwd.cuh
bash "$arrows" >found 2>&1
ok $? "a tree that keeps the rules passes"
[ ! -s found ]
ok $? "and nothing is printed"

# breaks LINE TEXT FILE HEADER...: with FILE made so, LINE alone is printed; FILE goes again.
breaks() {
    local line=$1 text=$2 path=$3
    shift 2
    file "$@"
    bash "$arrows" >found 2>&1
    [ $? -eq 1 ] && [ "$(paste -sd ' ' found | tr -s ' ')" = "$line" ]
    ok $? "$text"
    [ "$(paste -sd ' ' found | tr -s ' ')" = "$line" ] || sed 's/^/# /' found
    rm "$path"
}
breaks "src/core/up.h includes src/run/run.h: no arrow from core to run" "an arrow that points up" \
    src/core/up.h run/run.h
breaks "variants/y.c includes src/core/base.h: no arrow from variants to core" "an arrow out of variants" \
    variants/y.c core/base.h
file kernels/sm80/tile.cuh
breaks "kernels/sm90/bwd.cuh includes kernels/sm80/tile.cuh: no arrow between families of kernels" \
    "one family of kernels in another" kernels/sm90/bwd.cuh kernels/sm80/tile.cuh
breaks "kernels/ptx/x.cuh includes kernels/sm80/tile.cuh: no arrow between families of kernels" \
    "a family below the instructions" kernels/ptx/x.cuh kernels/sm80/tile.cuh
breaks "src/core/alone.c has no header of its own" "a .c without its .h" src/core/alone.c core/base.h
breaks "src/cli/cmd_x.c does not include cli/cli.h, which speaks for it" \
    "an exception that has lost its header" src/cli/cmd_x.c run/run.h
file src/core/two.h core/one.h
breaks "circle of includes: src/core/one src/core/two" "a circle" src/core/one.h core/two.h
tap_done
