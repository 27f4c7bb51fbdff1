/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/input_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/buffers.h"
#include "data/inputs.h"
#include "store/tensor_file.h"

static const char prefix[] = "file:";

bool fb_input_file_is_recipe(const char *recipe)
{
    return !strncmp(recipe, prefix, sizeof prefix - 1);
}

/* ---- The recipe --------------------------------------------------------------------------------
 */

struct source {
    char *path, *group; /* group points into the same memory */
    bool bnhd;
};

/* An '@' in the path itself is told from a layout by the '.' or '/' behind it. */
static enum fb_status take_layout(struct source *source)
{
    char *at = strrchr(source->path, '@');
    if (!at || strpbrk(at, "./"))
        return FB_OK;
    source->bnhd = !strcmp(at + 1, "bnhd");
    if (!source->bnhd && strcmp(at + 1, "bhnd"))
        return fb_fail(FB_USAGE, "recipe file: layout '%s' is not one of bhnd, bnhd", at + 1);
    *at = '\0';
    return FB_OK;
}

/* A recipe is part of the key of its case, which is ASCII in a results file: names that differ in
 * other bytes alone would become one. */
static bool is_graphic(const char *text)
{
    while (*text > ' ' && *text <= '~')
        text++;
    return !*text;
}

static enum fb_status parse(struct source *source, const char *recipe)
{
    *source = (struct source){.path = strdup(recipe + sizeof prefix - 1)};
    if (!source->path)
        return fb_fail(FB_NO_MEMORY, "no memory for a file name");
    source->group = source->path + strlen(source->path);
    FB_TRY(take_layout(source));
    char *hash = strchr(source->path, '#');
    if (hash) {
        *hash = '\0';
        source->group = hash + 1;
    }
    if (!*source->path || strpbrk(recipe, " \t\n|"))
        return fb_fail(FB_USAGE, "recipe '%s' is not file:PATH[#GROUP][@LAYOUT] without spaces",
                       recipe);
    if (!is_graphic(recipe))
        return fb_fail(FB_USAGE, "recipe '%s': a name in it is not of printable ASCII", recipe);
    return FB_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------
 */

/* One dataset: the extents it must have as [b, h, n, d], and which of them are stored. */
struct wanted {
    const char *name;
    bool needed, integers;
    int rank;
    int64_t extent[FB_TENSOR_FILE_RANK]; /* in the order of the file */
};

/* In the file's order; dimension 4 falls away where it is `columns` = 0. */
static struct wanted rows_of(const struct source *source, const char *name, int64_t b, int64_t h,
                             int64_t n, int64_t columns)
{
    return (struct wanted){.name = name,
                           .needed = true,
                           .rank = columns ? 4 : 3,
                           .extent = {b, source->bnhd ? n : h, source->bnhd ? h : n, columns}};
}

enum { Q, K, V, DOUT, DLSE, BIAS, SINK, KEEP, WANTED };

/* Golden files call it "do". */
static const char *dout_name(const struct fb_tensor_file *file)
{
    return !fb_tensor_file_has(file, "dout") && fb_tensor_file_has(file, "do") ? "do" : "dout";
}

static void list_wanted(const struct source *source, const struct fb_tensor_file *file,
                        const struct fb_problem *p, struct wanted want[WANTED])
{
    const bool packed = p->qlens || p->klens;
    const int64_t b = packed ? 1 : p->b, nq = packed ? fb_problem_rows_q(p) : p->nq;
    const int64_t nk = packed ? fb_problem_rows_k(p) : p->nk;
    const int64_t bias_b = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_BATCH ? p->b : 1;
    const int64_t bias_h = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_HEAD ? p->h : 1;
    want[Q] = rows_of(source, "q", b, p->h, nq, p->d);
    want[K] = rows_of(source, "k", b, p->hk, nk, p->d);
    want[V] = rows_of(source, "v", b, p->hk, nk, p->dv);
    want[DOUT] = rows_of(source, dout_name(file), b, p->h, nq, p->dv);
    want[DLSE] = rows_of(source, "dlse", b, p->h, nq, 0);
    want[DLSE].needed = p->dlse;
    want[BIAS] = (struct wanted){"bias", p->bias, false, 4, {bias_b, bias_h, p->nq, p->nk}};
    want[SINK] = (struct wanted){"sink", p->sink, false, 1, {p->h}};
    want[KEEP] = (struct wanted){"keep", false, true, 4, {p->b, p->h, p->nq, p->nk}};
}

static const char *shape_text(char text[120], int rank, const int64_t *extent)
{
    int used = snprintf(text, 120, "[");
    for (int i = 0; i < rank; i++)
        used += snprintf(text + used, 120 - (size_t)used, "%s%lld", i ? ", " : "",
                         (long long)extent[i]);
    snprintf(text + used, 120 - (size_t)used, "]");
    return text;
}

static bool same_shape(const struct wanted *want, int rank, const int64_t *extent)
{
    const int skip = want->rank == rank + 1 && want->extent[0] == 1; /* a batch of one left out */
    if (rank + skip != want->rank)
        return false;
    return !memcmp(extent, want->extent + skip, (size_t)rank * sizeof *extent);
}

static enum fb_status check_shape(const struct source *source, const struct fb_tensor_file *file,
                                  const struct wanted *want)
{
    int64_t extent[FB_TENSOR_FILE_RANK];
    char found[120], wanted[120];
    int rank;
    FB_TRY(fb_tensor_file_shape(file, want->name, want->integers, &rank, extent));
    if (same_shape(want, rank, extent))
        return FB_OK;
    return fb_fail(FB_USAGE, "%s: %s is %s, the problem wants %s (read as %s)", source->path,
                   want->name, shape_text(found, rank, extent),
                   shape_text(wanted, want->rank, want->extent),
                   source->bnhd ? "bnhd" : "bhnd; @bnhd reads it the other way");
}

static enum fb_status check_all(const struct source *source, const struct fb_tensor_file *file,
                                const struct fb_problem *problem)
{
    struct wanted want[WANTED];
    if (problem->layout == FB_LAYOUT_EXPANDED_DOUT)
        return fb_fail(FB_USAGE,
                       "recipe file: has no place for layout=expanded-dout, whose dout is "
                       "one row");
    list_wanted(source, file, problem, want);
    want[KEEP].needed = problem->dropout > 0 && fb_tensor_file_has(file, "keep");
    for (int i = 0; i < WANTED; i++)
        if (want[i].needed)
            FB_TRY(check_shape(source, file, &want[i]));
    return FB_OK;
}

enum fb_status fb_input_file_check(const char *recipe, const struct fb_problem *problem)
{
    struct source source;
    struct fb_tensor_file *file = NULL;
    enum fb_status status = parse(&source, recipe);
    if (status == FB_OK)
        status = fb_tensor_file_open(&file, source.path, source.group);
    if (status == FB_OK)
        status = check_all(&source, file, problem);
    fb_tensor_file_close(file);
    free(source.path);
    return status;
}

/* ---- Values ------------------------------------------------------------------------------------
 */

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

static enum fb_status fill_all(const struct source *source, const struct fb_tensor_file *file,
                               const struct fb_args *args, uint8_t **keep)
{
    const struct {
        const char *name;
        const struct fb_tensor *to;
        bool in_order; /* of the file's layout */
    } inputs[] = {{"q", &args->q, true},       {"k", &args->k, true},
                  {"v", &args->v, true},       {dout_name(file), &args->dout, true},
                  {"dlse", &args->dlse, true}, {"bias", &args->bias, false},
                  {"sink", &args->sink, false}};
    FB_TRY(check_all(source, file, args->problem));
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        FB_TRY(fill_tensor(file, inputs[i].name, inputs[i].to, inputs[i].in_order && source->bnhd));
    if (args->problem->dropout > 0 && fb_tensor_file_has(file, "keep"))
        FB_TRY(fill_keep(file, args->problem, keep));
    fb_input_fill_slopes(args->problem, &args->alibi);
    return FB_OK;
}

enum fb_status fb_input_file_fill(const char *recipe, const struct fb_args *args, uint8_t **keep)
{
    struct source source;
    struct fb_tensor_file *file = NULL;
    *keep = NULL;
    enum fb_status status = parse(&source, recipe);
    if (status == FB_OK)
        status = fb_tensor_file_open(&file, source.path, source.group);
    if (status == FB_OK)
        status = fill_all(&source, file, args, keep);
    fb_tensor_file_close(file);
    free(source.path);
    return status;
}
