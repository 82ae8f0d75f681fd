/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of job_main: grids of calls over types and ops, counts and roots, and
 * sizes in bytes. job_call() checks the results. */
#include "job.h"

static const struct kind sum_float = {.type = RCX_FLOAT32, .op = RCX_SUM};
static const struct kind average = {.type = RCX_FLOAT32, .op = RCX_AVG};
static const struct kind sum_double = {.type = RCX_FLOAT64, .op = RCX_SUM};

void job_types_and_ops(struct member *m)
{
    const size_t count = 7 * (size_t)m->size + 3;
    uint64_t k = 0;

    for (rcx_datatype_t type = 1; type < SERIAL_TYPES; type++)
        for (rcx_op_t op = SERIAL_OP; op < SERIAL_OPS; op++) {
            const struct kind kind = {.type = type, .op = op};
            struct call call;

            if (!serial_is_legal(type, op))
                continue;
            call = call_mixed(&kind, count, m->size, k++);
            call.coll = m->brief ? call.coll : ALLREDUCE;
            job_call(m, &call);
            call.coll = (enum collective)(1 + k % (COLLECTIVES - 1));
            if (!m->brief)
                job_call(m, &call);
        }
}

/* Make calls of all forms and places of all collectives, for one count and
 * root. */
static void all_ways(struct member *m, size_t count, int root)
{
    struct call t = {.kind = &sum_double, .count = count, .root = root};

    for (int way = 0; way < COLLECTIVES * FORMS * PLACES; way++) {
        t.coll = (enum collective)(way % COLLECTIVES);
        t.form = (enum form)(way / COLLECTIVES % FORMS);
        t.place = (enum place)(way / COLLECTIVES / FORMS);
        t.seed = serial_mix(count, (uint64_t)way, (uint64_t)root);
        if (!collective_is_rooted(t.coll) && root != 0)
            continue;
        job_call(m, &t);
        /* ranks may differ in place */
        t.place = (enum place)((t.place + (unsigned)m->rank) % PLACES);
        if (!m->brief)
            job_call(m, &t);
    }
}

void job_counts(struct member *m)
{
    const size_t p = (size_t)m->size;
    const size_t counts[] = {0, 1, 2, p - 1, p, p + 1, 7 * p + 3};
    const int roots[] = {0, 1, m->size - 1};

    for (int i = 0; i < 7; i++)
        for (int r = 0; r < 3 && roots[r] < m->size; r++) {
            if (r == 0 || roots[r] != roots[r - 1])
                all_ways(m, counts[i], roots[r]);
        }
}

/* Counts around every size in bytes at which the protocol of messages may
 * change. An algorithm that divides the vector by p has such messages for p
 * times the count. */
void job_thresholds(struct member *m)
{
    static const size_t kib[] = {8, 16, 64, 128, 256, 1024};
    const size_t p = (size_t)m->size;
    uint64_t k = 0;

    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++)
        for (size_t at = 0; at < 3; at++) {
            const size_t count = kib[i] * 1024 / sizeof(float) + at - 1;
            /* the longest vectors once; each with another collective */
            const uint64_t trials = m->brief || kib[i] > 256 ? 1 : COLLECTIVES;

            for (uint64_t n = 0; n < trials; n++) {
                const struct kind *kind = k % 5 == 1 ? &average : &sum_float;
                struct call call = call_mixed(kind, count, m->size, k);

                job_call(m, &call);
                call = call_mixed(kind, count * p, m->size, k);
                call.form = NONBLOCKING;
                if (kib[i] <= 128 && n == at)
                    job_call(m, &call);
                k++;
            }
        }
    for (k = 0; k < COLLECTIVES && !m->brief; k++) {
        const struct call call = call_mixed(&sum_float, 1 << 20, m->size, k);

        job_call(m, &call);
    }
}
