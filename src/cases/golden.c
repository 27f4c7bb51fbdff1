/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/status.h"
#include "store/golden.h"

static enum fb_status add_group(const char *path, struct fb_golden_case *one,
                                const char *const *variants, size_t variant_count,
                                struct fb_case_set *set)
{
    static const enum fb_dtype dtypes[] = {FB_FP32, FB_BF16, FB_FP16};
    struct fb_terms terms = {.problem = one->problem, .numerics = fb_numerics_standard};
    struct fb_case made;
    char *recipe = NULL;
    if (asprintf(&recipe, "golden:%s#%s", path, one->name) < 0)
        return fb_fail(FB_NO_MEMORY, "no memory for a recipe");
    enum fb_status status = fb_source_parse(&terms.source, recipe);
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
        terms.problem.dtype = dtypes[t];
        for (size_t v = 0; v < variant_count && status == FB_OK; v++) {
            status = fb_case_make(&made, variants[v], &terms, 0);
            if (status == FB_OK)
                status = fb_case_set_add(set, &made);
        }
    }
    fb_source_free(&terms.source);
    free(recipe);
    return status;
}

static enum fb_status check_path(const char *path)
{
    return strpbrk(path, " \t\n#") ? fb_fail(FB_USAGE,
                                             "golden file '%s': its path may hold no space "
                                             "and no '#'",
                                             path)
                                   : FB_OK;
}

enum fb_status fb_golden_cases(const char *path, const char *const *variants, size_t variant_count,
                               struct fb_case_set *set)
{
    struct fb_golden *file;
    FB_TRY(check_path(path));
    FB_TRY(fb_golden_open(&file, path));
    enum fb_status status = FB_OK;
    for (size_t i = 0; i < fb_golden_count(file) && status == FB_OK; i++) {
        struct fb_golden_case one;
        status = fb_golden_read(file, i, &one);
        if (status == FB_OK) {
            status = add_group(path, &one, variants, variant_count, set);
            fb_golden_case_free(&one);
        }
    }
    fb_golden_close(file);
    return status;
}
