/* SPDX-License-Identifier: BSD-3-Clause
 *
 * graph.h: an operation graph of cuDNN's backend API, written as one writes an expression: every
 * operation takes tensors and returns the tensor it makes.
 *
 *     struct fb_cudnn_graph g;
 *     fb_cudnn_graph_init(&g, library);
 *     s = fb_cudnn_matmul(&g, q, k, fb_cudnn_virtual(&g, CUDNN_DATA_FLOAT, &scores));
 *
 * The first call that fails leaves its line in g.why; all later ones do nothing and return NULL, so
 * that one look at g.failed after the last is enough.
 */
#ifndef FB_KERNELS_CUDNN_GRAPH_H
#define FB_KERNELS_CUDNN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cudnn/library.h"

#define FB_CUDNN_OWNED 160  /* descriptors of one graph */
#define FB_CUDNN_OPS 40     /* operations of one graph */
#define FB_CUDNN_SCALARS 10 /* values that are handed over with the pointers */

struct fb_cudnn_dims {
    int64_t dim[4], stride[4]; /* in elements */
};

/* A value that lives on the host; the graph's tensor of that uid points here at execution. */
struct fb_cudnn_scalar {
    int64_t uid;
    union {
        float real;
        int32_t whole;
    } value;
};

struct fb_cudnn_graph {
    const struct fb_cudnn_library *library;
    cudnnBackendDescriptor_t owned[FB_CUDNN_OWNED];
    int owned_count;
    cudnnBackendDescriptor_t op[FB_CUDNN_OPS];
    int op_count;
    struct fb_cudnn_scalar scalar[FB_CUDNN_SCALARS];
    int scalar_count;
    int64_t next_uid; /* of virtual tensors and scalars */
    bool described;   /* all operations are in: from here on cuDNN may not support it */
    bool failed;
    bool unsupported; /* failed because no engine takes the graph, not because it is broken */
    char why[320];
};

void fb_cudnn_graph_init(struct fb_cudnn_graph *graph, const struct fb_cudnn_library *library);
void fb_cudnn_graph_free(struct fb_cudnn_graph *graph);

/* Leaves a failure's line: what was tried, and cuDNN's own words. `unsupported` only where the
 * graph was described and the status is a NOT_SUPPORTED: while it is put together cuDNN refuses
 * nothing but mistakes, in words of either kind (a matmul without an operand is NOT_SUPPORTED), and
 * a BAD_PARAM is a mistake at any time. */
void fb_cudnn_graph_fail(struct fb_cudnn_graph *graph, const char *what, cudnnStatus_t status);

/* ---- Descriptors of any kind, owned by the graph ------------------------------------------- */

cudnnBackendDescriptor_t fb_cudnn_begin(struct fb_cudnn_graph *graph,
                                        cudnnBackendDescriptorType_t type);
void fb_cudnn_set(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                  cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void *values);
void fb_cudnn_set_descriptor(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                             cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value);
/* Finalizes and returns it. */
cudnnBackendDescriptor_t fb_cudnn_end(struct fb_cudnn_graph *graph,
                                      cudnnBackendDescriptor_t descriptor, const char *what);

/* ---- Tensors ------------------------------------------------------------------------------- */

/* In device memory, 16-byte aligned; uid is the caller's, below 100. */
cudnnBackendDescriptor_t fb_cudnn_real(struct fb_cudnn_graph *graph, int64_t uid,
                                       cudnnDataType_t type, const struct fb_cudnn_dims *dims);
/* Between two operations, perhaps never in memory. */
cudnnBackendDescriptor_t fb_cudnn_virtual(struct fb_cudnn_graph *graph, cudnnDataType_t type,
                                          const struct fb_cudnn_dims *dims);
cudnnBackendDescriptor_t fb_cudnn_float(struct fb_cudnn_graph *graph, float value);
cudnnBackendDescriptor_t fb_cudnn_int(struct fb_cudnn_graph *graph, int32_t value);

/* ---- Operations: computed in fp32, the result y is returned -------------------------------- */

struct fb_cudnn_pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t precision;
    int64_t axis;                          /* of CUDNN_POINTWISE_GEN_INDEX */
    cudnnBackendDescriptor_t x, b, select; /* select: of CUDNN_POINTWISE_BINARY_SELECT */
    cudnnBackendDescriptor_t y;
};

cudnnBackendDescriptor_t fb_cudnn_pointwise(struct fb_cudnn_graph *graph,
                                            const struct fb_cudnn_pointwise *op);
cudnnBackendDescriptor_t fb_cudnn_matmul(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t a,
                                         cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y);
/* Over the dimensions that y has shorter than x. */
cudnnBackendDescriptor_t fb_cudnn_reduce(struct fb_cudnn_graph *graph, cudnnReduceTensorOp_t mode,
                                         cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y);
/* The same elements with y's shape and strides. */
cudnnBackendDescriptor_t fb_cudnn_reshape(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t x,
                                          cudnnBackendDescriptor_t y);

#endif
