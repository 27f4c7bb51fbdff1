/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inputs from HDF5 files: every floating-point type, both layouts, groups, packed lengths, optional
 * tensors; and what is said when a file does not fit.
 */
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/buffers.h"
#include "cases/case.h"
#include "measure/memory_host.h"
#include "tests/tap.h"
#include "work/fill.h"

static char folder[] = "/tmp/flashback-input-XXXXXX";
static char path[64];
static hid_t file;

/* ---- Writing files ------------------------------------------------------------------------------
 */

static void begin(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

/* Element e of a dataset is base + e / 8: exact in all types for the sizes used here. */
static void put(hid_t where, const char *name, hid_t type, int rank, const hsize_t *extent,
                double base)
{
    hsize_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= extent[i];
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    for (hsize_t e = 0; e < count; e++)
        values[e] = base + (double)e / 8;
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t dataset = H5Dcreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    H5Sclose(space);
    free(values);
}

/* A float of 16 bits: fp16 with 10 bits of fraction, bf16 with 7. */
static hid_t half_type(size_t fraction)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, fraction, 15 - fraction, 0, fraction);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, fraction == 10 ? 15 : 127);
    return type;
}

/* q, k, v and dout for b=1, h=2, hk=1, nq=3, nk=2, d=4, dv=4 in bhnd order. */
static void put_four(hid_t where, hid_t type)
{
    put(where, "q", type, 4, (hsize_t[]){1, 2, 3, 4}, 0);
    put(where, "k", type, 4, (hsize_t[]){1, 1, 2, 4}, 4);
    put(where, "v", type, 4, (hsize_t[]){1, 1, 2, 4}, 8);
    put(where, "dout", type, 4, (hsize_t[]){1, 2, 3, 4}, 12);
}

/* ---- Reading them -------------------------------------------------------------------------------
 */

static struct fb_problem problem;
static struct fb_buffers buffers;
static uint8_t *keep;

/* Fills buffers of the problem from the file; gives the status. */
static enum fb_status fill(const char *text, const char *recipe)
{
    const struct fb_buffers_options plain = {0};
    keep = NULL;
    fb_problem_parse(&problem, text);
    fb_buffers_make(&buffers, &fb_memory_host, &problem, &fb_numerics_standard, &plain);
    struct fb_source source;
    struct fb_filled filled = {.keep = NULL};
    enum fb_status status = fb_source_parse(&source, recipe);
    if (status != FB_OK)
        return status;
    status = fb_source_check(&source, &problem);
    if (status == FB_OK)
        status = fb_fill(&source, &buffers.args, &filled);
    keep = filled.keep;
    fb_source_free(&source);
    return status;
}

static void release(void)
{
    fb_buffers_free(&buffers);
    fb_problem_free(&problem);
    free(keep);
    fb_status_clear();
}

static double at(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n, int64_t c)
{
    return fb_element_read(t->data, t->dtype, fb_tensor_offset(t, b, h, n, c));
}

static const char *recipe_of(const char *rest)
{
    static char text[128];
    snprintf(text, sizeof text, "file:%s%s", path, rest);
    return text;
}

static const char plain[] = "h=2,hk=1,nq=3,nk=2,d=4";

static void test_types(void)
{
    const struct {
        const char *name;
        hid_t type;
    } types[] = {{"fp16", half_type(10)},
                 {"bf16", half_type(7)},
                 {"fp32", H5T_IEEE_F32LE},
                 {"fp32, big-endian", H5T_IEEE_F32BE},
                 {"fp64", H5T_IEEE_F64LE}};
    for (int t = 0; t < 5; t++) {
        begin("types.h5");
        put_four(file, types[t].type);
        H5Fclose(file);
        bool good = fill(plain, recipe_of("")) == FB_OK;
        good = good && at(&buffers.args.q, 0, 1, 2, 3) == 23 / 8.0 &&
               at(&buffers.args.k, 0, 0, 1, 0) == 4.5 && at(&buffers.args.v, 0, 0, 0, 1) == 8.125 &&
               at(&buffers.args.dout, 0, 0, 1, 1) == 12.625;
        tap_ok(good, "a file of %s is read: %s", types[t].name, good ? "" : fb_status_message());
        release();
    }
}

static void test_layouts(void)
{
    begin("layouts.h5");
    hid_t group = H5Gcreate2(file, "layer7", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(group, "q", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 3, 2, 4}, 0);
    put(group, "k", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 2, 1, 4}, 4);
    put(group, "v", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 2, 1, 4}, 8);
    put(group, "dout", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 3, 2, 4}, 12);
    put(group, "dlse", H5T_IEEE_F32LE, 3, (hsize_t[]){1, 3, 2}, 1);
    put(group, "bias", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 2, 3, 2}, 2);
    put(group, "sink", H5T_IEEE_F32LE, 1, (hsize_t[]){2}, 3);
    put(group, "keep", H5T_STD_U8LE, 4, (hsize_t[]){1, 2, 3, 2}, 0.9);
    H5Gclose(group);
    H5Fclose(file);
    bool good = fill("h=2,hk=1,nq=3,nk=2,d=4,dlse,sink,bias=head,alibi=auto,dropout=0.5@0:0,"
                     "dtype=bf16,layout=bnhd",
                     recipe_of("#layer7@bnhd")) == FB_OK;
    const struct fb_args *a = &buffers.args;
    good = good && at(&a->q, 0, 1, 2, 3) == 23 / 8.0 && at(&a->q, 0, 1, 0, 0) == 0.5 &&
           at(&a->dlse, 0, 1, 2, 0) == 1.625 && at(&a->bias, 0, 1, 2, 0) == 3.25 &&
           at(&a->sink, 0, 1, 0, 0) == 3.125 && at(&a->alibi, 0, 1, 0, 0) == 0x1p-8;
    good = good && keep && !keep[0] && keep[1] == 1 && keep[11] == 1;
    tap_ok(good, "bnhd from a group, with all optional tensors: %s", fb_status_message());
    release();
}

/* Packed lengths: rows of all sequences in one dimension, the batch may be left out. */
static void test_packed(void)
{
    begin("packed.h5");
    put(file, "q", H5T_IEEE_F32LE, 3, (hsize_t[]){5, 2, 4}, 0);
    put(file, "k", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 7, 2, 4}, 0);
    put(file, "v", H5T_IEEE_F32LE, 3, (hsize_t[]){7, 2, 4}, 0);
    put(file, "dout", H5T_IEEE_F32LE, 3, (hsize_t[]){5, 2, 4}, 0);
    H5Fclose(file);
    bool good = fill("h=2,qlens=2+0+3,klens=3+1+3,d=4", recipe_of("@bnhd")) == FB_OK;
    good = good && at(&buffers.args.q, 0, 1, 4, 3) == 39 / 8.0 &&
           at(&buffers.args.k, 0, 0, 6, 0) == 48 / 8.0;
    tap_ok(good, "packed lengths: %s", fb_status_message());
    release();
}

static void check_refused(const char *text, const char *recipe, enum fb_status want,
                          const char *part)
{
    enum fb_status status = fill(text, recipe);
    tap_ok(status == want && strstr(fb_status_message(), part), "%s: %s", part,
           fb_status_message());
    release();
}

static void test_refusals(void)
{
    begin("refused.h5");
    put_four(file, H5T_IEEE_F64LE);
    hid_t group = H5Gcreate2(file, "far", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(group, "q", H5T_IEEE_F64LE, 4, (hsize_t[]){1, 2, 3, 4}, 70000);
    put(group, "k", H5T_STD_I16LE, 4, (hsize_t[]){1, 1, 2, 4}, 4);
    H5Gclose(group);
    group = H5Gcreate2(file, "nan", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_four(group, H5T_IEEE_F32LE);
    H5Ldelete(group, "v", H5P_DEFAULT);
    put(group, "v", H5T_IEEE_F32LE, 4, (hsize_t[]){1, 1, 2, 4}, NAN);
    H5Gclose(group);
    group = H5Gcreate2(file, "large", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_four(group, H5T_IEEE_F64LE);
    H5Ldelete(group, "q", H5P_DEFAULT);
    put(group, "q", H5T_IEEE_F64LE, 4, (hsize_t[]){1, 2, 3, 4}, 70000);
    H5Gclose(group);
    H5Fclose(file);
    check_refused("h=2,hk=1,nq=5,nk=2,d=4", recipe_of(""), FB_USAGE,
                  "q is [1, 2, 3, 4], the problem wants [1, 2, 5, 4]");
    check_refused("h=3,hk=1,nq=2,nk=2,d=4", recipe_of(""), FB_USAGE,
                  "@bnhd reads it the other way");
    check_refused("h=2,hk=1,nq=3,nk=2,d=4,sink", recipe_of(""), FB_USAGE, "has no dataset 'sink'");
    check_refused(plain, recipe_of("#none"), FB_USAGE, "has no group 'none'");
    check_refused(plain, recipe_of("#far"), FB_USAGE, "k holds integers; allowed: floating-point");
    check_refused(plain, recipe_of("#nan"), FB_REFUSED, "v[0,0,0,0] of the file is nan");
    check_refused("h=2,hk=1,nq=3,nk=2,d=4,dtype=fp16", recipe_of("#large"), FB_REFUSED,
                  "q[0,0,0,0] of the file is 70000: not finite in fp16");
    check_refused(plain, recipe_of("@hbnd"), FB_USAGE, "layout 'hbnd' is not one of bhnd, bnhd");
    check_refused(plain, "file:/nonexistent/x.h5", FB_IO, "cannot be opened");
    check_refused(plain, "file:", FB_USAGE, "is not file:PATH");
    check_refused(plain, "file:/tmp/\xc3\xbc.h5", FB_USAGE, "is not of printable ASCII");
    check_refused(plain, "file:/tmp/x.h5#\xff", FB_USAGE, "is not of printable ASCII");
    check_refused("h=2,hk=1,nq=3,nk=2,d=4,layout=expanded-dout", recipe_of(""), FB_USAGE,
                  "layout=expanded-dout");
}

/* q in one compressed chunk. */
static void put_compressed(hid_t where)
{
    static const hsize_t extent[] = {1, 2, 3, 4};
    float values[24];
    for (int e = 0; e < 24; e++)
        values[e] = (float)e / 8;
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(4, extent, NULL);
    H5Pset_chunk(plist, 4, extent);
    H5Pset_deflate(plist, 4);
    hid_t dataset = H5Dcreate2(where, "q", H5T_IEEE_F32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(plist);
}

/* Turns over the bytes behind the first zlib header of the file at path; false without one. */
static bool damage(void)
{
    static const unsigned char header[] = {0x78, 0x5e};
    static unsigned char bytes[1 << 16];
    FILE *stream = fopen(path, "r+b");
    size_t length = stream ? fread(bytes, 1, sizeof bytes, stream) : 0;
    unsigned char *at = memmem(bytes, length, header, sizeof header);
    for (int i = 2; at && i < 20; i++)
        at[i] ^= 0x5a;
    bool done = at && !fseek(stream, 0, SEEK_SET) && fwrite(bytes, 1, length, stream) == length;
    if (stream)
        fclose(stream);
    return done;
}

static void test_compressed(void)
{
    if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0) {
        tap_skip("HDF5 without zlib");
        return;
    }
    begin("packed.h5");
    put_four(file, H5T_IEEE_F32LE);
    H5Ldelete(file, "q", H5P_DEFAULT);
    put_compressed(file);
    H5Fclose(file);
    tap_ok(fill(plain, recipe_of("")) == FB_OK && at(&buffers.args.q, 0, 1, 2, 3) == 23 / 8.0,
           "a compressed dataset: %s", fb_status_message());
    release();
    if (tap_ok(damage(), "... has a zlib header"))
        check_refused(plain, recipe_of(""), FB_CORRUPT, "q cannot be read");
}

/* What would be waited for, or is no file. */
static void test_no_files(void)
{
    char recipe[128];
    snprintf(path, sizeof path, "%s/fifo", folder);
    if (!mkfifo(path, 0600))
        check_refused(plain, recipe_of(""), FB_IO, "not a regular file");
    unlink(path);
    snprintf(recipe, sizeof recipe, "file:%s", folder);
    check_refused(plain, recipe, FB_IO, "not a regular file");
}

/* A case whose file does not fit is refused when it is made, before anything runs. */
static void test_case(void)
{
    struct fb_case one;
    tap_ok(fb_case_parse(&one, "cpu-split", plain, "", recipe_of(""), 0) == FB_OK &&
               !strcmp(one.recipe, recipe_of("")),
           "a case with a file");
    fb_case_free(&one);
    tap_ok(fb_case_parse(&one, "cpu-split", "n=9,d=4", "", recipe_of(""), 0) == FB_USAGE,
           "a case whose file does not fit: %s", fb_status_message());
    fb_status_clear();
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    test_types();
    test_layouts();
    test_packed();
    test_refusals();
    test_case();
    test_compressed();
    test_no_files();
    static const char *const names[] = {"types.h5", "layouts.h5", "packed.h5", "refused.h5"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    return tap_done();
}
