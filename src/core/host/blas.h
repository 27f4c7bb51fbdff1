/* SPDX-License-Identifier: BSD-3-Clause
 *
 * blas.h: which kernels the BLAS runs. OpenBLAS picks them by the processor's model number when it
 * is loaded; a model younger than the library is taken for one of 2004 and sgemm runs at a fifth of
 * its speed, which would flatter every variant that is held against it.
 */
#ifndef FB_CORE_HOST_BLAS_H
#define FB_CORE_HOST_BLAS_H

/* The core whose kernels run in this process, "SkylakeX" say; "unknown" for another BLAS, "none"
 * without one. */
const char *fb_blas_core(void);

/* Where OpenBLAS took this processor for one without AVX2 and it has that, puts OPENBLAS_CORETYPE
 * into the environment, so that programs started from here run fitting kernels, and returns the
 * core's name. NULL where there is nothing to do or the user has set the variable. Call it before
 * starting threads. */
const char *fb_blas_choose_core(void);

#endif
