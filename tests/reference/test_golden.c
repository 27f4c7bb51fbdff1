/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference against exact gradients from an independent oracle: every tensor of every group of
 * tests/golden/handed.h5 to FB_GOLDEN_TOLERANCE; and what is said of a group that contradicts
 * itself.
 */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "reference/reference.h"
#include "store/golden.h"
#include "tests/tap.h"

/* The largest |x - expected| in units of what is allowed; 2 stands for anything non-finite, and for
 * anything but 0 where the whole expectation is 0. */
static double excess(const double *x, const double *expected, int64_t count, double dout_max)
{
    double largest = 0, worst = 0;
    for (int64_t n = 0; n < count; n++)
        if (isfinite(expected[n]))
            largest = fmax(largest, fabs(expected[n]));
    double allowed = FB_GOLDEN_TOLERANCE * fmax(largest, dout_max);
    for (int64_t n = 0; n < count; n++) {
        if (x[n] == expected[n])
            continue;
        if (!isfinite(x[n]) || !isfinite(expected[n]) || largest == 0)
            return 2;
        worst = fmax(worst, fabs(x[n] - expected[n]) / allowed);
    }
    return worst;
}

static void check_case(const struct fb_golden_case *one)
{
    const struct fb_problem *p = &one->problem;
    struct fb_ref_inputs inputs;
    struct fb_ref_tensors values;
    fb_ref_inputs_from_args(&inputs, &one->args);
    inputs.keep = one->keep;
    struct fb_ref_request want = {.values = &values};
    if (!tap_ok(fb_ref_compute(&inputs, &want) == FB_OK, "%s: computed", one->name))
        return;
    const int64_t *bias = one->args.bias.shape;
    const struct {
        const char *name;
        const double *x, *expected;
        int64_t count;
    } tensors[] = {
        {"o", values.o, one->o, p->b * p->h * p->nq * p->dv},
        {"lse", values.lse, one->lse, p->b * p->h * p->nq},
        {"dq", values.dq, one->dq, p->b * p->h * p->nq * p->d},
        {"dk", values.dk, one->dk, p->b * p->hk * p->nk * p->d},
        {"dv", values.dv, one->dv, p->b * p->hk * p->nk * p->dv},
        {"dbias", values.dbias, one->dbias, bias[0] * bias[1] * bias[2] * bias[3]},
        {"dsink", values.dsink, one->dsink, p->h},
    };
    for (size_t n = 0; n < sizeof tensors / sizeof *tensors; n++) {
        if (!tensors[n].expected)
            continue;
        double worst = tensors[n].x ? excess(tensors[n].x, tensors[n].expected, tensors[n].count,
                                             one->dout_max)
                                    : 2;
        tap_ok(worst <= 1, "%s: %s at %.2g of the tolerance", one->name, tensors[n].name, worst);
    }
    fb_ref_free(&values);
}

/* A comparison that cannot fail proves nothing: the same test on spoilt copies. */
static void check_comparison(void)
{
    const double expected[3] = {1, -2, 0}, zero[3] = {0, 0, 0};
    double x[3] = {1, -2, 0};
    tap_ok(excess(x, expected, 3, 0) == 0, "equal tensors agree");
    x[2] = 3e-10;
    tap_ok(excess(x, expected, 3, 0) > 1, "3e-10 against a largest element of 2 is too much");
    x[2] = NAN;
    tap_ok(excess(x, expected, 3, 0) > 1, "a NaN does not agree");
    x[0] = x[1] = 0, x[2] = 1e-300;
    tap_ok(excess(x, zero, 3, 1) > 1, "1e-300 is not the exact zero asked for");
}

/* One group of the file with one size changed: its values fit no such problem. */
static void check_changed(const char *from, const char *attribute, int64_t value)
{
    char path[] = "/tmp/flashback-golden-XXXXXX";
    struct fb_golden *golden = NULL;
    struct fb_golden_case one;
    int made = mkstemp(path);
    hid_t source = H5Fopen(from, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Ocopy(source, "alibi", file, "changed", H5P_DEFAULT, H5P_DEFAULT);
    hid_t number = H5Aopen_by_name(file, "changed", attribute, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(number, H5T_NATIVE_INT64, &value);
    H5Aclose(number);
    H5Fclose(file);
    H5Fclose(source);
    enum fb_status status = fb_golden_open(&golden, path);
    if (status == FB_OK)
        status = fb_golden_read(golden, 0, &one);
    tap_ok(status == FB_CORRUPT && strstr(fb_status_message(), "group changed"), "%s=%lld: %s",
           attribute, (long long)value, fb_status_message());
    fb_status_clear();
    fb_golden_close(golden);
    close(made);
    unlink(path);
}

int main(void)
{
    const char *source = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/handed.h5", source ? source : ".");
    struct fb_golden *golden;
    if (!tap_ok(fb_golden_open(&golden, path) == FB_OK, "%s opens %s", path, fb_status_message()))
        return tap_done();
    tap_ok(fb_golden_count(golden) >= 33, "%zu groups", fb_golden_count(golden));
    for (size_t n = 0; n < fb_golden_count(golden); n++) {
        struct fb_golden_case one;
        if (!tap_ok(fb_golden_read(golden, n, &one) == FB_OK, "group %zu reads %s", n,
                    fb_status_message()))
            continue;
        check_case(&one);
        fb_golden_case_free(&one);
    }
    fb_golden_close(golden);
    check_comparison();
    check_changed(path, "Nk", -3);
    check_changed(path, "B", -3);
    check_changed(path, "D", 0);
    check_changed(path, "window_left", -3);
    check_changed(path, "Nq", INT64_C(1) << 40);
    struct fb_golden *none;
    tap_ok(fb_golden_open(&none, "/nonexistent.h5") == FB_IO, "a missing file: %s",
           fb_status_message());
    fb_status_clear();
    snprintf(path, sizeof path, "%s/COPYING", source ? source : ".");
    tap_ok(fb_golden_open(&none, path) == FB_CORRUPT, "not HDF5: %s", fb_status_message());
    return tap_done();
}
