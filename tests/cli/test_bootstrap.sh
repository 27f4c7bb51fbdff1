#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_bootstrap.sh: `./bootstrap run` goes on with a run that was killed and starts one that ended over.
# The tree is a stand-in with nothing to install, to configure or to build; the program is the real one,
# and kills itself the first time.
. "$(dirname "$0")/../lib.sh"

tree=$scratch/tree
mkdir -p "$tree/experiments" "$tree/m4" "$tree/variants" "$tree/build" "$scratch/bin"
cp "$top_srcdir/bootstrap" "$tree/bootstrap"
touch "$tree/configure.ac" "$tree/Makefile.am" "$tree/variants/variants.am"
touch "$tree/Makefile.in" "$tree/configure" "$tree/build/config.status"
printf 'all:\n' >"$tree/build/Makefile"
printf '#!/bin/sh\necho installed\n' >"$scratch/bin/dpkg-query"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/apt-get"
cat >"$tree/build/flashback" <<EOF2
#!/bin/bash
journal=build/results/quick.jsonl
[ "\$1" = plot ] && exit 0
echo "\$*" >>commands
[ "\$1" = run ] && [ ! -e killed ] || exec "$flashback" "\$@"
touch killed
"$flashback" "\$@" &
for i in \$(seq 200); do
    [ "\$(grep -c '"case"' \$journal 2>/dev/null)" -ge 2 ] 2>/dev/null && break
    sleep 0.05
done
kill -KILL \$!
exit 137
EOF2
chmod +x "$tree/bootstrap" "$tree/build/flashback" "$scratch/bin/"*
cat >"$tree/experiments/quick.ini" <<'INI'
[grid]
variant = cpu-split cpu-naive
n = 16 24 32 40 48 56 64
d = 64
dtype = fp32
[measure]
what = speed error
max_seconds = 0.2
interval = 0
max_samples = 100000
INI
journal=$tree/build/results/quick.jsonl
boot() {
    (cd "$scratch" && PATH=$scratch/bin:$PATH BUILD=build CONFIGURE_FLAGS='' sh "$tree/bootstrap" run) \
        >"$scratch/out" 2>"$scratch/err"
}
cases() { grep '"case"' "$journal"; }

boot
ok $((($? == 137) ? 0 : 1)) "a run that is killed ends with its status"
before=$(cases | wc -l)
ok $((before >= 2 && before < 14 ? 0 : 1)) "... and leaves $before of 14 records"
cases >"$scratch/kept"
boot
ok $? "a second call"
grep -q 'going on with the run that was cut off' "$scratch/out" && tail -1 "$tree/commands" | grep -q table &&
    grep -q -- '^run .*--resume' "$tree/commands"
ok $? "... resumes it"
cases | head -n "$before" | cmp -s - "$scratch/kept" && [ "$(cases | wc -l)" -eq 14 ]
ok $? "... keeps its records and completes them"
boot && ! cases | head -n "$before" | cmp -s - "$scratch/kept" && [ "$(cases | wc -l)" -eq 14 ]
ok $? "a third one starts over"
touch "$tree/build/results/quick.h5.unfinished"
sed -i 's/^n = .*/n = 8/; s/^max_samples.*/max_samples = 6/' "$tree/experiments/quick.ini"
boot && grep -q 'starting over' "$scratch/out" && [ "$(cases | wc -l)" -eq 2 ]
ok $? "what was cut off of another grid is not gone on with"
tap_done
