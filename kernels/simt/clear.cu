/* SPDX-License-Identifier: BSD-3-Clause
 *
 * clear.cu: zeros into a strided tensor, for gradients that are added into. One pass of
 * writes; a block takes rows in turn, its threads the columns, so that writes of a row are
 * neighbours. Deterministic; no shared memory.
 *
 * 256 threads stand as 4 rows of 64 columns. At most 2^15 blocks, which go on to further rows.
 */
#include "kernels/simt/simt.h"

namespace {

constexpr int threads = 256, columns = 64, rows = threads / columns;
constexpr int64_t most_blocks = 1 << 15;

__global__ void __launch_bounds__(threads)
    clear_kernel(const __grid_constant__ fb_simt_view view, int64_t h, int64_t n, int64_t all,
                 int64_t width)
{
    const int column = threadIdx.x % columns, first = threadIdx.x / columns;
    for (int64_t r = (int64_t)blockIdx.x * rows + first; r < all; r += (int64_t)gridDim.x * rows) {
        const int64_t head = r / n, i = r % n;
        float *row =
            view.data + head / h * view.stride[0] + head % h * view.stride[1] + i * view.stride[2];
        for (int64_t c = column; c < width; c += columns)
            row[c] = 0;
    }
}

} // namespace

extern "C" int fb_simt_clear(const struct fb_simt_view *view, int64_t b, int64_t h, int64_t n,
                             int64_t width, void *stream)
{
    const int64_t all = b * h * n, blocks = (all + rows - 1) / rows;
    if (all == 0 || width == 0)
        return cudaSuccess;
    clear_kernel<<<(unsigned)(blocks < most_blocks ? blocks : most_blocks), threads, 0,
                   (cudaStream_t)stream>>>(*view, h, n, all, width);
    return cudaGetLastError();
}
