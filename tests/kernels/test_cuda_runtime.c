/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness's own part of CUDA: which builds serve which devices, and, where there is a device,
 * its memory, looks, timer and phases. Skipped by name without one.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/tap.h"

#ifndef HAVE_CUDA

int main(void)
{
    tap_skip("cuda runtime: built without CUDA");
    return tap_done();
}

#else

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/status.h"
#include "data/layout.h"
#include "kernels/cuda/device.h"
#include "measure/devices.h"
#include "measure/phases.h"

static void test_archs(void)
{
    static const struct {
        const char *archs;
        int major, minor, serves;
    } cases[] = {
        {"75,80,90+PTX", 7, 5, 1}, {"75,80,90+PTX", 8, 6, 1},
        {"75,80,90+PTX", 9, 0, 1}, {"75,80,90+PTX", 10, 0, 1},
        {"75,80,90+PTX", 7, 0, 0}, {"75,80,90", 10, 0, 0},
        {"80", 7, 5, 0},           {"86", 8, 0, 0},
        {"86", 8, 9, 1},           {"90a", 9, 0, 1},
        {"90a", 10, 0, 0},         {"80+PTX", 12, 1, 1},
        {"120", 12, 1, 1},         {"100f", 10, 3, 1},
        {"100f", 11, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(fb_cuda_archs_serve(cases[i].archs, cases[i].major, cases[i].minor) ==
                   cases[i].serves,
               "code for %s %s %d.%d", cases[i].archs,
               cases[i].serves ? "runs on" : "does not run on", cases[i].major, cases[i].minor);
}

/* ---- With a device ------------------------------------------------------------------------------
 */

static void test_copies(const struct fb_memory *memory)
{
    unsigned char out[1000], in[1000];
    void *place;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i * 7);
    tap_ok(memory->alloc(memory, sizeof out, &place) == FB_OK && (uintptr_t)place % 256 == 0,
           "memory is aligned to 256");
    memory->write(memory, place, out, sizeof out);
    memory->read(memory, in, place, sizeof in);
    tap_ok(!memcmp(out, in, sizeof out), "what is written is read");
    memory->fill(memory, (char *)place + 10, 0xff, 5);
    memory->read(memory, in, place, sizeof in);
    tap_ok(in[9] == out[9] && in[10] == 0xff && in[14] == 0xff && in[15] == out[15],
           "a fill fills its bytes");
    memory->free(memory, place);
    tap_ok(memory->available(memory) > 0, "it says what is left");
    tap_ok(memory->alloc(memory, (size_t)1 << 50, &place) == FB_NO_MEMORY,
           "and refuses what is not there");
    fb_status_clear();
}

/* Any change of any byte shows, at every length and near every end. */
static void test_hash(const struct fb_memory *memory)
{
    static const size_t lengths[] = {0, 1, 7, 8, 9, 255, 4096, 100003};
    bool differ = true, same = true;
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        const size_t bytes = lengths[n];
        unsigned char *data = calloc(bytes + 1, 1);
        uint64_t before, again, after;
        void *place;
        memory->alloc(memory, bytes, &place);
        memory->write(memory, place, data, bytes);
        memory->hash(memory, place, bytes, &before);
        memory->hash(memory, place, bytes, &again);
        same &= before == again;
        for (size_t at = 0; at < bytes; at += bytes / 3 + 1) {
            data[at] ^= 0x40;
            memory->write(memory, place, data, bytes);
            memory->hash(memory, place, bytes, &after);
            differ &= after != before;
            data[at] ^= 0x40;
        }
        memory->free(memory, place);
        free(data);
    }
    tap_ok(same, "a hash is the same each time");
    tap_ok(differ, "and another when a byte changes");
}

static void test_find(const struct fb_memory *memory)
{
    enum { B = 2, H = 3, N = 50, D = 33, ROW = 40 };
    uint16_t *data = calloc(B * H * N * ROW, sizeof *data);
    struct fb_tensor t = {
        .dtype = FB_BF16, .shape = {B, H, N, D}, .stride = {N * H * ROW, ROW, H * ROW, 1}};
    int64_t first;
    memory->alloc(memory, B * H * N * ROW * sizeof *data, &t.data);
    data[D] = 0xffff; /* behind the first row */
    memory->write(memory, t.data, data, B * H * N * ROW * sizeof *data);
    memory->find_ones(memory, &t, &first);
    tap_ok(first == -1, "what lies between rows is not looked at");
    data[1 * t.stride[0] + 2 * t.stride[1] + 7 * t.stride[2] + 32] = 0xffff;
    data[1 * t.stride[0] + 2 * t.stride[1] + 7 * t.stride[2] + 31] = 0xffff;
    memory->write(memory, t.data, data, B * H * N * ROW * sizeof *data);
    memory->find_ones(memory, &t, &first);
    tap_ok(first == ((1 * H + 2) * N + 7) * D + 31, "the first element of all ones is found");
    memory->free(memory, t.data);
    free(data);
}

static void test_timer(struct fb_device *device)
{
    const size_t bytes = (size_t)64 << 20;
    struct fb_phases phases;
    double empty = 1, full = 0;
    void *place;
    enum fb_status status = device->memory->alloc(device->memory, bytes, &place);
    fb_phases_reset(&phases);
    phases.clock = device->phases;
    phases.clock_own = device->stream;
    for (int i = 0; i < 3; i++) {
        status |= device->timer.start(&device->timer);
        status |= device->timer.stop(&device->timer, &empty);
    }
    status |= device->timer.start(&device->timer);
    fb_phases_begin(&phases, "first");
    status |= device->memory->fill(device->memory, place, 1, bytes);
    fb_phases_begin(&phases, "second");
    for (int i = 0; i < 8; i++)
        status |= device->memory->fill(device->memory, place, i, bytes);
    status |= device->timer.stop(&device->timer, &full);
    fb_phases_end(&phases);
    tap_ok(status == FB_OK && empty < full && full > 1e-5, "a span holds its work: %.3g, %.3g us",
           1e6 * empty, 1e6 * full);
    tap_ok(phases.count == 2 && phases.seconds[1] > phases.seconds[0] &&
               fabs(phases.seconds[0] + phases.seconds[1] - full) < 0.3 * full,
           "and phases share it: %.3g + %.3g us", 1e6 * phases.seconds[0], 1e6 * phases.seconds[1]);
    device->memory->free(device->memory, place);
}

/* It is asked for before a case is let in, and not again once it is there. */
static void test_flush(struct fb_device *device)
{
    const uint64_t asked = device->flush_bytes;
    struct fb_flush *flush = NULL, *again = NULL;
    enum fb_status status = device->flush(device, &flush);
    tap_ok(status == FB_OK && flush->data && flush->bytes == asked && asked >= (uint64_t)64 << 20,
           "the flush buffer takes what it said it would: %.0f MiB", (double)asked / 1048576);
    tap_ok(device->flush(device, &again) == FB_OK && again == flush && device->flush_bytes == 0,
           "... once");
}

/* Hashes beside a second load: the device is shared, and is handed back. */
static void test_rival(struct fb_device *device)
{
    const struct fb_memory *memory = device->memory;
    struct fb_rival *rival = NULL;
    enum fb_status status = device->rival(device, &rival); /* the first loads the kernel's code */
    fb_rival_stop(rival);
    const uint64_t before = memory->available(memory);
    status |= device->rival(device, &rival);
    uint64_t hash[2] = {0, 1};
    void *place = NULL;
    tap_ok(status == FB_OK && rival, "a second load starts");
    status |= memory->alloc(memory, 1 << 20, &place);
    status |= memory->fill(memory, place, 7, 1 << 20);
    for (int i = 0; i < 50; i++)
        status |= memory->hash(memory, place, 1 << 20, &hash[i % 2]);
    tap_ok(status == FB_OK && hash[0] == hash[1], "work beside it is right");
    fb_rival_stop(rival);
    memory->free(memory, place);
    tap_ok(device->wait(device) == FB_OK && memory->available(memory) >= before,
           "and it leaves nothing behind");
}

int main(void)
{
    struct fb_device *device;
    test_archs();
    tap_ok(fb_backend_why_not(fb_backend_find("cpu")) == NULL, "the CPU needs no device");
    if (fb_device_open("simt", &device) != FB_OK) {
        tap_skip("cuda runtime: %s", fb_status_message());
        return tap_done();
    }
    tap_ok(device->ordinal == fb_cuda_device()->ordinal && device->stream, "the device is open");
    test_copies(device->memory);
    test_hash(device->memory);
    test_find(device->memory);
    test_timer(device);
    test_flush(device);
    test_rival(device);
    return tap_done();
}

#endif
