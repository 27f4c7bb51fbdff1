/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_plot.c: every figure that the data can fill is there and not empty, in each format
 * and whatever the data; without gnuplot, without fonts and without room there is one clear line.
 */
#include <dirent.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/status.h"
#include "report/figures.h"
#include "report/plot.h"
#include "store/files.h"
#include "tests/capture.h"
#include "tests/report/drawing.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

static char folder[] = "/tmp/flashback-plot-XXXXXX";
static char said[4096]; /* what the last plot printed */

static enum fb_status plot(const struct fb_results *results, const char *format, size_t *drawn)
{
    struct fb_plot_options options = {.folder = folder, .format = format};
    struct capture capture;
    capture_begin(&capture);
    fb_status_clear();
    enum fb_status status = fb_plot(results, &options, drawn);
    char *text = capture_end(&capture);
    snprintf(said, sizeof said, "%s", text);
    free(text);
    return status;
}

/* Removes what is in the folder; how many files there were that end in `ending`. */
static size_t sweep(const char *ending)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[512];
        size_t length = strlen(entry->d_name), wanted = strlen(ending);
        if (entry->d_name[0] == '.')
            continue;
        count += length >= wanted && !strcmp(entry->d_name + length - wanted, ending);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
    return count;
}

static size_t size_of(const char *name)
{
    char path[256];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &about) ? 0 : (size_t)about.st_size;
}

static char *content_of(const char *name)
{
    char path[256], *text = NULL;
    size_t length;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fb_status_clear();
    return fb_file_read(path, &text, &length) == FB_OK ? text : NULL;
}

static void test_formats(void)
{
    static const char *const formats[] = {"svg", "png", "pdf"};
    struct fb_results results;
    make_results(&results, "speed");
    for (size_t f = 0; f < 3; f++) {
        size_t drawn, there = 0;
        enum fb_status status = plot(&results, formats[f], &drawn);
        for (size_t i = 0; i < fb_figure_count; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s.%s", fb_figures[i].name, formats[f]);
            there += size_of(name) > 1000;
        }
        tap_ok(status == FB_OK && drawn == 4 && there == 4, "%s: all four figures are there %s",
               formats[f], fb_status_message());
        tap_ok(sweep(".tmp") == 0, "and no temporary file");
    }
    fb_results_free(&results);
}

static void test_script(void)
{
    struct fb_results results;
    size_t drawn;
    char command[256];
    make_results(&results, "speed");
    plot(&results, "svg", &drawn);
    char *first = content_of("speed.svg");
    plot(&results, "svg", &drawn);
    char *second = content_of("speed.svg");
    tap_ok(first && second && !strcmp(first, second), "drawn twice, the same bytes");
    free(second);
    snprintf(command, sizeof command, "cd %s && rm speed.svg && gnuplot -d speed.gp", folder);
    tap_ok(system(command) == 0 && (second = content_of("speed.svg")) && !strcmp(first, second),
           "the script alone draws it again");
    free(second);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    plot(&results, "svg", &drawn);
    unsetenv("LC_ALL");
    second = content_of("speed.svg");
    tap_ok(second && !strcmp(first, second), "the same bytes with LC_ALL=de_DE.UTF-8");
    free(first);
    free(second);
    setenv("GNUTERM", "qt", 1);
    setenv("DISPLAY", ":99", 1);
    tap_ok(plot(&results, "svg", &drawn) == FB_OK && drawn == 4,
           "GNUTERM and DISPLAY do not matter");
    unsetenv("GNUTERM");
    unsetenv("DISPLAY");
    sweep("");
    fb_results_free(&results);
}

/* How many colours the boxes of a picture have. */
static int count_fills(const char *svg)
{
    int seen[64][3], count = 0;
    for (const char *at = svg; (at = strstr(at, "fill = 'rgb(")) && count < 64; at++) {
        int c[3] = {0}, i = 0;
        sscanf(at, "fill = 'rgb( %d , %d , %d", &c[0], &c[1], &c[2]);
        while (i < count && memcmp(seen[i], c, sizeof c) != 0)
            i++;
        if (i == count)
            memcpy(seen[count++], c, sizeof c);
    }
    return count;
}

/* A name that no idea is known of, third in the key: the third colour is cpu-atomic's. */
static void test_names(void)
{
    static const char odd[] = "my_own^@{v2}s";
    struct fb_results results;
    size_t drawn;
    make_results(&results, "speed");
    for (size_t i = 0; i < results.record_count; i++)
        if (!strcmp(results.records[i].variant, "cpu-split"))
            fb_text_set(&results.records[i].variant, "%s", odd);
    plot(&results, "svg", &drawn);
    char *speed = content_of("speed.svg"), *determinism = content_of("determinism.svg");
    tap_ok(speed && strstr(speed, odd) && determinism && strstr(determinism, odd),
           "names are shown as they are: %s", odd);
    tap_ok(speed && count_fills(speed) == 5, "five variants have five colours");
    free(speed);
    free(determinism);
    sweep("");
    fb_results_free(&results);
}

static void test_no_bytes(void)
{
    struct fb_results results;
    size_t drawn;
    make_results(&results, "memory");
    for (size_t i = 0; i < results.record_count; i++)
        if (!strcmp(results.records[i].variant, "cpu-split"))
            results.records[i].saved_bytes = results.records[i].workspace_bytes = 0;
    plot(&results, "svg", &drawn);
    char *memory = content_of("memory.svg");
    tap_ok(memory && strstr(memory, "no bytes at all"), "no bytes at all: a note says so");
    free(memory);
    sweep("");
    fb_results_free(&results);
}

/* How far the words beside a bar stand over the column of panels that they belong to, at most, in
 * pixels of a picture with two columns. A character of 8.5 points takes 6 pixels or more. INFINITY
 * where there are no such words. */
static double overhang(const char *svg)
{
    const char *size = strstr(svg, "width=\"");
    const double column = size ? strtod(size + 7, NULL) / 2 : 0;
    double most = -INFINITY;
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")); at++) {
        char words[128] = "";
        const double x = strtod(at + 24, NULL);
        sscanf(at, "%*[^\n]%*[^>]>%127[^<]", words);
        double over = x + 6 * (double)strlen(words) - (x < column ? column : 2 * column);
        if (strstr(words, " equal") && over > most)
            most = over;
    }
    return isfinite(most) ? most : INFINITY;
}

static void test_levels(void)
{
    struct fb_results results;
    size_t drawn;
    make_results(&results, "speed");
    for (size_t i = 0; i < results.record_count; i++) {
        results.records[i].det_runs = results.records[i].det_equal = 1000;
        results.records[i].det_level = FB_LEVEL_D1 | FB_LEVEL_D2 | FB_LEVEL_D4;
    }
    plot(&results, "svg", &drawn);
    char *svg = content_of("determinism.svg");
    double over = svg ? overhang(svg) : INFINITY;
    tap_ok(over < 0, "the longest words have their place: %.0f pixels to spare", -over);
    tap_ok(svg && strstr(svg, "D2: under a second load") && strstr(svg, "D3, in another batch"),
           "the levels are explained");
    free(svg);
    sweep("");
    fb_results_free(&results);
}

/* What a spoiler does to the records of a small grid, of two variants and three lengths. */
static void spoil(struct fb_record *r, int how)
{
    bool second = r->variant[4] == 's';
    switch (how) {
    case 0: /* equal values */
        r->bwd.tflops = 0.05;
        r->tensor.dq.rel_l2 = r->tensor.dk.rel_l2 = r->tensor.dv.rel_l2 = 1e-7;
        r->workspace_bytes = 1000;
        break;
    case 1: /* zeros where an axis is logarithmic */
        r->tensor.dq.rel_l2 = r->tensor.dk.rel_l2 = second ? 0 : 1e-3;
        r->tensor.dv.rel_l2 = 0;
        r->saved_bytes = r->workspace_bytes = 0;
        break;
    case 2: /* nothing known */
        r->bwd.ms = r->bwd.tflops = r->tensor.dq.rel_l2 = r->tensor.dk.rel_l2 = NAN;
        r->saved_bytes = FB_MISSING_INT;
        break;
    case 3: /* unknown intervals, infinite errors */
        r->bwd.ms_lo = r->bwd.ms_hi = NAN;
        r->tensor.dq.rel_l2 = r->nq > 512 ? INFINITY : 1e-3;
        r->tensor.dk.rel_l2 = NAN;
        break;
    case 4: /* nothing but infinite errors */
        r->tensor.dq.rel_l2 = r->tensor.dk.rel_l2 = r->tensor.dv.rel_l2 = INFINITY;
        break;
    default: /* one variant failed everywhere */
        if (second)
            r->outcome = FB_OUTCOME_FAIL;
        break;
    }
}

static void test_odd_data(void)
{
    static const char *const names[] = {"equal values",    "zeros",
                                        "nothing known",   "intervals unknown",
                                        "errors infinite", "one variant failed"};
    static const size_t wanted[] = {4, 4, 0, 4, 3, 4};
    for (int how = 0; how < 6; how++) {
        struct fb_results results;
        size_t drawn;
        make_results(&results, "");
        for (int64_t n = 512; n <= 2048; n *= 2)
            for (int v = 0; v < 2; v++) {
                const char *name = v ? "cpu-split" : "cpu-atomic";
                struct make_case one = {name, "fp32", "full", "fp32", "fp32", 1, 2, n, 64, 9, 1};
                struct fb_record record;
                make_record(&record, &one);
                spoil(&record, how);
                fb_results_add(&results, &record);
            }
        enum fb_status status = plot(&results, "svg", &drawn);
        tap_ok(status == FB_OK && drawn == wanted[how], "%s: %zu figures %s", names[how], drawn,
               fb_status_message());
        sweep("");
        fb_results_free(&results);
    }
}

static void test_few(void)
{
    for (int count = 0; count <= 2; count++) {
        struct fb_results results;
        size_t drawn, skipped = 0;
        make_results(&results, "");
        for (int i = 0; i < count; i++) {
            struct make_case one = {"cpu-split", "fp32", "full", "fp32", "fp32", 1,
                                    2,           512,    64,     9,      1};
            struct fb_record record;
            one.variant = i ? "cpu-atomic" : "cpu-split";
            make_record(&record, &one);
            fb_results_add(&results, &record);
        }
        enum fb_status status = plot(&results, "svg", &drawn);
        for (const char *at = said; (at = strstr(at, "skipped, ")); at++)
            skipped++;
        tap_ok(status == FB_OK && drawn == (count ? 2 : 0) && drawn + skipped == 4,
               "%d records: %zu figures drawn, %zu skipped with a reason", count, drawn, skipped);
        tap_ok(sweep(".svg") == drawn, "and only those are there");
        fb_results_free(&results);
    }
}

/* ---- Without this and that --------------------------------------------------------------------
 */

/* A folder with a program of that name, put in front of PATH or in its place. */
static void put_program(const char *name, const char *body, bool only)
{
    char path[256], search[4096];
    snprintf(path, sizeof path, "%s/.bin", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/.bin/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "#!/bin/sh\n%s\n", body);
        fclose(file);
        chmod(path, 0777);
    }
    snprintf(search, sizeof search, "%s/.bin%s%s", folder, only ? "" : ":",
             only ? "" : getenv("PATH"));
    setenv("PATH", search, 1);
}

static void take_program(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/.bin/%s", folder, name);
    unlink(path);
    snprintf(path, sizeof path, "%s/.bin", folder);
    rmdir(path);
}

static void expect_failure(const struct fb_results *results, const char *what, const char *words)
{
    size_t drawn;
    enum fb_status status = plot(results, "svg", &drawn);
    tap_ok(status == FB_IO && strstr(fb_status_message(), words), "%s: %s", what,
           fb_status_message());
    tap_ok(sweep(".svg") == 0, "and no picture");
}

static void test_without(void)
{
    struct fb_results results;
    char *search = strdup(getenv("PATH"));
    make_results(&results, "speed");
    put_program("fc-list", "exit 0", false);
    expect_failure(&results, "no font", "the font DejaVu Sans is not installed");
    take_program("fc-list");
    put_program("gnuplot", "exit 0", false);
    expect_failure(&results, "a gnuplot that draws nothing", "drew nothing");
    put_program("gnuplot", "echo '\"speed.gp\" line 3: unknown or ambiguous terminal'; exit 1",
                false);
    expect_failure(&results, "a gnuplot without the terminal", "unknown or ambiguous terminal");
    put_program("gnuplot", "kill -9 $$", false);
    expect_failure(&results, "a gnuplot that is killed", "killed by a signal (Killed)");
    take_program("gnuplot");
    put_program("fc-list", "echo 'DejaVu Sans'", true);
    expect_failure(&results, "no gnuplot", "gnuplot is not installed");
    take_program("fc-list");
    setenv("PATH", search, 1);
    free(search);
    struct fb_plot_options options = {.folder = "/proc/none", .format = "svg"};
    size_t drawn;
    fb_status_clear();
    tap_ok(fb_plot(&results, &options, &drawn) == FB_IO, "no folder: %s", fb_status_message());
    options = (struct fb_plot_options){.folder = folder, .format = "svg"};
    fb_status_clear();
    tap_ok(make_value(&results.records[0], "dtype", "../fp32") == FB_CORRUPT,
           "no name of a type leads out of the folder: %s", fb_status_message());
    options.format = "gif";
    fb_status_clear();
    tap_ok(fb_plot(&results, &options, &drawn) == FB_USAGE, "%s", fb_status_message());
    options = (struct fb_plot_options){.folder = folder, .format = "svg", .figure = "pie"};
    fb_status_clear();
    tap_ok(fb_plot(&results, &options, &drawn) == FB_USAGE, "%s", fb_status_message());
    fb_results_free(&results);
}

static void test_all(void)
{
    test_formats();
    test_script();
    test_names();
    test_no_bytes();
    test_levels();
    test_odd_data();
    test_few();
    test_without();
    sweep("");
}

int main(void)
{
    return drawing_main(folder, test_all);
}
