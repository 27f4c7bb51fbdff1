/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cudnn/graph.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_OWN_UID = 100, ALIGNMENT = 16 };

void fb_cudnn_graph_init(struct fb_cudnn_graph *graph, const struct fb_cudnn_library *library)
{
    memset(graph, 0, sizeof *graph);
    graph->library = library;
    graph->next_uid = FIRST_OWN_UID;
}

void fb_cudnn_graph_free(struct fb_cudnn_graph *graph)
{
    while (graph->owned_count)
        graph->library->destroy(graph->owned[--graph->owned_count]);
    graph->op_count = graph->scalar_count = 0;
}

void fb_cudnn_graph_fail(struct fb_cudnn_graph *graph, const char *what, cudnnStatus_t status)
{
    if (graph->failed)
        return;
    graph->failed = true;
    graph->unsupported =
        graph->described && CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
    fb_cudnn_say(graph->library, what, status, graph->why, sizeof graph->why);
}

/* ---- Descriptors --------------------------------------------------------------------------- */

cudnnBackendDescriptor_t fb_cudnn_begin(struct fb_cudnn_graph *graph,
                                        cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;
    if (graph->failed)
        return NULL;
    cudnnStatus_t status = graph->owned_count < FB_CUDNN_OWNED
                               ? graph->library->create(type, &made)
                               : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (status != CUDNN_STATUS_SUCCESS) {
        fb_cudnn_graph_fail(graph, "making a descriptor", status);
        return NULL;
    }
    return graph->owned[graph->owned_count++] = made;
}

void fb_cudnn_set(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                  cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void *values)
{
    char what[48];
    if (graph->failed)
        return;
    cudnnStatus_t status = graph->library->set(descriptor, name, type, count, values);
    if (status == CUDNN_STATUS_SUCCESS)
        return;
    snprintf(what, sizeof what, "setting attribute %d", (int)name);
    fb_cudnn_graph_fail(graph, what, status);
}

void fb_cudnn_set_descriptor(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                             cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value)
{
    fb_cudnn_set(graph, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

cudnnBackendDescriptor_t fb_cudnn_end(struct fb_cudnn_graph *graph,
                                      cudnnBackendDescriptor_t descriptor, const char *what)
{
    if (graph->failed)
        return NULL;
    cudnnStatus_t status = graph->library->finalize(descriptor);
    if (status != CUDNN_STATUS_SUCCESS)
        fb_cudnn_graph_fail(graph, what, status);
    return graph->failed ? NULL : descriptor;
}

/* ---- Tensors ------------------------------------------------------------------------------- */

enum place { REAL, VIRTUAL, BY_VALUE };

static cudnnBackendDescriptor_t tensor(struct fb_cudnn_graph *graph, int64_t uid,
                                       cudnnDataType_t type, const struct fb_cudnn_dims *dims,
                                       enum place place)
{
    const int64_t alignment = ALIGNMENT;
    const bool yes = true;
    cudnnBackendDescriptor_t t = fb_cudnn_begin(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims->dim);
    fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, dims->stride);
    if (place == VIRTUAL)
        fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (place == BY_VALUE)
        fb_cudnn_set(graph, t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    return fb_cudnn_end(graph, t, "a tensor");
}

cudnnBackendDescriptor_t fb_cudnn_real(struct fb_cudnn_graph *graph, int64_t uid,
                                       cudnnDataType_t type, const struct fb_cudnn_dims *dims)
{
    return tensor(graph, uid, type, dims, REAL);
}

cudnnBackendDescriptor_t fb_cudnn_virtual(struct fb_cudnn_graph *graph, cudnnDataType_t type,
                                          const struct fb_cudnn_dims *dims)
{
    return tensor(graph, graph->next_uid++, type, dims, VIRTUAL);
}

static cudnnBackendDescriptor_t by_value(struct fb_cudnn_graph *graph, cudnnDataType_t type,
                                         struct fb_cudnn_scalar scalar)
{
    static const struct fb_cudnn_dims one = {{1, 1, 1, 1}, {1, 1, 1, 1}};
    if (graph->scalar_count == FB_CUDNN_SCALARS) {
        fb_cudnn_graph_fail(graph, "a scalar", CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
        return NULL;
    }
    scalar.uid = graph->next_uid++;
    graph->scalar[graph->scalar_count++] = scalar;
    return tensor(graph, scalar.uid, type, &one, BY_VALUE);
}

cudnnBackendDescriptor_t fb_cudnn_float(struct fb_cudnn_graph *graph, float value)
{
    return by_value(graph, CUDNN_DATA_FLOAT, (struct fb_cudnn_scalar){.value.real = value});
}

cudnnBackendDescriptor_t fb_cudnn_int(struct fb_cudnn_graph *graph, int32_t value)
{
    return by_value(graph, CUDNN_DATA_INT32, (struct fb_cudnn_scalar){.value.whole = value});
}

/* ---- Operations ---------------------------------------------------------------------------- */

/* Finalizes an operation and enters it into the graph. */
static cudnnBackendDescriptor_t enter(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t op,
                                      const char *what, cudnnBackendDescriptor_t y)
{
    fb_cudnn_end(graph, op, what);
    if (!graph->failed && graph->op_count == FB_CUDNN_OPS)
        fb_cudnn_graph_fail(graph, what, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
    if (graph->failed)
        return NULL;
    graph->op[graph->op_count++] = op;
    return y;
}

static cudnnBackendDescriptor_t pointwise_kind(struct fb_cudnn_graph *graph,
                                               const struct fb_cudnn_pointwise *op)
{
    cudnnBackendDescriptor_t kind = fb_cudnn_begin(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    fb_cudnn_set(graph, kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &op->mode);
    fb_cudnn_set(graph, kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                 &op->precision);
    if (op->mode == CUDNN_POINTWISE_GEN_INDEX)
        fb_cudnn_set(graph, kind, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &op->axis);
    return fb_cudnn_end(graph, kind, "a pointwise kind");
}

cudnnBackendDescriptor_t fb_cudnn_pointwise(struct fb_cudnn_graph *graph,
                                            const struct fb_cudnn_pointwise *op)
{
    char what[40];
    cudnnBackendDescriptor_t kind = pointwise_kind(graph, op);
    cudnnBackendDescriptor_t p =
        fb_cudnn_begin(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    fb_cudnn_set_descriptor(graph, p, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
    fb_cudnn_set_descriptor(graph, p, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, op->x);
    if (op->b)
        fb_cudnn_set_descriptor(graph, p, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, op->b);
    if (op->select)
        fb_cudnn_set_descriptor(graph, p, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, op->select);
    fb_cudnn_set_descriptor(graph, p, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, op->y);
    snprintf(what, sizeof what, "pointwise operation %d", (int)op->mode);
    return enter(graph, p, what, op->y);
}

cudnnBackendDescriptor_t fb_cudnn_matmul(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t a,
                                         cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y)
{
    const cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t kind = fb_cudnn_begin(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    fb_cudnn_set(graph, kind, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    fb_cudnn_end(graph, kind, "a matmul kind");
    cudnnBackendDescriptor_t m = fb_cudnn_begin(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    fb_cudnn_set_descriptor(graph, m, CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
    fb_cudnn_set_descriptor(graph, m, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    fb_cudnn_set_descriptor(graph, m, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    fb_cudnn_set_descriptor(graph, m, CUDNN_ATTR_OPERATION_MATMUL_CDESC, y);
    return enter(graph, m, "a matmul", y);
}

cudnnBackendDescriptor_t fb_cudnn_reduce(struct fb_cudnn_graph *graph, cudnnReduceTensorOp_t mode,
                                         cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y)
{
    const cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t kind = fb_cudnn_begin(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    fb_cudnn_set(graph, kind, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
                 &mode);
    fb_cudnn_set(graph, kind, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    fb_cudnn_end(graph, kind, "a reduction kind");
    cudnnBackendDescriptor_t r =
        fb_cudnn_begin(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    fb_cudnn_set_descriptor(graph, r, CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
    fb_cudnn_set_descriptor(graph, r, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    fb_cudnn_set_descriptor(graph, r, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    return enter(graph, r, "a reduction", y);
}

cudnnBackendDescriptor_t fb_cudnn_reshape(struct fb_cudnn_graph *graph, cudnnBackendDescriptor_t x,
                                          cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t r = fb_cudnn_begin(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    fb_cudnn_set_descriptor(graph, r, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    fb_cudnn_set_descriptor(graph, r, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    return enter(graph, r, "a reshape", y);
}
