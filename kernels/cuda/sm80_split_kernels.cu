/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_split_kernels.cu: the split backward of one head size, FB_HEAD_DIM, for both 16-bit types:
 * the plain and the general kernel.
 */
#include "kernels/cuda/sm80_launch.cuh"

#define NAME_(D) fb_sm80_split_kernels_##D
#define NAME(D) NAME_(D)

#if FB_HEAD_DIM == 32 || FB_HEAD_DIM == 64 || FB_HEAD_DIM == 96 || FB_HEAD_DIM == 128 ||           \
    FB_HEAD_DIM == 192 || FB_HEAD_DIM == 256
namespace {

using namespace fb;
template <class T, bool GENERAL>
using key_role = sm80_config<T, FB_HEAD_DIM, GENERAL, false>;
template <class T, bool GENERAL>
using query_role = sm80_dq_config<T, FB_HEAD_DIM, GENERAL>;

template <class T>
int run_main_of(const fb_sm80_args *p, int general, void *stream)
{
    return general ? sm80_run_split<key_role<T, true>, query_role<T, true>>(p, stream)
                   : sm80_run_split<key_role<T, false>, query_role<T, false>>(p, stream);
}

int run_main(const fb_sm80_args *p, int bf16, int general, void *stream)
{
    return bf16 ? run_main_of<__nv_bfloat16>(p, general, stream)
                : run_main_of<__half>(p, general, stream);
}

constexpr int larger(int a, int b)
{
    return a > b ? a : b;
}

constexpr int smem_bytes(int stages)
{
    return larger(key_role<__half, false>::smem_bytes(stages),
                  query_role<__half, false>::smem_bytes(stages));
}

} // namespace

extern "C" const struct fb_sm80_split_kernels NAME(FB_HEAD_DIM) = {
    FB_HEAD_DIM, {smem_bytes(1), smem_bytes(2)}, run_main};
#else
extern "C" const struct fb_sm80_split_kernels NAME(FB_HEAD_DIM) = {};
#endif
