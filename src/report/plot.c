/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plot.c: from records to pictures: pick the data, write the script, run gnuplot, and believe in
 * the picture only once it is there and not empty.
 */
#include "report/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/paths.h"
#include "core/log.h"
#include "core/status.h"
#include "report/figures.h"
#include "report/gnuplot.h"
#include "store/columns.h"
#include "store/files.h"

#define PATH_ROOM 4096
#define INCLUDE "load 'style.gp'\n" /* the line of a script that the style takes the place of */

static const char *const formats[] = {"svg", "png", "pdf"};

static enum fb_status refuse_figure(const char *name)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < fb_figure_count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 fb_figures[i].name);
    return fb_fail(FB_USAGE, "figure: '%s' is not one of %s", name, names);
}

enum fb_status fb_plot_check(const struct fb_plot_options *options)
{
    bool known_format = false, known_figure = !options->figure;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        known_format |= !strcmp(options->format, formats[i]);
    for (size_t i = 0; i < fb_figure_count && options->figure; i++)
        known_figure |= !strcmp(options->figure, fb_figures[i].name);
    if (!known_format)
        return fb_fail(FB_USAGE, "format: '%s' is not one of svg, png, pdf", options->format);
    if (!known_figure)
        return refuse_figure(options->figure);
    return FB_OK;
}

static enum fb_status make_folder(const char *folder)
{
    struct stat about;
    if (!stat(folder, &about) && S_ISDIR(about.st_mode))
        return FB_OK;
    if (mkdir(folder, 0777))
        return fb_fail(FB_IO, "cannot make the folder %s: %s", folder, strerror(errno));
    return FB_OK;
}

/* ---- The script -------------------------------------------------------------------------------
 */

static enum fb_status read_plot_file(const char *name, char **text)
{
    char path[PATH_ROOM];
    size_t length;
    snprintf(path, sizeof path, "%s/plots/%s.gp", fb_datadir(), name);
    FB_TRY(fb_file_read(path, text, &length));
    return FB_OK;
}

static void write_head(FILE *out, const char *name, const struct fb_figure_data *data)
{
    fprintf(out,
            "# %s: drawn by `gnuplot %s.gp`; FORMAT and OUTPUT may be set before with -e.\n"
            "# The data come first, then the style and the script that the program ships.\n",
            name, name);
    fb_chart_write_text(out, "NAME", name);
    fb_chart_write_text(out, "TITLE", data->title);
    fb_chart_write_text(out, "SUBTITLE", data->subtitle);
    fb_chart_write_text(out, "YLABEL", data->y_label);
    fb_chart_write(&data->chart, out);
    fputs("array CEILING[NP]\n", out);
    for (size_t p = 0; p < data->chart.panel_count && p < FB_MOST_PANELS; p++) {
        char element[32];
        snprintf(element, sizeof element, "CEILING[%zu]", p + 1);
        fb_chart_write_real(out, element, data->ceilings[p]);
    }
    putc('\n', out);
}

static enum fb_status join_script(const char *name, const struct fb_figure_data *data,
                                  const char *style, const char *script, char **bytes,
                                  size_t *length)
{
    const char *include = strstr(script, INCLUDE);
    FILE *out;
    if (!include)
        return fb_fail(FB_CORRUPT, "the script of figure %s does not load style.gp", name);
    out = open_memstream(bytes, length);
    if (!out)
        return fb_fail(FB_NO_MEMORY, "out of memory for the script of figure %s", name);
    write_head(out, name, data);
    fwrite(script, 1, (size_t)(include - script), out);
    fputs(style, out);
    fputs(include + sizeof INCLUDE - 1, out);
    if (fclose(out) || data->chart.failed) {
        free(*bytes);
        return fb_fail(FB_NO_MEMORY, "out of memory for the script of figure %s", name);
    }
    return FB_OK;
}

static enum fb_status write_script(const char *path, const char *name, const char *figure,
                                   const struct fb_figure_data *data)
{
    char *style = NULL, *script = NULL, *bytes = NULL;
    size_t length;
    enum fb_status status = FB_OK;
    FB_TRY_OUT(read_plot_file("style", &style));
    FB_TRY_OUT(read_plot_file(figure, &script));
    FB_TRY_OUT(join_script(name, data, style, script, &bytes, &length));
    status = fb_file_write(path, bytes, length);
    free(bytes);
out:
    free(style);
    free(script);
    return status;
}

/* ---- The picture ------------------------------------------------------------------------------
 */

static enum fb_status draw(const struct fb_plot_options *options, const char *name,
                           const char *figure, const struct fb_figure_data *data)
{
    char script[PATH_ROOM], picture[PATH_ROOM], temporary[PATH_ROOM], script_name[96], output[96];
    struct stat about;
    snprintf(script_name, sizeof script_name, "%s.gp", name);
    /* gnuplot opens it, so that it cannot be locked: a name that no other program writes to */
    snprintf(output, sizeof output, "%s.%s.%ld.tmp", name, options->format, (long)getpid());
    snprintf(script, sizeof script, "%s/%s", options->folder, script_name);
    snprintf(picture, sizeof picture, "%s/%s.%s", options->folder, name, options->format);
    snprintf(temporary, sizeof temporary, "%s/%s", options->folder, output);
    FB_TRY(write_script(script, name, figure, data));
    enum fb_status status = fb_gnuplot_run(options->folder, script_name, options->format, output);
    if (status == FB_OK && (stat(temporary, &about) || about.st_size == 0))
        status = fb_fail(FB_IO, "gnuplot drew nothing into %s", picture);
    if (status == FB_OK)
        status = fb_file_publish(temporary, picture);
    if (status != FB_OK) {
        unlink(temporary);
        return status;
    }
    printf("%s\n", picture);
    return FB_OK;
}

static enum fb_status draw_figure(const struct fb_results *results,
                                  const struct fb_plot_options *options,
                                  const struct fb_figure *figure, int dtype, const char *name,
                                  size_t *drawn)
{
    struct fb_figure_data *data = calloc(1, sizeof *data);
    if (!data)
        return fb_fail(FB_NO_MEMORY, "out of memory for figure %s", name);
    enum fb_status status = FB_OK;
    fb_figure_begin(data, results, dtype);
    figure->pick(data);
    if (!*data->reason && !data->chart.panel_count)
        snprintf(data->reason, sizeof data->reason, "no value of these records is finite");
    if (*data->reason) {
        printf("%s: skipped, %s\n", name, data->reason);
    } else {
        if (*data->remark)
            fb_log_note("%s: %s", name, data->remark);
        status = draw(options, name, figure->name, data);
        *drawn += status == FB_OK;
    }
    fb_chart_free(&data->chart);
    free(data);
    return status;
}

/* ---- All of them ------------------------------------------------------------------------------
 */

/* Is record i the first with its dtype? */
static bool first_of_dtype(const struct fb_results *results, size_t i)
{
    for (size_t before = 0; before < i; before++)
        if (results->records[before].dtype == results->records[i].dtype)
            return false;
    return true;
}

static size_t dtypes_of(const struct fb_results *results)
{
    size_t count = 0;
    for (size_t i = 0; i < results->record_count; i++)
        count += first_of_dtype(results, i);
    return count;
}

static enum fb_status draw_dtypes(const struct fb_results *results,
                                  const struct fb_plot_options *options,
                                  const struct fb_figure *figure, size_t *drawn)
{
    bool several = dtypes_of(results) > 1;
    for (size_t i = 0; i < results->record_count; i++) {
        const int dtype = results->records[i].dtype;
        char name[64];
        if (!first_of_dtype(results, i))
            continue;
        snprintf(name, sizeof name, "%s%s%s", figure->name, several ? "-" : "",
                 several ? fb_value_name(fb_values_dtype, dtype) : "");
        FB_TRY(draw_figure(results, options, figure, dtype, name, drawn));
    }
    if (!results->record_count)
        printf("%s: skipped, the file has no records\n", figure->name);
    return FB_OK;
}

enum fb_status fb_plot(const struct fb_results *results, const struct fb_plot_options *options,
                       size_t *drawn)
{
    *drawn = 0;
    FB_TRY(fb_plot_check(options));
    FB_TRY(make_folder(options->folder));
    FB_TRY(fb_gnuplot_check_font());
    for (size_t i = 0; i < fb_figure_count; i++)
        if (!options->figure || !strcmp(options->figure, fb_figures[i].name))
            FB_TRY(draw_dtypes(results, options, &fb_figures[i], drawn));
    if (fflush(stdout) || ferror(stdout))
        return fb_fail(FB_IO, "cannot write to standard output: %s", strerror(errno));
    return FB_OK;
}
