/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/machine.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef HAVE_CONFIG_H
#include "build_commit.h"
#include "config.h"
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

#include "core/host/blas.h"
#include "core/host/processors.h"
#include "measure/memory.h"
#include "measure/nvml.h"

/* ---- Reading /proc and /sys
 * ---------------------------------------------------------------------- */

/* First line of a file without its end; false when it cannot be read or is empty. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    if (read)
        line[strcspn(line, "\n")] = '\0';
    return read && *line;
}

/* The value behind "key<blanks>:" in a file of such lines. */
static bool read_field(const char *path, const char *key, char *value, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)))
            continue;
        colon += 1 + strspn(colon + 1, " \t\"");
        colon[strcspn(colon, "\"\n")] = '\0';
        snprintf(value, size, "%s", colon);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* Value of KEY="text" lines. */
static bool read_setting(const char *path, const char *key, char *value, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "r");
    size_t length = strlen(key);
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) || line[length] != '=')
            continue;
        char *text = line + length + 1 + strspn(line + length + 1, "\"");
        text[strcspn(text, "\"\n")] = '\0';
        snprintf(value, size, "%s", text);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* ---- The list -----------------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static void add(struct fb_machine_facts *facts,
                                                      const char *key, const char *format, ...)
{
    if (facts->count == FB_MACHINE_FACTS)
        return;
    struct fb_machine_fact *fact = &facts->fact[facts->count++];
    va_list arguments;
    fact->key = key;
    va_start(arguments, format);
    vsnprintf(fact->value, sizeof fact->value, format, arguments);
    va_end(arguments);
    if (!*fact->value)
        snprintf(fact->value, sizeof fact->value, "unknown");
}

static void add_system(struct fb_machine_facts *facts)
{
    char text[160] = "";
    struct utsname system;
    bool known = !uname(&system);
    add(facts, "host", "%s", known ? system.nodename : "");
    read_setting("/etc/os-release", "PRETTY_NAME", text, sizeof text);
    add(facts, "os", "%s", text);
    add(facts, "kernel", "%s", known ? system.release : "");
}

static void add_processor(struct fb_machine_facts *facts)
{
    char text[160] = "";
    read_field("/proc/cpuinfo", "model name", text, sizeof text);
    add(facts, "cpu_model", "%s", text);
    add(facts, "cpus", "%d", fb_processors());
    add(facts, "cache_l1d", "%llu", (unsigned long long)fb_cache_bytes(1));
    add(facts, "cache_l2", "%llu", (unsigned long long)fb_cache_bytes(2));
    add(facts, "cache_l3", "%llu", (unsigned long long)fb_cache_bytes(3));
    add(facts, "memory_bytes", "%llu", (unsigned long long)fb_memory_total());
}

static void add_clock(struct fb_machine_facts *facts)
{
    const char *base = "/sys/devices/system/cpu/cpu0/cpufreq/";
    char path[128], text[160] = "";
    snprintf(path, sizeof path, "%sscaling_governor", base);
    bool governed = read_line(path, text, sizeof text);
    add(facts, "governor", "%s", governed ? text : "");
    if (!governed)
        snprintf(facts->warning, sizeof facts->warning,
                 "the processor's clock cannot be read here and may float");
    else if (strcmp(text, "performance"))
        snprintf(facts->warning, sizeof facts->warning,
                 "the clock floats (governor %.40s); times vary with it", text);
    *text = '\0';
    read_field("/proc/cpuinfo", "cpu MHz", text, sizeof text);
    add(facts, "frequency_mhz", "%s", text);
    *text = '\0';
    snprintf(path, sizeof path, "%scpuinfo_max_freq", base);
    if (read_line(path, text, sizeof text))
        snprintf(text, sizeof text, "%.0f", strtod(text, NULL) / 1000);
    add(facts, "frequency_max_mhz", "%s", text);
}

static void add_load(struct fb_machine_facts *facts)
{
    double load[1];
    bool known = getloadavg(load, 1) == 1;
    int cpus = fb_processors();
    if (known)
        add(facts, "load_1min", "%.2f", load[0]);
    else
        add(facts, "load_1min", "%s", "");
    if (known && load[0] > 0.3 * cpus) {
        size_t used = strlen(facts->warning);
        snprintf(facts->warning + used, sizeof facts->warning - used,
                 "%sthe machine is busy (load %.2f on %d processors)", used ? "; " : "", load[0],
                 cpus);
    }
}

/* OpenBLAS ends its configuration with the core; that has a fact of its own, since the workers may
 * run with another one than the process that tells the facts (core/host/blas.h). */
static void add_blas(struct fb_machine_facts *facts)
{
    const char *chosen = getenv("OPENBLAS_CORETYPE");
#ifdef HAVE_OPENBLAS_GET_CONFIG
    const char *config = openblas_get_config(), *core = strstr(config, fb_blas_core());
    add(facts, "blas_version", "%.*s", (int)(core > config ? core - config - 1 : 100), config);
#elif defined HAVE_CBLAS
    add(facts, "blas_version", "%s", FB_BUILD_BLAS);
#else
    add(facts, "blas_version", "%s", "none");
#endif
    add(facts, "blas_core", "%s", chosen && *chosen ? chosen : fb_blas_core());
}

/* Nothing where there is no GPU. */
static void add_gpu(struct fb_machine_facts *facts)
{
    struct fb_gpu_facts gpu;
    if (!fb_nvml_facts(&gpu))
        return;
    add(facts, "gpu_name", "%s", gpu.name);
    add(facts, "gpu_uuid", "%s", gpu.uuid);
    add(facts, "gpu_count", "%u", gpu.count);
    add(facts, "gpu_capability", "%s", gpu.capability);
    add(facts, "gpu_sms", "%u", gpu.sms);
    add(facts, "gpu_memory_bytes", "%llu", (unsigned long long)gpu.memory_bytes);
    add(facts, "gpu_sm_mhz_max", "%u", gpu.sm_mhz_max);
    add(facts, "gpu_watts_limit", "%.0f", gpu.watts_limit);
    add(facts, "driver", "%s", gpu.driver);
    add(facts, "driver_cuda", "%s", gpu.cuda_driver);
}

static void add_build(struct fb_machine_facts *facts)
{
#ifdef PACKAGE_VERSION
    add(facts, "version", "%s", PACKAGE_VERSION);
#endif
#ifdef FB_BUILD_COMMIT
    add(facts, "git_describe", "%s", FB_BUILD_COMMIT);
#else
    add(facts, "git_describe", "%s", "");
#endif
#ifdef FB_BUILD_COMPILER
    add(facts, "compiler", "%s", FB_BUILD_COMPILER);
#else
    add(facts, "compiler", "%s", __VERSION__);
#endif
#ifdef FB_BUILD_CFLAGS
    add(facts, "flags", "%s", FB_BUILD_CFLAGS);
#endif
#ifdef FB_BUILD_CUDA
    add(facts, "cuda_runtime", "%s", FB_BUILD_CUDA);
    add(facts, "cuda_archs", "%s", FB_BUILD_CUDA_ARCHS);
#endif
    add_blas(facts);
#ifdef _OPENMP
    add(facts, "openmp", "%d", _OPENMP);
    add(facts, "threads", "%d", omp_get_max_threads());
#else
    add(facts, "openmp", "%s", "none");
#endif
}

void fb_machine_facts(struct fb_machine_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    add_system(facts);
    add_processor(facts);
    add_clock(facts);
    add_load(facts);
    add_gpu(facts);
    add_build(facts);
}
