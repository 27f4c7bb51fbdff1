#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# same_kernels.sh [-v] OLD NEW [MAP]: compares the machine code of every CUDA kernel of OLD with that of the
# kernel of the same name in NEW, architecture by architecture, byte by byte. OLD and NEW are programs,
# objects, or build trees, whose objects are taken. Prints how many kernels are the same, changed, or in one
# of the two alone, and the names of all but the first kind (-v: of those, too). Exit status: 0 no kernel
# changed or went missing (one that is new is fine), 1 some did, 2 usage, 77 without cuobjdump or readelf.
#
# Compared is the section .text.KERNEL of each cubin, with its table of literals (.nv.constant2): neither
# holds line numbers, file names or addresses of other kernels. A kernel that stands in several objects counts
# once, and as the same if OLD and NEW have the same set of versions of it. What is empty, the body of a kernel
# that is left out for an architecture (at most 256 bytes: end, or trap), counts as not there.
#
# MAP is a sed script that makes of OLD's names, as c++filt prints them, those of NEW:
#     s/bwd_sm90_config/key_major_config/g
# CUOBJDUMP, or else the one beside NVCC or in PATH, takes the cubins out.
set -eu
export LC_ALL=C

usage() {
    echo "usage: same_kernels.sh [-v] OLD NEW [MAP]" >&2
    exit 2
}
verbose=no
[ "${1-}" != -v ] || { verbose=yes && shift; }
[ $# -eq 2 ] || [ $# -eq 3 ] || usage
old=$1 new=$2 map=${3-/dev/null}
for path in "$old" "$new" "$map"; do
    [ -e "$path" ] || { echo "same_kernels: $path: no such file" >&2 && exit 2; }
done
nvcc=$(command -v "${NVCC:-nvcc}" || true)
cuobjdump=$(command -v "${CUOBJDUMP:-cuobjdump}" || command -v "${nvcc%/*}/cuobjdump" || true)
[ -n "$cuobjdump" ] && command -v readelf >/dev/null ||
    { echo "same_kernels: needs cuobjdump (of the CUDA toolkit) and readelf" >&2 && exit 77; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/same-kernels-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# hash FILE AT SIZE: of those bytes.
hash() {
    tail -c +$(($2 + 1)) "$1" | head -c "$3" | md5sum | cut -c1-32
}

# sections CUBIN: "name offset size" of every section with code or literals.
sections() {
    readelf -SW "$1" 2>/dev/null | sed -n 's/^ *\[ *[0-9]*\] \(\.text\.\|\.nv\.constant2\.\)/\1/p' |
        awk '{ print $1, $4, $5 }'
}

# kernels CUBIN ARCH: "ARCH<TAB>mangled name<TAB>hash" of each kernel.
kernels() {
    local name at size literals
    sections "$1" >"$scratch/sections"
    while read -r name at size; do
        [ "${name#.text.}" != "$name" ] && [ $((16#$size)) -gt 256 ] || continue
        name=${name#.text.}
        literals=$(awk -v name=".nv.constant2.$name" '$1 == name { print $2, $3 }' "$scratch/sections")
        printf '%s\t%s\t%s' "$2" "$name" "$(hash "$1" $((16#$at)) $((16#$size)))"
        [ -z "$literals" ] || printf '%s' "$(hash "$1" $((16#${literals% *})) $((16#${literals#* })))"
        echo
    done <"$scratch/sections"
}

# listing PATH: "arch name<TAB>hash", sorted, of all kernels below PATH. Names in unnamed namespaces hold a
# hash of the file's name, which is taken out.
listing() {
    local object cubin arch
    if [ -d "$1" ]; then find "$1" -name '*.o' -size +4k | sort; else readlink -f "$1"; fi |
        while read -r object; do
            rm -rf "$scratch/cubins" && mkdir "$scratch/cubins"
            (cd "$scratch/cubins" && "$cuobjdump" -xelf all "$object" >/dev/null 2>&1) || continue
            for cubin in "$scratch"/cubins/*.cubin; do
                [ -e "$cubin" ] || continue
                arch=${cubin%.cubin} arch=${arch##*.}
                kernels "$cubin" "${arch//[^a-z0-9_]/}"
            done
        done | sed 's/_INTERNAL_[0-9a-f]*_[0-9]*_[A-Za-z0-9_]*_cu_[0-9a-f]*\(_[0-9]*\)\{0,1\}//g' |
        c++filt | sort -u
}

listing "$old" | sed -E -f "$map" | sort -u >"$scratch/old"
listing "$new" >"$scratch/new"
for side in old new; do
    [ -s "$scratch/$side" ] || { echo "same_kernels: ${!side}: no kernel in it" >&2 && exit 2; }
done

# One line a kernel: "arch name<TAB>hash hash ...".
for side in old new; do
    awk -F'\t' '{ key = $1 "\t" $2
                  if (key != last) { if (NR > 1) print last "\t" set; set = ""; last = key }
                  set = set " " $3 }
                END { if (NR) print last "\t" set }' "$scratch/$side" >"$scratch/$side.sets"
done
awk -F'\t' -v verbose=$verbose '
    { key = $1 " " $2 }
    NR == FNR { code[key] = $3; next }
    !(key in code) { alone[key] = 1; added++; next }
    code[key] == $3 { same++; if (verbose == "yes") print "same     " key; delete code[key]; next }
    { changed++; print "changed  " key; delete code[key] }
    END {
        for (key in code) { missing++; print "only old " key }
        for (key in alone) print "only new " key
        printf "%d kernels the same, %d changed, %d only in OLD, %d only in NEW\n",
            same, changed, missing, added
        exit changed + missing > 0
    }' "$scratch/old.sets" "$scratch/new.sets"
