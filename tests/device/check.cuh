/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device tests share: the error check of a CUDA call, the largest of many errors, and a
 * printed verdict. */
#ifndef FB_TESTS_DEVICE_CHECK_CUH
#define FB_TESTS_DEVICE_CHECK_CUH

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_CUDA(call)                                                                           \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
        if (check_error != cudaSuccess) {                                                          \
            printf("Bail out! %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(check_error));   \
            exit(99);                                                                              \
        }                                                                                          \
    } while (0)

static int check_count, check_failures;

/* The larger of two errors. NaN is the largest, and stays whatever comes after it. */
static inline double check_worse(double worst, double error)
{
    return isnan(worst) || error <= worst ? worst : error;
}

static inline void check_report(bool ok, const char *what, double error)
{
    check_count++;
    check_failures += !ok;
    printf("%s %d - %s (error %.3g)\n", ok ? "ok" : "not ok", check_count, what, error);
}

static inline int check_finish()
{
    printf("1..%d\n", check_count);
    return check_failures != 0;
}

#endif
