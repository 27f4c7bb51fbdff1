/* SPDX-License-Identifier: BSD-3-Clause
 *
 * print_inputs.c: the values of a recipe, one a line, for tests of programs that draw them too.
 *
 *     print_inputs PROBLEM RECIPE     q, k, v and dout, each in the order of [b, h, n, d]
 */
#include <stdio.h>

#include "core/problem.h"
#include "core/status.h"
#include "data/inputs.h"

static void print_tensor(const struct fb_recipe *recipe, const struct fb_problem *p,
                         enum fb_input input)
{
    const int key = input == FB_INPUT_K || input == FB_INPUT_V;
    const int value = input == FB_INPUT_V || input == FB_INPUT_DOUT;
    for (int64_t b = 0; b < p->b; b++)
        for (int64_t h = 0; h < (key ? p->hk : p->h); h++)
            for (int64_t n = 0; n < (key ? p->nk : p->nq); n++)
                for (int64_t c = 0; c < (value ? p->dv : p->d); c++)
                    printf("%a\n", fb_input_value(recipe, p, input, b, h, n, c));
}

int main(int argc, char **argv)
{
    struct fb_problem problem;
    struct fb_recipe recipe;
    if (argc != 3 || fb_problem_parse(&problem, argv[1]) != FB_OK ||
        fb_recipe_parse(&recipe, argv[2]) != FB_OK) {
        fprintf(stderr, "print_inputs PROBLEM RECIPE: %s\n", fb_status_message());
        return 2;
    }
    for (int input = FB_INPUT_Q; input <= FB_INPUT_DOUT; input++)
        print_tensor(&recipe, &problem, (enum fb_input)input);
    fb_problem_free(&problem);
    return 0;
}
