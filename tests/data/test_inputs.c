/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tensors that recipes make: exactness in every dtype, independence of layout, size and
 * threads, and what each distribution promises.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"
#include "data/inputs.h"
#include "data/draw.h"
#include "data/inputs.h"
#include "tests/tap.h"

/* ---- Numbers --------------------------------------------------------------------------------- */

static void test_quantile(void)
{
    double worst = 0;
    for (int i = 1; i < 200000; i++) {
        double p = i / 200000.0, upper = 0.5 * erfc(-fb_normal_quantile(p) / sqrt(2.0));
        worst = fmax(worst, fabs(upper - p) / fmin(p, 1 - p));
    }
    for (int e = 10; e <= 33; e++) {
        double p = ldexp(1, -e), lower = 0.5 * erfc(-fb_normal_quantile(p) / sqrt(2.0));
        worst = fmax(worst, fabs(lower - p) / p);
        tap_ok(fb_normal_quantile(p) == -fb_normal_quantile(1 - p), "tails mirror at 2^-%d", e);
    }
    tap_ok(worst < 4e-8, "the normal quantile inverts erfc: %.2g", worst);
}

static bool is_exact(double value)
{
    return (double)fb_bf16_to_float(fb_double_to_bf16(value)) == value &&
           (double)fb_fp16_to_float(fb_double_to_fp16(value)) == value && isfinite(value);
}

static void test_rounding(void)
{
    int exact = 0;
    for (int e = -40; e < 40; e++)
        for (int i = 0; i < 100; i++)
            exact += is_exact(fb_input_round(ldexp(1 + i / 100.0, e))) &&
                     is_exact(fb_input_round(-ldexp(1 + i / 100.0, e)));
    tap_ok(exact == 8000, "rounded values are exact in bf16 and fp16 (%d of 8000)", exact);
    tap_ok(fb_input_round(1e9) == 65280 && fb_input_round(-1e9) == -65280 &&
               fb_input_round(1.0 / 3) == 0.333984375 && fb_input_round(0x1p-24) == 0x1p-24,
           "rounding is to nearest and clamps");
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* A tensor with storage in memory order given by `order` (a permutation of b, h, n) and row gaps.
 */
static struct fb_tensor make_tensor(int64_t b, int64_t h, int64_t n, int64_t d, enum fb_dtype dtype,
                                    const int order[3], int64_t gap)
{
    struct fb_tensor t = {.dtype = dtype, .shape = {b, h, n, d}, .stride = {0, 0, 0, 1}};
    int64_t stride = d + gap;
    for (int i = 2; i >= 0; i--) {
        t.stride[order[i]] = stride;
        stride *= t.shape[order[i]];
    }
    t.data = calloc((size_t)stride + 1, fb_dtype_bytes(dtype));
    return t;
}

static double at(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n, int64_t c)
{
    return fb_element_read(t->data, t->dtype,
                           b * t->stride[0] + h * t->stride[1] + n * t->stride[2] +
                               c * t->stride[3]);
}

static bool same_values(const struct fb_tensor *a, const struct fb_tensor *b)
{
    for (int64_t i = 0; i < a->shape[0]; i++)
        for (int64_t j = 0; j < a->shape[1]; j++)
            for (int64_t k = 0; k < a->shape[2]; k++)
                for (int64_t c = 0; c < a->shape[3]; c++)
                    if (at(a, i, j, k, c) != at(b, i, j, k, c))
                        return false;
    return true;
}

static const int bhnd[3] = {0, 1, 2}, bnhd[3] = {0, 2, 1};

static void test_every_distribution(void)
{
    struct fb_problem p;
    int exact = 0, dtypes = 0, layouts = 0;
    fb_problem_parse(&p, "b=2,h=4,hk=2,n=32,d=10,dtype=fp32");
    for (int dist = 0; dist < fb_recipe_form_count; dist++) {
        struct fb_recipe r;
        char text[FB_RECIPE_TEXT];
        bool is = true, same_dtype = true, same_layout = true;
        snprintf(text, sizeof text, "%s@7", fb_recipe_forms[dist].name);
        fb_recipe_parse(&r, text);
        for (int input = FB_INPUT_Q; input <= FB_INPUT_DOUT; input++) {
            struct fb_tensor one = make_tensor(2, 2, 32, 10, FB_FP32, bhnd, 0);
            struct fb_tensor two = make_tensor(2, 2, 32, 10, FB_BF16, bhnd, 0);
            struct fb_tensor three = make_tensor(2, 2, 32, 10, FB_FP16, bnhd, 6);
            fb_input_fill(&r, &p, (enum fb_input)input, &one);
            fb_input_fill(&r, &p, (enum fb_input)input, &two);
            fb_input_fill(&r, &p, (enum fb_input)input, &three);
            for (int64_t i = 0; i < 2 * 2 * 32 * 10; i++)
                is = is && is_exact((double)((float *)one.data)[i]);
            same_dtype = same_dtype && same_values(&one, &two);
            same_layout = same_layout && same_values(&one, &three);
            free(one.data);
            free(two.data);
            free(three.data);
        }
        exact += is;
        dtypes += same_dtype;
        layouts += same_layout;
    }
    tap_ok(exact == fb_recipe_form_count, "%d distributions are exact in every dtype", exact);
    tap_ok(dtypes == fb_recipe_form_count, "%d are the same in every dtype", dtypes);
    tap_ok(layouts == fb_recipe_form_count, "%d are the same in every layout", layouts);
    fb_problem_free(&p);
}

static void test_independence(void)
{
    struct fb_problem small, large, packed;
    struct fb_recipe r;
    fb_recipe_parse(&r, "outliers@5");
    fb_problem_parse(&small, "b=2,h=2,n=70,d=12");
    fb_problem_parse(&large, "b=5,h=8,n=200,d=12");
    fb_problem_parse(&packed, "h=2,qlens=70+0+3,klens=3+9+70,d=12");
    struct fb_tensor a = make_tensor(2, 2, 70, 12, FB_FP32, bhnd, 0);
    struct fb_tensor b = make_tensor(5, 8, 200, 12, FB_FP32, bhnd, 0);
    struct fb_tensor c = make_tensor(1, 2, 73, 12, FB_FP32, bhnd, 0);
    fb_input_fill(&r, &small, FB_INPUT_Q, &a);
    fb_input_fill(&r, &large, FB_INPUT_Q, &b);
    tap_ok(same_values(&a, &b), "a larger problem holds the values of a smaller one");
    fb_input_fill(&r, &packed, FB_INPUT_Q, &c);
    tap_ok(at(&c, 0, 1, 69, 3) == at(&b, 0, 1, 69, 3) && at(&c, 0, 1, 72, 3) == at(&b, 2, 1, 2, 3),
           "row i of packed sequence s is row i of batch s");
    tap_ok(fb_input_value(&r, &large, FB_INPUT_Q, 4, 7, 199, 11) == at(&b, 4, 7, 199, 11),
           "one value alone is that of the tensor");
    tap_ok(at(&b, 0, 0, 0, 0) != at(&b, 1, 0, 0, 0) && at(&b, 0, 0, 0, 0) != at(&b, 0, 1, 0, 0) &&
               fb_input_value(&r, &large, FB_INPUT_K, 0, 0, 0, 0) != at(&b, 0, 0, 0, 0),
           "batches, heads and tensors differ");
    free(a.data);
    free(c.data);
#ifdef _OPENMP
    a = make_tensor(5, 8, 200, 12, FB_FP32, bhnd, 0);
    omp_set_num_threads(3);
    fb_input_fill(&r, &large, FB_INPUT_Q, &a);
    omp_set_num_threads(1);
    fb_input_fill(&r, &large, FB_INPUT_Q, &b);
    tap_ok(same_values(&a, &b), "threads change nothing");
    free(a.data);
#endif
    free(b.data);
    fb_problem_free(&small);
    fb_problem_free(&large);
    fb_problem_free(&packed);
}

static void test_expanded(void)
{
    struct fb_problem p;
    struct fb_recipe r;
    float row[8] = {0};
    fb_recipe_parse(&r, "randn@5");
    fb_problem_parse(&p, "b=2,h=3,n=4,d=8,layout=expanded-dout");
    struct fb_tensor t = {row, FB_FP32, {2, 3, 4, 8}, {0, 0, 0, 1}};
    fb_input_fill(&r, &p, FB_INPUT_DOUT, &t);
    int good = 0;
    for (int c = 0; c < 8; c++)
        good += (double)row[c] == fb_input_value(&r, &p, FB_INPUT_DOUT, 0, 0, 0, c);
    tap_ok(good == 8, "an expanded tensor holds the row of index 0");
    fb_problem_free(&p);
}

/* A hash over many values: the same on every machine and for every later version. */
static void test_golden(void)
{
    static const struct {
        const char *recipe;
        uint64_t hash;
    } golden[] = {{"randn@1", 0x891be046199fc5d9u},
                  {"outliers@2", 0xc7ae9e13cbda1dacu},
                  {"uniform@3", 0x3fcfd6a56bdb3a54u}};
    struct fb_problem p;
    fb_problem_parse(&p, "n=64,d=64");
    for (int g = 0; g < 3; g++) {
        struct fb_recipe r;
        uint64_t hash = 14695981039346656037u;
        fb_recipe_parse(&r, golden[g].recipe);
        for (int64_t i = 0; i < 64 * 64; i++) {
            float value = (float)fb_input_value(&r, &p, FB_INPUT_Q, 0, 0, i / 64, i % 64);
            hash = (hash ^ fb_double_to_bf16((double)value)) * 1099511628211u;
        }
        if (!tap_ok(hash == golden[g].hash, "%s has the values it always had", golden[g].recipe))
            tap_note("hash %" PRIx64, hash);
    }
    fb_problem_free(&p);
}

/* ---- Promises -------------------------------------------------------------------------------- */

static struct fb_problem problem;
static struct fb_recipe recipe;

static void take(const char *recipe_text)
{
    if (fb_recipe_parse(&recipe, recipe_text) != FB_OK)
        tap_ok(false, "%s", fb_status_message());
}

static double value(enum fb_input input, int64_t head, int64_t row, int64_t column)
{
    return fb_input_value(&recipe, &problem, input, 0, head, row, column);
}

static double logit(int64_t head, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t c = 0; c < problem.d; c++)
        sum += value(FB_INPUT_Q, head, i, c) *
               value(FB_INPUT_K, head / (problem.h / problem.hk), j, c);
    return sum * problem.scale;
}

static void test_moments(void)
{
    double sum = 0, square = 0, largest = 0;
    int far = 0;
    const int count = 200000;
    take("randn@1");
    for (int i = 0; i < count; i++) {
        double x = value(FB_INPUT_K, 0, i / 64, i % 64);
        sum += x;
        square += x * x;
        largest = fmax(largest, fabs(x));
    }
    tap_ok(fabs(sum / count) < 0.01 && fabs(square / count - 1) < 0.01 && largest > 4 &&
               largest < 6.5,
           "randn has mean 0, variance 1: %.4f, %.4f", sum / count, square / count);
    take("outliers:p=0.01@1");
    for (int i = 0; i < count; i++)
        far += fabs(value(FB_INPUT_K, 0, i / 64, i % 64)) > 6;
    tap_ok(far > 800 && far < 1300, "outliers lie far out: %d of %d", far, count);
}

static void test_logits(void)
{
    take("sink:logit=12@1");
    tap_ok(fabs(logit(0, 5, 0) - 12) < 0.1 && fabs(logit(3, 60, 0) - 12) < 0.1 &&
               fabs(logit(0, 5, 3)) < 6,
           "sink: key 0 has the logit asked for: %g", logit(0, 5, 0));
    take("multi-sink:keys=3:logit=12@1");
    tap_ok(logit(1, 9, 0) == logit(1, 9, 1) && logit(1, 9, 1) == logit(1, 9, 2) &&
               fabs(logit(1, 9, 2) - 12) < 0.1 && logit(1, 9, 3) < 7,
           "multi-sink: three keys share the maximum");
    int signs = 0;
    for (int i = 0; i < 64; i++)
        signs += value(FB_INPUT_V, 0, i, 1) <= -2 && value(FB_INPUT_V, 0, i, 1) >= -4;
    tap_ok(signs == 64, "multi-sink: v is in [-4, -2]");
    take("deep-negative@1");
    tap_ok(logit(0, 1, 3) < -250 && logit(0, 2, 3) > -60, "deep-negative: odd rows are deep");
    take("deep-positive@1");
    tap_ok(logit(0, 1, 3) > 250, "deep-positive: odd rows are high");
    take("one-hot@1");
    int hot = 0;
    for (int i = 0; i < 64; i++) {
        double rest = 0, own = logit(3, i, i);
        for (int j = 0; j < 64; j++)
            rest += j == i ? 0 : exp(logit(3, i, j) - own);
        hot += rest < 1e-6;
    }
    tap_ok(hot == 64, "one-hot: one key takes all the mass in %d of 64 rows", hot);
    take("early-keys@1");
    tap_ok(logit(0, 20, 3) > 2 && logit(0, 20, 30) < 4, "early-keys: early keys stand out");
    take("flat@1");
    tap_ok(logit(0, 20, 3) == 0, "flat: all logits are 0");
    take("huge@1");
    tap_ok(fabs(logit(0, 20, 3) - 8e6) < 1e5, "huge: logits of 8e6");
}

static void test_rows(void)
{
    int same = 0, runs = 0;
    for (int c = 0; c < 64; c++) {
        take("equal-keys@1");
        same += value(FB_INPUT_K, 1, 0, c) == value(FB_INPUT_K, 1, 63, c);
        take("repeat:run=8@1");
        runs += value(FB_INPUT_V, 1, 8, c) == value(FB_INPUT_V, 1, 15, c) &&
                value(FB_INPUT_V, 1, 8, c) != value(FB_INPUT_V, 1, 16, c);
    }
    tap_ok(same == 64, "equal-keys: all keys are one row");
    tap_ok(runs >= 60, "repeat: rows come in runs (%d of 64 columns)", runs);
    take("alternating@1");
    tap_ok(value(FB_INPUT_DOUT, 0, 0, 0) > 0 && value(FB_INPUT_DOUT, 0, 1, 0) < 0,
           "alternating: dout changes its sign from row to row");
    take("one-signed@1");
    tap_ok(value(FB_INPUT_DOUT, 0, 1, 0) > 0 && value(FB_INPUT_V, 0, 1, 0) > 0,
           "one-signed: v and dout are positive");
    take("channel:index=70@1");
    tap_ok(value(FB_INPUT_K, 0, 0, 6) > 14 && fabs(value(FB_INPUT_Q, 0, 0, 6) - 1) < 0.6,
           "channel: the index wraps at d");
    take("large-dout:exponent=12@1");
    tap_ok(fabs(value(FB_INPUT_DOUT, 0, 0, 0)) > 4 && fabs(value(FB_INPUT_V, 0, 0, 0)) < 7,
           "large-dout scales dout alone");
    take("constant-dout:sigma=3@1");
    tap_ok(value(FB_INPUT_DOUT, 0, 5, 0) == 1, "constant-dout: dout is one value");
}

/* o = b exactly: the mean over a pair of values is the column's integer, and it is the same for all
 * pairs; ds is an integer over the keys seen. */
static void test_dyadic(void)
{
    struct fb_problem causal;
    int pairs = 0, rows = 0, zero = 0;
    take("dyadic@1");
    for (int t = 0; t < 32; t++)
        for (int c = 0; c < 64; c++) {
            double sum = value(FB_INPUT_V, 1, 2 * t, c) + value(FB_INPUT_V, 1, 2 * t + 1, c);
            pairs += sum == value(FB_INPUT_V, 1, 0, c) + value(FB_INPUT_V, 1, 1, c);
            zero += logit(1, t, c % 32) == 0;
        }
    tap_ok(pairs == 32 * 64 && zero == 32 * 64, "dyadic: s = 0 and o is an integer");
    fb_problem_parse(&causal, "h=4,n=64,d=64,causal");
    for (int i = 0; i < 64; i++) {
        bool any = false;
        for (int c = 0; c < 64; c++)
            any |= fb_input_value(&recipe, &causal, FB_INPUT_DOUT, 0, 0, i, c) != 0;
        rows += any == !((i + 1) & i);
    }
    tap_is_int((long long)rows, 64,
               "dyadic: under a causal mask only rows that see 2^m keys have a dout");
    fb_problem_free(&causal);
}

int main(void)
{
    test_quantile();
    test_rounding();
    test_every_distribution();
    test_independence();
    test_expanded();
    test_golden();
    fb_problem_parse(&problem, "h=4,hk=2,n=64,d=64");
    test_moments();
    test_logits();
    test_rows();
    test_dyadic();
    fb_problem_free(&problem);
    return tap_done();
}
