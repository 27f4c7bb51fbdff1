/* SPDX-License-Identifier: BSD-3-Clause
 *
 * read.c: an HDF5 file as results. Columns that the file lacks stay missing, so that files of
 * an earlier schema can be read; columns that this program does not know are left alone.
 */
#include "store/hdf5/read.h"

#include <errno.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "store/columns.h"
#include "store/files.h"

static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

enum fb_status fb_hdf5_recognise(const char *path, bool *is_hdf5)
{
    unsigned char start[sizeof signature];
    FB_TRY(fb_file_check_input(path));
    FILE *file = fopen(path, "rb");
    if (!file)
        return fb_fail(FB_IO, "cannot open %s: %s", path, strerror(errno));
    size_t got = fread(start, 1, sizeof start, file);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return fb_fail(FB_IO, "cannot read %s: %s", path, strerror(failed));
    *is_hdf5 = got == sizeof start && !memcmp(start, signature, sizeof start);
    return FB_OK;
}

/* ---- Attributes -------------------------------------------------------------------------------
 */

/* A text attribute, of variable or fixed length, as a malloc'd string; NULL if it is none. */
static char *attribute_text(hid_t object, const char *name)
{
    char *text = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1) {
        if (H5Tis_variable_str(type) > 0) {
            char *held = NULL;
            if (H5Aread(attribute, type, &held) >= 0 && held) {
                text = strdup(held);
                H5free_memory(held);
            }
        } else {
            text = calloc(H5Tget_size(type) + 1, 1);
            if (text && H5Aread(attribute, type, text) < 0) {
                free(text);
                text = NULL;
            }
        }
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return text;
}

static int attribute_int(hid_t object, const char *name)
{
    int value = -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return -1;
    hid_t space = H5Aget_space(attribute);
    if (H5Sget_simple_extent_npoints(space) != 1 || H5Aread(attribute, H5T_NATIVE_INT, &value) < 0)
        value = -1;
    H5Sclose(space);
    H5Aclose(attribute);
    return value;
}

static herr_t take_fact(hid_t group, const char *name, const H5A_info_t *info, void *run)
{
    char *value = attribute_text(group, name);
    enum fb_status status = FB_OK;
    (void)info;
    if (value)
        status = fb_run_set(run, name, "%s", value);
    free(value);
    return status == FB_OK ? 0 : -1;
}

static enum fb_status take_run(struct fb_results *results, hid_t file, const char *name)
{
    struct fb_run run;
    hsize_t at = 0;
    hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
    if (group < 0)
        return fb_fail(FB_CORRUPT, "the group /%s is missing or damaged", name);
    fb_run_init(&run);
    herr_t failed = H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &at, take_fact, &run);
    H5Gclose(group);
    enum fb_status status = failed < 0
                                ? fb_fail(FB_CORRUPT, "the attributes of /%s are damaged", name)
                                : fb_results_add_run(results, &run);
    fb_run_free(&run);
    return status;
}

static enum fb_status take_runs(struct fb_results *results, hid_t file)
{
    char name[32] = "run";
    for (int i = 1; H5Lexists(file, name, H5P_DEFAULT) > 0; i++) {
        FB_TRY(take_run(results, file, name));
        snprintf(name, sizeof name, "run/%d", i);
    }
    if (!results->run_count)
        return fb_fail(FB_CORRUPT, "the group /run is missing");
    return FB_OK;
}

/* ---- Columns ----------------------------------------------------------------------------------
 */

/* Reads a whole dataset whose extents must be [cases] or [cases, *samples]; *data is malloc'd,
 * *width the bytes of an element. Texts keep their file type, numbers become memory_type. */
static enum fb_status take_dataset(hid_t group, const char *name, int rank, hsize_t extent[2],
                                   hid_t memory_type, void **data, size_t *width)
{
    enum fb_status status = FB_OK;
    hsize_t found[2] = {1, 1};
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    *data = NULL;
    if (space < 0 || type < 0 || H5Sget_simple_extent_ndims(space) != rank ||
        H5Sget_simple_extent_dims(space, found, NULL) < 0 || found[0] != extent[0])
        FB_TRY_OUT(fb_fail(FB_CORRUPT, "column %s is damaged or has not one value a case", name));
    bool text = memory_type < 0;
    if (text != (H5Tget_class(type) == H5T_STRING) || (text && H5Tis_variable_str(type) > 0))
        FB_TRY_OUT(fb_fail(FB_CORRUPT, "column %s holds another kind of values", name));
    *width = text ? H5Tget_size(type) : H5Tget_size(memory_type);
    if (found[1] && found[0] > SIZE_MAX / *width / found[1] - 1)
        FB_TRY_OUT(fb_fail(FB_CORRUPT, "column %s has impossible extents", name));
    *data = malloc((found[0] * found[1] + 1) * *width);
    if (!*data)
        FB_TRY_OUT(fb_fail(FB_NO_MEMORY, "out of memory for column %s", name));
    if (found[0] && found[1] &&
        H5Dread(dataset, text ? type : memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *data) < 0)
        FB_TRY_OUT(fb_fail(FB_CORRUPT, "column %s is damaged", name));
    extent[1] = found[1];
out:
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (dataset >= 0)
        H5Dclose(dataset);
    return status;
}

/* One of the texts of a dataset, padded with NUL to its width. */
static enum fb_status take_text(struct fb_record *record, const struct fb_column *column,
                                const char *name, const char *value, size_t width)
{
    bool taken;
    char *text = strndup(value, width);
    if (!text)
        return fb_fail(FB_NO_MEMORY, "out of memory for column %s", name);
    enum fb_status status = column ? fb_column_take(column, record, text)
                                   : fb_column_take_old(name, record, text, &taken);
    free(text);
    return status;
}

/* column NULL: a text column of schema 1 that is none any more. */
static enum fb_status take_column(struct fb_results *results, hid_t group,
                                  const struct fb_column *column, const char *name)
{
    hsize_t extent[2] = {results->record_count, 1};
    const hid_t memory_types[FB_KIND_COUNT] = {[FB_KIND_TEXT] = -1,
                                               [FB_KIND_ENUM] = -1,
                                               [FB_KIND_SET] = -1,
                                               [FB_KIND_INT] = H5T_NATIVE_INT64,
                                               [FB_KIND_UINT] = H5T_NATIVE_UINT64,
                                               [FB_KIND_REAL] = H5T_NATIVE_DOUBLE};
    const hid_t memory_type = column ? memory_types[column->kind] : -1;
    void *data;
    size_t width;
    enum fb_status status = take_dataset(group, name, 1, extent, memory_type, &data, &width);
    for (size_t i = 0; i < results->record_count && status == FB_OK; i++) {
        const char *value = (const char *)data + i * width;
        if (memory_type >= 0)
            memcpy(fb_column_slot(column, &results->records[i]), value, width);
        else
            status = take_text(&results->records[i], column, name, value, width);
    }
    free(data);
    return status;
}

static enum fb_status take_columns(struct fb_results *results, hid_t group)
{
    static const char *const old[] = {"status", "verdict"};
    for (size_t i = 0; i < fb_column_count; i++) {
        const char *old_name = fb_column_old_name(&fb_columns[i]);
        if (H5Lexists(group, fb_columns[i].name, H5P_DEFAULT) > 0)
            FB_TRY(take_column(results, group, &fb_columns[i], fb_columns[i].name));
        else if (old_name && H5Lexists(group, old_name, H5P_DEFAULT) > 0)
            FB_TRY(take_column(results, group, &fb_columns[i], old_name));
    }
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (H5Lexists(group, old[i], H5P_DEFAULT) > 0)
            FB_TRY(take_column(results, group, NULL, old[i]));
    return FB_OK;
}

/* The first `count` samples of each row; the rest is padding. */
static enum fb_status take_samples(struct fb_results *results, hid_t group, const char *name,
                                   bool backward)
{
    hsize_t extent[2] = {results->record_count, 0};
    void *data;
    size_t width;
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0)
        return FB_OK;
    enum fb_status status = take_dataset(group, name, 2, extent, H5T_NATIVE_DOUBLE, &data, &width);
    for (size_t i = 0; i < results->record_count && status == FB_OK; i++) {
        struct fb_record *record = &results->records[i];
        const double *row = (const double *)data + i * extent[1];
        size_t count = extent[1];
        while (count && isnan(row[count - 1]))
            count--;
        status = fb_samples_set(backward ? &record->bwd : &record->fwd, row, count);
    }
    free(data);
    return status;
}

/* Empty records, as many as the scale `case` is long. */
static enum fb_status make_records(struct fb_results *results, hid_t group)
{
    hsize_t cases = 0;
    hid_t dataset = H5Dopen2(group, "case", H5P_DEFAULT);
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &cases, NULL) == 1;
    if (space >= 0)
        H5Sclose(space);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (!good || cases > SIZE_MAX / sizeof *results->records - 1)
        return fb_fail(FB_CORRUPT, "/results/case is missing or damaged");
    results->records = malloc((cases + 1) * sizeof *results->records);
    if (!results->records)
        return fb_fail(FB_NO_MEMORY, "out of memory for %llu records", (unsigned long long)cases);
    for (hsize_t i = 0; i < cases; i++)
        fb_record_init(&results->records[i]);
    results->record_count = cases;
    return FB_OK;
}

static enum fb_status take_results(struct fb_results *results, hid_t group)
{
    FB_TRY(make_records(results, group));
    FB_TRY(take_columns(results, group));
    FB_TRY(take_samples(results, group, "fwd_ms_samples", false));
    FB_TRY(take_samples(results, group, "bwd_ms_samples", true));
    for (size_t i = 0; i < results->record_count; i++)
        if (!*fb_text(results->records[i].key))
            return fb_fail(FB_CORRUPT, "case %zu has no key", i);
    return FB_OK;
}

/* ---- The file ---------------------------------------------------------------------------------
 */

static enum fb_status check_schema(hid_t file)
{
    char *name = attribute_text(file, "schema_name");
    bool ours = name && !strcmp(name, FB_SCHEMA_NAME);
    int version = attribute_int(file, "schema_version");
    free(name);
    if (!ours)
        return fb_fail(FB_CORRUPT, "an HDF5 file, but not results of flashback");
    if (version < 1 || version > FB_SCHEMA_VERSION)
        return fb_fail(FB_CORRUPT, "schema version %d, this program reads 1 to %d", version,
                       FB_SCHEMA_VERSION);
    return FB_OK;
}

static enum fb_status take_file(struct fb_results *results, hid_t file)
{
    FB_TRY(check_schema(file));
    FB_TRY(take_runs(results, file));
    hid_t group = H5Gopen2(file, "results", H5P_DEFAULT);
    if (group < 0)
        return fb_fail(FB_CORRUPT, "the group /results is missing or damaged");
    enum fb_status status = take_results(results, group);
    H5Gclose(group);
    return status;
}

static hid_t open_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = -1;
    if (H5Pset_file_locking(access, false, true) >= 0)
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (access >= 0)
        H5Pclose(access);
    return file;
}

enum fb_status fb_hdf5_read(struct fb_results *results, const char *path)
{
    struct fb_results read;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = open_file(path);
    if (file < 0)
        return fb_fail(FB_CORRUPT, "%s is truncated or damaged: HDF5 cannot open it", path);
    fb_results_init(&read);
    enum fb_status status = take_file(&read, file);
    H5Fclose(file);
    if (status == FB_OK)
        status = fb_results_index(&read);
    if (status == FB_OK) {
        *results = read;
        return FB_OK;
    }
    char *why = strdup(fb_status_message());
    fb_status_clear();
    fb_fail(status, "%s: %s", path, fb_text(why));
    free(why);
    fb_results_free(&read);
    return status;
}

void fb_hdf5_library_version(char text[32])
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, 32, "%u.%u.%u", major, minor, release);
}
