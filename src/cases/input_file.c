/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/input_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"

/* ---- The recipe --------------------------------------------------------------------------------
 */

/* An '@' in the path itself is told from a layout by the '.' or '/' behind it. */
static enum fb_status take_layout(struct fb_file_place *place)
{
    char *at = strrchr(place->path, '@');
    if (!at || strpbrk(at, "./"))
        return FB_OK;
    place->bnhd = !strcmp(at + 1, "bnhd");
    if (!place->bnhd && strcmp(at + 1, "bhnd"))
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

enum fb_status fb_input_file_read(struct fb_file_place *place, const char *recipe, const char *rest)
{
    place->path = strdup(rest);
    if (!place->path)
        return fb_fail(FB_NO_MEMORY, "no memory for a file name");
    place->group = place->path + strlen(place->path);
    FB_TRY(take_layout(place));
    char *hash = strchr(place->path, '#');
    if (hash) {
        *hash = '\0';
        place->group = hash + 1;
    }
    if (!*place->path || strpbrk(recipe, " \t\n|"))
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
static struct wanted rows_of(const struct fb_file_place *place, const char *name, int64_t b,
                             int64_t h, int64_t n, int64_t columns)
{
    return (struct wanted){.name = name,
                           .needed = true,
                           .rank = columns ? 4 : 3,
                           .extent = {b, place->bnhd ? n : h, place->bnhd ? h : n, columns}};
}

enum { Q, K, V, DOUT, DLSE, BIAS, SINK, KEEP, WANTED };

const char *fb_input_file_dout(const struct fb_tensor_file *file)
{
    return !fb_tensor_file_has(file, "dout") && fb_tensor_file_has(file, "do") ? "do" : "dout";
}

static void list_wanted(const struct fb_file_place *place, const struct fb_tensor_file *file,
                        const struct fb_problem *p, struct wanted want[WANTED])
{
    const bool packed = p->qlens || p->klens;
    const int64_t b = packed ? 1 : p->b, nq = packed ? fb_problem_rows_q(p) : p->nq;
    const int64_t nk = packed ? fb_problem_rows_k(p) : p->nk;
    const int64_t bias_b = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_BATCH ? p->b : 1;
    const int64_t bias_h = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_HEAD ? p->h : 1;
    want[Q] = rows_of(place, "q", b, p->h, nq, p->d);
    want[K] = rows_of(place, "k", b, p->hk, nk, p->d);
    want[V] = rows_of(place, "v", b, p->hk, nk, p->dv);
    want[DOUT] = rows_of(place, fb_input_file_dout(file), b, p->h, nq, p->dv);
    want[DLSE] = rows_of(place, "dlse", b, p->h, nq, 0);
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

static enum fb_status check_shape(const struct fb_file_place *place,
                                  const struct fb_tensor_file *file, const struct wanted *want)
{
    int64_t extent[FB_TENSOR_FILE_RANK];
    char found[120], wanted[120];
    int rank;
    FB_TRY(fb_tensor_file_shape(file, want->name, want->integers, &rank, extent));
    if (same_shape(want, rank, extent))
        return FB_OK;
    return fb_fail(FB_USAGE, "%s: %s is %s, the problem wants %s (read as %s)", place->path,
                   want->name, shape_text(found, rank, extent),
                   shape_text(wanted, want->rank, want->extent),
                   place->bnhd ? "bnhd" : "bhnd; @bnhd reads it the other way");
}

static enum fb_status check_all(const struct fb_file_place *place,
                                const struct fb_tensor_file *file, const struct fb_problem *problem)
{
    struct wanted want[WANTED];
    if (problem->layout == FB_LAYOUT_EXPANDED_DOUT)
        return fb_fail(FB_USAGE,
                       "recipe file: has no place for layout=expanded-dout, whose dout is "
                       "one row");
    list_wanted(place, file, problem, want);
    want[KEEP].needed = problem->dropout > 0 && fb_tensor_file_has(file, "keep");
    for (int i = 0; i < WANTED; i++)
        if (want[i].needed)
            FB_TRY(check_shape(place, file, &want[i]));
    return FB_OK;
}

enum fb_status fb_input_file_open(const struct fb_file_place *place,
                                  const struct fb_problem *problem, struct fb_tensor_file **file)
{
    FB_TRY(fb_tensor_file_open(file, place->path, place->group));
    const enum fb_status status = check_all(place, *file, problem);
    if (status == FB_OK)
        return FB_OK;
    fb_tensor_file_close(*file);
    return status;
}

enum fb_status fb_input_file_check(const struct fb_file_place *place,
                                   const struct fb_problem *problem)
{
    struct fb_tensor_file *file;
    FB_TRY(fb_input_file_open(place, problem, &file));
    fb_tensor_file_close(file);
    return FB_OK;
}
