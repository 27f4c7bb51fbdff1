/* SPDX-License-Identifier: BSD-3-Clause
 *
 * backends.h: what variants run on: one row a backend, with the device it asks for and the library
 * that it loads at run time. A new backend is a row here and a folder of kernels.
 */
#ifndef FB_CORE_BACKENDS_H
#define FB_CORE_BACKENDS_H

#include <stdbool.h>

struct fb_backend {
    const char *name;
    bool is_host;
    int least;  /* compute capability of the device, 75 is 7.5 */
    bool exact; /* that one and no later */
    /* NULL, or why this process cannot have the backend's library or code path, one line. */
    const char *(*why_not)(void);
    const char *(*version)(void); /* of the library; NULL where there is none */
};

/* The index-th backend, NULL past the end. */
const struct fb_backend *fb_backend_at(int index);

/* NULL if there is none of that name. */
const struct fb_backend *fb_backend_find(const char *name);

/* "cpu, simt, ...", for messages. */
const char *fb_backend_names(void);

/* Does a backend of that name run on the host? A name that is unknown does not. */
bool fb_backend_is_host(const char *name);

/* Why nothing of this backend runs on this machine with this program, or NULL: no device, another
 * compute capability, a program built for other devices, no library. Starts no CUDA context. */
const char *fb_backend_why_not(const struct fb_backend *backend);

/* The version of its library, or why there is none; NULL for a backend without a library. */
const char *fb_backend_library(const struct fb_backend *backend);

#endif
