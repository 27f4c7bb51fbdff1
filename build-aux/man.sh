#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# man.sh PROGRAM INCLUDE PAGE: the man page, from what the program itself says: help2man turns --help
# and --version into the page, INCLUDE adds sections, and each command's --help becomes one more.
set -eu
program=$1 include=$2 page=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/flashback-man.XXXXXX")
trap 'rm -rf "$work"' EXIT

cp "$include" "$work/include"
printf '\n[commands in detail]\n' >>"$work/include"
for command in $("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'); do
    printf '.SS %s\n.nf\n' "$command"
    # Backslashes, and a dot or quote that opens a line, mean something to roff.
    "$program" "$command" --help | sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" -e 's/-/\\-/g'
    printf '.fi\n'
done >>"$work/include"

$HELP2MAN --no-info --section=1 --include="$work/include" --output="$work/page" "$program"
mv "$work/page" "$page"
