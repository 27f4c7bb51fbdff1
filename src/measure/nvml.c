/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nvml.c: the few calls of libnvidia-ml.so.1 that are needed, declared here, so that building asks
 * for nothing. A call that the installed library lacks leaves its numbers unknown.
 */
#include "measure/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As nvml.h of NVIDIA has them; every call returns 0 for success. */
struct nvml_memory {
    unsigned long long total, free, used;
};
enum { NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0 };

static struct {
    bool tried, ready;
    int (*init)(void);
    int (*driver_version)(char *, unsigned);
    int (*cuda_version)(int *);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, void **);
    int (*by_bus)(const char *, void **);
    int (*by_uuid)(const char *, void **);
    int (*name)(void *, char *, unsigned);
    int (*uuid)(void *, char *, unsigned);
    int (*memory)(void *, struct nvml_memory *);
    int (*capability)(void *, int *, int *);
    int (*cores)(void *, unsigned *);
    int (*clock)(void *, int, unsigned *);
    int (*clock_max)(void *, int, unsigned *);
    int (*power)(void *, unsigned *);
    int (*power_limit)(void *, unsigned *);
    int (*temperature)(void *, int, unsigned *);
    int (*throttle)(void *, unsigned long long *);
    int (*energy)(void *, unsigned long long *);
} nvml;

/* POSIX lets a data pointer of dlsym stand for a function. */
static void find(void *library, void *slot, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
}

static bool load(void)
{
    if (nvml.tried)
        return nvml.ready;
    nvml.tried = true;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    find(library, &nvml.init, "nvmlInit_v2");
    find(library, &nvml.driver_version, "nvmlSystemGetDriverVersion");
    find(library, &nvml.cuda_version, "nvmlSystemGetCudaDriverVersion");
    find(library, &nvml.count, "nvmlDeviceGetCount_v2");
    find(library, &nvml.by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(library, &nvml.by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
    find(library, &nvml.by_uuid, "nvmlDeviceGetHandleByUUID");
    find(library, &nvml.name, "nvmlDeviceGetName");
    find(library, &nvml.uuid, "nvmlDeviceGetUUID");
    find(library, &nvml.memory, "nvmlDeviceGetMemoryInfo");
    find(library, &nvml.capability, "nvmlDeviceGetCudaComputeCapability");
    find(library, &nvml.cores, "nvmlDeviceGetNumGpuCores");
    find(library, &nvml.clock, "nvmlDeviceGetClockInfo");
    find(library, &nvml.clock_max, "nvmlDeviceGetMaxClockInfo");
    find(library, &nvml.power, "nvmlDeviceGetPowerUsage");
    find(library, &nvml.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(library, &nvml.temperature, "nvmlDeviceGetTemperature");
    find(library, &nvml.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(library, &nvml.energy, "nvmlDeviceGetTotalEnergyConsumption");
    nvml.ready = nvml.init && nvml.count && nvml.by_index && !nvml.init();
    return nvml.ready;
}

/* ---- Facts --------------------------------------------------------------------------------------
 */

/* The GPU, or the part of one, that CUDA would show first: CUDA_VISIBLE_DEVICES holds numbers or
 * UUIDs. NULL where it hides them all, as what is neither does. */
static void *first_visible(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char first[96], *end;
    void *device = NULL;
    snprintf(first, sizeof first, "%s", visible ? visible : "0");
    first[strcspn(first, ",")] = '\0';
    if (!strncmp(first, "GPU-", 4) || !strncmp(first, "MIG-", 4))
        return nvml.by_uuid && !nvml.by_uuid(first, &device) ? device : NULL;
    const unsigned long index = strtoul(first, &end, 10);
    if (end == first || index > UINT_MAX)
        return NULL;
    return !nvml.by_index((unsigned)index, &device) ? device : NULL;
}

/* Of a GPU with so many FP32 lanes in all. */
static unsigned sms_of(int major, int minor, unsigned cores)
{
    bool narrow = major == 7 || (major == 8 && minor == 0) || (major == 6 && minor == 0);
    return cores / (narrow ? 64 : 128);
}

static void read_numbers(void *device, struct fb_gpu_facts *facts)
{
    struct nvml_memory memory;
    unsigned value;
    int major, minor;
    if (nvml.memory && !nvml.memory(device, &memory))
        facts->memory_bytes = memory.total;
    if (nvml.clock_max && !nvml.clock_max(device, NVML_CLOCK_SM, &value))
        facts->sm_mhz_max = value;
    if (nvml.power_limit && !nvml.power_limit(device, &value))
        facts->watts_limit = value * 1e-3;
    if (!nvml.capability || nvml.capability(device, &major, &minor))
        return;
    snprintf(facts->capability, sizeof facts->capability, "%d.%d", major, minor);
    if (nvml.cores && !nvml.cores(device, &value))
        facts->sms = sms_of(major, minor, value);
}

bool fb_nvml_facts(struct fb_gpu_facts *facts)
{
    int version = 0;
    void *device;
    memset(facts, 0, sizeof *facts);
    if (!load() || nvml.count(&facts->count) || !facts->count || !(device = first_visible()))
        return false;
    if (!nvml.name || nvml.name(device, facts->name, sizeof facts->name))
        facts->name[0] = '\0';
    if (!nvml.uuid || nvml.uuid(device, facts->uuid, sizeof facts->uuid))
        facts->uuid[0] = '\0';
    if (!nvml.driver_version || nvml.driver_version(facts->driver, sizeof facts->driver))
        facts->driver[0] = '\0';
    if (nvml.cuda_version && !nvml.cuda_version(&version))
        snprintf(facts->cuda_driver, sizeof facts->cuda_driver, "%d.%d", version / 1000,
                 version % 1000 / 10);
    read_numbers(device, facts);
    return true;
}

/* ---- Readings -----------------------------------------------------------------------------------
 */

static void read_power(struct fb_power *power, struct fb_power_reading *reading)
{
    unsigned value;
    unsigned long long wide;
    *reading = (struct fb_power_reading){NAN, NAN, NAN, NAN, 0};
    if (nvml.energy && !nvml.energy(power->own, &wide))
        reading->joules = (double)wide * 1e-3;
    if (nvml.power && !nvml.power(power->own, &value))
        reading->watts = value * 1e-3;
    if (nvml.clock && !nvml.clock(power->own, NVML_CLOCK_SM, &value))
        reading->sm_mhz = value;
    if (nvml.temperature && !nvml.temperature(power->own, NVML_TEMPERATURE_GPU, &value))
        reading->celsius = value;
    if (nvml.throttle && !nvml.throttle(power->own, &wide))
        reading->throttle = wide;
}

struct fb_power *fb_nvml_power(const char *bus)
{
    static struct fb_power power = {.read = read_power};
    struct fb_power_reading reading;
    void *device = NULL;
    if (power.own)
        return &power;
    if (!load())
        return NULL;
    if (*bus && nvml.by_bus && nvml.by_bus(bus, &device))
        device = NULL;
    if (!device && !(device = first_visible()))
        return NULL;
    power.own = device;
    read_power(&power, &reading);
    power.idle_watts = reading.watts;
    return &power;
}
