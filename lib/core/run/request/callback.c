/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Callbacks of users' requests.
 */
#include "core/run/request/callback.h"

#include "core/run/request/request.h"

void rcx_callback_add(struct rcx_callbacks *c, struct rcx_request *r)
{
    r->called_next = NULL;
    *(c->first ? c->end : &c->first) = r;
    c->end = &r->called_next;
}

void rcx_callback_remove(struct rcx_callbacks *c, struct rcx_request *r)
{
    struct rcx_request **link = &c->first;

    while (*link && *link != r)
        link = &(*link)->called_next;
    if (!*link)
        return;
    *link = r->called_next;
    if (!*link)
        c->end = link;
}

/* False: this is a child now, forked by a callback. */
static bool make_all(struct rcx_callbacks *c, struct rcx_guard *guard)
{
    bool inside = true;

    c->are_made = true;
    while (inside && c->first) {
        struct rcx_request *r = c->first;
        const rcx_callback_fn_t fn = r->callback;
        void *const arg = r->callback_arg;
        const rcx_status_t status = r->status;

        c->first = r->called_next;
        if (!r->persistent)
            r->callback = NULL;
        rcx_guard_leave(guard);
        fn(r, status, arg);
        inside = rcx_guard_return(guard);
    }
    c->are_made = false;
    return inside;
}

/* One thread at a time runs callbacks, and none from inside another. */
void rcx_callbacks_make(struct rcx_callbacks *c, struct rcx_guard *guard)
{
    if (c->are_made || make_all(c, guard))
        rcx_guard_leave(guard);
}
