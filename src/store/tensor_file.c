/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor_file.c: HDF5 converts any floating-point type of a file to double, which no value of a
 * narrower type loses anything by.
 */
#include "store/tensor_file.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "store/files.h"

struct fb_tensor_file {
    hid_t file, group;
    char *path;
};

static enum fb_status open_file(struct fb_tensor_file *f, const char *group)
{
    FB_TRY(fb_file_check_input(f->path));
    f->file = H5Fopen(f->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f->file < 0)
        return fb_fail(FB_CORRUPT, "%s: not an HDF5 file, or a damaged one", f->path);
    f->group = H5Gopen2(f->file, *group ? group : "/", H5P_DEFAULT);
    if (f->group < 0)
        return fb_fail(FB_USAGE, "%s: has no group '%s'", f->path, group);
    return FB_OK;
}

enum fb_status fb_tensor_file_open(struct fb_tensor_file **out, const char *path, const char *group)
{
    struct fb_tensor_file *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f || !(f->path = strdup(path))) {
        free(f);
        return fb_fail(FB_NO_MEMORY, "no memory to open %s", path);
    }
    f->file = f->group = -1;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    enum fb_status status = open_file(f, group);
    if (status != FB_OK)
        fb_tensor_file_close(f);
    else
        *out = f;
    return status;
}

void fb_tensor_file_close(struct fb_tensor_file *f)
{
    if (!f)
        return;
    if (f->group >= 0)
        H5Gclose(f->group);
    if (f->file >= 0)
        H5Fclose(f->file);
    free(f->path);
    free(f);
}

bool fb_tensor_file_has(const struct fb_tensor_file *f, const char *name)
{
    return H5Lexists(f->group, name, H5P_DEFAULT) > 0;
}

static enum fb_status open_dataset(const struct fb_tensor_file *f, const char *name, hid_t *dataset)
{
    *dataset = fb_tensor_file_has(f, name) ? H5Dopen2(f->group, name, H5P_DEFAULT) : -1;
    return *dataset < 0 ? fb_fail(FB_USAGE, "%s: has no dataset '%s'", f->path, name) : FB_OK;
}

static enum fb_status check_type(const struct fb_tensor_file *f, const char *name, hid_t dataset,
                                 bool integers)
{
    hid_t type = H5Dget_type(dataset);
    H5T_class_t class = H5Tget_class(type);
    H5Tclose(type);
    if (class == H5T_FLOAT || (integers && (class == H5T_INTEGER || class == H5T_ENUM)))
        return FB_OK;
    return fb_fail(FB_USAGE, "%s: %s holds %s; allowed: %s (bf16 can be saved as fp32)", f->path,
                   name, class == H5T_INTEGER ? "integers" : "no plain numbers",
                   integers ? "numbers" : "floating-point numbers");
}

enum fb_status fb_tensor_file_shape(const struct fb_tensor_file *f, const char *name, bool integers,
                                    int *rank, int64_t extent[FB_TENSOR_FILE_RANK])
{
    enum fb_status status;
    hid_t dataset, space = -1;
    hsize_t found[FB_TENSOR_FILE_RANK] = {0};
    FB_TRY(open_dataset(f, name, &dataset));
    FB_TRY_OUT(check_type(f, name, dataset, integers));
    space = H5Dget_space(dataset);
    *rank = H5Sget_simple_extent_ndims(space);
    if (*rank < 1 || *rank > FB_TENSOR_FILE_RANK) {
        status = fb_fail(FB_USAGE, "%s: %s has %d dimensions; allowed: 1..%d", f->path, name, *rank,
                         FB_TENSOR_FILE_RANK);
        goto out;
    }
    H5Sget_simple_extent_dims(space, found, NULL);
    for (int i = 0; i < *rank; i++)
        extent[i] = (int64_t)found[i];
out:
    if (space >= 0)
        H5Sclose(space);
    H5Dclose(dataset);
    return status;
}

/* An enumeration (h5py's bool) has no conversion to double; its bytes have. */
static hid_t plain_type(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset);
    if (H5Tget_class(type) != H5T_ENUM)
        return type;
    hid_t base = H5Tget_super(type);
    H5Tclose(type);
    return base;
}

static enum fb_status read_values(const struct fb_tensor_file *f, const char *name, hid_t dataset,
                                  hssize_t count, double *values)
{
    hid_t type = plain_type(dataset);
    size_t size = H5Tget_size(type);
    bool is_float = H5Tget_class(type) == H5T_FLOAT;
    bool good = H5Dread(dataset, is_float ? H5T_NATIVE_DOUBLE : type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                        values) >= 0;
    /* What is stored as integers was read as it is, into the beginning of the array. */
    good = good && (is_float ||
                    (size <= sizeof(double) && H5Tconvert(type, H5T_NATIVE_DOUBLE, (size_t)count,
                                                          values, NULL, H5P_DEFAULT) >= 0));
    H5Tclose(type);
    return good ? FB_OK : fb_fail(FB_CORRUPT, "%s: %s cannot be read", f->path, name);
}

enum fb_status fb_tensor_file_read(const struct fb_tensor_file *f, const char *name,
                                   double **values)
{
    enum fb_status status = FB_OK;
    hid_t dataset;
    *values = NULL;
    FB_TRY(open_dataset(f, name, &dataset));
    hid_t space = H5Dget_space(dataset);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    *values = malloc(((size_t)count + 1) * sizeof **values);
    if (!*values)
        status = fb_fail(FB_NO_MEMORY, "no memory for %s of %s", name, f->path);
    else if (count > 0)
        status = read_values(f, name, dataset, count, *values);
    H5Dclose(dataset);
    if (status != FB_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}
