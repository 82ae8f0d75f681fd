/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests for memory of other images, and their answers, as active messages. A
 * request waits for its answer, one at a time; puts are counted and completed
 * later. Requests are answered in caf_far_progress() only: there is no thread.
 */
#include "far.h"

#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "stop.h"

enum { LETTERS = 7 }; /* id of the active message */

enum kind { GET, PUT, CHANGE, ANSWER };

/* Header of the active message. The data that follow are a section, if any, and
 * then elements. */
struct letter {
    enum kind kind;
    int from;
    uint64_t asked;   /* number of the request at its sender; 0: a put */
    uint64_t address; /* of a CHANGE */
    struct caf_change change;
};

/* A message, which lives until UCX has sent it. */
struct parcel {
    struct letter letter;
    char data[];
};

/* Puts to an image that have no answer yet. */
struct puts {
    uint64_t open;      /* waited for */
    uint64_t abandoned; /* earlier ones; their answers may still come */
};

static struct {
    ucp_context_h context;
    ucp_worker_h worker;
    int me, size;
    char *addresses; /* of all workers */
    size_t *offsets;
    ucp_ep_h *endpoints;
    bool *is_lost;
    bool is_asked;
    struct puts *puts;  /* to each image */
    uint64_t open_puts; /* to all images */
    struct {
        uint64_t number; /* of the last request */
        bool is_open;
        char *into; /* where elements of the answer go */
        uint64_t old;
    } request;
} far;

/* ---- Sections as data ---------------------------------------------------- */

/* Bytes of a section up to its last dimension. */
static size_t head_bytes(const struct caf_section *s)
{
    return offsetof(struct caf_section, dim) +
           (size_t)s->rank * sizeof s->dim[0];
}

static size_t encoded_bytes(const struct caf_section *s)
{
    size_t bytes = head_bytes(s);

    for (int d = 0; d < s->rank; d++)
        if (s->dim[d].offsets)
            bytes += s->dim[d].count * sizeof(ptrdiff_t);
    return bytes;
}

static char *encode(const struct caf_section *s, char *data)
{
    memcpy(data, s, head_bytes(s));
    data += head_bytes(s);
    for (int d = 0; d < s->rank; d++) {
        const size_t bytes = s->dim[d].count * sizeof(ptrdiff_t);

        if (!s->dim[d].offsets)
            continue;
        memcpy(data, s->dim[d].offsets, bytes);
        data += bytes;
    }
    return data;
}

/* Set *s from data. Returns where the elements begin. Offsets stay in data, as
 * UCX aligns it to 8 bytes at least. */
static const char *decode(struct caf_section *s, const char *data)
{
    memcpy(s, data, offsetof(struct caf_section, dim));
    memcpy(s->dim, data + offsetof(struct caf_section, dim),
           (size_t)s->rank * sizeof s->dim[0]);
    data += head_bytes(s);
    for (int d = 0; d < s->rank; d++) {
        if (!s->dim[d].offsets)
            continue;
        s->dim[d].offsets = (const ptrdiff_t *)data;
        data += s->dim[d].count * sizeof(ptrdiff_t);
    }
    return data;
}

/* ---- Sending ------------------------------------------------------------- */

static void lose(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint, (void)status;
    *(bool *)arg = true;
}

static ucp_ep_h endpoint_to(int rank)
{
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)(far.addresses + far.offsets[rank]),
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = lose, .arg = &far.is_lost[rank]}};

    if (!far.endpoints[rank] &&
        ucp_ep_create(far.worker, &params, &far.endpoints[rank]) != UCS_OK)
        far.endpoints[rank] = NULL;
    return far.endpoints[rank];
}

static void sent(void *request, ucs_status_t status, void *parcel)
{
    (void)status;
    free(parcel);
    ucp_request_free(request);
}

/* Send parcel, and free it. RCX_ERR_PEER_FAILED: the connection is broken. UCX
 * does not call the error handler for a process that exited before the first
 * message to it: creating the endpoint or sending fails instead. */
static rcx_status_t send_parcel(int rank, struct parcel *parcel, size_t bytes)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = sent,
        .user_data = parcel};
    const ucp_ep_h endpoint = far.is_lost[rank] ? NULL : endpoint_to(rank);
    ucs_status_ptr_t result = UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET);

    if (endpoint)
        result =
            ucp_am_send_nbx(endpoint, LETTERS, &parcel->letter,
                            sizeof parcel->letter, parcel->data, bytes, &param);
    if (UCS_PTR_IS_PTR(result))
        return RCX_OK;
    free(parcel);
    if (UCS_PTR_STATUS(result) != UCS_OK)
        far.is_lost[rank] = true;
    return far.is_lost[rank] ? RCX_ERR_PEER_FAILED : RCX_OK;
}

static struct parcel *new_parcel(enum kind kind, size_t bytes)
{
    struct parcel *parcel = malloc(sizeof *parcel + bytes);

    if (parcel)
        parcel->letter = (struct letter){.kind = kind, .from = far.me};
    return parcel;
}

/* ---- Answering ----------------------------------------------------------- */

uint64_t caf_change_here(void *at, const struct caf_change *change)
{
#define CHANGES(type)                                                          \
    do {                                                                       \
        type *word = at, value = (type)change->value,                          \
             old = (type)change->compare;                                      \
        switch (change->op) {                                                  \
        case CAF_ATOMIC_ADD:                                                   \
            return (uint64_t)__atomic_fetch_add(word, value,                   \
                                                __ATOMIC_SEQ_CST);             \
        case CAF_ATOMIC_AND:                                                   \
            return (uint64_t)__atomic_fetch_and(word, value,                   \
                                                __ATOMIC_SEQ_CST);             \
        case CAF_ATOMIC_OR:                                                    \
            return (uint64_t)__atomic_fetch_or(word, value, __ATOMIC_SEQ_CST); \
        case CAF_ATOMIC_XOR:                                                   \
            return (uint64_t)__atomic_fetch_xor(word, value,                   \
                                                __ATOMIC_SEQ_CST);             \
        case CAF_ATOMIC_LOAD:                                                  \
            return (uint64_t)__atomic_load_n(word, __ATOMIC_SEQ_CST);          \
        case CAF_ATOMIC_STORE:                                                 \
            return (uint64_t)__atomic_exchange_n(word, value,                  \
                                                 __ATOMIC_SEQ_CST);            \
        case CAF_ATOMIC_SWAP_IF:                                               \
            __atomic_compare_exchange_n(word, &old, value, false,              \
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
            return (uint64_t)old;                                              \
        }                                                                      \
    } while (0)
    switch (change->bytes) {
    case 1: CHANGES(uint8_t); break;
    case 2: CHANGES(uint16_t); break;
    case 4: CHANGES(uint32_t); break;
    default: CHANGES(uint64_t);
    }
#undef CHANGES
    return 0;
}

/* Execute a request, and send the answer. Aborts if there is no memory: without
 * an answer, the asking image would wait until this image ends. */
static void answer(const struct letter *letter, const char *data)
{
    struct caf_section s = {.rank = 0};
    const char *elements = letter->kind == CHANGE ? NULL : decode(&s, data);
    const size_t bytes =
        letter->kind == GET ? caf_section_count(&s) * s.element : 0;
    struct parcel *parcel = new_parcel(ANSWER, bytes);

    if (!parcel)
        abort();
    parcel->letter.asked = letter->asked;
    if (letter->kind == GET)
        caf_pack(&s, (const char *)s.base, parcel->data);
    else if (letter->kind == PUT)
        caf_unpack(&s, (char *)s.base, elements);
    else
        parcel->letter.change.value =
            caf_change_here((void *)letter->address, &letter->change);
    send_parcel(letter->from, parcel, bytes);
}

/* Count an answer to a put. Answers to abandoned puts come first, so an image
 * has no open put only once it has answered all. */
static void count_answer(struct puts *puts)
{
    if (puts->abandoned > 0) {
        puts->abandoned--;
    } else {
        puts->open--;
        far.open_puts--;
    }
}

static ucs_status_t receive(void *arg, const void *header, size_t header_bytes,
                            void *data, size_t bytes,
                            const ucp_am_recv_param_t *param)
{
    struct letter letter;

    (void)arg, (void)header_bytes, (void)param;
    memcpy(&letter, header, sizeof letter);
    if (letter.kind != ANSWER) {
        answer(&letter, data);
    } else if (letter.asked == 0) {
        count_answer(&far.puts[letter.from]);
    } else if (far.request.is_open && letter.asked == far.request.number) {
        if (bytes > 0)
            memcpy(far.request.into, data, bytes);
        far.request.old = letter.change.value;
        far.request.is_open = false;
    }
    return UCS_OK;
}

void caf_far_progress(void)
{
    if (far.is_asked && far.worker)
        while (ucp_worker_progress(far.worker) > 0)
            ;
}

bool caf_far_is_asked(void)
{
    return far.is_asked;
}

void caf_far_expect(void)
{
    far.is_asked = true;
}

/* ---- Asking -------------------------------------------------------------- */

bool caf_far_has_lost(int rank)
{
    return far.is_lost && far.is_lost[rank];
}

/* Whether answers of an image may never come: it has failed. Or it has stopped,
 * and does not wait for all others, since one has failed. */
static bool may_be_gone(int rank)
{
    return caf_has_failed(rank) || (caf_has_stopped(rank) && caf_any_failed());
}

static void abandon(struct puts *puts)
{
    far.open_puts -= puts->open;
    puts->abandoned += puts->open;
    puts->open = 0;
}

rcx_status_t caf_far_complete(void)
{
    rcx_status_t status = RCX_OK;
    unsigned looks = 0;

    for (int i = 0; far.open_puts > 0 && i < far.size; i++)
        while (far.puts[i].open > 0) {
            if (!caf_pause(&looks) || !may_be_gone(i))
                continue;
            abandon(&far.puts[i]);
            status = RCX_ERR_PEER_FAILED;
        }
    return status;
}

/* Send a request, and wait for its answer. There is one at a time. */
static rcx_status_t ask(int rank, struct parcel *parcel, size_t bytes,
                        char *into)
{
    rcx_status_t status = parcel ? caf_far_complete() : RCX_ERR_NOMEM;
    unsigned looks = 0;

    if (status != RCX_OK) {
        free(parcel);
        return status;
    }
    parcel->letter.asked = ++far.request.number;
    far.request.into = into;
    far.request.is_open = true;
    caf_far_expect();
    status = send_parcel(rank, parcel, bytes);
    while (status == RCX_OK && far.request.is_open) {
        if (caf_pause(&looks) && caf_has_failed(rank))
            status = RCX_ERR_PEER_FAILED;
    }
    far.request.is_open = false;
    return status;
}

rcx_status_t caf_far_get(int rank, const struct caf_section *s, char *packed)
{
    const size_t bytes = encoded_bytes(s);
    struct parcel *parcel = new_parcel(GET, bytes);

    if (parcel)
        encode(s, parcel->data);
    return ask(rank, parcel, bytes, packed);
}

rcx_status_t caf_far_put(int rank, const struct caf_section *s,
                         const char *packed)
{
    const size_t elements = caf_section_count(s) * s->element,
                 bytes = encoded_bytes(s) + elements;
    struct parcel *parcel = new_parcel(PUT, bytes);
    rcx_status_t status;

    if (!parcel)
        return RCX_ERR_NOMEM;
    memcpy(encode(s, parcel->data), packed, elements);
    caf_far_expect();
    status = send_parcel(rank, parcel, bytes);
    if (status == RCX_OK) {
        far.puts[rank].open++;
        far.open_puts++;
    }
    caf_far_progress();
    return status;
}

rcx_status_t caf_far_change(int rank, uint64_t address,
                            const struct caf_change *change, uint64_t *old_p)
{
    struct parcel *parcel = new_parcel(CHANGE, 0);
    rcx_status_t status;

    if (parcel) {
        parcel->letter.address = address;
        parcel->letter.change = *change;
    }
    status = ask(rank, parcel, 0, NULL);
    *old_p = far.request.old;
    return status;
}

/* ---- Beginning and end --------------------------------------------------- */

static bool open_worker(void)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_AM};
    const ucp_worker_params_t worker_params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE};
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id = LETTERS,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = receive};

    return ucp_init(&params, NULL, &far.context) == UCS_OK &&
           ucp_worker_create(far.context, &worker_params, &far.worker) ==
               UCS_OK &&
           ucp_worker_set_am_recv_handler(far.worker, &handler) == UCS_OK;
}

/* Gather the addresses of all workers. far.offsets: where each one begins. */
static rcx_status_t exchange(rcx_comm_t *comm, const void *mine, size_t bytes)
{
    size_t *lengths = calloc((size_t)far.size, sizeof *lengths), total = 0;
    rcx_status_t status = RCX_ERR_NOMEM;

    far.offsets = calloc((size_t)far.size, sizeof *far.offsets);
    if (lengths && far.offsets)
        status = rcx_allgather(&bytes, lengths, sizeof bytes, RCX_BYTE, comm);
    for (int i = 0; status == RCX_OK && i < far.size; i++) {
        far.offsets[i] = total;
        total += lengths[i];
    }
    far.addresses = malloc(total + 1);
    if (status == RCX_OK)
        status = far.addresses ? rcx_allgatherv(mine, far.addresses, lengths,
                                                NULL, RCX_BYTE, comm)
                               : RCX_ERR_NOMEM;
    free(lengths);
    return status;
}

rcx_status_t caf_far_open(rcx_comm_t *comm)
{
    ucp_address_t *address = NULL;
    size_t bytes = 0;
    rcx_status_t status;

    far.me = rcx_comm_rank(comm);
    far.size = rcx_comm_size(comm);
    if (far.size == 1)
        return RCX_OK;
    far.endpoints = calloc((size_t)far.size, sizeof *far.endpoints);
    far.is_lost = calloc((size_t)far.size, sizeof *far.is_lost);
    far.puts = calloc((size_t)far.size, sizeof *far.puts);
    if (!far.endpoints || !far.is_lost || !far.puts)
        return RCX_ERR_NOMEM;
    if (!open_worker() ||
        ucp_worker_get_address(far.worker, &address, &bytes) != UCS_OK)
        return RCX_ERR_TRANSPORT;
    status = exchange(comm, address, bytes);
    ucp_worker_release_address(far.worker, address);
    return status;
}

void caf_far_close(void)
{
    if (far.worker)
        ucp_worker_destroy(far.worker);
    if (far.context)
        ucp_cleanup(far.context);
    free(far.addresses);
    free(far.offsets);
    free(far.endpoints);
    free(far.is_lost);
    free(far.puts);
    memset(&far, 0, sizeof far);
}
