/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lanes.h: what a hot file needs to be compiled once per instruction set. The build passes FB_ISA
 * (generic, v2, v3 or v4) and the matching -march; every symbol with external linkage in a hot file
 * is named FB_HOT(name), so that the copies live in one binary.
 *
 * Arithmetic is written with the compiler's vector extension (the GEMM micro-kernel, where the
 * register allocation matters) or as plain loops under `omp simd` (everything else): no intrinsics,
 * so gcc and clang compile the same text for any machine.
 */
#ifndef FB_CPU_HOT_LANES_H
#define FB_CPU_HOT_LANES_H

#ifndef FB_ISA
#error "hot files are compiled with -DFB_ISA=generic, v2, v3 or v4"
#endif

#define FB_HOT_PASTE(name, isa) fb_cpu_##name##_##isa
#define FB_HOT_EXPAND(name, isa) FB_HOT_PASTE(name, isa)
#define FB_HOT(name) FB_HOT_EXPAND(name, FB_ISA)

/* Floats in a vector register, and the micro-tile of the GEMM: MICRO_ROWS x MICRO_VECTORS
 * accumulators + MICRO_VECTORS of B + one broadcast of A must fit the register file, and their
 * number must cover FMA latency (4) x ports (2) = 8.
 *   AVX-512: 32 registers, 8 x 2 + 3 = 19      AVX2: 16 registers, 6 x 2 + 3 = 15
 *   SSE, NEON and others: 16 to 32 registers of 4 floats, 4 x 2 + 3 = 11 */
#if defined(__AVX512F__)
#define LANES 16
#ifndef MICRO_ROWS
#define MICRO_ROWS 8
#endif
#elif defined(__AVX__)
#define LANES 8
#define MICRO_ROWS 6
#else
#define LANES 4
#define MICRO_ROWS 4
#endif
#define MICRO_VECTORS 2

/* Where clang finds no vector code for an `omp simd` loop (16-bit stores on SSE2, some sanitizers),
 * a scalar one is as right. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#define INLINE static inline __attribute__((always_inline))

#endif
