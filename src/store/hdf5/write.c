/* SPDX-License-Identifier: BSD-3-Clause
 *
 * write.c: results as the bytes of an HDF5 file. Columns are one-dimensional datasets over the
 * dimension scale `case`, so that h5py, xarray, ncdump and Octave see named axes. Only numbered
 * functions of the library are called, since the unnumbered ones change their meaning with its
 * configuration.
 *
 * A function here returns a negative number when the library failed; ids that are not valid are
 * never closed. The caller makes the one line for the user.
 */
#include "store/columns.h"
#include "store/hdf5/write.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/clock.h"
#include "core/status.h"

#define CHUNK_ROWS 1024
#define CHUNK_SAMPLES 256
#define DEFLATE 4

/* The file being written and what every column needs. */
struct sink {
    const struct fb_results *results;
    hid_t group;                    /* /results */
    hid_t case_scale, sample_scale; /* its dimension scales */
    hsize_t cases, samples;
};

static hid_t text_type(size_t width, H5T_cset_t charset)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0)
        return type;
    if (H5Tset_size(type, width) < 0 || H5Tset_cset(type, charset) < 0 ||
        H5Tset_strpad(type, width == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD) < 0) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* A variable-length UTF-8 attribute, which h5py reads as str. */
static herr_t put_attribute(hid_t object, const char *name, const char *value)
{
    herr_t result = -1;
    hid_t type = text_type(H5T_VARIABLE, H5T_CSET_UTF8);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        result = H5Awrite(attribute, type, &value);
        if (H5Aclose(attribute) < 0)
            result = -1;
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return result;
}

static herr_t put_number(hid_t object, const char *name, int value)
{
    herr_t result = -1;
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        result = H5Awrite(attribute, H5T_NATIVE_INT, &value);
        if (H5Aclose(attribute) < 0)
            result = -1;
    }
    if (space >= 0)
        H5Sclose(space);
    return result;
}

static hid_t make_group(hid_t parent, const char *name)
{
    hid_t list = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = -1;
    if (H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0)
        group = H5Gcreate2(parent, name, H5P_DEFAULT, list, H5P_DEFAULT);
    if (list >= 0)
        H5Pclose(list);
    return group;
}

/* ---- Datasets ---------------------------------------------------------------------------------
 */

/* Compressed and checksummed chunks, never larger than the data; nothing of that for no data. */
static hid_t layout_of(int rank, const hsize_t *extent)
{
    hsize_t chunk[2] = {CHUNK_ROWS, CHUNK_SAMPLES};
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    bool bad = H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) < 0;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= extent[i] == 0;
        if (chunk[i] > extent[i])
            chunk[i] = extent[i];
    }
    if (!empty)
        bad |= H5Pset_chunk(list, rank, chunk) < 0 || H5Pset_shuffle(list) < 0 ||
               H5Pset_deflate(list, DEFLATE) < 0 || H5Pset_fletcher32(list) < 0;
    if (bad && list >= 0) {
        H5Pclose(list);
        return -1;
    }
    return list;
}

static hid_t make_dataset(hid_t group, const char *name, hid_t type, int rank,
                          const hsize_t *extent)
{
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t list = layout_of(rank, extent);
    hid_t dataset = -1;
    if (space >= 0 && list >= 0)
        dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    return dataset;
}

static hid_t make_scale(hid_t group, const char *name, const char *meaning, hsize_t extent)
{
    int32_t *numbers = malloc((extent + 1) * sizeof *numbers);
    hid_t dataset = -1;
    if (!numbers)
        return -1;
    for (hsize_t i = 0; i < extent; i++)
        numbers[i] = (int32_t)i;
    dataset = make_dataset(group, name, H5T_STD_I32LE, 1, &extent);
    if (dataset >= 0 &&
        ((extent &&
          H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) < 0) ||
         H5DSset_scale(dataset, name) < 0 || put_attribute(dataset, "long_name", meaning) < 0)) {
        H5Dclose(dataset);
        dataset = -1;
    }
    free(numbers);
    return dataset;
}

/* Writes a whole dataset with its dimensions, units and meaning. */
static herr_t put_dataset(const struct sink *sink, const char *name, int rank, hid_t file_type,
                          hid_t memory_type, const void *data, const char *unit,
                          const char *meaning)
{
    const hsize_t extent[2] = {sink->cases, sink->samples};
    hid_t dataset = make_dataset(sink->group, name, file_type, rank, extent);
    herr_t result = 0;
    if (dataset < 0)
        return -1;
    if (sink->cases && (rank == 1 || sink->samples))
        result = H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    if (result < 0 || H5DSattach_scale(dataset, sink->case_scale, 0) < 0 ||
        (rank == 2 && H5DSattach_scale(dataset, sink->sample_scale, 1) < 0) ||
        put_attribute(dataset, "long_name", meaning) < 0 ||
        (*unit && put_attribute(dataset, "units", unit) < 0))
        result = -1;
    return H5Dclose(dataset) < 0 ? -1 : result;
}

/* Fixed-length ASCII, as wide as the longest; a byte that is not ASCII becomes '?'. */
static herr_t put_text_column(const struct sink *sink, const struct fb_column *column,
                              const char *meaning)
{
    char room[FB_SET_TEXT];
    size_t width = 1;
    herr_t result = -1;
    for (hsize_t i = 0; i < sink->cases; i++) {
        size_t length = strlen(fb_column_text(column, &sink->results->records[i], room));
        width = length > width ? length : width;
    }
    char *data = calloc(sink->cases + 1, width);
    hid_t type = text_type(width, H5T_CSET_ASCII);
    if (data && type >= 0) {
        for (hsize_t i = 0; i < sink->cases; i++) {
            const char *text = fb_column_text(column, &sink->results->records[i], room);
            for (size_t at = 0; text[at]; at++)
                data[i * width + at] = (unsigned char)text[at] < 0x80 ? text[at] : '?';
        }
        result = put_dataset(sink, column->name, 1, type, type, data, "", meaning);
    }
    if (type >= 0)
        H5Tclose(type);
    free(data);
    return result;
}

static herr_t put_number_column(const struct sink *sink, const struct fb_column *column,
                                const char *meaning)
{
    hid_t file_type = column->kind == FB_KIND_INT    ? H5T_STD_I64LE
                      : column->kind == FB_KIND_UINT ? H5T_STD_U64LE
                                                     : H5T_IEEE_F64LE;
    hid_t memory_type = column->kind == FB_KIND_INT    ? H5T_NATIVE_INT64
                        : column->kind == FB_KIND_UINT ? H5T_NATIVE_UINT64
                                                       : H5T_NATIVE_DOUBLE;
    char *data = malloc((sink->cases + 1) * 8); /* every number kind has 8 bytes */
    if (!data)
        return -1;
    for (hsize_t i = 0; i < sink->cases; i++)
        memcpy(data + 8 * i, (const char *)&sink->results->records[i] + column->offset, 8);
    herr_t result =
        put_dataset(sink, column->name, 1, file_type, memory_type, data, column->unit, meaning);
    free(data);
    return result;
}

static herr_t put_column(const struct sink *sink, const struct fb_column *column)
{
    char meaning[400];
    snprintf(meaning, sizeof meaning, "%s%s%s", column->family ? column->family : "",
             column->family ? ": " : "", column->text);
    if (fb_column_is_text(column))
        return put_text_column(sink, column, meaning);
    return put_number_column(sink, column, meaning);
}

/* [case, sample], NaN where a case has fewer samples than the longest. */
static herr_t put_samples(const struct sink *sink, const char *name, const char *meaning,
                          bool backward)
{
    size_t width = sink->samples;
    double *data = malloc((sink->cases * width + 1) * sizeof *data);
    if (!data)
        return -1;
    for (hsize_t i = 0; i < sink->cases; i++) {
        const struct fb_record *record = &sink->results->records[i];
        const struct fb_pass_result *pass = backward ? &record->bwd : &record->fwd;
        for (size_t at = 0; at < width; at++)
            data[i * width + at] = at < pass->sample_count ? pass->samples[at] : NAN;
    }
    herr_t result =
        put_dataset(sink, name, 2, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, data, "ms", meaning);
    free(data);
    return result;
}

/* ---- The file ---------------------------------------------------------------------------------
 */

static herr_t put_results(struct sink *sink, hid_t file)
{
    herr_t result = 0;
    sink->case_scale = sink->sample_scale = -1;
    sink->group = make_group(file, "results");
    if (sink->group >= 0)
        sink->case_scale = make_scale(sink->group, "case", "case number", sink->cases);
    if (sink->case_scale >= 0)
        sink->sample_scale = make_scale(sink->group, "sample", "sample number", sink->samples);
    if (sink->sample_scale < 0)
        result = -1;
    for (size_t i = 0; i < fb_column_count && result >= 0; i++)
        result = put_column(sink, &fb_columns[i]);
    if (result >= 0)
        result = put_samples(sink, "fwd_ms_samples", "forward, every sample, NaN padded", false);
    if (result >= 0)
        result = put_samples(sink, "bwd_ms_samples", "backward, every sample, NaN padded", true);
    if (sink->sample_scale >= 0)
        H5Dclose(sink->sample_scale);
    if (sink->case_scale >= 0)
        H5Dclose(sink->case_scale);
    if (sink->group >= 0)
        H5Gclose(sink->group);
    return result;
}

static herr_t put_facts(hid_t group, const struct fb_run *run)
{
    for (size_t i = 0; i < run->fact_count; i++)
        if (put_attribute(group, run->facts[i].name, fb_text(run->facts[i].value)) < 0)
            return -1;
    return 0;
}

/* The first run is /run; the i-th after it is /run/<i>. */
static herr_t put_runs(const struct fb_results *results, hid_t file)
{
    hid_t group = make_group(file, "run");
    herr_t result = -1;
    if (group < 0)
        return -1;
    if (!results->run_count || put_facts(group, &results->runs[0]) >= 0)
        result = 0;
    for (size_t i = 1; i < results->run_count && result >= 0; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        hid_t further = make_group(group, name);
        result = further < 0 ? -1 : put_facts(further, &results->runs[i]);
        if (further >= 0)
            H5Gclose(further);
    }
    H5Gclose(group);
    return result;
}

static herr_t put_root(const struct fb_results *results, hid_t file)
{
    const struct fb_run none = {0};
    const struct fb_run *run = results->run_count ? &results->runs[0] : &none;
    char history[1024], now[FB_CLOCK_STAMP];
    fb_clock_stamp(now);
    snprintf(history, sizeof history, "%s: %s", now, fb_run_get(run, "argv"));
    const char *title = fb_run_get(run, "question");
    if (put_attribute(file, "Conventions", "CF-1.10") < 0 ||
        put_attribute(file, "title", *title ? title : "backward pass of attention") < 0 ||
        put_attribute(file, "source", fb_run_get(run, "git_describe")) < 0 ||
        put_attribute(file, "history", history) < 0 || put_attribute(file, "created", now) < 0 ||
        put_attribute(file, "schema_name", FB_SCHEMA_NAME) < 0)
        return -1;
    return put_number(file, "schema_version", FB_SCHEMA_VERSION);
}

/* A file in memory, never on disk: HDF5 1.10 crashes at exit when a disk fills up under it, so the
 * bytes are fetched and written by us. (The library's default format only: 1.10.8 gives images of
 * the later ones a wrong checksum.) The small B-tree nodes suit datasets of few chunks; the default
 * costs 2 kB a column. */
static hid_t create_file(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;
    if (H5Pset_fapl_core(access, 1 << 20, false) >= 0 && H5Pset_istore_k(creation, 2) >= 0 &&
        H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0)
        file = H5Fcreate("flashback.h5", H5F_ACC_TRUNC, creation, access);
    if (access >= 0)
        H5Pclose(access);
    if (creation >= 0)
        H5Pclose(creation);
    return file;
}

static hsize_t most_samples(const struct fb_results *results)
{
    size_t most = 0;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *record = &results->records[i];
        if (record->fwd.sample_count > most)
            most = record->fwd.sample_count;
        if (record->bwd.sample_count > most)
            most = record->bwd.sample_count;
    }
    return most;
}

/* The bytes of the file (malloc'd), NULL when the library failed. */
static char *take_image(hid_t file, size_t *length)
{
    ssize_t size = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    if (bytes && H5Fget_file_image(file, bytes, (size_t)size) != size) {
        free(bytes);
        bytes = NULL;
    }
    *length = bytes ? (size_t)size : 0;
    return bytes;
}

enum fb_status fb_hdf5_image(const struct fb_results *results, char **bytes, size_t *length)
{
    struct sink sink = {
        .results = results, .cases = results->record_count, .samples = most_samples(results)};
    *bytes = NULL;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = create_file();
    if (file >= 0) {
        if (put_root(results, file) >= 0 && put_runs(results, file) >= 0 &&
            put_results(&sink, file) >= 0)
            *bytes = take_image(file, length);
        H5Fclose(file);
    }
    if (!*bytes)
        return fb_fail(FB_NO_MEMORY, "the HDF5 library could not hold %zu records in memory",
                       results->record_count);
    return FB_OK;
}
