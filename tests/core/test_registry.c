/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of this program: names that files and tables can carry, each once; backends that
 * exist; descriptors that are whole.
 */
#include <stdio.h>
#include <string.h>

#include "core/backends.h"
#include "core/registry.h"
#include "core/status.h"
#include "tests/tap.h"

static void test_words(void)
{
    tap_ok(fb_registry_is_name("cpu-atomic") && fb_registry_is_name("x2"), "names");
    tap_ok(!fb_registry_is_name("") && !fb_registry_is_name("-v") &&
               !fb_registry_is_name("Cpu-Hello") && !fb_registry_is_name("a b") &&
               !fb_registry_is_name("a|b"),
           "no names");
    tap_ok(fb_backend_find("cpu") && fb_backend_find("cudnn") && !fb_backend_find("gpu") &&
               !fb_backend_find(""),
           "backends: %s", fb_backend_names());
    tap_ok(fb_backend_is_host("cpu") && !fb_backend_is_host("simt") && !fb_backend_is_host("gpu"),
           "one of them is the host");
    tap_ok(!fb_backend_why_not(fb_backend_find("cpu")), "... which is always there");
}

/* Whether a program has the CUDA backends or not, an unknown name is told as that, in one line. */
static void test_unknown(void)
{
    const struct fb_backend *backend;
    tap_is_int(fb_registry_require("cpu-split"), FB_OK, "a name that is known");
    for (int i = 0; (backend = fb_backend_at(i)); i++) {
        char name[32];
        bool built = false;
        const struct fb_variant *v;
        for (int k = 0; (v = fb_registry_at(k)); k++)
            built |= !strcmp(v->backend, backend->name);
        snprintf(name, sizeof name, "%s-magic", backend->name);
        tap_ok(fb_registry_require(name) == FB_USAGE && strstr(fb_status_message(), name) &&
                   built == !strstr(fb_status_message(), "built without"),
               "%s", fb_status_message());
        fb_status_clear();
    }
    const struct fb_variant *none = fb_registry_at(0);
    tap_ok(fb_registry_get("cpu-magic", &none) == FB_USAGE && !none,
           "... and there is none to get");
    fb_status_clear();
    tap_ok(fb_registry_require("") == FB_USAGE && fb_registry_require("-") == FB_USAGE,
           "no name at all");
    fb_status_clear();
}

static void test_variants(void)
{
    const struct fb_variant *v;
    tap_is_int(fb_registry_check(), FB_OK, "the registry is sound: %s", fb_status_message());
    for (int i = 0; (v = fb_registry_at(i)); i++)
        tap_ok(v->abi_version == FB_ABI_VERSION && v->summary && !strchr(v->summary, '\n') &&
                   v->sizes && v->forward && v->backward && !v->prepare == !v->release,
               "%s is whole", v->name);
}

/* A table that a plug-in might bring: the name is taken. */
static void test_twin(void)
{
    const struct fb_variant *first = fb_registry_at(0);
    static struct fb_variant twin;
    static const struct fb_variant *const table[] = {&twin, NULL};
    twin = *first;
    tap_ok(fb_registry_add(table) == FB_OK && fb_registry_check() == FB_USAGE &&
               strstr(fb_status_message(), first->name),
           "a second one of that name is found: %s", fb_status_message());
    fb_status_clear();
}

/* A plug-in that is left out may hold any name: the last test, since the registry does not forget.
 */
static void test_lack(void)
{
    const struct fb_variant *variant = NULL;
    tap_ok(!fb_registry_lacks(), "nothing is lacking");
    fb_registry_lack();
    tap_ok(fb_registry_lacks(), "a plug-in is lacking");
    tap_ok(fb_registry_require("cpu-magic") == FB_DEVICE &&
               strstr(fb_status_message(), "may be in the plug-in"),
           "... and a name that is not known may be in it: %s", fb_status_message());
    fb_status_clear();
    tap_ok(fb_registry_get("cpu-split", &variant) == FB_OK && variant &&
               !strcmp(variant->name, "cpu-split"),
           "... while others are found");
}

int main(void)
{
    test_words();
    test_unknown();
    test_variants();
    test_twin();
    test_lack();
    return tap_done();
}
