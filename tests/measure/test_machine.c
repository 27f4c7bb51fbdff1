/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machine facts and ceilings: each fact is there and says something; ceilings are possible numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/processors.h"
#include "core/status.h"
#include "core/host/blas.h"
#include "measure/ceilings.h"
#include "measure/machine.h"
#include "measure/memory.h"
#include "tests/tap.h"

static const char *find(const struct fb_machine_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->count; i++)
        if (!strcmp(facts->fact[i].key, key))
            return facts->fact[i].value;
    return NULL;
}

static void test_facts(void)
{
    static const char *const keys[] = {
        "host",         "os",           "kernel",        "cpu_model",
        "cpus",         "cache_l1d",    "cache_l2",      "cache_l3",
        "memory_bytes", "governor",     "frequency_mhz", "frequency_max_mhz",
        "load_1min",    "git_describe", "compiler",      "blas_version",
        "blas_core",    "openmp"};
    struct fb_machine_facts facts;
    int found = 0, twice = 0;
    fb_machine_facts(&facts);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = find(&facts, keys[i]);
        if (value && *value)
            found++;
        else
            tap_note("%s is missing", keys[i]);
    }
    for (size_t i = 0; i < facts.count; i++)
        for (size_t j = 0; j < i; j++)
            twice += !strcmp(facts.fact[i].key, facts.fact[j].key);
    tap_ok(found == sizeof keys / sizeof *keys && !twice, "%d facts, none empty, none twice",
           found);
    tap_ok(!find(&facts, "nonsense"), "an unknown fact is not there");
    tap_ok(fb_processors() >= 1 && atoi(find(&facts, "cpus")) == fb_processors(), "%d processors",
           fb_processors());
    tap_ok(!strchr(facts.warning, '\n'), "the warning is one line: '%s'", facts.warning);
}

/* The choice of a core is for programs started later; this one keeps its own. */
static void test_blas(void)
{
    const char *core = fb_blas_core();
    setenv("OPENBLAS_CORETYPE", "Zen", 1);
    tap_ok(!fb_blas_choose_core() && !strcmp(getenv("OPENBLAS_CORETYPE"), "Zen"),
           "a core the user has chosen stays");
    unsetenv("OPENBLAS_CORETYPE");
    const char *chosen = fb_blas_choose_core();
    tap_ok(chosen ? !strcmp(getenv("OPENBLAS_CORETYPE"), chosen) : !getenv("OPENBLAS_CORETYPE"),
           "core %s, %s", core, chosen ? chosen : "which fits");
    unsetenv("OPENBLAS_CORETYPE");
}

static void test_ceilings(void)
{
    struct fb_ceilings c;
    if (!fb_memory_available() || fb_memory_available() < (uint64_t)1 << 30) {
        tap_skip("too little memory to measure ceilings");
        return;
    }
    tap_ok(fb_ceilings_measure(&c, 2) == FB_OK && c.threads == 2, "ceilings can be measured");
    tap_ok(c.copy_gbytes > 0.05 && c.copy_gbytes < 1e5, "copy: %.1f GB/s", c.copy_gbytes);
    if (!strcmp(c.gemm, "none"))
        tap_ok(isnan(c.gemm_gflops), "no BLAS, no GEMM ceiling");
    else
        tap_ok(c.gemm_gflops > 0.05 && c.gemm_gflops < 1e6, "sgemm: %.1f GFLOP/s by %s",
               c.gemm_gflops, c.gemm);
}

int main(void)
{
    test_facts();
    test_blas();
    test_ceilings();
    return tap_done();
}
