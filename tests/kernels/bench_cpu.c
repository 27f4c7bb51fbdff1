/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bench_cpu.c: times of the CPU variants beside sgemm, interleaved, in one process: a stand-alone
 * driver for tuning kernels. The suite's own figures come from `flashback run`.
 *
 *     bench_cpu [-t THREADS] [-r ROUNDS] [-n NUMERICS] [-v VARIANT]... [-c] [-u] PROBLEM...
 *
 * A line a variant: median and least milliseconds of forward and backward, GFLOP/s of the GEMMs the
 * backward executes over visible pairs, and that in percent of sgemm 1024^3 with as many threads.
 * -u takes processor time instead of the clock's, for a machine that others use too.
 * -c compares with plain loops in double precision (slow), as largest absolute differences.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/hot/ops.h"
#include "core/problem.h"
#include "tests/cpu_case.h"

enum { MOST_VARIANTS = 16, MOST_ROUNDS = 200 };

struct options {
    int threads, rounds, check;
    const char *numerics;
    const struct fb_variant *variants[MOST_VARIANTS];
    int count;
};

static clockid_t clock_used = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static double gemm_seconds(const float *a, const float *b, float *c, int64_t n)
{
    const double start = now();
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){
        .m = n, .n = n, .k = n, .a = a, .b = b, .c = c, .lda = n, .ldb = n, .ldc = n});
    return now() - start;
}

static void report(const struct options *o, struct cpu_case *c, double (*fwd)[MOST_ROUNDS],
                   double (*bwd)[MOST_ROUNDS], double *gemm)
{
    const double rate = 2e-9 * 1024 * 1024 * 1024 / median(gemm, o->rounds);
    const double pairs = (double)fb_problem_pairs(&c->problem);
    printf("  sgemm %.1f GFLOP/s (%s, isa %s)\n", rate, fb_cpu_blas_name(), fb_cpu_isa_name());
    for (int v = 0; v < o->count; v++) {
        const double f = median(fwd[v], o->rounds), b = median(bwd[v], o->rounds);
        const double done = o->variants[v]->properties.gemms * pairs *
                            (double)(c->problem.d + c->problem.dv) * 1e-9 / b;
        printf("  %-20s fwd %8.2f ms  bwd %8.2f ms (least %8.2f)  %6.1f GFLOP/s  %5.1f %%\n",
               o->variants[v]->name, f * 1e3, b * 1e3, bwd[v][0] * 1e3, done, 100 * done / rate);
    }
}

static void check(const struct options *o, struct cpu_case *c)
{
    cpu_case_reference(c);
    for (int v = 0; v < o->count; v++) {
        cpu_case_run(c, o->variants[v]);
        printf("  %-20s max abs: o %.2e lse %.2e dq %.2e dk %.2e dv %.2e\n", o->variants[v]->name,
               cpu_case_max_abs(c, 0), cpu_case_max_abs(c, 1), cpu_case_max_abs(c, 2),
               cpu_case_max_abs(c, 3), cpu_case_max_abs(c, 4));
    }
}

static int bench(const struct options *o, const char *problem)
{
    static double fwd[MOST_VARIANTS][MOST_ROUNDS], bwd[MOST_VARIANTS][MOST_ROUNDS];
    static double gemm[MOST_ROUNDS];
    struct cpu_case c;
    const int64_t n = 1024;
    float *matrix = calloc((size_t)(3 * n * n), sizeof *matrix);
    if (!matrix || !cpu_case_init(&c, problem, o->numerics, o->threads, 0))
        return 1;
    printf("%s  threads %d\n", problem, o->threads);
    for (int r = 0; r < o->rounds; r++) {
        fb_cpu_blas_threads(o->threads);
        gemm[r] = gemm_seconds(matrix, matrix + n * n, matrix + 2 * n * n, n);
        for (int v = 0; v < o->count; v++) {
            if (cpu_case_prepare(&c, o->variants[v]) != FB_OK)
                return 1;
            double start = now();
            o->variants[v]->forward(o->variants[v], &c.ctx, NULL, &c.args);
            fwd[v][r] = now() - start;
            start = now();
            o->variants[v]->backward(o->variants[v], &c.ctx, NULL, &c.args);
            bwd[v][r] = now() - start;
        }
    }
    report(o, &c, fwd, bwd, gemm);
    if (o->check)
        check(o, &c);
    cpu_case_free(&c);
    free(matrix);
    return 0;
}

static int usage(void)
{
    fputs("usage: bench_cpu [-t THREADS] [-r ROUNDS] [-n NUMERICS] [-v VARIANT]... [-c] [-u] "
          "PROBLEM...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct options o = {.threads = 2, .rounds = 7, .numerics = ""};
    for (int c; (c = getopt(argc, argv, "t:r:n:v:cu")) != -1;) {
        if (c == 't')
            o.threads = atoi(optarg);
        else if (c == 'r')
            o.rounds = atoi(optarg) < MOST_ROUNDS ? atoi(optarg) : MOST_ROUNDS;
        else if (c == 'n')
            o.numerics = optarg;
        else if (c == 'c')
            o.check = 1;
        else if (c == 'u')
            clock_used = CLOCK_PROCESS_CPUTIME_ID;
        else if (c != 'v' || o.count == MOST_VARIANTS ||
                 !(o.variants[o.count++] = cpu_case_variant(optarg)))
            return usage();
    }
    const int all = o.count == 0;
    for (int t = 0; all && cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            o.variants[o.count++] = cpu_case_tables[t][i];
    int failed = optind == argc ? usage() : 0;
    for (int i = optind; i < argc && !failed; i++)
        failed = bench(&o, argv[i]);
    return failed;
}
