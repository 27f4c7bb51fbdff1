/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Philox4x32-10 against the known answers published with it.
 */
#include <stdint.h>
#include <string.h>

#include "data/philox.h"
#include "tests/tap.h"

static const struct {
    uint64_t key;
    uint32_t counter[4], answer[4];
} known[] = {
    {0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {UINT64_MAX,
     {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {UINT64_C(0x299f31d0a4093822),
     {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

int main(void)
{
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        fb_philox(known[i].key, known[i].counter, out);
        tap_ok(!memcmp(out, known[i].answer, sizeof out), "known answer %d", i + 1);
    }
    return tap_done();
}
