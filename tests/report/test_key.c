/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_key.c: a figure's key names all series, away from its title and from what is drawn
 * below, however many there are and however long their names; no two of them look the same, and
 * none is named that is not drawn. Its subtitle names the machines of what is drawn. What is drawn
 * belongs together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "report/plot.h"
#include "store/files.h"
#include "tests/capture.h"
#include "tests/report/drawing.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

#define VARIANTS 12
#define ROOM 16 /* pixels from one line of text to the next; the letters take 10 */

static char folder[] = "/tmp/flashback-key-XXXXXX";

static void make_variants(struct fb_results *results)
{
    struct fb_run run;
    fb_results_init(results);
    make_run(&run, "synthetic", 0, 1);
    fb_results_add_run(results, &run);
    for (int v = 0; v < VARIANTS; v++)
        for (int64_t n = 256; n <= 512; n *= 2) {
            char name[64];
            struct make_case one = {name, "fp32", "full", "fp32", "fp32", 1, 8, n, 64, 5, 1};
            struct fb_record record;
            snprintf(name, sizeof name, "cpu-mine-%02d%s", v, v ? "" : "-that-has-a-long-name");
            make_record(&record, &one);
            fb_results_add(results, &record);
            fb_record_free(&record);
        }
}

static char *draw(const struct fb_results *results, const char *figure)
{
    struct fb_plot_options options = {.folder = folder, .format = "svg", .figure = figure};
    struct capture capture;
    char path[128], *svg = NULL;
    size_t drawn, length;
    capture_begin(&capture);
    fb_status_clear();
    fb_plot(results, &options, &drawn);
    free(capture_end(&capture));
    snprintf(path, sizeof path, "%s/%s.svg", folder, figure);
    fb_file_read(path, &svg, &length);
    unlink(path);
    strcpy(strrchr(path, '.'), ".gp");
    unlink(path);
    return svg;
}

struct heights {
    double title, first, last, below; /* of lines of text, counted from the top */
    int entries;
};

/* The key comes after titles and the note at the foot, and before all else. */
static struct heights measure(const char *svg)
{
    struct heights h = {0, INFINITY, 0, INFINITY, 0};
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")); at++) {
        char words[128] = "";
        double x, y;
        if (sscanf(at + 24, "%lf,%lf", &x, &y) != 2 ||
            sscanf(at, "%*[^\n] <text>%127[^<]", words) != 1)
            continue;
        if (!strncmp(words, "cpu-mine-", 9)) {
            h.entries++;
            h.first = fmin(h.first, y);
            h.last = fmax(h.last, y);
        } else if (!h.entries && y < 60)
            h.title = fmax(h.title, y);
        else if (h.entries && strcmp(words, "GEMM") != 0 && strcmp(words, "o + lse + delta") != 0)
            h.below = fmin(h.below, y);
    }
    return h;
}

/* How far from the top the first line of text with these words stands; NAN where there is none. */
static double height_of(const char *svg, const char *wanted)
{
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")); at++) {
        char words[128] = "";
        double x, y;
        if (sscanf(at + 24, "%lf,%lf", &x, &y) == 2 &&
            sscanf(at, "%*[^\n]%*[^>]>%127[^<]", words) == 1 && strstr(words, wanted))
            return y;
    }
    return NAN;
}

/* How many kinds of points there are, of a shape and a colour. */
static int count_points(const char *svg)
{
    char seen[64][64];
    int count = 0;
    for (const char *at = svg; (at = strstr(at, "<use xlink:href='#gpPt")) && count < 64; at++) {
        char shape[8] = "", color[40] = "", both[64];
        if (sscanf(at, "<use xlink:href='#%7[^']' transform=%*[^c]cale%*[^c]color='%39[^']'", shape,
                   color) != 2)
            continue;
        snprintf(both, sizeof both, "%s %s", shape, color);
        int i = 0;
        while (i < count && strcmp(seen[i], both) != 0)
            i++;
        if (i == count)
            strcpy(seen[count++], both);
    }
    return count;
}

static void test_keys(void)
{
    static const char *const figures[] = {"speed", "memory", "drift"};
    struct fb_results results;
    make_variants(&results);
    for (int f = 0; f < 3; f++) {
        char *svg = draw(&results, figures[f]);
        struct heights h = measure(svg ? svg : "");
        tap_ok(h.entries == (f ? VARIANTS : 8), "%s: the key has %d variants", figures[f],
               h.entries);
        tap_ok(h.entries && h.first - h.title >= ROOM && h.below - h.last >= ROOM,
               "its title stands %.0f pixels above, the next words %.0f below", h.first - h.title,
               h.below - h.last);
        if (f)
            tap_ok(svg && count_points(svg) == VARIANTS, "each has points of its own");
        free(svg);
    }
    fb_results_free(&results);
}

/* Bars of two of the kinds that there are, in panels of eight bars and of two. */
static void test_bars(void)
{
    struct fb_results results;
    make_variants(&results);
    for (size_t i = 0; i < results.record_count; i++) {
        struct fb_record *r = &results.records[i];
        r->d = i < 16 ? 64 : i < 20 ? 128 : 256;
        r->det_runs = 10;
        r->det_equal = i < 4 ? 3 : 10;
        r->det_claim = FB_DET_ALL;
    }
    char *svg = draw(&results, "determinism");
    tap_ok(svg && strstr(svg, "<text>the same bits in every run</text>") &&
               strstr(svg, "<text>bits differ from run to run</text>") &&
               !strstr(svg, "none is ruled out"),
           "determinism: the key has the kinds of bars that are drawn");
    const double axis = height_of(svg ? svg : "", "FLOP/s");
    const double foot = height_of(svg ? svg : "", "D1: at rest");
    tap_ok(foot - axis > ROOM && foot - axis < 80, "nothing is left empty below short panels: %.0f",
           foot - axis);
    free(svg);
    fb_results_free(&results);
}

static bool says(const struct fb_results *results, const char *words)
{
    char *svg = draw(results, "speed");
    bool there = svg && strstr(svg, words);
    free(svg);
    return there;
}

static void test_machines(void)
{
    struct fb_results results;
    struct fb_run other;
    make_variants(&results);
    fb_run_set(&results.runs[0], "gpu_name", "a device");
    tap_ok(says(&results, "<text>synthetic values, no machine, 2 threads<"),
           "times of a processor are not said to be a device's");
    make_run(&other, "elsewhere", 0, 1);
    fb_run_set(&other, "cpu_model", "a second processor");
    fb_results_add_run(&results, &other);
    results.records[1].run = 1;
    tap_ok(says(&results, "<text>synthetic values, no machine, a second processor<"),
           "two machines are named");
    fb_text_set(&results.records[2].backend, "simt");
    tap_ok(says(&results, "<text>synthetic values, no machine, a second processor and others<"),
           "and that there are more");
    fb_results_free(&results);
}

static void add_one(struct fb_results *results, const char *variant, int64_t h, int64_t n)
{
    struct make_case one = {variant, "fp32", "full", "fp32", "fp32", 1, h, n, 64, 5, 1};
    struct fb_record record;
    make_record(&record, &one);
    fb_results_add(results, &record);
    fb_record_free(&record);
}

/* One variant at four lengths of one head, three at two lengths of two heads: bytes a head of both
 * would make one line that falls with the length. */
static void test_heads(void)
{
    static const char *const variants[] = {"cpu-naive", "cpu-atomic", "cpu-split"};
    struct fb_results results;
    struct fb_run run;
    fb_results_init(&results);
    make_run(&run, "synthetic", 0, 1);
    fb_results_add_run(&results, &run);
    for (int64_t n = 256; n <= 2048; n *= 2)
        add_one(&results, "cpu-split", 1, n);
    for (int64_t n = 512; n <= 1024; n *= 2)
        for (int v = 0; v < 3; v++)
            add_one(&results, variants[v], 2, n);
    char *svg = draw(&results, "memory");
    tap_ok(svg && strstr(svg, ">512<") && strstr(svg, ">1k<") && strstr(svg, ">cpu-naive<"),
           "memory: the number of heads with the most points is drawn");
    tap_ok(svg && !strstr(svg, ">256<") && !strstr(svg, ">2k<"),
           "and the lengths of another number of heads are not");
    free(svg);
    fb_results_free(&results);
}

/* One variant at a length where it stands alone: the panel shows the length of the comparison. */
static void test_company(void)
{
    struct fb_results results;
    make_variants(&results);
    add_one(&results, "cpu-mine-01", 8, 1024);
    char *svg = draw(&results, "determinism");
    tap_ok(svg && strstr(svg, "n=512<") && !strstr(svg, "n=1k<") && strstr(svg, ">cpu-mine-11<"),
           "determinism: the longest length that all variants have is drawn");
    free(svg);
    fb_results_free(&results);
}

static void test_all(void)
{
    test_keys();
    test_bars();
    test_heads();
    test_company();
    test_machines();
}

int main(void)
{
    return drawing_main(folder, test_all);
}
