/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes blobs of peers. The input has the number of ranks, what the bootstrap
 * knows of this node, and the blob of each rank: any bytes, or RCX's own blob
 * with changed bits. Valid blobs must be accepted, others rejected, and no byte
 * behind the end of a blob is read.
 *
 *   input = ranks - 1, node (0: unknown, 1: size, 2: size and ranks), blob...
 *   blob  = 0, length (16 bits), bytes                these
 *         | 1, length, offset (16 bits), bytes        RCX's, changed from there
 *         | 2                                         lookup fails
 */
#include "fuzz.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "core/iface/peer.h"
#include "core/run/context/config_check.h"

enum {
    MOST_RANKS = 8,
    /* offsets in the header of a blob; magic and version are at 0 */
    ADDRESS_BYTES_AT = 8,
    TRANSPORT_AT = 16,
    KERNEL_AT = 144, /* a text */
    CPUS_AT = 208,
    SETTINGS_AT = CPUS_AT + (int)sizeof(cpu_set_t),
    SETTINGS_BYTES = RCX_SHARED_SETTINGS * (int)sizeof(uint64_t),
    ERRORS_AT = SETTINGS_AT + SETTINGS_BYTES + 2 * (int)sizeof(uint64_t),
    NODE_AT = ERRORS_AT + 2 * (int)sizeof(uint64_t),
    PLACE_AT = NODE_AT + (int)sizeof(uint64_t),
    VERSION_AT = PLACE_AT + 2 * (int)sizeof(uint64_t),
    USER_AT = VERSION_AT + (int)sizeof(uint32_t),
    USER_SPACE_AT = USER_AT + (int)sizeof(uint32_t),
    METHODS_AT = USER_SPACE_AT + (int)sizeof(uint64_t),
    SUMS_AT = METHODS_AT + (int)sizeof(uint64_t),
    HEADER_BYTES = SUMS_AT + 2 * (int)sizeof(uint64_t)
};

static const char version[] = "fuzz 1", address[] = "somewhere";

struct blob {
    char *bytes; /* NULL: lookup fails */
    size_t count;
};

static struct blob own; /* RCX's blob if the ranks of this node are unknown */

struct fake {
    struct rcx_boot boot;
    struct blob blobs[MOST_RANKS];
    struct blob published;
    int local_ranks[MOST_RANKS];
    int errors; /* lines of the log */
};

static void keep(struct blob *blob, const void *bytes, size_t count)
{
    /* exactly as long, so that a sanitizer detects reads beyond the end */
    blob->bytes = malloc(count ? count : 1);
    blob->count = count;
    fuzz_require(blob->bytes);
    if (count > 0)
        memcpy(blob->bytes, bytes, count);
}

/* ---- The job ------------------------------------------------------------- */

static rcx_status_t publish(struct rcx_boot *boot, const void *blob,
                            size_t bytes)
{
    keep(&((struct fake *)boot)->published, blob, bytes);
    return RCX_OK;
}

static rcx_status_t lookup(struct rcx_boot *boot, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    const struct blob *blob = &((struct fake *)boot)->blobs[rank];

    fuzz_require(rank >= 0 && rank < boot->size);
    if (!blob->bytes)
        return RCX_ERR_TIMEOUT; /* logged by the bootstrap */
    *blob_p = blob->bytes;
    *bytes_p = blob->count;
    return RCX_OK;
}

static const struct rcx_boot_ops boot_ops = {.publish = publish,
                                             .lookup = lookup};

static void get_version(char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", version);
}

static rcx_status_t get_address(struct rcx_transport *t, const void **address_p,
                                size_t *bytes_p)
{
    (void)t;
    *address_p = address;
    *bytes_p = sizeof address;
    return RCX_OK;
}

static const struct rcx_transport_ops transport_ops = {.version = get_version,
                                                       .address = get_address};

static void count_line(rcx_log_level_t level, const char *text, void *arg)
{
    fuzz_require(level == RCX_LOG_ERROR && text[0] != '\0');
    ((struct fake *)arg)->errors++;
}

/* ---- The input ----------------------------------------------------------- */

struct input {
    const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static size_t take_length(struct input *in)
{
    const unsigned low = take(in);

    return low | take(in) << 8;
}

static void take_blob(struct input *in, struct blob *blob)
{
    const unsigned how = take(in) % 3;
    size_t count = how == 2 ? 0 : take_length(in);
    const size_t offset = how == 1 ? take_length(in) : 0;

    if (count > (size_t)(in->end - in->at))
        count = (size_t)(in->end - in->at);
    if (how == 0)
        keep(blob, in->at, count);
    if (how == 1)
        keep(blob, own.bytes, own.count);
    for (size_t i = 0; how == 1 && i < count; i++)
        blob->bytes[(offset + i) % blob->count] ^= (char)in->at[i];
    if (blob->bytes && how != 2)
        rcx_peer_seal(blob->bytes, blob->count);
    in->at += count;
}

static void open_fake(struct fake *fake, struct input *in)
{
    struct rcx_boot *boot = &fake->boot;
    unsigned node;

    boot->size = 1 + (int)(take(in) % MOST_RANKS);
    boot->rank = boot->size / 2;
    node = take(in);
    if (node % 3 != 0)
        boot->local_size = 1 + (int)(node / 3) % boot->size;
    if (node % 3 == 2)
        boot->local_ranks = fake->local_ranks;
    for (int i = 0; i < boot->size; i++) {
        fake->local_ranks[i] = boot->size - 1 - i;
        take_blob(in, &fake->blobs[i]);
    }
}

/* ---- Expected results ---------------------------------------------------- */

static bool is_good(const struct blob *blob)
{
    uint64_t address_bytes;

    if (!blob->bytes || blob->count < HEADER_BYTES)
        return false;
    memcpy(&address_bytes, blob->bytes + ADDRESS_BYTES_AT,
           sizeof address_bytes);
    return memcmp(blob->bytes, own.bytes, ADDRESS_BYTES_AT) == 0 &&
           memcmp(blob->bytes + VERSION_AT, own.bytes + VERSION_AT,
                  sizeof(uint32_t)) == 0 &&
           memcmp(blob->bytes + METHODS_AT, own.bytes + METHODS_AT,
                  sizeof(uint64_t)) == 0 &&
           address_bytes == blob->count - HEADER_BYTES;
}

static void check_address(struct fake *fake, const struct rcx_log *log,
                          int rank)
{
    const struct blob *blob = &fake->blobs[rank];
    const bool good = is_good(blob) && memcmp(blob->bytes + TRANSPORT_AT,
                                              version, sizeof version) == 0;
    const void *found = fake;
    size_t bytes = 42;
    rcx_status_t status;

    fake->errors = 0;
    status = rcx_peer_address(&fake->boot, log, rank, version, &found, &bytes);
    if (good) {
        fuzz_require(status == RCX_OK && fake->errors == 0);
        fuzz_require(found == blob->bytes + HEADER_BYTES);
        fuzz_require(bytes == blob->count - HEADER_BYTES);
        return;
    }
    fuzz_require(status == (blob->bytes ? RCX_ERR_LAUNCH : RCX_ERR_TIMEOUT));
    fuzz_require(fake->errors == (blob->bytes != NULL));
    fuzz_require(found == fake && bytes == 42);
}

static const struct blob *blob_of(const struct fake *fake, int rank)
{
    return rank == fake->boot.rank ? &own : &fake->blobs[rank];
}

static uint64_t node_of(const struct fake *fake, int rank)
{
    const bool is_mine = rank == fake->boot.rank && fake->published.bytes;
    uint64_t id;

    memcpy(&id,
           (is_mine ? &fake->published : blob_of(fake, rank))->bytes + NODE_AT,
           sizeof id);
    return id;
}

/* Ranks share a node if their blobs have the same node id. There is no map if
 * all share one node. */
static void check_nodes(const struct fake *fake, struct rcx_context *context)
{
    const struct rcx_nodes *nodes = rcx_nodes_linked(context->nodes);

    for (int i = 0; i < fake->boot.size; i++)
        for (int k = 0; k < i; k++)
            fuzz_require((node_of(fake, i) == node_of(fake, k)) ==
                         (!nodes || nodes->node[i] == nodes->node[k]));
    rcx_nodes_free(&context->heap, context->nodes);
    context->nodes = NULL;
}

/* Ranks whose blobs have this rank's kernel id share the machine. The union of
 * their cores decides whether it is oversubscribed. */
static void check_cores(const struct fake *fake,
                        const struct rcx_context *context)
{
    cpu_set_t all, cpus;
    int ranks = 0, on_node = 0;

    CPU_ZERO(&all);
    for (int i = 0; i < fake->boot.size; i++) {
        if (strncmp(blob_of(fake, i)->bytes + KERNEL_AT, own.bytes + KERNEL_AT,
                    CPUS_AT - KERNEL_AT) != 0)
            continue;
        memcpy(&cpus, blob_of(fake, i)->bytes + CPUS_AT, sizeof cpus);
        CPU_OR(&all, &all, &cpus);
        ranks++;
    }
    for (int i = 0; i < fake->boot.size; i++)
        on_node += node_of(fake, i) == node_of(fake, fake->boot.rank);
    fuzz_require(context->oversubscribes_cores == (ranks > CPU_COUNT(&all)));
    fuzz_require(context->is_split == (ranks > on_node));
    fuzz_require(context->cores ==
                 (ranks == fake->boot.size ? CPU_COUNT(&all) : 0));
}

static int only_cpu(const struct fake *fake, int rank)
{
    cpu_set_t cpus;
    int cpu = 0;

    memcpy(&cpus, blob_of(fake, rank)->bytes + CPUS_AT, sizeof cpus);
    while (CPU_COUNT(&cpus) == 1 && !CPU_ISSET(cpu, &cpus))
        cpu++;
    return CPU_COUNT(&cpus) == 1 ? cpu : -1;
}

/* There is a map to cores only if all ranks are on one node and oversubscribe
 * it, each is bound to one core, and not all to the same one. */
static void check_core_map(const struct fake *fake, struct rcx_context *context)
{
    const struct rcx_nodes *cores =
        rcx_nodes_at(context->nodes, RCX_LEVEL_CORE);
    bool are_bound =
             !rcx_nodes_linked(context->nodes) && context->oversubscribes_cores,
         differ = false;

    for (int level = RCX_LEVEL_SOCKET; level < RCX_LEVEL_CORE; level++)
        if (rcx_nodes_at(context->nodes, (enum rcx_level)level))
            return; /* cores need not divide the ranks further */

    for (int i = 0; i < fake->boot.size; i++) {
        are_bound &= only_cpu(fake, i) >= 0;
        differ |= only_cpu(fake, i) != only_cpu(fake, 0);
    }
    fuzz_require(!cores == !(are_bound && differ));
    for (int i = 0; cores && i < fake->boot.size; i++)
        fuzz_require((cores->node[i] == cores->node[0]) ==
                     (only_cpu(fake, i) == only_cpu(fake, 0)));
}

/* Whether ranks of one node have different users of one namespace. */
static bool are_users_mixed(const struct fake *fake)
{
    for (int i = 0; i < fake->boot.size; i++)
        for (int k = 0; k < i; k++) {
            const char *a = blob_of(fake, i)->bytes;
            const char *b = blob_of(fake, k)->bytes;

            if (node_of(fake, i) == node_of(fake, k) &&
                memcmp(a + USER_AT, b + USER_AT, sizeof(uint32_t)) != 0 &&
                memcmp(a + USER_SPACE_AT, b + USER_SPACE_AT,
                       sizeof(uint64_t)) == 0)
                return true;
        }
    return false;
}

/* Malformed blobs are logged by this rank. Settings that differ or are invalid
 * are logged by rank 0, which is another rank. */
static void check_settings(struct fake *fake, struct rcx_context *context)
{
    static const char none[sizeof(uint64_t)];
    rcx_status_t expected = RCX_OK;
    int errors = 0;

    for (int i = 0; i < fake->boot.size; i++) {
        const struct blob *blob = &fake->blobs[i];

        if (i == fake->boot.rank)
            continue;
        if (!is_good(blob)) {
            expected = blob->bytes ? RCX_ERR_LAUNCH : RCX_ERR_TIMEOUT;
            errors = blob->bytes != NULL;
            break;
        }
        if (memcmp(blob->bytes + SETTINGS_AT, own.bytes + SETTINGS_AT,
                   SETTINGS_BYTES) != 0 ||
            memcmp(blob->bytes + ERRORS_AT, none, sizeof none) != 0)
            expected = RCX_ERR_CONFIG;
    }
    if (expected == RCX_OK && are_users_mixed(fake))
        expected = RCX_ERR_CONFIG;
    fake->errors = 0;
    fuzz_require(rcx_config_check(context) == expected);
    fuzz_require(fake->errors == errors);
    if (expected != RCX_OK)
        return;
    check_core_map(fake, context);
    check_nodes(fake, context);
    check_cores(fake, context);
}

/* Bind this process to one core, so that two ranks oversubscribe it. */
static void use_one_core(void)
{
    cpu_set_t cpus, first;
    int cpu = 0;

    fuzz_require(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    while (!CPU_ISSET(cpu, &cpus))
        cpu++;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    fuzz_require(sched_setaffinity(0, sizeof first, &first) == 0);
}

static void begin(struct fake *fake, struct rcx_context *context)
{
    use_one_core();
    fuzz_require(rcx_config_publish(context) == RCX_OK);
    own = fake->published;
    fake->published.bytes = NULL;
    fuzz_require(own.count == HEADER_BYTES + sizeof address);
}

/* Flip a bit of each byte of RCX's own blob in turn: its checksums must not
 * match any more. */
static void check_damage(struct fake *fake, const struct rcx_log *log)
{
    const void *found;
    size_t bytes;

    fake->boot.size = 1;
    keep(&fake->blobs[0], own.bytes, own.count);
    for (size_t i = 0; i < own.count; i++) {
        fake->blobs[0].bytes[i] ^= (char)(1 << i % 8);
        fuzz_require(rcx_peer_address(&fake->boot, log, 0, version, &found,
                                      &bytes) == RCX_ERR_LAUNCH);
        fake->blobs[0].bytes[i] ^= (char)(1 << i % 8);
    }
    fuzz_require(rcx_peer_address(&fake->boot, log, 0, version, &found,
                                  &bytes) == RCX_OK);
    free(fake->blobs[0].bytes);
}

int fuzz_input(const uint8_t *data, size_t bytes)
{
    struct fake fake = {.boot = {.ops = &boot_ops}};
    struct rcx_transport transport = {.ops = &transport_ops};
    struct rcx_context context = {.heap = RCX_HEAP_INIT,
                                  .boot = &fake.boot,
                                  .transport = &transport,
                                  .config = {.order = RCX_ORDER_UNIFORM}};
    struct input in = {data, data + bytes};

    rcx_log_init(&context.log);
    context.log.fn = count_line;
    context.log.arg = &fake;
    if (!own.bytes) {
        begin(&fake, &context);
        check_damage(&fake, &context.log);
    }
    open_fake(&fake, &in);
    if (fake.boot.local_ranks) /* then it publishes another node id */
        fuzz_require(rcx_config_publish(&context) == RCX_OK);
    for (int i = 0; i < fake.boot.size; i++)
        check_address(&fake, &context.log, i);
    check_settings(&fake, &context);
    fuzz_require(context.heap.live == 0);
    for (int i = 0; i < MOST_RANKS; i++)
        free(fake.blobs[i].bytes);
    free(fake.published.bytes);
    return 0;
}
