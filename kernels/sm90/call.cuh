/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side: what a call of the sm_90a kernels is given, in plain pointers and 64-bit strides; the
 * tensor maps by which the copy engine finds its tiles; and the launch that may overlap with the
 * kernel before it.  Enqueue functions allocate nothing, do not synchronise, and return the error
 * of the launch.
 *
 * A tensor map is of a [batch, head, row, column] tensor of 16-bit elements with unit column stride
 * and any other strides: boxes of 64 columns x `rows` rows, 128-byte swizzle.  Its encoder is a
 * driver function, looked up at run time, so nothing links against libcuda.  The hardware wants a
 * 16-byte aligned base and strides that are multiples of 16 bytes; a dimension of size 1 may come
 * with any stride, so its stride is replaced by a legal one.
 */
#ifndef FB_KERNELS_SM90_CALL_CUH
#define FB_KERNELS_SM90_CALL_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include <numeric>

#include "kernels/ptx/elem.cuh"

namespace fb {

/* Only its type is taken from the header's declaration. */
using tensor_map_encoder = decltype(&cuTensorMapEncodeTiled);

inline tensor_map_encoder tensor_map_encoder_find()
{
    static tensor_map_encoder found = nullptr;
    cudaDriverEntryPointQueryResult status;
    void *entry = nullptr;

    if (found)
        return found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                         &status) != cudaSuccess ||
        status != cudaDriverEntryPointSuccess)
        return nullptr;
    found = (tensor_map_encoder)entry;
    return found;
}

/* A strided tensor: sizes and strides in elements, [batch, head, row]; columns are contiguous. */
struct tensor4 {
    void *data;
    int batch, head, row, col;
    int64_t stride_batch, stride_head, stride_row;
};

template <class T>
inline bool tensor_map_make(CUtensorMap *map, const tensor4 &t, int box_rows)
{
    tensor_map_encoder encode = tensor_map_encoder_find();
    CUtensorMapDataType type =
        elem<T>::is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    cuuint64_t size[4] = {(cuuint64_t)t.col, (cuuint64_t)t.row, (cuuint64_t)t.head,
                          (cuuint64_t)t.batch};
    cuuint64_t legal = (cuuint64_t)t.col * 2;
    cuuint64_t stride[3] = {t.row > 1 ? (cuuint64_t)t.stride_row * 2 : legal,
                            t.head > 1 ? (cuuint64_t)t.stride_head * 2 : legal,
                            t.batch > 1 ? (cuuint64_t)t.stride_batch * 2 : legal};
    cuuint32_t box[4] = {64, (cuuint32_t)box_rows, 1, 1};
    cuuint32_t step[4] = {1, 1, 1, 1};

    if (!encode)
        return false;
    return encode(map, type, 4, t.data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

struct sm90_call {
    tensor4 q, k, v, o, dout, dq, dk, dv;
    float *lse;                           /* natural logarithm */
    int64_t lse_batch, lse_head, lse_row; /* strides in elements */
    int offset;                           /* causal: query i sees keys up to i + offset */
    float scale;                          /* > 0 */
    void *workspace;
    cudaStream_t stream;
    void (*mark)(void *owner, const char *phase); /* told before each launch; may be null */
    void *owner;
};

constexpr int device_sms = 132; /* of an H100 or H200; on another device a matter of speed alone */
constexpr float log2_e = 1.44269504088896f;

inline void call_mark(const sm90_call &p, const char *phase)
{
    if (p.mark)
        p.mark(p.owner, phase);
}

/*
 * How many units (heads, or key heads) advance together, tile by tile, when causal tiles run
 * longest first: as many as fit a share of the L2 with `bytes` each, a power of two.  A small grid
 * is longest first as a whole, or its last long tiles would start too late.
 *
 * Where `stay` CTAs stay for all tiles: the fewest units that fill whole rounds of them, if those
 * fit.  Every round then has long and short tiles and its share of the keys that nobody has read
 * yet, and two rounds, up and down, give all CTAs the same work.
 */
inline int causal_section(int units, int tiles, double bytes, int stay = 0)
{
    const double l2_share = 40e6;
    int section = 1;

    if ((int64_t)units * tiles <= 1024)
        return units;
    if (stay) {
        const int whole = stay / std::gcd(stay, tiles);
        if (whole <= units && whole * bytes <= l2_share)
            return whole;
    }
    while (2 * section * bytes <= l2_share && section < units)
        section *= 2;
    return section;
}

/* Enqueues a kernel that may start while the one before it drains; it says itself when it must
 * wait (griddepcontrol.wait). */
template <class Kernel, class Args>
inline cudaError_t launch_dependent(Kernel kernel, dim3 grid, int threads, size_t smem,
                                    cudaStream_t stream, const Args &args)
{
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = {};

    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = smem;
    config.stream = stream, config.attrs = &overlap, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, args);
}

template <class Kernel>
inline cudaError_t shared_memory_allow(Kernel kernel, size_t bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

} // namespace fb
#endif
