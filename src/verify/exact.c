/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/exact.h"

#include "core/half.h"

static double rounded(enum fb_dtype dtype, double value)
{
    uint32_t room = 0;
    fb_element_write(&room, dtype, 0, value);
    return fb_element_read(&room, dtype, 0);
}

static void note(struct fb_mismatch *m, const int64_t at[4], double got, double want)
{
    if (m->count++)
        return;
    for (int axis = 0; axis < 4; axis++)
        m->first[axis] = at[axis];
    m->got = got;
    m->want = want;
}

void fb_exact_compare(const struct fb_tensor *t, const double *reference, struct fb_mismatch *m)
{
    int64_t at[4];
    *m = (struct fb_mismatch){0};
    for (at[0] = 0; at[0] < t->shape[0]; at[0]++)
        for (at[1] = 0; at[1] < t->shape[1]; at[1]++)
            for (at[2] = 0; at[2] < t->shape[2]; at[2]++)
                for (at[3] = 0; at[3] < t->shape[3]; at[3]++) {
                    int64_t index = at[0] * t->stride[0] + at[1] * t->stride[1] +
                                    at[2] * t->stride[2] + at[3] * t->stride[3];
                    double got = fb_element_read(t->data, t->dtype, index);
                    double want = rounded(t->dtype, reference[m->elements++]);
                    if (!(got == want)) /* so that a NaN is one */
                        note(m, at, got, want);
                }
}
