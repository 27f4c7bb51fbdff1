/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_kernels.cu: forward and key-major backward of one head size, FB_HEAD_DIM, for both 16-bit
 * types: two kernels each, the plain and the general one, and the passes around them.
 */
#include "kernels/cuda/sm80_launch.cuh"

#define NAME_(D) fb_sm80_kernels_##D
#define NAME(D) NAME_(D)

#if FB_HEAD_DIM == 32 || FB_HEAD_DIM == 64 || FB_HEAD_DIM == 96 || FB_HEAD_DIM == 128 ||           \
    FB_HEAD_DIM == 192 || FB_HEAD_DIM == 256
namespace {

using namespace fb;
template <class T, bool GENERAL>
using backward = sm80_config<T, FB_HEAD_DIM, GENERAL, true>;
template <class T, bool GENERAL>
using forward = sm80_fwd_config<T, FB_HEAD_DIM, GENERAL>;

template <class T>
int run_forward_of(const fb_sm80_args *p, int general, void *stream)
{
    return general ? sm80_run_forward<forward<T, true>>(p, stream)
                   : sm80_run_forward<forward<T, false>>(p, stream);
}

int run_forward(const fb_sm80_args *p, int bf16, int general, void *stream)
{
    return bf16 ? run_forward_of<__nv_bfloat16>(p, general, stream)
                : run_forward_of<__half>(p, general, stream);
}

template <class T>
int run_main_of(const fb_sm80_args *p, int general, void *stream)
{
    return general ? sm80_run_main<backward<T, true>>(p, stream)
                   : sm80_run_main<backward<T, false>>(p, stream);
}

int run_main(const fb_sm80_args *p, int bf16, int general, void *stream)
{
    return bf16 ? run_main_of<__nv_bfloat16>(p, general, stream)
                : run_main_of<__half>(p, general, stream);
}

int run_pre(const fb_sm80_args *p, int bf16, void *stream)
{
    return bf16 ? sm80_run_pre<backward<__nv_bfloat16, true>>(p, stream)
                : sm80_run_pre<backward<__half, true>>(p, stream);
}

int run_post(const fb_sm80_args *p, int bf16, void *stream)
{
    return bf16 ? sm80_run_post<backward<__nv_bfloat16, true>>(p, stream)
                : sm80_run_post<backward<__half, true>>(p, stream);
}

using shape = backward<__half, false>;

} // namespace

extern "C" const struct fb_sm80_kernels NAME(FB_HEAD_DIM) = {
    FB_HEAD_DIM,
    shape::M,
    shape::N,
    shape::WARPS,
    {shape::smem_bytes(1), shape::smem_bytes(2)},
    forward<__half, false>::SMEM,
    run_forward,
    run_pre,
    run_main,
    run_post,
};
#else
extern "C" const struct fb_sm80_kernels NAME(FB_HEAD_DIM) = {};
#endif
