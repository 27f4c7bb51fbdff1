/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cublas.c: loads cuBLAS and calls it. The prototypes are those of cublas_v2.h, declared here so
 * that building needs no header of it.
 */
#include "kernels/dense/cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cudaDataType_t, cublasComputeType_t, cublasOperation_t, cublasGemmAlgo_t. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_32F_PEDANTIC = 69, COMPUTE_64F = 70 };
enum { OP_N = 0, OP_T = 1, ALGO_DEFAULT = -1 };

static struct {
    char why[300], version[32];
    int (*create)(void **);
    int (*destroy)(void *);
    int (*set_stream)(void *, void *);
    int (*property)(int, int *);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int type_a, int lda, long long step_a, const void *b, int type_b,
                int ldb, long long step_b, const void *beta, void *c, int type_c, int ldc,
                long long step_c, int batch, int compute, int algo);
} cublas;

static pthread_once_t looked = PTHREAD_ONCE_INIT;

/* POSIX lets a data pointer of dlsym stand for a function. */
static int find(void *library, void *slot, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void *open_library(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "/usr/local/cuda/lib64/libcublas.so", "libcublas.so"};
    const char *given = getenv("FLASHBACK_CUBLAS");
    void *library = given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (given && *given)
        return library;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void look(void)
{
    void *library = open_library();
    int part[3] = {0, 0, 0};
    if (!library) {
        snprintf(cublas.why, sizeof cublas.why,
                 "no cuBLAS: %.200s (FLASHBACK_CUBLAS names its file)", dlerror());
        return;
    }
    if (!find(library, &cublas.create, "cublasCreate_v2") ||
        !find(library, &cublas.destroy, "cublasDestroy_v2") ||
        !find(library, &cublas.set_stream, "cublasSetStream_v2") ||
        !find(library, &cublas.gemm, "cublasGemmStridedBatchedEx") ||
        !find(library, &cublas.property, "cublasGetProperty")) {
        snprintf(cublas.why, sizeof cublas.why, "the cuBLAS found here lacks calls: too old");
        return;
    }
    for (int i = 0; i < 3; i++)
        cublas.property(i, &part[i]);
    snprintf(cublas.version, sizeof cublas.version, "%d.%d.%d", part[0], part[1], part[2]);
}

const char *fb_cublas_why_not(void)
{
    pthread_once(&looked, look);
    return *cublas.why ? cublas.why : NULL;
}

const char *fb_cublas_version(void)
{
    return fb_cublas_why_not() ? "none" : cublas.version;
}

void *fb_cublas_open(void *stream)
{
    void *handle = NULL;
    if (fb_cublas_why_not() || cublas.create(&handle))
        return NULL;
    if (!cublas.set_stream(handle, stream))
        return handle;
    cublas.destroy(handle);
    return NULL;
}

void fb_cublas_close(void *handle)
{
    if (handle)
        cublas.destroy(handle);
}

static int data_type(enum fb_cublas_type type)
{
    static const int types[] = {R_32F, R_16BF, R_16F, R_64F};
    return types[type];
}

static int fits(int64_t size)
{
    return size <= 2147483647;
}

/* Row-major c = a b is column-major c' = b' a': the operands change places, and nothing is moved.
 */
int fb_cublas_gemm(void *handle, const struct fb_cublas_gemm *g)
{
    const float alpha = (float)g->alpha, beta = (float)g->beta;
    const int wide = g->type == FB_CUBLAS_FP64;
    const int compute = wide                        ? COMPUTE_64F
                        : g->type == FB_CUBLAS_FP32 ? COMPUTE_32F_PEDANTIC
                                                    : COMPUTE_32F;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return 0;
    if (!fits(g->m) || !fits(g->n) || !fits(g->k) || !fits(g->batch) || !fits(g->lda) ||
        !fits(g->ldb) || !fits(g->ldc))
        return -1;
    return cublas.gemm(handle, g->b_turned ? OP_T : OP_N, g->a_turned ? OP_T : OP_N, (int)g->n,
                       (int)g->m, (int)g->k, wide ? (const void *)&g->alpha : &alpha, g->b,
                       data_type(g->type), (int)g->ldb, g->step_b, g->a, data_type(g->type),
                       (int)g->lda, g->step_a, wide ? (const void *)&g->beta : &beta, g->c,
                       data_type(g->type_c), (int)g->ldc, g->step_c, (int)g->batch, compute,
                       ALGO_DEFAULT);
}

const char *fb_cublas_words(int status)
{
    switch (status) {
    case -1:
        return "a size beyond 2^31 - 1";
    case 1:
        return "not initialised";
    case 3:
        return "no memory";
    case 7:
        return "an invalid value";
    case 8:
        return "not offered by this device";
    case 13:
        return "a launch failed";
    case 15:
        return "not supported";
    default:
        return "an error of cuBLAS";
    }
}
