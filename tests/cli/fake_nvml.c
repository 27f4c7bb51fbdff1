/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fake_nvml.c: a libnvidia-ml.so.1 of two GPUs, the second of which has a part with a UUID of its
 * own, for test_gpu_facts.sh. Prototypes are those of nvml.h; 0 is success, 2 a bad argument.
 */
#include <stdio.h>
#include <string.h>

static const char *const uuids[] = {"GPU-first", "GPU-second", "MIG-part"};
static int handles[3];

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index > 1)
        return 2;
    *device = &handles[index];
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    for (int i = 0; i < 3; i++)
        if (!strcmp(uuid, uuids[i])) {
            *device = &handles[i];
            return 0;
        }
    return 2;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{
    snprintf(uuid, size, "%s", uuids[(int *)device - handles]);
    return 0;
}
