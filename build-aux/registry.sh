#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# registry.sh FILE...: writes the C file that names the table of every variant file, in their order:
# variants/x_y.c and variants/x_y.cu define fb_variants_x_y.
set -eu

echo '/* Generated from variants/variants.am by build-aux/registry.sh. */'
echo '#include "core/registry.h"'
echo
for file; do
    name=${file##*/}
    echo "extern const struct fb_variant *const fb_variants_${name%.*}[];"
done
echo
echo 'const struct fb_variant *const *const fb_registry_tables[] = {'
for file; do
    name=${file##*/}
    echo "    fb_variants_${name%.*},"
done
echo '    NULL,'
echo '};'
