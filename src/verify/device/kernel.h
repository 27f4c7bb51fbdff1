/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.h: what the reference on a device does to blocks of scores, between its GEMMs.
 */
#ifndef FB_VERIFY_DEVICE_KERNEL_H
#define FB_VERIFY_DEVICE_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One sequence or several of the same lengths. Device pointers, contiguous: q, dout, o, dq
 * [heads, nq, .], k, v, dk, dv [key_heads, nk, .], dlse and lse [heads, nq], slope and sink [h].
 * Query i sees the keys lo[i] <= j < hi[i]; lo and hi lie on both sides. */
struct fb_ref_device_call {
    const double *q, *k, *v, *dout, *dlse, *slope, *sink;
    double *o, *lse, *dq, *dk, *dv; /* dout NULL: no gradients */
    const int64_t *lo, *hi, *host_lo, *host_hi;
    double *product, *p, *dp; /* [key_heads, rows, keys]: `room` doubles each */
    int64_t room;
    int64_t h, heads, key_heads; /* heads and key_heads over all the sequences */
    int64_t nq, nk, d, dv_width;
    double scale, softcap;
    void *cublas;
};

/* Queries first .. first + rows - 1 and keys from .. from + keys - 1 (all that these queries see)
 * of every key head's query head number `member`. */
struct fb_ref_device_block {
    int64_t first, rows, from, keys, member;
};

/* product holds q k^T: p and lse. Then dp holds dout v^T, and o is there: ds into dp. On the
 * default stream; 0 or a cudaError_t. */
int fb_ref_device_softmax(const struct fb_ref_device_call *, const struct fb_ref_device_block *);
int fb_ref_device_gradient(const struct fb_ref_device_call *, const struct fb_ref_device_block *);

#ifdef __cplusplus
}
#endif
#endif
