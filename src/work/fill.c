/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/fill.h"

#include <string.h>

#include "core/half.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/inputs.h"
#include "store/golden.h"
#include "work/fill_file.h"

/* ---- Golden data --------------------------------------------------------------------------------
 */

static enum fb_status find_group(struct fb_golden *file, const char *name, const char *path,
                                 struct fb_golden_case *one)
{
    for (size_t i = 0; i < fb_golden_count(file); i++) {
        FB_TRY(fb_golden_read(file, i, one));
        if (!strcmp(one->name, name))
            return FB_OK;
        fb_golden_case_free(one);
    }
    return fb_fail(FB_USAGE, "no group '%s' in '%s'", name, path);
}

static void copy_tensor(const struct fb_tensor *from, const struct fb_tensor *to)
{
    if (!from->data || !to->data)
        return;
    for (int64_t b = 0; b < to->shape[0]; b++)
        for (int64_t h = 0; h < to->shape[1]; h++)
            for (int64_t n = 0; n < to->shape[2]; n++)
                for (int64_t c = 0; c < to->shape[3]; c++) {
                    double value = fb_element_read(from->data, from->dtype,
                                                   fb_tensor_offset(from, b, h, n, c));
                    fb_element_write(to->data, to->dtype, fb_tensor_offset(to, b, h, n, c), value);
                }
}

/* Rounds the group's inputs into the tensors of args, and takes its mask over. */
static void take_group(struct fb_golden_case *one, const struct fb_args *args,
                       struct fb_filled *filled)
{
    copy_tensor(&one->args.q, &args->q);
    copy_tensor(&one->args.k, &args->k);
    copy_tensor(&one->args.v, &args->v);
    copy_tensor(&one->args.dout, &args->dout);
    copy_tensor(&one->args.dlse, &args->dlse);
    copy_tensor(&one->args.bias, &args->bias);
    copy_tensor(&one->args.sink, &args->sink);
    copy_tensor(&one->args.alibi, &args->alibi);
    filled->keep = one->keep;
    one->keep = NULL;
}

static enum fb_status fill_golden(const struct fb_source *source, const struct fb_args *args,
                                  struct fb_filled *filled)
{
    struct fb_golden *file;
    struct fb_golden_case one;
    if (!source->file.path)
        return fb_fail(FB_USAGE, "recipe '%s' is not golden:FILE#GROUP", source->text);
    FB_TRY(fb_golden_open(&file, source->file.path));
    const enum fb_status status = find_group(file, source->file.group, source->file.path, &one);
    if (status == FB_OK) {
        take_group(&one, args, filled);
        fb_golden_case_free(&one);
    }
    fb_golden_close(file);
    return status;
}

/* ---- The others ---------------------------------------------------------------------------------
 */

static enum fb_status fill_file(const struct fb_source *source, const struct fb_args *args,
                                struct fb_filled *filled)
{
    return fb_fill_from_file(source, args, &filled->keep);
}

static enum fb_status fill_drawn(const struct fb_source *source, const struct fb_args *args,
                                 struct fb_filled *filled)
{
    fb_inputs_fill(&source->recipe, args->problem, args);
    filled->exact = fb_inputs_exact(&source->recipe, args->problem);
    return FB_OK;
}

enum fb_status fb_fill(const struct fb_source *source, const struct fb_args *args,
                       struct fb_filled *filled)
{
    static enum fb_status (*const fill[FB_SOURCES])(
        const struct fb_source *source, const struct fb_args *args, struct fb_filled *filled) = {
        [FB_SOURCE_FILE] = fill_file,
        [FB_SOURCE_GOLDEN] = fill_golden,
        [FB_SOURCE_DRAWN] = fill_drawn,
    };
    *filled = (struct fb_filled){.keep = NULL};
    return fill[source->kind](source, args, filled);
}
