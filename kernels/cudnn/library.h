/* SPDX-License-Identifier: BSD-3-Clause
 *
 * library.h: the functions of cuDNN's backend API, taken from the shared library that is found at
 * run time: the program starts where there is none. Only the headers are needed to compile.
 */
#ifndef FB_KERNELS_CUDNN_LIBRARY_H
#define FB_KERNELS_CUDNN_LIBRARY_H

#include <cudnn_graph.h>
#include <stddef.h>

/* X(member, function) */
#define FB_CUDNN_FUNCTIONS(X)                                                                      \
    X(version, cudnnGetVersion)                                                                    \
    X(error_name, cudnnGetErrorString)                                                             \
    X(last_error, cudnnGetLastErrorString)                                                         \
    X(open, cudnnCreate)                                                                           \
    X(set_stream, cudnnSetStream)                                                                  \
    X(create, cudnnBackendCreateDescriptor)                                                        \
    X(destroy, cudnnBackendDestroyDescriptor)                                                      \
    X(set, cudnnBackendSetAttribute)                                                               \
    X(get, cudnnBackendGetAttribute)                                                               \
    X(finalize, cudnnBackendFinalize)                                                              \
    X(execute, cudnnBackendExecute)

#define FB_CUDNN_MEMBER(member, function) __typeof__(&function) member;

struct fb_cudnn_library {
    FB_CUDNN_FUNCTIONS(FB_CUDNN_MEMBER)
};

/* The library, loaded at the first call and kept. Looked for in FLASHBACK_CUDNN (the file
 * libcudnn.so.9 or its folder) where that is set, else on the loader's path; it finds its
 * sub-libraries beside itself. NULL, and one line in *why that stays valid, where there is none. */
const struct fb_cudnn_library *fb_cudnn_library(const char **why);

/* NULL where the library is loaded and new enough for the variants, else why not, one line. */
const char *fb_cudnn_why_not(void);

/* "9.19.0", or why there is none. */
const char *fb_cudnn_version(void);

/* One line: what was tried, the status, and cuDNN's own words about its last error. */
void fb_cudnn_say(const struct fb_cudnn_library *library, const char *what, cudnnStatus_t status,
                  char *line, size_t size);

/* 9.19.0 is 91900. */
#define FB_CUDNN_VERSION(major, minor, patch) (10000 * (major) + 100 * (minor) + (patch))

#endif
