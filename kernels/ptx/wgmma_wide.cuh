/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wgmma form that head size 256 has beside those of wgmma.cuh: all 256 columns at once, A in
 * registers, B read MN-major over four panels. 128 accumulators, which is what a warpgroup can
 * keep over a loop. Specialisations of wgmma_rs(), so that the products that are templates over the
 * head size (gemm_keys, gemm_over_keys) take it; to be included ahead of their first use.
 */
#ifndef FB_KERNELS_PTX_WGMMA_WIDE_CUH
#define FB_KERNELS_PTX_WGMMA_WIDE_CUH

#include "kernels/ptx/wgmma.cuh"

namespace fb {

#define FB_ACC128(a)                                                                               \
    FB_ACC64(a), FB_ACC8(a, 64), FB_ACC8(a, 72), FB_ACC8(a, 80), FB_ACC8(a, 88), FB_ACC8(a, 96),   \
        FB_ACC8(a, 104), FB_ACC8(a, 112), FB_ACC8(a, 120)
#define FB_LIST128                                                                                 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                      \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "   \
    "%127}"

#define FB_WGMMA_RS_256(T, type)                                                                   \
    template <>                                                                                    \
    __device__ __forceinline__ void wgmma_rs<T, 256, 1>(float(&d)[128], const uint32_t *a,         \
                                                        uint64_t desc_b, int accumulate)           \
    {                                                                                              \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"                                 \
                     "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " " FB_LIST128   \
                     ", {%128, %129, %130, %131}, %132, p, 1, 1, 1;\n}\n"                          \
                     : FB_ACC128(d)                                                                \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b), "r"(accumulate));  \
    }

FB_WGMMA_RS_256(__nv_bfloat16, "bf16")
FB_WGMMA_RS_256(__half, "f16")

#undef FB_WGMMA_RS_256

} // namespace fb
#endif
