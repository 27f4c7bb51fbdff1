/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/cuda/status.h"

#include <cuda_runtime_api.h>

enum fb_status fb_cuda_status(int error, const char *what)
{
    if (error == cudaSuccess)
        return FB_OK;
    cudaGetLastError(); /* where it is not sticky, the next call starts afresh */
    return fb_fail(FB_DEVICE, "%s: %s (%s)", what, cudaGetErrorString((cudaError_t)error),
                   cudaGetErrorName((cudaError_t)error));
}
