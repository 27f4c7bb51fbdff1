#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_bootstrap.sh: `./bootstrap run` goes on with a run that was killed and starts one that ended over;
# it builds for the devices there are. The tree is a stand-in with nothing to install or to build; the
# program is the real one, and kills itself the first time.
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

# What configure is told about CUDA: nvcc and nvidia-smi are stand-ins, too.
printf '#!/bin/sh\nexit 1\n' >"$tree/build/flashback"
printf '#!/bin/sh\necho "$*" >flags\ntouch config.status\n' >"$tree/configure"
printf '#!/bin/sh\n' >"$scratch/bin/nvcc"
printf '#!/bin/sh\nprintf "$DEVICES"\nexit ${DEVICES_STATUS:-0}\n' >"$scratch/bin/nvidia-smi"
chmod +x "$tree/configure" "$scratch/bin/"*
# chooses TASK DEVICES FLAGS [CONFIGURE_FLAGS]: what nvidia-smi prints, what configure gets.
chooses() {
    rm -f "$tree/build/config.status" "$tree/build/flags"
    (cd "$scratch" && PATH=$scratch/bin:$PATH DEVICES=$2 BUILD=build CONFIGURE_FLAGS=${4:-} sh "$tree/bootstrap" $1) \
        >"$scratch/out" 2>"$scratch/err"
    [ "$(cat "$tree/build/flags" 2>/dev/null)" = "$3" ]
}
chooses run '9.0\n' --with-cuda-arch=90
ok $? "run: a GPU of 9.0: for that alone"
chooses run '8.6\n 9.0 \n8.6\n' --with-cuda-arch=86,90
ok $? "run: three GPUs of two kinds: for both"
chooses run '12.0\n' --with-cuda-arch=120
ok $? "run: a GPU of 12.0"
! grep -q 'no GPU' "$scratch/out"
ok $? "... and no word of a missing one"
chooses run 'NVIDIA-SMI has failed because it could not talk to the driver.\n' --without-cuda
ok $? "run: a driver that fails: for the CPU"
chooses run '' --without-cuda
ok $? "run: nvcc and no GPU: for the CPU"
[ "$(grep -c 'no GPU here: building for the CPU; CONFIGURE_FLAGS=--with-cuda' "$scratch/out")" = 1 ]
ok $? "... and one line says how to have CUDA"
chooses run '' --with-cuda --with-cuda
ok $? "... by that line"
chooses check '' ''
ok $? "check: all that configure finds"
chooses '' '9.0\n' ''
ok $? "no task: the same"
rm "$scratch/bin/nvcc"
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || [ -n "${CUDA_HOME:-}${CUDA_PATH:-}${NVCC:-}" ]; then
    skip "no nvcc: there is one here"
else
    chooses run '9.0\n' --without-cuda
    ok $? "run: a GPU and no nvcc: for the CPU"
fi
tap_done
