/* SPDX-License-Identifier: BSD-3-Clause
 *
 * golden.c: reads files of exact gradients. Everything is checked against the sizes that a group
 * states, so that a wrong file is an error and never a wrong verdict.
 */
#include "store/golden.h"

#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "store/files.h"

struct fb_golden {
    hid_t file;
    char *path;
    size_t count;
    char **names;
};

/* One group while it is read. */
struct reader {
    hid_t group;
    const char *path, *name;
    struct fb_golden_case *to;
};

/* ---- The file ---------------------------------------------------------------------------------
 */

static enum fb_status list_groups(struct fb_golden *golden)
{
    H5G_info_t info;
    if (H5Gget_info(golden->file, &info) < 0)
        return fb_fail(FB_CORRUPT, "%s: cannot list its groups", golden->path);
    golden->names = calloc((size_t)info.nlinks + 1, sizeof *golden->names);
    if (!golden->names)
        return fb_fail(FB_NO_MEMORY, "no memory for the group names of %s", golden->path);
    for (hsize_t n = 0; n < info.nlinks; n++) {
        ssize_t length = H5Lget_name_by_idx(golden->file, ".", H5_INDEX_NAME, H5_ITER_INC, n, NULL,
                                            0, H5P_DEFAULT);
        if (length < 0)
            return fb_fail(FB_CORRUPT, "%s: cannot read the name of link %d", golden->path, (int)n);
        char *name = malloc((size_t)length + 1);
        if (!name)
            return fb_fail(FB_NO_MEMORY, "no memory for the group names of %s", golden->path);
        golden->names[golden->count++] = name;
        H5Lget_name_by_idx(golden->file, ".", H5_INDEX_NAME, H5_ITER_INC, n, name,
                           (size_t)length + 1, H5P_DEFAULT);
    }
    if (golden->count == 0)
        return fb_fail(FB_CORRUPT, "%s: holds no groups; see doc/golden-format.md", golden->path);
    return FB_OK;
}

enum fb_status fb_golden_open(struct fb_golden **out, const char *path)
{
    enum fb_status status = FB_OK;
    struct fb_golden *golden = calloc(1, sizeof *golden);
    *out = NULL;
    if (!golden || !(golden->path = strdup(path))) {
        free(golden);
        return fb_fail(FB_NO_MEMORY, "no memory to open %s", path);
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    golden->file = -1;
    FB_TRY_OUT(fb_file_check_input(path));
    golden->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (golden->file < 0) {
        status = fb_fail(FB_CORRUPT, "%s: not an HDF5 file, or a damaged one", path);
        goto out;
    }
    FB_TRY_OUT(list_groups(golden));
out:
    if (status != FB_OK)
        fb_golden_close(golden);
    else
        *out = golden;
    return status;
}

size_t fb_golden_count(const struct fb_golden *golden)
{
    return golden->count;
}

void fb_golden_close(struct fb_golden *golden)
{
    if (!golden)
        return;
    for (size_t n = 0; n < golden->count; n++)
        free(golden->names[n]);
    if (golden->file >= 0)
        H5Fclose(golden->file);
    free(golden->names);
    free(golden->path);
    free(golden);
}

/* ---- Attributes and datasets ------------------------------------------------------------------
 */

static enum fb_status corrupt(const struct reader *r, const char *what, const char *item)
{
    return fb_fail(FB_CORRUPT, "%s: group %s: %s %s; see doc/golden-format.md", r->path, r->name,
                   what, item);
}

static enum fb_status read_attribute(const struct reader *r, const char *name, hid_t type, void *to)
{
    hid_t attribute = H5Aopen(r->group, name, H5P_DEFAULT);
    if (attribute < 0)
        return corrupt(r, "no attribute", name);
    hid_t space = H5Aget_space(attribute), stored = H5Aget_type(attribute);
    bool number = H5Tget_class(stored) == H5T_INTEGER || H5Tget_class(stored) == H5T_FLOAT;
    bool ok =
        number && H5Sget_simple_extent_npoints(space) == 1 && H5Aread(attribute, type, to) >= 0;
    H5Tclose(stored);
    H5Sclose(space);
    H5Aclose(attribute);
    return ok ? FB_OK : corrupt(r, "not one number: attribute", name);
}

static bool has(const struct reader *r, const char *name)
{
    return H5Lexists(r->group, name, H5P_DEFAULT) > 0;
}

/* Reads the dataset, whatever its stored type, as `type` of `size` bytes into fresh memory after
 * checking its shape. */
static enum fb_status read_dataset(const struct reader *r, const char *name, int rank,
                                   const int64_t *shape, hid_t type, size_t size, void **to)
{
    hid_t dataset = H5Dopen2(r->group, name, H5P_DEFAULT), space = -1;
    hsize_t found[8] = {0};
    size_t count = 1;
    enum fb_status status = FB_OK;
    if (dataset < 0)
        return corrupt(r, "no dataset", name);
    space = H5Dget_space(dataset);
    bool fits = H5Sget_simple_extent_ndims(space) == rank;
    if (fits)
        H5Sget_simple_extent_dims(space, found, NULL);
    for (int axis = 0; axis < rank; axis++) {
        fits = fits && found[axis] == (hsize_t)shape[axis];
        count *= (size_t)shape[axis];
    }
    if (!fits) {
        status = corrupt(r, "wrong shape: dataset", name);
        goto out;
    }
    *to = malloc(count * size + 1);
    if (!*to)
        status = fb_fail(FB_NO_MEMORY, "no memory for %s of group %s", name, r->name);
    else if (count > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *to) < 0)
        status = corrupt(r, "unreadable dataset", name);
out:
    H5Sclose(space);
    H5Dclose(dataset);
    return status;
}

/* An input: a contiguous fp32 tensor. lse-like ones have rank 3, per-head ones rank 1. */
static enum fb_status read_input(const struct reader *r, const char *name, int rank,
                                 const int64_t shape[4], struct fb_tensor *tensor)
{
    const int64_t *stored = rank == 1 ? shape + 1 : shape;
    FB_TRY(read_dataset(r, name, rank, stored, H5T_NATIVE_FLOAT, sizeof(float), &tensor->data));
    tensor->dtype = FB_FP32;
    memcpy(tensor->shape, shape, sizeof tensor->shape);
    tensor->stride[3] = 1;
    for (int axis = 2; axis >= 0; axis--)
        tensor->stride[axis] = tensor->stride[axis + 1] * shape[axis + 1];
    return FB_OK;
}

static enum fb_status read_output(const struct reader *r, const char *name, int rank,
                                  const int64_t shape[4], double **to)
{
    const int64_t *stored = rank == 1 ? shape + 1 : shape;
    void *data = NULL;
    enum fb_status status =
        read_dataset(r, name, rank, stored, H5T_NATIVE_DOUBLE, sizeof(double), &data);
    *to = data;
    return status;
}

/* ---- One group --------------------------------------------------------------------------------
 */

static enum fb_status read_problem(const struct reader *r)
{
    struct fb_problem *p = &r->to->problem;
    const struct {
        const char *name;
        int64_t *to;
    } sizes[] = {{"B", &p->b},
                 {"H", &p->h},
                 {"Hk", &p->hk},
                 {"Nq", &p->nq},
                 {"Nk", &p->nk},
                 {"D", &p->d},
                 {"Dv", &p->dv},
                 {"window_left", &p->window_left},
                 {"window_right", &p->window_right}};
    int64_t causal = 0, sink = 0;
    double scale = 0, softcap = 0, dropout = 0;
    fb_problem_init(p);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        FB_TRY(read_attribute(r, sizes[n].name, H5T_NATIVE_INT64, sizes[n].to));
    FB_TRY(read_attribute(r, "causal", H5T_NATIVE_INT64, &causal));
    FB_TRY(read_attribute(r, "sink", H5T_NATIVE_INT64, &sink));
    FB_TRY(read_attribute(r, "scale", H5T_NATIVE_DOUBLE, &scale));
    FB_TRY(read_attribute(r, "softcap", H5T_NATIVE_DOUBLE, &softcap));
    FB_TRY(read_attribute(r, "dropout_p", H5T_NATIVE_DOUBLE, &dropout));
    p->dtype = FB_FP32;
    p->mask = causal ? FB_MASK_CAUSAL : FB_MASK_FULL;
    p->scale = scale;
    p->softcap = softcap;
    p->dropout = dropout;
    p->sink = sink != 0;
    p->dlse = has(r, "dlse");
    return FB_OK;
}

/* A file states every size, so that one of 0 or less is not one that is to be derived; what the
 * language does not allow is told with the group it stands in. */
static enum fb_status finish_problem(const struct reader *r)
{
    struct fb_problem *p = &r->to->problem, again;
    char why[256], *text = NULL;
    if (p->b < 0 || p->hk < 1 || p->d < 1 || p->dv < 1)
        return corrupt(r, "out of range:", "one of B, Hk, D and Dv");
    enum fb_status status = fb_problem_finish(p);
    if (status == FB_OK && !(text = fb_problem_print(p)))
        status = fb_fail(FB_NO_MEMORY, "no memory for a problem of %s", r->path);
    if (status == FB_OK && (status = fb_problem_parse(&again, text)) == FB_OK)
        fb_problem_free(&again);
    free(text);
    if (status != FB_USAGE)
        return status;
    snprintf(why, sizeof why, "%s", fb_status_message());
    fb_status_clear();
    return fb_fail(FB_CORRUPT, "%s: group %s: %s", r->path, r->name, why);
}

/* The slopes stand in the problem and, for variants, in args. */
static enum fb_status read_alibi(const struct reader *r)
{
    struct fb_problem *p = &r->to->problem;
    int64_t on = 0;
    FB_TRY(read_attribute(r, "alibi", H5T_NATIVE_INT64, &on));
    if (!on)
        return FB_OK;
    const int64_t shape[4] = {1, p->h, 1, 1};
    FB_TRY(read_input(r, "alibi_slopes", 1, shape, &r->to->args.alibi));
    p->alibi = FB_ALIBI_LIST;
    p->alibi_slopes = malloc((size_t)p->h * sizeof *p->alibi_slopes);
    if (!p->alibi_slopes)
        return fb_fail(FB_NO_MEMORY, "no memory for the slopes of group %s", r->name);
    for (int64_t h = 0; h < p->h; h++)
        p->alibi_slopes[h] = ((const float *)r->to->args.alibi.data)[h];
    return FB_OK;
}

/* The shape of the dataset says who shares the bias. */
static enum fb_status read_bias(const struct reader *r)
{
    struct fb_problem *p = &r->to->problem;
    if (!has(r, "bias"))
        return FB_OK;
    hid_t dataset = H5Dopen2(r->group, "bias", H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    hsize_t found[4] = {0};
    if (H5Sget_simple_extent_ndims(space) == 4)
        H5Sget_simple_extent_dims(space, found, NULL);
    H5Sclose(space);
    H5Dclose(dataset);
    const int64_t shape[4] = {found[0] == 1 ? 1 : p->b, found[1] == 1 ? 1 : p->h, p->nq, p->nk};
    bool every_b = shape[0] == p->b, every_h = shape[1] == p->h;
    p->bias =
        every_b ? (every_h ? FB_BIAS_FULL : FB_BIAS_BATCH) : (every_h ? FB_BIAS_HEAD : FB_BIAS_ALL);
    FB_TRY(read_input(r, "bias", 4, shape, &r->to->args.bias));
    return read_output(r, "dbias", 4, shape, &r->to->dbias);
}

static enum fb_status read_tensors(const struct reader *r)
{
    struct fb_golden_case *to = r->to;
    const struct fb_problem *p = &to->problem;
    const int64_t q[4] = {p->b, p->h, p->nq, p->d}, o[4] = {p->b, p->h, p->nq, p->dv};
    const int64_t k[4] = {p->b, p->hk, p->nk, p->d}, v[4] = {p->b, p->hk, p->nk, p->dv};
    const int64_t row[4] = {p->b, p->h, p->nq, 1}, head[4] = {1, p->h, 1, 1};
    const int64_t keep[4] = {p->b, p->h, p->nq, p->nk};
    FB_TRY(read_input(r, "q", 4, q, &to->args.q));
    FB_TRY(read_input(r, "k", 4, k, &to->args.k));
    FB_TRY(read_input(r, "v", 4, v, &to->args.v));
    FB_TRY(read_input(r, "do", 4, o, &to->args.dout));
    FB_TRY(read_output(r, "o", 4, o, &to->o));
    FB_TRY(read_output(r, "lse", 3, row, &to->lse));
    FB_TRY(read_output(r, "dq", 4, q, &to->dq));
    FB_TRY(read_output(r, "dk", 4, k, &to->dk));
    FB_TRY(read_output(r, "dv", 4, v, &to->dv));
    if (p->dlse)
        FB_TRY(read_input(r, "dlse", 3, row, &to->args.dlse));
    if (p->sink) {
        FB_TRY(read_input(r, "sink", 1, head, &to->args.sink));
        FB_TRY(read_output(r, "dsink", 1, head, &to->dsink));
    }
    if (p->dropout > 0) {
        void *mask = NULL;
        FB_TRY(read_dataset(r, "keep", 4, keep, H5T_NATIVE_UINT8, 1, &mask));
        to->keep = mask;
    }
    int64_t count = o[0] * o[1] * o[2] * o[3];
    for (int64_t n = 0; n < count; n++)
        to->dout_max = fmax(to->dout_max, fabs((double)((const float *)to->args.dout.data)[n]));
    return FB_OK;
}

enum fb_status fb_golden_read(struct fb_golden *golden, size_t index, struct fb_golden_case *one)
{
    enum fb_status status = FB_OK;
    memset(one, 0, sizeof *one);
    if (index >= golden->count)
        return fb_fail(FB_INTERNAL, "%s: no group %zu", golden->path, index);
    struct reader r = {.path = golden->path, .name = golden->names[index], .to = one};
    r.group = H5Gopen2(golden->file, r.name, H5P_DEFAULT);
    if (r.group < 0)
        return fb_fail(FB_CORRUPT, "%s: %s is not a group", golden->path, r.name);
    one->name = strdup(r.name);
    if (!one->name) {
        status = fb_fail(FB_NO_MEMORY, "no memory to read group %s", r.name);
        goto out;
    }
    FB_TRY_OUT(read_problem(&r));
    FB_TRY_OUT(read_alibi(&r));
    FB_TRY_OUT(read_bias(&r));
    FB_TRY_OUT(finish_problem(&r));
    FB_TRY_OUT(read_tensors(&r));
    one->args.problem = &one->problem;
out:
    H5Gclose(r.group);
    if (status != FB_OK)
        fb_golden_case_free(one);
    return status;
}

void fb_golden_case_free(struct fb_golden_case *one)
{
    struct fb_args *a = &one->args;
    struct fb_tensor *inputs[] = {&a->q,    &a->k,    &a->v,    &a->dout,
                                  &a->dlse, &a->bias, &a->sink, &a->alibi};
    double *outputs[] = {one->o, one->lse, one->dq, one->dk, one->dv, one->dbias, one->dsink};
    for (size_t n = 0; n < sizeof inputs / sizeof *inputs; n++)
        free(inputs[n]->data);
    for (size_t n = 0; n < sizeof outputs / sizeof *outputs; n++)
        free(outputs[n]);
    free(one->keep);
    free(one->name);
    fb_problem_free(&one->problem);
    memset(one, 0, sizeof *one);
}
