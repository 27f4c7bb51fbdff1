/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/fill_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/input_file.h"
#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/inputs.h"

/* An additive mask is a bias of -inf; nothing else may be infinite. */
static bool is_allowed(const char *name, double value, double rounded)
{
    return isfinite(rounded) || (value == -INFINITY && !strcmp(name, "bias"));
}

static enum fb_status put(const struct fb_tensor *to, const char *name, const int64_t at[4],
                          double value)
{
    const int64_t offset = fb_tensor_offset(to, at[0], at[1], at[2], at[3]);
    fb_element_write(to->data, to->dtype, offset, value);
    if (is_allowed(name, value, fb_element_read(to->data, to->dtype, offset)))
        return FB_OK;
    return fb_fail(FB_REFUSED, "%s[%lld,%lld,%lld,%lld] of the file is %g: not finite in %s", name,
                   (long long)at[0], (long long)at[1], (long long)at[2], (long long)at[3], value,
                   fb_dtype_name(to->dtype));
}

/* From contiguous values in the file's order, where h and n may be swapped. */
static enum fb_status copy(const struct fb_tensor *to, const char *name, const double *from,
                           bool bnhd)
{
    const int64_t *shape = to->shape;
    int64_t at[4];
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++)
            for (at[2] = 0; at[2] < shape[2]; at[2]++) {
                int64_t row = bnhd ? (at[0] * shape[2] + at[2]) * shape[1] + at[1]
                                   : (at[0] * shape[1] + at[1]) * shape[2] + at[2];
                for (at[3] = 0; at[3] < shape[3]; at[3]++)
                    FB_TRY(put(to, name, at, from[row * shape[3] + at[3]]));
            }
    return FB_OK;
}

static enum fb_status fill_tensor(const struct fb_tensor_file *file, const char *name,
                                  const struct fb_tensor *to, bool bnhd)
{
    double *values;
    if (!to->data)
        return FB_OK;
    FB_TRY(fb_tensor_file_read(file, name, &values));
    enum fb_status status = copy(to, name, values, bnhd);
    free(values);
    return status;
}

static enum fb_status fill_keep(const struct fb_tensor_file *file, const struct fb_problem *p,
                                uint8_t **keep)
{
    const int64_t count = p->b * p->h * p->nq * p->nk;
    double *values;
    FB_TRY(fb_tensor_file_read(file, "keep", &values));
    *keep = malloc((size_t)count + 1);
    for (int64_t i = 0; *keep && i < count; i++)
        (*keep)[i] = values[i] != 0;
    free(values);
    return *keep ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for the dropout mask of a file");
}

static enum fb_status fill_all(const struct fb_source *source, const struct fb_tensor_file *file,
                               const struct fb_args *args, uint8_t **keep)
{
    const struct {
        const char *name;
        const struct fb_tensor *to;
        bool in_order; /* of the file's layout */
    } inputs[] = {{"q", &args->q, true},       {"k", &args->k, true},
                  {"v", &args->v, true},       {fb_input_file_dout(file), &args->dout, true},
                  {"dlse", &args->dlse, true}, {"bias", &args->bias, false},
                  {"sink", &args->sink, false}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        FB_TRY(fill_tensor(file, inputs[i].name, inputs[i].to,
                           inputs[i].in_order && source->file.bnhd));
    if (args->problem->dropout > 0 && fb_tensor_file_has(file, "keep"))
        FB_TRY(fill_keep(file, args->problem, keep));
    fb_input_fill_slopes(args->problem, &args->alibi);
    return FB_OK;
}

enum fb_status fb_fill_from_file(const struct fb_source *source, const struct fb_args *args,
                                 uint8_t **keep)
{
    struct fb_tensor_file *file;
    *keep = NULL;
    FB_TRY(fb_input_file_open(&source->file, args->problem, &file));
    const enum fb_status status = fill_all(source, file, args, keep);
    fb_tensor_file_close(file);
    return status;
}
