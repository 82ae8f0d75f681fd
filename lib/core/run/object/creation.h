/* SPDX-License-Identifier: BSD-3-Clause */
/* What a request that makes a communicator does between its stages. */
#ifndef RCX_CORE_RUN_OBJECT_CREATION_H
#define RCX_CORE_RUN_OBJECT_CREATION_H

struct rcx_request;

enum rcx_creation_step {
    RCX_CREATION_CONFIRM, /* the second stage follows */
    RCX_CREATION_AGAIN,   /* the first one again, with the same numbers */
    RCX_CREATION_OVER
};

/* Begins the state of a creation; see comm/creation.h. */
struct rcx_creation {
    /* A stage has completed: prepare the one that follows. */
    enum rcx_creation_step (*next)(struct rcx_request *r);
    /* The request ends with r->status, which this may change. */
    void (*end)(struct rcx_request *r);
    /* The request is freed. */
    void (*destroy)(struct rcx_request *r);
};

#endif
