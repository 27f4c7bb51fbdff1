/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side: the tensor map of a [batch, head, row, column] tensor of 16-bit elements with unit
 * column stride and any other strides, boxes of 64 columns x `rows` rows, 128-byte swizzle.
 *
 * The encoder is a driver function, looked up at run time, so nothing links against libcuda.
 * The hardware wants a 16-byte aligned base and strides that are multiples of 16 bytes; a
 * dimension of size 1 may come with any stride, so its stride is replaced by a legal one.
 */
#ifndef FB_KERNELS_SM90_TENSOR_MAP_CUH
#define FB_KERNELS_SM90_TENSOR_MAP_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

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

} // namespace fb
#endif
