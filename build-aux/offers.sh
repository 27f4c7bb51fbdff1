#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# offers.sh PROGRAM README: the README with its table of offers as the program has it, on stdout. Rows
# of variants that this program was built without stay as they are. Fails where there is no table.
set -eu
program=$1 readme=$2
rows=$("$program" list --offers --format md)
names=$("$program" list | awk 'NR > 1 { print $1 }')
rows=$rows names=$names awk '
    /^<!-- offers: / { inside = found = 1; print; print ENVIRON["rows"]; next }
    /^<!-- end of offers -->/ { inside = 0 }
    !inside { print; next }
    /^\| `/ {
        first = $2
        gsub(/[`,]/, "", first)
        if (("\n" ENVIRON["names"] "\n") !~ ("\n" first "\n"))
            print
    }
    END { exit !found }
    ' "$readme"
