#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_docs.sh: what the pages name is there: links, headings, files in backticks, experiments in the
# list of them; the examples of doc/problems.md parse, and their canonical text is the program's.
. "$(dirname "$0")/../lib.sh"

cd "$top_srcdir" || exit 99
# Tables of results are the program's. A distributed tree has no results.
mapfile -t pages < <(find . -name '*.md' -not -path './build*' -not -path './.*/*' -not -path './results/*/[a-z]*' |
    sed 's|^\./||' | sort
    find results -name 'ladder-*.md' 2>/dev/null)
published=1
[ -d results ] || published=0

# here PATH: is it there, as the source of a test program, too, or a part of the tree that this one does
# not have?
here() {
    [ -e "$1" ] || { [[ $1 == tests/* ]] && [ -n "$(compgen -G "$1.c*")" ]; } || { [ $published -eq 0 ] && [[ $1 == results || $1 == results/* || $1 == .ci/* ]]; }
}

# anchors FILE: the names that its headings have as targets of links.
anchors() {
    sed -n 's/^#\{1,6\} //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links=0
for page in "${pages[@]}"; do
    while read -r target; do
        links=$((links + 1))
        case $target in http*://* | mailto:*) continue ;; esac
        path=${target%%#*} anchor=
        [[ $target == *'#'* ]] && anchor=${target#*#}
        to=$page
        [ -z "$path" ] || to=$(realpath -m --relative-to=. "$(dirname "$page")/$path")
        here "$to" || { echo "$page: ($target) is not there" && continue; }
        [ -z "$anchor" ] || [ ! -e "$to" ] || anchors "$to" | grep -qxF -- "$anchor" ||
            echo "$page: ($target): no such heading"
    done < <(grep -oE '\]\([^) ]+\)|src="[^"]+"' "$page" | sed 's/^](//; s/)$//; s/^src="//; s/"$//')
done >"$scratch/links"
[ ! -s "$scratch/links" ]
ok $? "links of ${#pages[@]} pages lead to what is there"
sed 's/^/# /' "$scratch/links"

# A path in backticks begins with a folder of the tree. It may hold a *, or stand for several: x.{c,h}.
# What is made by building, or is an example that the reader writes, is named here.
made='^(doc/flashback\.1|variants/(cpu_plain\.c|x_y\.cu?)|.*[/_]spread\.(c|gp)|kernels/sm100)$'
for page in "${pages[@]}"; do
    grep -v '^    ' "$page" | grep -oE '`[^` ]+`' | tr -d '`' |
        grep -E '^(src|kernels|variants|reference|tests|doc|include|experiments|plots|tools|examples|results|build-aux|m4|\.ci)/' |
        while read -r path; do
            path=${path%/} path=${path%%#*}
            [[ $page == tests/* && $path =~ ^[a-z]+/test_ ]] && continue # of the next test
            [[ $path =~ $made ]] || [[ $path == *[A-Z]* && $path != */README.md ]] || [[ $path == *[\<\>:=]* ]] && continue
            # shellcheck disable=SC2086
            for one in $(eval "echo ${path//[^a-zA-Z0-9_.\/*\{\},-]/}"); do
                here "$one" || echo "$page: \`$path\` is not there"
            done
        done
done >"$scratch/paths"
[ ! -s "$scratch/paths" ]
ok $? "files in backticks are there"
sed 's/^/# /' "$scratch/paths"

for path in $(grep -oE '`[a-z]+/test_[a-z0-9_*]+(\.sh)?`' tests/README.md | tr -d '`' | sort -u); do
    compgen -G "tests/$path" >/dev/null || here "tests/$path" || echo "$path"
done >"$scratch/paths"
[ ! -s "$scratch/paths" ]
ok $? "tests/README.md names tests that are there"
sed 's/^/# /' "$scratch/paths"

ls experiments | sed -n 's/\.ini$//p' | sort >"$scratch/want"
grep '^| `' doc/experiments.md | cut -d'|' -f2 | grep -oE '[a-z0-9-]+\.ini' | sed 's/\.ini$//' | sort >"$scratch/named"
cmp -s "$scratch/want" "$scratch/named"
ok $? "doc/experiments.md names every experiment"
diff "$scratch/want" "$scratch/named" | sed -n 's/^[<>]/# &/p'

# examples NAME: the lines of all blocks ```NAME of doc/problems.md.
examples() {
    awk -v open='```'"$1" '/^```/ { in_block = $0 == open; next } in_block' doc/problems.md
}
# parses KEY TEXT: the program takes it; its canonical text is left in "canonical".
parses() {
    local problem='problem = n=16,d=8'
    [ "$1" != problem ] || problem=
    printf '%s\n' "[experiment]" "question = ?" "[grid]" "variant = null" "$problem" "$1 = $2" >"$scratch/x.ini"
    "$flashback" run "$scratch/x.ini" --dry-run >"$scratch/out" 2>"$scratch/err" || return
    cut -d'|' -f2 "$scratch/out" >"$scratch/canonical"
}
for key in problem numerics recipe; do
    count=0
    while read -r example; do
        count=$((count + 1))
        parses $key "$example"
        ok $? "$key: $example"
        sed 's/^/# /' "$scratch/err"
    done < <(examples $key)
    [ $count -ge 4 ]
    ok $? "doc/problems.md has $count examples of $key"
done
last=$(examples problem | tail -1)
parses problem "$last" && [ "$(cat "$scratch/canonical")" = "$last" ]
ok $? "its canonical text is the program's"

# The words of the tables are those of the language, and no other.
allowed() {
    parses "$1" "no-such-word" # fails
    grep -oE '[a-z]+=?' <<<"$(sed 's/.*allowed: //' "$scratch/err")" | tr -d = | sort -u
}
rows() {
    awk -v from="## $1" '/^## / { in_part = $0 == from } in_part && /^\| `/' doc/problems.md | cut -d'|' -f2 |
        grep -oE '`[a-z]+`' | tr -d '`' | sort -u
}
cmp -s <(allowed problem) <(rows Problem)
ok $? "the table of a problem's items has every one"
diff <(allowed problem) <(rows Problem) | sed -n 's/^[<>]/# &/p'
tap_done
