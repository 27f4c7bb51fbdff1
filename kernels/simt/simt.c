/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt.c: which of the compiled head sizes and tile heights a call gets.
 */
#include "kernels/simt/simt.h"

#include <cuda_runtime_api.h>

#include "config.h"

/* kernels.cu, once a head size. Bytes of shared memory for tiles of `rows`; 0: not compiled.
 */
#define DECLARE(D)                                                                                 \
    size_t fb_simt_bytes_d##D(int rows);                                                           \
    int fb_simt_launch_d##D(enum fb_simt_kernel which, const struct fb_simt_call *call, int rows,  \
                            void *stream);
FB_FOR_EACH_HEAD_DIM(DECLARE)

struct size {
    int width;
    size_t (*bytes)(int rows);
    int (*launch)(enum fb_simt_kernel, const struct fb_simt_call *, int rows, void *stream);
};

#define ENTRY(D) {D, fb_simt_bytes_d##D, fb_simt_launch_d##D},
static const struct size sizes[] = {FB_FOR_EACH_HEAD_DIM(ENTRY)};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* The least compiled head size that holds `width`, whatever their order. */
static const struct size *size_for(int width)
{
    const struct size *best = NULL;
    for (int i = 0; i < SIZES; i++)
        if (sizes[i].width >= width && (!best || sizes[i].width < best->width))
            best = &sizes[i];
    return best;
}

int fb_simt_widest(void)
{
    int widest = 0;
    for (int i = 0; i < SIZES; i++)
        widest = sizes[i].width > widest ? sizes[i].width : widest;
    return widest;
}

int fb_simt_rows(int width, size_t shared)
{
    static const int heights[] = {64, 48, 32, 16};
    const struct size *size = size_for(width);
    for (int i = 0; size && i < 4; i++) {
        const size_t bytes = size->bytes(heights[i]);
        if (bytes && bytes <= shared)
            return heights[i];
    }
    return 0;
}

int fb_simt_launch(enum fb_simt_kernel which, const struct fb_simt_call *call, size_t shared,
                   void *stream)
{
    const int width = call->d > call->dv ? call->d : call->dv;
    const int rows = fb_simt_rows(width, shared);
    return rows ? size_for(width)->launch(which, call, rows, stream) : cudaErrorInvalidValue;
}
