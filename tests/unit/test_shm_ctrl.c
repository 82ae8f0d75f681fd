/* SPDX-License-Identifier: BSD-3-Clause */
/* Control messages over shared-memory channels, between messages of any tag. */
#include "test.h"

#include <string.h>

#include "shm_ranks.h"

/* Rank 1 has received one control message, and no other. */
static void check_ctrl(const unsigned char *text, size_t bytes)
{
    struct rcx_ctrl_frame *frame = rcx_ctrl_queue_pop(&ranks[1].transport);

    require(frame && frame->bytes == bytes &&
            memcmp(frame->data, text, bytes) == 0);
    rcx_ctrl_frame_free(frame);
    require(!ranks[1].transport.ctrl);
}

/* Take from the channel until a control message is there. */
static void await_ctrl(void)
{
    while (!ranks[1].transport.ctrl)
        require(rcx_shm_progress(channel_of(1, 0), true) > 0);
}

/* A message with this tag and a control message of the same text. */
static void pass_both(uint64_t tag, size_t bytes, size_t ctrl_bytes)
{
    const unsigned char *text = text_of(tag);
    struct test_msg s, r;

    require(rcx_shm_send_ctrl(channel_of(0, 1), text, ctrl_bytes));
    msg_recv(1, 0, &r, tag, bytes);
    require(r.m.status == RCX_IN_PROGRESS);
    await_ctrl();
    check_ctrl(text, ctrl_bytes);
    msg_send(0, 1, &s, tag, 21, bytes);
    go_on();
    msg_check(&r, 21, bytes);
}

static void no_tag_makes_a_message_a_control_message(void **state)
{
    static const size_t sizes[] = {0, 8, 64, RCX_SLOT_BYTES, 300, 2 * RING};

    (void)state;
    ranks_open(&in_parts);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int bit = 0; bit <= 64; bit++) {
            const uint64_t tag = bit < 64 ? UINT64_C(1) << bit : UINT64_MAX;

            pass_both(tag, sizes[i], 64);
            pass_both(tag, sizes[i], 2 * RCX_SLOT_BYTES);
        }
    pass_both(0, 8, 64);
    ranks_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_tag_makes_a_message_a_control_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
