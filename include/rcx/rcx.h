/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX, Reduction Collectives on UCX: collective operations for programs that
 * are not MPI programs.
 *
 * Processes find each other through PMIx, by an id that the host program passes
 * on, or through its callbacks, and reduce vectors together:
 *
 *     rcx_init(NULL, &context);
 *     rcx_allreduce(in, out, n, RCX_FLOAT64, RCX_SUM, rcx_world(context));
 *     rcx_finalize(&context);
 *
 * Conventions of every function here:
 *
 *   - Functions return rcx_status_t unless shown otherwise. Outputs come last
 *     and are written only on success.
 *   - Counts are numbers of elements. Sizes in bytes are called bytes.
 *   - An error is decided in one place, which logs one line that names the
 *     argument, its value and what is valid; callers only forward the code.
 *   - A wrong argument (RCX_ERR_ARG, RCX_ERR_UNSUPPORTED) is found before
 *     anything is sent; the communicator stays usable.
 *   - A context and everything made from it may be used by any thread, by one
 *     at a time; rcx_thread_mode_t has other modes.
 *   - A child of fork() gets RCX_ERR_FORKED from every function that would
 *     touch its parent's context, and may exit; the parent goes on.
 *   - Every free takes a pointer to the handle and stores NULL there. Freeing a
 *     handle that is NULL does nothing and is RCX_OK, as is rcx_mem_free() of
 *     NULL. A handle used after it was freed is RCX_ERR_ARG until its slot is
 *     used again; after rcx_finalize() it is undefined.
 *   - Structs grow without a change for programs. Of rcx_params_t RCX reads
 *     only the fields that field_mask names. Structs that RCX fills end in
 *     reserved words, which are 0; a field that a later version puts there is 0
 *     where an older library runs. Programs neither read nor set reserved
 *     words.
 */
#ifndef RCX_H
#define RCX_H

#include <stddef.h>
#include <stdint.h>

#define RCX_VERSION_MAJOR 0
#define RCX_VERSION_MINOR 2
#define RCX_VERSION_PATCH 0

#if defined(__GNUC__)
#define RCX_API __attribute__((visibility("default")))
#else
#define RCX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status -------------------------------------------------------------- */

typedef enum rcx_status {
    RCX_OK = 0,
    RCX_IN_PROGRESS = 1,      /* not an error: ask again later */
    RCX_ERR_ARG = -1,         /* an argument is not valid */
    RCX_ERR_NOMEM = -2,       /* memory ran out */
    RCX_ERR_UNSUPPORTED = -3, /* valid, but not offered */
    RCX_ERR_CONFIG = -4,      /* a setting is unknown or malformed */
    RCX_ERR_LAUNCH = -5,      /* the launcher or the bootstrap failed */
    RCX_ERR_TRANSPORT = -6,   /* UCX reported an error */
    RCX_ERR_TIMEOUT = -7,     /* a deadline passed */
    RCX_ERR_MISMATCH = -8,    /* ranks made calls that do not belong together */
    RCX_ERR_PEER_FAILED = -9, /* another process died */
    RCX_ERR_COMM_FAILED = -10, /* the communicator failed in an earlier call */
    RCX_ERR_OP = -11,          /* a user-defined op returned non-zero */
    RCX_ERR_BUSY = -12,        /* still in use */
    RCX_ERR_FORKED = -13,    /* called in a child of the process of rcx_init */
    RCX_ERR_LIMIT = -14,     /* a documented limit is reached */
    RCX_ERR_INTERNAL = -15,  /* a bug in RCX */
    RCX_ERR_TRUNCATED = -16, /* a message is longer than its receive */
    RCX_ERR_EXCLUDED = -17,  /* the others go on without this rank, or too few
                                can be reached */
    RCX_ERR_CANCELED = -18   /* a receive was cancelled */
} rcx_status_t;

/* The name of a status and what it means, as static text; never NULL. */
RCX_API const char *rcx_status_string(rcx_status_t status);

/*
 * What an operation that ended with status leaves of its communicator.
 *
 *   1   it has failed, for good: TIMEOUT, PEER_FAILED, TRANSPORT, COMM_FAILED,
 *       EXCLUDED, INTERNAL. It can be agreed on, shrunk and freed; the context
 *       and communicators without a failed rank go on. EXCLUDED: the others go
 *       on without this rank, or too few of them can be reached: it ends, or
 *       starts a new context.
 *   0   it is as usable as before: OK, IN_PROGRESS, ARG, UNSUPPORTED, CONFIG,
 *       OP, BUSY, FORKED, TRUNCATED. LAUNCH: there was none.
 *  -1   the status alone does not tell, and rcx_comm_error() does: MISMATCH,
 *       after which it is usable if RCX_CHECK=full or a receive found it; NOMEM
 *       and LIMIT, if nothing had been sent. And numbers that are no status.
 *
 * An operation is a collective or a message, in any form. Of other functions:
 * a failed rcx_init() leaves no context; a failed rcx_comm_create_group()
 * leaves its parent usable (1 is of the group); RCX_ERR_TIMEOUT of
 * rcx_comm_agree() and rcx_comm_shrink() is no failure: the next call goes on.
 * Needs no context.
 */
RCX_API int rcx_status_is_fatal(rcx_status_t status);

/* The version of the library that runs, "major.minor.patch", as static text. */
RCX_API const char *rcx_version(void);

/* ---- Types and ops ------------------------------------------------------- */

/*
 * Element types. The numbers are ABI. A C type (RCX_INT, RCX_LONG, ...) is the
 * fixed-width type of its size on this platform. Pair types are the C structs
 * { value; int index; } with the platform's padding; padding bytes of results
 * are unspecified.
 */
typedef int rcx_datatype_t;
/* clang-format off */
enum {
    RCX_INT8 = 1, RCX_UINT8 = 2, RCX_INT16 = 3, RCX_UINT16 = 4,
    RCX_INT32 = 5, RCX_UINT32 = 6, RCX_INT64 = 7, RCX_UINT64 = 8,
    RCX_FLOAT16 = 9,              /* IEEE binary16 */
    RCX_BFLOAT16 = 10,            /* upper half of a binary32 */
    RCX_FLOAT32 = 11, RCX_FLOAT64 = 12, RCX_LONG_DOUBLE = 13,
    RCX_COMPLEX_FLOAT = 14, RCX_COMPLEX_DOUBLE = 15,
    RCX_COMPLEX_LONG_DOUBLE = 16,
    RCX_BOOL = 17,                /* C _Bool */
    RCX_BYTE = 18,                /* bits, no number */
    RCX_FLOAT_INT = 19, RCX_DOUBLE_INT = 20, RCX_LONG_INT = 21, RCX_2INT = 22,
    RCX_SHORT_INT = 23, RCX_LONG_DOUBLE_INT = 24,
    RCX_SIGNED_CHAR = 25, RCX_UNSIGNED_CHAR = 26, RCX_SHORT = 27,
    RCX_UNSIGNED_SHORT = 28, RCX_INT = 29, RCX_UNSIGNED = 30, RCX_LONG = 31,
    RCX_UNSIGNED_LONG = 32, RCX_LONG_LONG = 33, RCX_UNSIGNED_LONG_LONG = 34,
    RCX_EXACT_FLOAT32 = 35,       /* rcx_exact32_t: an exact sum of floats */
    RCX_EXACT_FLOAT64 = 36,       /* rcx_exact64_t: of doubles or products */
    RCX_FLOAT = RCX_FLOAT32, RCX_DOUBLE = RCX_FLOAT64
};
/* clang-format on */

/*
 * Ops: dst = left op right, applied element by element. The numbers are ABI,
 * and none is a type's, nor are users' ops users' types: a call that gives the
 * two in the wrong order is RCX_ERR_ARG.
 *
 *   MAX MIN            integers, bool-free; real floating types. A NaN operand
 *                      gives NaN; -0 is below +0.
 *   SUM PROD           integers (wrap around), floating, complex. FLOAT16 and
 *                      BFLOAT16 compute in float and round to nearest even
 *                      once per combine. SUM of EXACT_FLOAT32 and
 *                      EXACT_FLOAT64 does not round.
 *   LAND LOR LXOR      integers and RCX_BOOL; the result is 0 or 1.
 *   BAND BOR BXOR      integers, RCX_BYTE (and RCX_BOOL).
 *   MAXLOC MINLOC      pair types; equal values keep the smaller index; a NaN
 *                      value wins, among several the smaller index.
 *   REPLACE NO_OP      every type: the right, the left operand. Not
 *                      commutative: the last, the first rank's vector.
 *   AVG                floating and complex types: SUM, and the result divided
 *                      once by the number of ranks. An extension to MPI's ops.
 *   SUM_EXACT          FLOAT32 and FLOAT64: the exact sum of each element over
 *                      the ranks, rounded once to nearest, ties to even; NaN,
 *                      infinities, -0, denormals and overflow are as of exact
 *                      sums below. The bits do not depend on the order of the
 *                      ranks, algorithm, count or settings. Up to 8 ranks, or
 *                      64 on one node, a rank combines all operands of an
 *                      element at once. Otherwise, in prefix reductions, and if
 *                      another algorithm is forced, a call runs in steps of
 *                      2^15 elements (or one of each rank's block, if ranks are
 *                      more; or segments, if these are forced), and needs
 *                      scratch for two of them: 16 bytes an element of usual
 *                      data, up to 440 of doubles and 72 of floats of all
 *                      magnitudes. In rcx_reduce_local() it is SUM. An
 *                      extension as well.
 *   AVG_EXACT          FLOAT32 and FLOAT64: the same sum divided by the number
 *                      of ranks, and rounded once. In rcx_reduce_local() it is
 *                      the average of two.
 *   SUM_FLOAT          FLOAT16 and BFLOAT16: operands are converted to float,
 *                      all sums are floats, and the result is rounded to
 *                      nearest even once. The order level is that of a sum of
 *                      floats. Where SUM_EXACT would combine all operands of
 *                      an element at once, so does this, by the tree of
 *                      CANONICAL, and messages contain 16-bit numbers.
 *                      Otherwise floats are sent, in equal steps of up to 2^15
 *                      elements (as of SUM_EXACT), which need scratch of 4
 *                      bytes an element. In rcx_reduce_local() it is SUM. An
 *                      extension as well.
 *   AVG_FLOAT          FLOAT16 and BFLOAT16: the same sum divided by the number
 *                      of ranks, in float, and rounded to 16 bits once. In
 *                      rcx_reduce_local() it is the average of two.
 *
 * Any other pair of op and type is RCX_ERR_UNSUPPORTED. Payloads of NaNs and
 * padding are outside every guarantee.
 */
typedef int rcx_op_t;
/* clang-format off */
enum {
    RCX_MAX = 257, RCX_MIN = 258, RCX_SUM = 259, RCX_PROD = 260,
    RCX_LAND = 261, RCX_BAND = 262, RCX_LOR = 263, RCX_BOR = 264,
    RCX_LXOR = 265, RCX_BXOR = 266, RCX_MAXLOC = 267, RCX_MINLOC = 268,
    RCX_REPLACE = 269, RCX_NO_OP = 270, RCX_AVG = 271, RCX_SUM_EXACT = 272,
    RCX_AVG_EXACT = 273, RCX_SUM_FLOAT = 274, RCX_AVG_FLOAT = 275
};
/* clang-format on */

/*
 * 1 if op is defined on datatype, else 0: whether a collective or
 * rcx_reduce_local() accepts this pair. Needs no context, and depends neither
 * on the CPU nor on whether a handle is alive. A user's op is defined on every
 * type; on a user's type REPLACE, NO_OP and users' ops are. 0 for numbers that
 * are no op or type.
 */
RCX_API int rcx_op_supported(rcx_op_t op, rcx_datatype_t datatype);

/* ---- Exact sums ---------------------------------------------------------- */

/*
 * An exact sum is an accumulator that holds the sum of floating-point numbers
 * without rounding. It depends on nothing but the numbers: not on their order,
 * nor on how they are divided among ranks, nor on the number of ranks. Each
 * rank adds its numbers, SUM of a collective adds the accumulators, and the
 * result is rounded once:
 *
 *     rcx_exact64_zero(&sum);
 *     rcx_exact64_add(&sum, x, n);
 *     rcx_allreduce(RCX_IN_PLACE, &sum, 1, RCX_EXACT_FLOAT64, RCX_SUM, comm);
 *     total = rcx_exact64_round(&sum);
 *
 * SUM on the types RCX_EXACT_FLOAT32 and RCX_EXACT_FLOAT64 is associative and
 * commutative bit for bit, so every algorithm is legal at every order level.
 * REPLACE and NO_OP are defined, too; any other op is RCX_ERR_UNSUPPORTED.
 *
 * The result is the mathematical sum, rounded once to the nearest number, ties
 * to even:
 *
 *   - Intermediate sums and products neither overflow nor underflow. A sum
 *     beyond the largest number rounds to an infinity. Denormal numbers count
 *     as they are.
 *   - A NaN, both infinities, or infinity times zero make the sum NaN.
 *     Otherwise one infinity makes it this infinity.
 *   - A sum of -0 only is -0. Any other zero sum is +0, and so is that of no
 *     terms.
 *
 * There is room for 2^102 additions of the largest float, and for 2^87 of the
 * largest product of doubles. Beyond that (10^26 terms) an accumulator wraps
 * around, as unsigned integers do: the sum is wrong, and still the same for
 * every order.
 *
 * These functions need no context and may be called from any thread. Pointers
 * are not checked; with n == 0 they are not used, and may be NULL. Results do
 * not depend on the thread's floating-point environment: rounding mode, FTZ,
 * DAZ, traps. On x86-64 the environment and its exception flags are as before
 * afterwards. On other machines flags may be set, traps on inexact results and
 * underflow must be off, and additions are slower where the environment is not
 * the default one.
 */

/*
 * Exact sums, of 48 and 536 bytes: of floats; of doubles, of products of two
 * doubles, and of products of two floats.
 *
 * They are aligned to 8 bytes, and their content is RCX's. All bytes zero is
 * the sum of no terms. Equal sums have equal bytes, but the sum of no terms, a
 * sum of -0 only and any other zero sum differ. The bytes may be stored, and
 * mean the same to every process of the same byte order.
 */
typedef struct rcx_exact32 {
    uint64_t words[6];
} rcx_exact32_t;
typedef struct rcx_exact64 {
    uint64_t words[67];
} rcx_exact64_t;

/* Set an exact sum to that of no terms. */
RCX_API void rcx_exact32_zero(rcx_exact32_t *sum);
RCX_API void rcx_exact64_zero(rcx_exact64_t *sum);

/* Add the numbers x[0] to x[n - 1] to an exact sum. */
RCX_API void rcx_exact32_add(rcx_exact32_t *sum, const float x[], size_t n);
RCX_API void rcx_exact64_add(rcx_exact64_t *sum, const double x[], size_t n);

/* Add the products x[i] * y[i], for i from 0 to n - 1, to an exact sum. They
 * are not rounded. x may be y. */
RCX_API void rcx_exact64_add_product(rcx_exact64_t *sum, const double x[],
                                     const double y[], size_t n);
RCX_API void rcx_exact64_add_product32(rcx_exact64_t *sum, const float x[],
                                       const float y[], size_t n);

/* Add the terms of another exact sum, which may be sum itself. */
RCX_API void rcx_exact32_merge(rcx_exact32_t *sum, const rcx_exact32_t *other);
RCX_API void rcx_exact64_merge(rcx_exact64_t *sum, const rcx_exact64_t *other);

/* Round an exact sum to a double, or to a float: once, from the exact value. */
RCX_API double rcx_exact32_round(const rcx_exact32_t *sum);
RCX_API double rcx_exact64_round(const rcx_exact64_t *sum);
RCX_API float rcx_exact32_round_float(const rcx_exact32_t *sum);
RCX_API float rcx_exact64_round_float(const rcx_exact64_t *sum);

/* ---- Contexts ------------------------------------------------------------ */

typedef struct rcx_context rcx_context_t;
typedef struct rcx_comm rcx_comm_t;
typedef struct rcx_request rcx_request_t;

/*
 * A bootstrap of the host's own, in place of PMIx, by which processes exchange
 * addresses. Both functions are collective over all ranks. rcx_init() calls
 * allgather only, which blocks, a few times: for what ranks must know of each
 * other before they open the network, for the lengths of their addresses, and
 * for the addresses. Non-zero is a failure, and rcx_init() fails. No deadline
 * of RCX applies to it: the host bounds it.
 *
 * rcx_finalize() calls barrier only, when all ranks have passed a barrier of
 * RCX's own and need no more progress of each other; not after a failure. It
 * may block, and the host bounds it then. Or it returns RCX_IN_PROGRESS as long
 * as ranks are missing: it is called again until it returns 0 or a deadline
 * passes, and RCX makes progress between the calls. Another value is a failure.
 * NULL: there is none, and RCX does without. An rcx_init() that fails with
 * RCX_ERR_CONFIG, which it does on all ranks, ends with it as well.
 */
typedef struct rcx_bootstrap {
    int rank;
    int size;
    /* recv[i * bytes ...] = what rank i gave as send, for every rank i */
    int (*allgather)(const void *send, void *recv, size_t bytes, void *arg);
    int (*barrier)(void *arg); /* may be NULL */
    void *arg;
} rcx_bootstrap_t; /* a third function is in rcx_params_t: bootstrap_abort */

/*
 * The id of a job, by which its processes find each other without a launcher: a
 * text of printable characters without spaces, ended by NUL. Any channel may
 * carry it to the other processes: a pipe, a file, an argument, a message. It
 * contains the addresses of rank 0 and a secret of 128 random bits. A process
 * that knows the id may join the job, so other users must not read the channel.
 */
typedef struct rcx_id {
    char text[128];
} rcx_id_t;

/*
 * Make the id of a new job. The process that calls this is rank 0 of the job,
 * and gives the id to rcx_init() once, as each other process does. *id_p is the
 * caller's, and RCX keeps no pointer to it. Errors are printed to stderr. From
 * any thread; a process may make any number of ids.
 *
 * The process listens on a socket from now on, so the others may call
 * rcx_init() at once. The socket is closed by the rcx_init() of rank 0, also on
 * failure, except RCX_ERR_ARG. A child of fork() may use the id as another
 * rank, but not in place of its parent.
 *
 * address is needed during the call only, and determines where to listen:
 *
 *   NULL         at a free port. The id contains the addresses of interfaces
 *                that are up, as many as there is room for, that of the default
 *                route first. The others try each. RCX_SOCKET_IFNAME restricts
 *                the interfaces.
 *   "PORT"       the same at this port
 *   "HOST:PORT"  at this address (IPv6 in brackets), or at the addresses of
 *                this name. Port 0 is a free one. A name is looked up without a
 *                deadline.
 *   "file:/PATH" at a free port, which rank 0 opens in rcx_init() and writes to
 *                this file, which all ranks see. Rank 0 removes the file when
 *                all ranks have come.
 *
 * RCX_ERR_ARG     id_p is NULL, or address has none of these forms, or the path
 *                 is too long for an id
 * RCX_ERR_LAUNCH  the process cannot listen there, or HOST is not known, or no
 *                 interface is up, or the kernel has no random numbers
 * RCX_ERR_CONFIG  RCX_SOCKET_IFNAME names no interface that is up
 */
RCX_API rcx_status_t rcx_get_id(const char *address, rcx_id_t *id_p);

/*
 * The order of operations of a reduction, from the strictest level; see
 * docs/reference/guarantees.md. An algorithm below the level that is asked for
 * is never chosen.
 *
 *   CANONICAL  one fixed tree of the rank order combines every element: the
 *              bits depend on neither algorithm, message size nor root
 *   UNIFORM    rank order, one bracketing for all elements of a vector
 *   RANK       rank order, same bits on all ranks
 *   SAME       operands may be commuted, same bits on all ranks (default)
 *
 * Ops that do not commute get RANK or better at every setting.
 */
typedef enum rcx_order {
    RCX_ORDER_SAME = 1,
    RCX_ORDER_RANK = 2,
    RCX_ORDER_UNIFORM = 3,
    RCX_ORDER_CANONICAL = 4
} rcx_order_t;

typedef enum rcx_log_level {
    RCX_LOG_ERROR = 0,
    RCX_LOG_WARN = 1,
    RCX_LOG_INFO = 2,
    RCX_LOG_DEBUG = 3
} rcx_log_level_t;

/*
 * Receives each log line, without newline, on the thread that caused it.
 *
 * UCX's own lines ("[time] [host:pid:0] file.c:1 UCX ERROR ...") do not come
 * here, as UCX has one log for all its users in a process. Its variables
 * UCX_LOG_LEVEL and UCX_LOG_FILE set what it writes, and where.
 */
typedef void (*rcx_log_fn_t)(rcx_log_level_t level, const char *text,
                             void *arg);

enum {
    RCX_PARAM_BOOTSTRAP = 1u << 0,
    RCX_PARAM_NAME = 1u << 1,
    RCX_PARAM_ORDER = 1u << 2,
    RCX_PARAM_LOG = 1u << 3,
    RCX_PARAM_THREADS = 1u << 4,
    RCX_PARAM_TIMEOUT = 1u << 5,
    RCX_PARAM_WAKEUP = 1u << 6,
    RCX_PARAM_PROGRESS = 1u << 7,
    RCX_PARAM_ABORT = 1u << 8,
    RCX_PARAM_ID = 1u << 9,
    RCX_PARAM_SETTINGS = 1u << 10
};

/*
 * A setting: what an environment variable sets, by its name and with the same
 * values (docs/reference/environment.md): {"RCX_ERR_MODE", "peer"}. The prefix
 * RCX_ is part of the name. An empty value counts as not given.
 *
 * Without a flag it is the program's default: a variable of the environment
 * wins, so that users can change it. With RCX_SETTING_FINAL it wins over the
 * environment. Both win over other fields of rcx_params_t.
 *
 * Not among settings are the variables of a start without a launcher (see
 * rcx_params_t.id), RCX_SUM, and those of UCX.
 */
enum { RCX_SETTING_FINAL = 1u << 0 };
typedef struct rcx_setting {
    const char *name;
    const char *value;
    unsigned flags;
} rcx_setting_t;

/*
 * Which threads use one context and what is made from it.
 *
 *   SINGLE      one thread, always the same
 *   SERIALIZED  any thread, one at a time (default)
 *   MULTIPLE    any threads at once: different communicators concurrently.
 *               Collectives on one communicator need an order: of two calls
 *               that start one at the same time, or while a blocking one runs,
 *               the second is RCX_ERR_BUSY. Testing and waiting for requests
 *               may run concurrently with a start.
 *
 * rcx_init() and rcx_finalize() of one context must run alone.
 */
typedef enum rcx_thread_mode {
    RCX_THREAD_SINGLE = 0,
    RCX_THREAD_SERIALIZED = 1,
    RCX_THREAD_MULTIPLE = 2
} rcx_thread_mode_t;

/* Parameters of rcx_init(). Only fields that are named in field_mask are
 * read. */
typedef struct rcx_params {
    uint64_t field_mask;
    rcx_bootstrap_t bootstrap;
    const char *name;  /* tells contexts apart in PMIx keys, at most 64 letters
                           or digits; the same on all ranks. Default: a number
                           that counts the contexts of the process */
    rcx_order_t order; /* the lowest order level wanted; RCX_ORDER wins */
    rcx_log_fn_t log;  /* default: errors and warnings to stderr */
    void *log_arg;
    rcx_thread_mode_t threads;
    int64_t timeout_ns;  /* deadline of every operation, from its start, of
                           rcx_init() and rcx_finalize() as well (but see
                           rcx_comm_set_timeout()); 0: none (default).
                           RCX_TIMEOUT wins */
    int wakeup;          /* non-zero: rcx_get_fd() will be used */
    int progress_thread; /* non-zero: as RCX_PROGRESS=thread */
    /* For rcx_abort() with a bootstrap of the host's own, whose arg it gets:
     * end the processes of all ranks. Called on one rank, on any thread. It may
     * return: 0 if the other ranks are ended. NULL: the host has none. */
    int (*bootstrap_abort)(int code, const char *text, void *arg);
    /* With RCX_PARAM_ID: start without a launcher, with the processes that give
     * an equal id. *id is needed during rcx_init(). size: number of processes.
     * rank: of this process, from 0 to size - 1, each once; 0 in the process
     * that called rcx_get_id(). Not together with bootstrap. */
    const rcx_id_t *id;
    int rank;
    int size;
    /* setting_count of them; of two with one name and equal flags the later one
     * counts. Those that decide which messages are sent must be equal on all
     * ranks, and are compared like the environment. */
    const rcx_setting_t *settings;
    size_t setting_count;
} rcx_params_t;

/*
 * Create a context: read the environment, find the other processes, open UCX.
 * Collective over the processes of the job. They find each other by the first
 * of these that is given: params.bootstrap, params.id, RCX_ROOT, a PMIx server,
 * the variables of torchrun (docs/reference/environment.md). A process without
 * any of them is a job of one rank. params may be NULL. params and what it
 * points to are needed during the call only, except bootstrap.arg and log_arg,
 * which are needed until rcx_finalize() has returned.
 *
 * A process may have several contexts; over PMIx and at RCX_ROOT all processes
 * create them in the same order, or give each a name.
 *
 * With an id or RCX_ROOT, the call waits for all ranks until the deadline. If a
 * rank is missing, stops, dies, occurs twice or has another size, all ranks
 * that have come get the same error, whose message names that rank.
 *
 * Where there are several nodes, the network between two of them is measured,
 * and the call waits for all ranks that live. RCX_MACHINE tells the network
 * instead. What is measured changes no result (guarantee O9).
 *
 * RCX_ERR_ARG     params is malformed
 * RCX_ERR_CONFIG  an RCX_ variable has a value that is not valid, or a setting
 *                 is unknown or not valid, here or on another rank, or ranks'
 *                 values do not go together
 * RCX_ERR_LAUNCH  a launcher started several processes but no PMIx server
 *                 answers, or the exchange failed, or versions differ; with an
 *                 id or RCX_ROOT: rank 0 did not make the id or cannot listen,
 *                 a rank occurs twice, or sizes differ
 * RCX_ERR_TIMEOUT not all processes came in time
 * RCX_ERR_PEER_FAILED  with an id or RCX_ROOT: another process ended meanwhile
 * RCX_ERR_EXCLUDED  on several nodes: the others take this rank for failed, or
 *                   too few of them can be reached, which may be so on all
 * RCX_ERR_LIMIT   this process may open too few descriptors (ulimit -n)
 * RCX_ERR_TRANSPORT, RCX_ERR_NOMEM
 */
RCX_API rcx_status_t rcx_init(const rcx_params_t *params,
                              rcx_context_t **context_p);

/*
 * Destroy a context. Collective over its processes; returns once no process
 * needs this one any more. The world communicator goes with it.
 *
 * RCX_ERR_ARG   context_p is NULL
 * RCX_ERR_BUSY  requests or communicators are not freed yet: the context stays
 *               as it was
 *
 * Any other error tells what went wrong meanwhile, such as why the world failed
 * on other ranks; the context is destroyed. An error that this rank has been
 * told before is not returned again: a rank that finalizes after one gets
 * RCX_OK.
 */
RCX_API rcx_status_t rcx_finalize(rcx_context_t **context_p);

/*
 * End the whole job: all processes of the context, on all nodes, and this one.
 * Does not return if it can do that. First it logs one error with this rank,
 * code and text (NULL: none). Then the bootstrap ends the other processes: PMIx
 * by the launcher (PMIx_Abort), mostly in less than a second; a host's
 * bootstrap by rcx_params_t.bootstrap_abort, if it has that. This process ends
 * with exit status code, or 1 if the low 8 bits of code are 0, since an exit
 * status has no more. It does nothing of exit(): no atexit() functions, no
 * flush of stdio. The launcher decides the status of the job, which is never 0.
 *
 * If the bootstrap cannot end the others (with an id or RCX_ROOT, only ranks
 * that start or finalize learn of it; a host without the function, or whose
 * function failed; a launcher that does not answer), this process raises
 * SIGABRT, which launchers take for the end of the job. The other processes are
 * then ended by the host, or find out by their deadlines.
 *
 * May be called from any thread in any mode, also while other threads are in
 * calls of the same context, from callbacks and from users' ops; not from
 * signal handlers. The context may have failed in any way. It needs no progress
 * of other processes, and waits for the launcher only.
 *
 * RCX_ERR_ARG: context is NULL. RCX_ERR_FORKED: a child of fork() may end
 * itself, but not the job of its parent.
 */
RCX_API rcx_status_t rcx_abort(rcx_context_t *context, int code,
                               const char *text);

/* The communicator of all processes, owned by the context. NULL for NULL. */
RCX_API rcx_comm_t *rcx_world(rcx_context_t *context);

/* ---- Communicators ------------------------------------------------------- */

/*
 * New communicators. Collective over comm, in the order of its blocking
 * operations; except create_group, which only the n members call. Ranks: dup
 * keeps them; split orders those of one color by key, then by rank in comm; a
 * group has them in the order of ranks[] (different ranks of comm, the caller's
 * among them).
 *
 * split with color RCX_UNDEFINED makes none: *new_p is NULL. tag (0..8191)
 * tells groups apart that are made at the same time and share two members. It
 * may be used again when that call has returned on all of them, also with an
 * error. If threads make equal groups with one tag at once, each thread gets
 * one. If the groups differ and share two members, the second is RCX_ERR_BUSY
 * on all its members.
 *
 * A failure of dup or split fails comm. A failure of create_group does not: it
 * is an error on all members, at once on those that wait, and at their call on
 * the others; rcx_comm_error(comm) names the ranks of comm that caused it. A
 * group fails with comm while it is being made. After RCX_ERR_TIMEOUT, members
 * that had not called yet begin a new attempt, so that the others may try
 * again.
 *
 * A communicator inherits the deadline and the settings of its parent. It is
 * freed by rcx_comm_free(), on each rank by itself. One with requests is closed
 * with the last of them: these go on, and persistent ones may be started, but
 * the handle is invalid at once. 8188 may be alive at a time in a process.
 *
 * RCX_ERR_ARG, RCX_ERR_NOMEM; RCX_ERR_COMM_FAILED: comm has failed, before or
 * meanwhile; RCX_ERR_LIMIT: no id is free on all members; RCX_ERR_BUSY: see
 * above; RCX_ERR_TIMEOUT, RCX_ERR_PEER_FAILED, RCX_ERR_TRANSPORT: a member did
 * not come in time, died, or cannot be reached; RCX_ERR_MISMATCH (create_group,
 * rare): a message of an earlier attempt was received, call it again.
 */
#define RCX_UNDEFINED (-1)
RCX_API rcx_status_t rcx_comm_dup(rcx_comm_t *comm, rcx_comm_t **new_p);
RCX_API rcx_status_t rcx_comm_split(rcx_comm_t *comm, int color, int key,
                                    rcx_comm_t **new_p);
RCX_API rcx_status_t rcx_comm_create_group(rcx_comm_t *comm, int n,
                                           const int ranks[], int tag,
                                           rcx_comm_t **new_p);

/*
 * The same, nonblocking: they start, and *new_p is set when the request
 * completes; until then it is NULL, and must stay valid. After an error it is
 * NULL. idup and isplit take their place among the collectives of comm;
 * operations that start on comm later need not wait. comm may be freed
 * meanwhile. The deadline of comm is that of the request.
 *
 * RCX_ERR_BUSY (icreate_group): this process is creating an equal group with
 * this tag; nothing has happened. Errors of arguments, of memory, and of a comm
 * that has failed are returned at once, others by the request.
 */
RCX_API rcx_status_t rcx_comm_idup(rcx_comm_t *comm, rcx_comm_t **new_p,
                                   rcx_request_t **request_p);
RCX_API rcx_status_t rcx_comm_isplit(rcx_comm_t *comm, int color, int key,
                                     rcx_comm_t **new_p,
                                     rcx_request_t **request_p);
RCX_API rcx_status_t rcx_comm_icreate_group(rcx_comm_t *comm, int n,
                                            const int ranks[], int tag,
                                            rcx_comm_t **new_p,
                                            rcx_request_t **request_p);

/* As rcx_comm_split(), with the ranks of each node as one color.
 * RCX_ERR_UNSUPPORTED: see rcx_comm_node_of(). */
RCX_API rcx_status_t rcx_comm_split_node(rcx_comm_t *comm, int key,
                                         rcx_comm_t **new_p);
/* Free a communicator, see rcx_comm_dup(). RCX_ERR_BUSY: another thread is in a
 * call on it. RCX_ERR_ARG: the world. */
RCX_API rcx_status_t rcx_comm_free(rcx_comm_t **comm_p);

/*
 * The deadline of the operations that start on comm from now on, in
 * nanoseconds from their start; 0: none. Each rank sets its own. The world's
 * also applies to rcx_finalize(). An overdue operation ends when all members
 * have answered whether they have called it, or after half of the deadline
 * more, at least 20 ms and at most 0.5 s.
 */
RCX_API rcx_status_t rcx_comm_set_timeout(rcx_comm_t *comm, int64_t timeout_ns);

/*
 * Change a setting of comm, for the operations that start on it from now on,
 * and for communicators that are made from it: as an environment variable of
 * this name does for all. Collective, in the order of comm's blocking
 * operations; blocks. All members give the same name and value. Nothing has
 * changed unless all get RCX_OK.
 *
 * The settings of a communicator: the method of a collective (RCX_ALLREDUCE and
 * so on), RCX_ORDER, RCX_CHECK, RCX_TIMEOUT, RCX_PLAN_CACHE, RCX_QUORUM. The
 * defaults of RCX_ORDER=auto and RCX_TIMEOUT=none are those of the context. The
 * environment does not win over this function. Others belong to the context,
 * such as RCX_ERR_MODE, as connections are shared: see rcx_params_t.settings.
 *
 * RCX_ERR_ARG     a pointer is NULL: at once, on this rank alone
 * RCX_ERR_CONFIG  name or value is not known, or is none of a communicator, or
 *                 members gave different ones, or another member has an error
 * RCX_ERR_BUSY    this rank has requests on comm that are not freed
 * RCX_ERR_NOMEM, and those of rcx_allreduce()
 */
RCX_API rcx_status_t rcx_comm_set(rcx_comm_t *comm, const char *name,
                                  const char *value);

/*
 * A name for comm, which messages, logs and dumps of this process show beside
 * its number: "communicator 4 (solver)". Local, and at any time; copied;
 * without a name, "communicator 4". It is not inherited. The world is
 * "communicator 1 (world)" at first. rcx_comm_name() returns the name, "" if
 * there is none, and NULL if comm is no communicator; valid until the name is
 * set again or comm is freed.
 *
 * "" removes the name. RCX_ERR_ARG: an argument is NULL, or name has more than
 * RCX_COMM_NAME_MAX bytes, or a control character.
 */
#define RCX_COMM_NAME_MAX 63
RCX_API rcx_status_t rcx_comm_set_name(rcx_comm_t *comm, const char *name);
RCX_API const char *rcx_comm_name(const rcx_comm_t *comm);

/*
 * A pointer of the host's, which RCX keeps for comm and does not use. Local. It
 * is not inherited: a library that wants one of its own duplicates its user's
 * communicator. destroy, if not NULL, is called with data when comm is freed,
 * at the end of rcx_comm_free(), or of rcx_finalize() for the world, on the
 * calling thread; it may call RCX, but not with comm. Data that is replaced is
 * not destroyed. rcx_comm_data() returns NULL if there is none, or if comm is
 * no communicator.
 */
typedef void (*rcx_destroy_fn_t)(void *data);
RCX_API rcx_status_t rcx_comm_set_data(rcx_comm_t *comm, void *data,
                                       rcx_destroy_fn_t destroy);
RCX_API void *rcx_comm_data(const rcx_comm_t *comm);

/*
 * Fail comm: its operations end with an error, here and on the other members
 * (when they are in RCX). From any thread in any mode, also while other threads
 * are in calls of the same context. Never waits.
 */
RCX_API rcx_status_t rcx_comm_abort(rcx_comm_t *comm);

/*
 * Why comm failed. A communicator fails permanently when a deadline passes,
 * calls do not match, a transport fails, a member dies, or a member aborts it.
 * Its operations then end with that error, later calls with
 * RCX_ERR_COMM_FAILED. A member that is found dead fails all communicators that
 * it is in; otherwise the others go on. A failed communicator can only be
 * agreed on, shrunk (rcx_comm_shrink()), and freed, after its requests.
 *
 * A call that RCX_CHECK=full finds not to match, before data moves, is
 * RCX_ERR_MISMATCH on all ranks, and comm stays usable. While status is RCX_OK,
 * text and ranks are of the last such call; before the first one, text is "".
 *
 * After an error nothing is received into recvbuf any more, except a message
 * that had begun to arrive (until rcx_finalize() has returned at the latest),
 * and sendbuf may be read until then.
 */
typedef struct rcx_error_info {
    rcx_status_t status; /* RCX_OK: comm has not failed */
    int rank_count;      /* number of ranks; 0: none is known. If another rank
                            has found them, those after the eighth arrive in
                            further messages, and the number grows */
    const int *ranks;    /* of comm, that are dead, silent, were stopped, lack
                            memory or descriptors, or differ from the others */
    const char *text;    /* a sentence. It and ranks live as long as comm; of a
                            rejected call, until the next one */
    uint64_t reserved[4];
} rcx_error_info_t;
RCX_API rcx_status_t rcx_comm_error(rcx_comm_t *comm, rcx_error_info_t *info_p);

/* ---- Recovery from failures ---------------------------------------------- */

/*
 * Tell RCX that the processes of n ranks of the world have ended, as a launcher
 * or a scheduler may know before RCX finds it. Every communicator with one of
 * them fails with RCX_ERR_PEER_FAILED, here and on its other members (when they
 * are in RCX): operations in flight end at once. Agreements and shrinks go on
 * without these ranks, which count as dead (RCX_QUORUM): the caller vouches for
 * that. One rank that calls it is enough. Ranks that have been told before are
 * ignored.
 *
 * A rank that lives is excluded: it learns of it by the failure of its
 * communicators, whose rcx_comm_error() names it, and rcx_comm_agree() and
 * rcx_comm_shrink() return RCX_ERR_EXCLUDED to it. But if it has been told that
 * the others have ended, it goes on, too, without them.
 *
 * From any thread in any mode, also while other threads are in calls of the
 * same context, and with every RCX_ERR_MODE. Never waits.
 *
 * RCX_ERR_ARG: context is NULL, n is negative, ranks is NULL with n > 0, or one
 * of the ranks is not in the world, or this one; then none is told.
 */
RCX_API rcx_status_t rcx_peer_failed(rcx_context_t *context, int n,
                                     const int ranks[]);

/* The same as rcx_comm_abort(), by the name that ULFM gives it: the operations
 * of all members end, so that all can call rcx_comm_shrink(). */
RCX_API rcx_status_t rcx_comm_revoke(rcx_comm_t *comm);

/*
 * Uniform agreement: all members of comm that live call it, and all for which
 * it succeeds get the same flags and the same failed members, whatever fails
 * meanwhile. It works on a failed communicator, the world included. If members
 * have failed by the agreement, comm has failed as well.
 *
 * flags       in: this rank's; out: the AND of the flags of the members that
 *             took part. They are unchanged after an error.
 * timeout_ns  for all members alike; 0: that of comm (rcx_comm_set_timeout()).
 *             A member that is not found dead, but does not call within a
 *             quarter of it, is taken for failed. 0 and none: members are
 *             waited for until they are found dead.
 *
 * RCX_ERR_EXCLUDED  the others have agreed that this rank has failed (it was
 *                   stopped or late), or too few members can be reached
 *                   (RCX_QUORUM). comm has failed for good. A program ends
 *                   then, or starts a new context.
 * RCX_ERR_TIMEOUT   there is no decision yet. The next call of the same
 *                   function goes on with this agreement and these flags.
 * RCX_ERR_ARG, RCX_ERR_NOMEM
 *
 * Messages: 2 ceil(lg p) of each member if none has failed; otherwise O(p) of
 * the lowest one that lives, and a few of each other. Guarantees: A1 to A9.
 * Sources: Herault et al., Practical scalable consensus for pseudo-synchronous
 * distributed systems, 2015 (the task); Lamport, Paxos made simple, 2001.
 */
RCX_API rcx_status_t rcx_comm_agree(rcx_comm_t *comm, uint64_t *flags,
                                    int64_t timeout_ns);

/*
 * A communicator of the members of comm that live, in the order of their ranks:
 * an agreement, as rcx_comm_agree(), and a barrier after failures. All
 * members for which it succeeds get the same one. If a member fails after the
 * agreement, the new communicator fails as any other, and can be shrunk.
 *
 * comm may be failed or not; it is not freed. Once it is freed, a failed one
 * leaves nothing behind if its failed members are known to have ended;
 * otherwise its id is not used again. The new communicator has comm's timeout.
 *
 * Errors as of rcx_comm_agree(); RCX_ERR_LIMIT: no id is free on all members.
 */
RCX_API rcx_status_t rcx_comm_shrink(rcx_comm_t *comm, int64_t timeout_ns,
                                     rcx_comm_t **new_p);

/*
 * The members of comm that have failed by its last agreement or shrink,
 * ascending, which is the same on all members. ranks_p: valid until the next
 * one, or until comm is freed. Before the first one there are none, whatever
 * rcx_comm_error() has found. RCX_ERR_ARG
 */
RCX_API rcx_status_t rcx_comm_failed(const rcx_comm_t *comm, int *n_p,
                                     const int **ranks_p);

/*
 * Write the last operations of this process's communicators, and what they wait
 * for, to path, as JSON; rcx_trace reads it (docs/howto/debugging.md). A pipe
 * or a character device is written to, for a second at most. Anything else,
 * also a link, is replaced by a file of mode 0600 when the dump is complete. No
 * communication: it works after every failure. RCX_ERR_ARG: path cannot be
 * written.
 */
RCX_API rcx_status_t rcx_dump(rcx_context_t *context, const char *path);

/* This rank, and the number of ranks; -1 if comm is no communicator. */
RCX_API int rcx_comm_rank(const rcx_comm_t *comm);
RCX_API int rcx_comm_size(const rcx_comm_t *comm);

/* The context that comm belongs to; NULL if comm is no communicator. */
RCX_API rcx_context_t *rcx_comm_context(const rcx_comm_t *comm);

/*
 * The node of a rank of comm: ranks that share a node have the same number.
 * Nodes are numbered from 0 on, by their lowest ranks, alike on all ranks.
 * Local, and without communication. RCX_ERR_ARG: a pointer or rank is not
 * valid. RCX_ERR_UNSUPPORTED: the bootstrap does not tell which ranks share a
 * node. RCX_ERR_NOMEM.
 */
RCX_API rcx_status_t rcx_comm_node_of(rcx_comm_t *comm, int rank, int *node_p);

/*
 * Store in found[i] the rank in to of the process that has rank ranks[i] in
 * from, or RCX_UNDEFINED if it is not a member; for n ranks. ranks and found
 * may be the same array. Local. RCX_ERR_ARG: an argument is not valid, or from
 * and to belong to different contexts. RCX_ERR_NOMEM.
 */
RCX_API rcx_status_t rcx_comm_translate(rcx_comm_t *from, int n,
                                        const int ranks[], rcx_comm_t *to,
                                        int found[]);

/*
 * What two communicators have in common. IDENT: all, they are one. CONGRUENT:
 * members and their ranks. SIMILAR: members. UNEQUAL: not these, or their
 * contexts differ. Local. RCX_ERR_ARG: an argument is not valid.
 * RCX_ERR_NOMEM.
 */
typedef enum rcx_comparison {
    RCX_COMM_IDENT = 0,
    RCX_COMM_CONGRUENT = 1,
    RCX_COMM_SIMILAR = 2,
    RCX_COMM_UNEQUAL = 3
} rcx_comparison_t;
RCX_API rcx_status_t rcx_comm_compare(rcx_comm_t *a, rcx_comm_t *b,
                                      rcx_comparison_t *result_p);

/*
 * Make progress without waiting. Returns the number of events, 0 if there were
 * none, or a negative rcx_status_t. Nonblocking operations advance in this
 * function and in test, wait and blocking calls.
 */
RCX_API int rcx_progress(rcx_context_t *context);

/*
 * For a host that sleeps in an event loop of its own (epoll, libuv): fd can be
 * read when rcx_progress() has something to do. Before each sleep:
 *
 *     do rcx_progress(context); while (rcx_arm(context) == RCX_IN_PROGRESS);
 *
 * rcx_arm() returns RCX_OK when any later event, or a deadline, makes fd
 * readable. This thread must not call RCX between it and the sleep: a call that
 * makes progress may take the event. So test requests before, in a loop
 * (docs/tutorial/embedding.md):
 *
 *     rcx_progress(context); rcx_test(request, &done);
 *     if (!done && rcx_arm(context) == RCX_OK) sleep on fd
 *
 * One thread at a time arms and sleeps; if two do, only the later one is sure
 * to wake. Other threads may call RCX after rcx_arm() and during the sleep, as
 * the thread mode permits, and RCX_PROGRESS=thread may run. fd becomes readable
 * when one of these starts or completes an operation, and when one leaves RCX
 * while an operation is in flight. It may become so without any event.
 *
 * fd belongs to RCX until rcx_finalize(); nothing is to be read from it.
 *
 * RCX_ERR_UNSUPPORTED: the context was not made for it (params.wakeup,
 * RCX_WAIT=block or RCX_PROGRESS=thread).
 */
RCX_API rcx_status_t rcx_get_fd(rcx_context_t *context, int *fd_p);
RCX_API rcx_status_t rcx_arm(rcx_context_t *context);

/* ---- User-defined ops and types ------------------------------------------ */

/*
 * A user-defined op: dst[i] = left[i] op right[i] for count elements, where
 * left has the operand of the lower ranks. dst may equal left or right and
 * overlaps them in no other way. It must be associative. It runs on a thread
 * that makes progress, and must not call RCX. arg is passed on. A non-zero
 * result fails the collective with RCX_ERR_OP on all ranks.
 *
 * This and all other functions that RCX calls (bootstrap, log, callbacks) must
 * return: after longjmp() or a C++ exception out of one, the context is not
 * usable. C++ code catches inside and returns non-zero, as rcx::make_op() does.
 */
typedef int (*rcx_op_fn_t)(void *dst, const void *left, const void *right,
                           size_t count, rcx_datatype_t type, void *arg);

enum {
    RCX_OP_COMMUTATIVE = 1u << 0, /* a op b == b op a, bit for bit */
    RCX_OP_EXACT = 1u << 1,       /* associative bit for bit, as integers are */
    RCX_OP_NO_FAIL = 1u << 2      /* never returns non-zero: saves the allreduce
                                     by which ranks learn of a failure */
};

/*
 * Create an op. All ranks of a collective must give ops with the same flags. It
 * lives until rcx_op_free() or rcx_finalize(). Freeing invalidates the handle
 * at once; operations in flight and persistent requests go on with the op, so
 * fn and arg are needed until these are freed.
 *
 * RCX_ERR_ARG  context, fn or op_p NULL, unknown flags;  RCX_ERR_LIMIT at 4096
 * live ops;  RCX_ERR_NOMEM
 */
RCX_API rcx_status_t rcx_op_create(rcx_context_t *context, rcx_op_fn_t fn,
                                   unsigned flags, void *arg, rcx_op_t *op_p);
/* Free an op. Takes a pointer to it and stores 0 there, which is no op. */
RCX_API rcx_status_t rcx_op_free(rcx_context_t *context, rcx_op_t *op);

/*
 * Create a type of opaque elements of extent_bytes >= 1, for user-defined ops,
 * REPLACE and NO_OP. Errors and lifetime as for ops.
 */
RCX_API rcx_status_t rcx_type_create(rcx_context_t *context,
                                     size_t extent_bytes,
                                     rcx_datatype_t *type_p);
RCX_API rcx_status_t rcx_type_free(rcx_context_t *context,
                                   rcx_datatype_t *type);

/*
 * The bytes of an element of datatype. Local. context may be NULL if the type
 * is predefined. RCX_ERR_ARG: an argument is not valid.
 */
RCX_API rcx_status_t rcx_type_size(rcx_context_t *context,
                                   rcx_datatype_t datatype, size_t *bytes_p);

/*
 * dst[i] = left[i] op right[i], locally, by the kernels that the collectives
 * use. dst may equal left or right. AVG combines as SUM does.
 *
 * RCX_ERR_ARG (NULL with count > 0, unknown type or op, any other overlap),
 * RCX_ERR_UNSUPPORTED, RCX_ERR_OP
 */
RCX_API rcx_status_t rcx_reduce_local(rcx_context_t *context, void *dst,
                                      const void *left, const void *right,
                                      size_t count, rcx_datatype_t datatype,
                                      rcx_op_t op);

/*
 * Memory for buffers of collectives and messages over any communicator of
 * comm's context, aligned to 64 bytes. Collective; ranks may ask for different
 * sizes.
 *
 * A message from such memory to a rank of the same node is read by that rank
 * where it is, from 4 KB on, without a copy or a system call. If ranks
 * outnumber cores it is so from 256 KB on, as a rank that waits for the read
 * loses its core. A buffer counts if all of it lies in one block; other buffers
 * work as usual. It is ordinary memory if ranks share none (RCX_LOG=info tells
 * why), if /dev/shm is full, and from the 257th block on: no error, and no
 * gain. Pages belong to the NUMA node of this rank, which writes them first.
 *
 * Freed by rcx_mem_free(), at the latest by rcx_finalize(); no operation on it
 * may be in flight then.
 *
 * alloc: RCX_ERR_ARG (ptr_p NULL), RCX_ERR_NOMEM, RCX_ERR_BUSY
 * free: RCX_ERR_ARG (not from there), RCX_ERR_BUSY
 */
RCX_API rcx_status_t rcx_mem_alloc(rcx_comm_t *comm, size_t bytes,
                                   void **ptr_p);
RCX_API rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr);

/*
 * Where the blocks of all ranks are mapped in this process, for loads, stores
 * and atomics of the caller's own: peers[i] is rank i's block (peers[own rank]
 * is ptr), or NULL if it cannot be mapped: on another node, or ordinary memory.
 * Collective; each rank gives a block of its own from rcx_mem_alloc(). When it
 * returns, all ranks have mapped the blocks, so that any may be freed. The
 * caller orders the accesses.
 *
 * peers: comm's size pointers, valid until the rank's own block is freed; what
 * a peer has freed by then stays mapped, and belongs to no rank.
 *
 * RCX_ERR_ARG (peers NULL; ptr, on this rank, not from rcx_mem_alloc()),
 * RCX_ERR_NOMEM, and those of rcx_allgather() and rcx_barrier()
 */
RCX_API rcx_status_t rcx_mem_peers(rcx_comm_t *comm, void *ptr, void *peers[]);

/*
 * rcx_mem_alloc() for existing memory: bytes from ptr on, until they are
 * deregistered, at the latest by rcx_finalize(). They must stay mapped until
 * then. Collective. RCX_OK without a gain if UCX cannot share such memory,
 * which takes xpmem.
 *
 * register:   RCX_ERR_ARG (NULL; overlaps what is registered, or of
 *             rcx_mem_alloc()), RCX_ERR_UNSUPPORTED (a GPU's memory),
 *             RCX_ERR_NOMEM, RCX_ERR_BUSY
 * deregister: RCX_ERR_ARG (not registered), RCX_ERR_BUSY
 */
RCX_API rcx_status_t rcx_mem_register(rcx_comm_t *comm, void *ptr,
                                      size_t bytes);
RCX_API rcx_status_t rcx_mem_deregister(rcx_comm_t *comm, void *ptr);

/* ---- Collectives --------------------------------------------------------- */

/*
 * In place: pass RCX_IN_PLACE as sendbuf, or sendbuf == recvbuf. For
 * reduce_scatter also recvbuf == sendbuf + own block; see gather, scatter and
 * allgather for their forms. Some ranks may be in place and others not. Any
 * other overlap of the buffers is RCX_ERR_ARG. The value is ABI.
 */
#define RCX_IN_PLACE ((void *)-1)
/* RCX_IN_PLACE, for languages that do not read this header. */
RCX_API void *rcx_in_place(void);

/*
 * What all collectives share. Every rank of comm calls the same collectives in
 * the same order with the same count (recvcounts, counts), datatype, op and
 * root.
 *
 * sendbuf is never written unless in place. Buffers may be NULL if count is 0.
 * They must be memory that the CPU can read: memory of a GPU (cudaMalloc,
 * hipMalloc) is RCX_ERR_UNSUPPORTED; managed and pinned memory is valid. The
 * bits of the result are the same on all ranks and from call to call; see
 * rcx_order_t for more.
 *
 * Three forms. Blocking: returns when the result is there. Nonblocking
 * (rcx_i...): buffers belong to RCX until rcx_wait() or rcx_test() has returned
 * the completion; then the request must be freed. Persistent (..._init):
 * prepares a request that rcx_start() may start any number of times, with the
 * same buffers. After a failure buffers are needed for longer: see
 * rcx_error_info_t.
 *
 * RCX_ERR_ARG          comm, buffer, count, datatype, op, root not valid,
 *                      buffers overlap, count * size overflows
 * RCX_ERR_UNSUPPORTED  the op is not defined on the type, a buffer is a GPU's,
 *                      or the algorithm forced by the environment does not fit
 *                      the call (one that it only prefers is passed over)
 * RCX_ERR_MISMATCH     another rank made a call that does not match; comm stays
 *                      usable if RCX_CHECK=full found it
 * RCX_ERR_OP           the user's op failed on some rank
 * RCX_ERR_COMM_FAILED  comm has failed before
 * RCX_ERR_TRANSPORT, RCX_ERR_NOMEM
 */

/*
 * recvbuf[i] = sendbuf[i] of rank 0 op ... op sendbuf[i] of rank p - 1, for
 * count elements, on every rank.
 */
RCX_API rcx_status_t rcx_allreduce(const void *sendbuf, void *recvbuf,
                                   size_t count, rcx_datatype_t datatype,
                                   rcx_op_t op, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iallreduce(const void *sendbuf, void *recvbuf,
                                    size_t count, rcx_datatype_t datatype,
                                    rcx_op_t op, rcx_comm_t *comm,
                                    rcx_request_t **request_p);
RCX_API rcx_status_t rcx_allreduce_init(const void *sendbuf, void *recvbuf,
                                        size_t count, rcx_datatype_t datatype,
                                        rcx_op_t op, rcx_comm_t *comm,
                                        rcx_request_t **request_p);

/*
 * n vectors as one: the same result, to the bit, as rcx_allreduce() of their
 * concatenation. Vector i has counts[i] elements in sendbufs[i], and its result
 * goes to recvbufs[i]. Vectors of 0 elements may be anywhere; their pointers
 * are not used.
 *
 * The three arrays are copied before the call returns; the buffers belong to
 * RCX as those of any call. In place: RCX_IN_PLACE as sendbufs (in C++ with a
 * cast), or sendbufs[i] == recvbufs[i] for all vectors that are not empty. A
 * list that is partly in place is RCX_ERR_ARG, and so is any other overlap of a
 * result with a result or an operand. Operands may overlap each other.
 *
 * Ranks must agree on the sum of counts only: each may cut its vectors
 * differently, and one may call rcx_allreduce(). Mismatches are found by the
 * sum.
 *
 * Vectors that are contiguous in memory are not copied. Otherwise each segment
 * of the operation that lies within one vector is reduced in that vector's
 * result, which takes a copy of the operand unless it is in place. A segment
 * that spans several vectors is packed into memory of RCX when it starts, and
 * unpacked when it has completed. That memory, for the segments in flight,
 * belongs to the operation (of a persistent one, to the request) and is used
 * again. After an error recvbufs[i] is undefined.
 *
 * Errors as of all collectives; RCX_ERR_ARG also if n is not 0 and an array is
 * NULL.
 */
RCX_API rcx_status_t rcx_allreduce_many(size_t n, const void *const sendbufs[],
                                        void *const recvbufs[],
                                        const size_t counts[],
                                        rcx_datatype_t datatype, rcx_op_t op,
                                        rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iallreduce_many(size_t n, const void *const sendbufs[],
                                         void *const recvbufs[],
                                         const size_t counts[],
                                         rcx_datatype_t datatype, rcx_op_t op,
                                         rcx_comm_t *comm,
                                         rcx_request_t **request_p);
RCX_API rcx_status_t rcx_allreduce_many_init(
    size_t n, const void *const sendbufs[], void *const recvbufs[],
    const size_t counts[], rcx_datatype_t datatype, rcx_op_t op,
    rcx_comm_t *comm, rcx_request_t **request_p);

/*
 * The result of rcx_allreduce() on rank root only; recvbuf is ignored
 * elsewhere. In place applies to the root; on other ranks only sendbuf is read.
 */
RCX_API rcx_status_t rcx_reduce(const void *sendbuf, void *recvbuf,
                                size_t count, rcx_datatype_t datatype,
                                rcx_op_t op, int root, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ireduce(const void *sendbuf, void *recvbuf,
                                 size_t count, rcx_datatype_t datatype,
                                 rcx_op_t op, int root, rcx_comm_t *comm,
                                 rcx_request_t **request_p);
RCX_API rcx_status_t rcx_reduce_init(const void *sendbuf, void *recvbuf,
                                     size_t count, rcx_datatype_t datatype,
                                     rcx_op_t op, int root, rcx_comm_t *comm,
                                     rcx_request_t **request_p);

/*
 * The vector of recvcounts[0] + ... + recvcounts[p - 1] elements is reduced,
 * and rank i gets its i-th block of recvcounts[i] elements. recvcounts is
 * copied before the call returns. With RCX_IN_PLACE or recvbuf == sendbuf the
 * operand is in recvbuf and the result replaces its start; the rest of recvbuf
 * is then undefined. With recvbuf == sendbuf + own block the result replaces
 * the own block and the other blocks stay as they were.
 */
RCX_API rcx_status_t rcx_reduce_scatter(const void *sendbuf, void *recvbuf,
                                        const size_t recvcounts[],
                                        rcx_datatype_t datatype, rcx_op_t op,
                                        rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                         const size_t recvcounts[],
                                         rcx_datatype_t datatype, rcx_op_t op,
                                         rcx_comm_t *comm,
                                         rcx_request_t **request_p);
RCX_API rcx_status_t rcx_reduce_scatter_init(const void *sendbuf, void *recvbuf,
                                             const size_t recvcounts[],
                                             rcx_datatype_t datatype,
                                             rcx_op_t op, rcx_comm_t *comm,
                                             rcx_request_t **request_p);

/* reduce_scatter with blocks of recvcount elements on every rank. */
RCX_API rcx_status_t rcx_reduce_scatter_block(const void *sendbuf,
                                              void *recvbuf, size_t recvcount,
                                              rcx_datatype_t datatype,
                                              rcx_op_t op, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ireduce_scatter_block(const void *sendbuf,
                                               void *recvbuf, size_t recvcount,
                                               rcx_datatype_t datatype,
                                               rcx_op_t op, rcx_comm_t *comm,
                                               rcx_request_t **request_p);
RCX_API rcx_status_t rcx_reduce_scatter_block_init(
    const void *sendbuf, void *recvbuf, size_t recvcount,
    rcx_datatype_t datatype, rcx_op_t op, rcx_comm_t *comm,
    rcx_request_t **request_p);

/*
 * Returns when every rank of comm has called it.
 */
RCX_API rcx_status_t rcx_barrier(rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ibarrier(rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_barrier_init(rcx_comm_t *comm,
                                      rcx_request_t **request_p);

/*
 * Copies the vector of count elements in buf of rank root to buf of every rank.
 * At the root buf is only read, so it may point to constant memory.
 */
RCX_API rcx_status_t rcx_bcast(void *buf, size_t count, rcx_datatype_t datatype,
                               int root, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ibcast(void *buf, size_t count,
                                rcx_datatype_t datatype, int root,
                                rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_bcast_init(void *buf, size_t count,
                                    rcx_datatype_t datatype, int root,
                                    rcx_comm_t *comm,
                                    rcx_request_t **request_p);

/*
 * recvbuf of rank root receives p blocks of count elements, block i from rank
 * i; it is ignored elsewhere. In place, at the root: RCX_IN_PLACE as sendbuf,
 * or sendbuf == recvbuf + own block.
 */
RCX_API rcx_status_t rcx_gather(const void *sendbuf, void *recvbuf,
                                size_t count, rcx_datatype_t datatype, int root,
                                rcx_comm_t *comm);
RCX_API rcx_status_t rcx_igather(const void *sendbuf, void *recvbuf,
                                 size_t count, rcx_datatype_t datatype,
                                 int root, rcx_comm_t *comm,
                                 rcx_request_t **request_p);
RCX_API rcx_status_t rcx_gather_init(const void *sendbuf, void *recvbuf,
                                     size_t count, rcx_datatype_t datatype,
                                     int root, rcx_comm_t *comm,
                                     rcx_request_t **request_p);

/*
 * gather of counts[i] elements from rank i, which begin at displs[i] in
 * recvbuf; displs == NULL: contiguous blocks. counts is the same on all ranks;
 * displs is read at the root only. Both are copied before the call returns.
 * Blocks may be in any order, with gaps between them; RCX_ERR_ARG if two of
 * them overlap.
 */
RCX_API rcx_status_t rcx_gatherv(const void *sendbuf, void *recvbuf,
                                 const size_t counts[], const size_t displs[],
                                 rcx_datatype_t datatype, int root,
                                 rcx_comm_t *comm);
RCX_API rcx_status_t rcx_igatherv(const void *sendbuf, void *recvbuf,
                                  const size_t counts[], const size_t displs[],
                                  rcx_datatype_t datatype, int root,
                                  rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_gatherv_init(const void *sendbuf, void *recvbuf,
                                      const size_t counts[],
                                      const size_t displs[],
                                      rcx_datatype_t datatype, int root,
                                      rcx_comm_t *comm,
                                      rcx_request_t **request_p);

/*
 * Block i, of count elements, of sendbuf at rank root goes to recvbuf of rank
 * i; sendbuf is ignored elsewhere. In place, at the root: RCX_IN_PLACE as
 * recvbuf, or recvbuf == sendbuf + own block, which is then not moved.
 */
RCX_API rcx_status_t rcx_scatter(const void *sendbuf, void *recvbuf,
                                 size_t count, rcx_datatype_t datatype,
                                 int root, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iscatter(const void *sendbuf, void *recvbuf,
                                  size_t count, rcx_datatype_t datatype,
                                  int root, rcx_comm_t *comm,
                                  rcx_request_t **request_p);
RCX_API rcx_status_t rcx_scatter_init(const void *sendbuf, void *recvbuf,
                                      size_t count, rcx_datatype_t datatype,
                                      int root, rcx_comm_t *comm,
                                      rcx_request_t **request_p);

/*
 * scatter of counts[i] elements to rank i, which begin at displs[i] in sendbuf.
 * counts and displs as in gatherv, but blocks may overlap, as they are only
 * read.
 */
RCX_API rcx_status_t rcx_scatterv(const void *sendbuf, void *recvbuf,
                                  const size_t counts[], const size_t displs[],
                                  rcx_datatype_t datatype, int root,
                                  rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iscatterv(const void *sendbuf, void *recvbuf,
                                   const size_t counts[], const size_t displs[],
                                   rcx_datatype_t datatype, int root,
                                   rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_scatterv_init(const void *sendbuf, void *recvbuf,
                                       const size_t counts[],
                                       const size_t displs[],
                                       rcx_datatype_t datatype, int root,
                                       rcx_comm_t *comm,
                                       rcx_request_t **request_p);

/*
 * gather on every rank: recvbuf gets p blocks of count elements, block i from
 * rank i. In place: RCX_IN_PLACE as sendbuf, or sendbuf == recvbuf + own block.
 */
RCX_API rcx_status_t rcx_allgather(const void *sendbuf, void *recvbuf,
                                   size_t count, rcx_datatype_t datatype,
                                   rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iallgather(const void *sendbuf, void *recvbuf,
                                    size_t count, rcx_datatype_t datatype,
                                    rcx_comm_t *comm,
                                    rcx_request_t **request_p);
RCX_API rcx_status_t rcx_allgather_init(const void *sendbuf, void *recvbuf,
                                        size_t count, rcx_datatype_t datatype,
                                        rcx_comm_t *comm,
                                        rcx_request_t **request_p);

/*
 * allgather of counts[i] elements from rank i, which begin at displs[i] in
 * recvbuf. counts is the same on all ranks; displs is each rank's own, and NULL
 * for contiguous blocks. Both are copied before the call returns. Blocks may be
 * in any order, with gaps between them; RCX_ERR_ARG if two of them overlap.
 * Separate arrays are one call, with RCX_BYTE, the lowest address, and
 * differences.
 */
RCX_API rcx_status_t rcx_allgatherv(const void *sendbuf, void *recvbuf,
                                    const size_t counts[],
                                    const size_t displs[],
                                    rcx_datatype_t datatype, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iallgatherv(const void *sendbuf, void *recvbuf,
                                     const size_t counts[],
                                     const size_t displs[],
                                     rcx_datatype_t datatype, rcx_comm_t *comm,
                                     rcx_request_t **request_p);
RCX_API rcx_status_t rcx_allgatherv_init(const void *sendbuf, void *recvbuf,
                                         const size_t counts[],
                                         const size_t displs[],
                                         rcx_datatype_t datatype,
                                         rcx_comm_t *comm,
                                         rcx_request_t **request_p);

/*
 * Block i, of count elements, of sendbuf goes to rank i, which receives it as
 * block number r of its recvbuf, where r is the sender's rank. In place, by
 * RCX_IN_PLACE as sendbuf or sendbuf == recvbuf, received blocks replace sent
 * ones.
 */
RCX_API rcx_status_t rcx_alltoall(const void *sendbuf, void *recvbuf,
                                  size_t count, rcx_datatype_t datatype,
                                  rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ialltoall(const void *sendbuf, void *recvbuf,
                                   size_t count, rcx_datatype_t datatype,
                                   rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_alltoall_init(const void *sendbuf, void *recvbuf,
                                       size_t count, rcx_datatype_t datatype,
                                       rcx_comm_t *comm,
                                       rcx_request_t **request_p);

/*
 * alltoall of sendcounts[i] elements to rank i, which begin at senddispls[i] in
 * sendbuf, and of recvcounts[i] from rank i, which begin at recvdispls[i] in
 * recvbuf. All four are each rank's own and are copied before the call returns.
 * NULL for displs: contiguous blocks. RCX_ERR_ARG if two blocks of recvbuf
 * overlap. What rank i sends to j must be as long as what j receives from i. In
 * place, by RCX_IN_PLACE as sendbuf or sendbuf == recvbuf, recvcounts and
 * recvdispls apply to both directions, and the others are ignored; then any two
 * ranks send equally much to each other. RCX_CHECK=full does not compare
 * counts.
 *
 * With RCX_ALLTOALLV=bruck ranks forward blocks of others, whose lengths they
 * tell each other first: in each call, and at the first start of a persistent
 * request, but not at later ones. So all ranks must start such requests alike,
 * first starts with first starts, and never match them with calls of another
 * form.
 */
RCX_API rcx_status_t rcx_alltoallv(const void *sendbuf,
                                   const size_t sendcounts[],
                                   const size_t senddispls[], void *recvbuf,
                                   const size_t recvcounts[],
                                   const size_t recvdispls[],
                                   rcx_datatype_t datatype, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ialltoallv(
    const void *sendbuf, const size_t sendcounts[], const size_t senddispls[],
    void *recvbuf, const size_t recvcounts[], const size_t recvdispls[],
    rcx_datatype_t datatype, rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_alltoallv_init(
    const void *sendbuf, const size_t sendcounts[], const size_t senddispls[],
    void *recvbuf, const size_t recvcounts[], const size_t recvdispls[],
    rcx_datatype_t datatype, rcx_comm_t *comm, rcx_request_t **request_p);

/*
 * Exchange blocks with neighbours, as for the halo of a grid: sendcounts[i]
 * elements, from senddispls[i] of sendbuf on, go to rank dests[i], for
 * dest_count of them; recvcounts[i] come from rank sources[i] to recvdispls[i]
 * of recvbuf, for source_count. All lists are each rank's own and are copied
 * before the call returns; one of length 0 may be NULL. NULL for displs:
 * contiguous blocks.
 *
 * A rank may be in a list several times, and be the own rank. The k-th block
 * for a rank is received as the k-th from this one there. So with sources[i]
 * the neighbour opposite to dests[i], each block comes to its side of a
 * periodic grid, also where that is 1 or 2 ranks wide.
 *
 * All ranks of comm call it, in the same order as other collectives, also those
 * without neighbours. A rank waits for its own neighbours only. What a rank
 * sends must be as long as what is received: RCX_CHECK=full compares that
 * before data moves (RCX_ERR_MISMATCH); without it another length is
 * RCX_ERR_MISMATCH as well, and a block that nobody sends ends the call by a
 * deadline. The buffers may be the same or overlap: RCX_ERR_ARG if a block that
 * is received overlaps another one, received or sent, or if the lengths of what
 * this rank sends to itself differ. RCX_IN_PLACE is RCX_ERR_ARG. If a neighbour
 * fails, so does the call, as every collective.
 */
RCX_API rcx_status_t rcx_neighbor_alltoallv(
    const void *sendbuf, size_t dest_count, const int dests[],
    const size_t sendcounts[], const size_t senddispls[], void *recvbuf,
    size_t source_count, const int sources[], const size_t recvcounts[],
    const size_t recvdispls[], rcx_datatype_t datatype, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_ineighbor_alltoallv(
    const void *sendbuf, size_t dest_count, const int dests[],
    const size_t sendcounts[], const size_t senddispls[], void *recvbuf,
    size_t source_count, const int sources[], const size_t recvcounts[],
    const size_t recvdispls[], rcx_datatype_t datatype, rcx_comm_t *comm,
    rcx_request_t **request_p);
RCX_API rcx_status_t rcx_neighbor_alltoallv_init(
    const void *sendbuf, size_t dest_count, const int dests[],
    const size_t sendcounts[], const size_t senddispls[], void *recvbuf,
    size_t source_count, const int sources[], const size_t recvcounts[],
    const size_t recvdispls[], rcx_datatype_t datatype, rcx_comm_t *comm,
    rcx_request_t **request_p);

/*
 * recvbuf[i] = sendbuf[i] of rank 0 op ... op sendbuf[i] of this rank, for
 * count elements. Order levels apply to each rank's result by itself: CANONICAL
 * means that it is the result of an allreduce over ranks 0 to this one, for
 * every p. Averages are RCX_ERR_UNSUPPORTED.
 */
RCX_API rcx_status_t rcx_scan(const void *sendbuf, void *recvbuf, size_t count,
                              rcx_datatype_t datatype, rcx_op_t op,
                              rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iscan(const void *sendbuf, void *recvbuf, size_t count,
                               rcx_datatype_t datatype, rcx_op_t op,
                               rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_scan_init(const void *sendbuf, void *recvbuf,
                                   size_t count, rcx_datatype_t datatype,
                                   rcx_op_t op, rcx_comm_t *comm,
                                   rcx_request_t **request_p);

/*
 * scan without this rank's own operand; recvbuf of rank 0 is not changed, and
 * may be NULL. CANONICAL: the result of rank r + 1 has the bits of scan's
 * result on rank r. Averages are RCX_ERR_UNSUPPORTED.
 */
RCX_API rcx_status_t rcx_exscan(const void *sendbuf, void *recvbuf,
                                size_t count, rcx_datatype_t datatype,
                                rcx_op_t op, rcx_comm_t *comm);
RCX_API rcx_status_t rcx_iexscan(const void *sendbuf, void *recvbuf,
                                 size_t count, rcx_datatype_t datatype,
                                 rcx_op_t op, rcx_comm_t *comm,
                                 rcx_request_t **request_p);
RCX_API rcx_status_t rcx_exscan_init(const void *sendbuf, void *recvbuf,
                                     size_t count, rcx_datatype_t datatype,
                                     rcx_op_t op, rcx_comm_t *comm,
                                     rcx_request_t **request_p);

/* ---- Messages ------------------------------------------------------------ */

/*
 * A message from one rank to another. It is received by the oldest receive of
 * the same communicator, tag and source, or of any source, that is not matched
 * yet; messages of one source with one tag arrive in the order in which they
 * were sent. Messages and collectives have no order among each other, and never
 * mix; nor do communicators. Tags are 0..RCX_TAG_MAX.
 *
 * A message may be empty (count 0; the buffer may be NULL then), and go to the
 * own rank. Types are not sent: a message is bytes, and what receives it says
 * what these are. It may be shorter than its receive, and then leaves the rest
 * of the buffer alone.
 *
 * Three forms as for collectives, of which each may meet each. A send is
 * complete when its buffer may be used again: with short messages this is often
 * before the receive, with long ones not, and no program may rely on either. So
 * an exchange starts one of both with rcx_isend() or rcx_irecv(). Until then
 * the buffer of a send must not be written, and that of a receive not be
 * accessed. A rank receives while it is in RCX (see rcx_progress()). A sender
 * of short messages that is faster than its receiver is not stopped, and memory
 * fills at the receiver.
 *
 * Any threads may send and receive on one communicator at once, beside its
 * collectives, where the thread mode lets them into RCX at once; what they
 * start at the same time is matched in any order.
 *
 * RCX_ERR_ARG          comm, buf, count, datatype, dest, source or tag not
 *                      valid, count * size overflows
 * RCX_ERR_UNSUPPORTED  buf is a GPU's memory
 * RCX_ERR_TRUNCATED    the message is longer than the receive: what the buffer
 *                      has is undefined. It was received, the sender knows
 *                      nothing of it, and comm is as good as before
 * RCX_ERR_MISMATCH     the message's length is no multiple of the type's; else
 *                      as TRUNCATED
 * RCX_ERR_COMM_FAILED  an earlier call broke comm
 * RCX_ERR_TIMEOUT, RCX_ERR_PEER_FAILED, RCX_ERR_TRANSPORT: these break comm, as
 * they do in a collective. RCX_ERR_NOMEM
 *
 * A communicator that is freed while a message to it has arrived and was not
 * received says so.
 */
#define RCX_ANY_SOURCE (-2)
#define RCX_TAG_MAX 0xfffffff

/* What a receive received. */
typedef struct rcx_recv_info {
    int source;   /* rank of comm */
    int tag;      /* of the receive */
    size_t count; /* whole elements, of the receive's type */
    uint64_t reserved[2];
} rcx_recv_info_t;

/* Send count elements from buf to rank dest. */
RCX_API rcx_status_t rcx_send(const void *buf, size_t count,
                              rcx_datatype_t datatype, int dest, int tag,
                              rcx_comm_t *comm);
RCX_API rcx_status_t rcx_isend(const void *buf, size_t count,
                               rcx_datatype_t datatype, int dest, int tag,
                               rcx_comm_t *comm, rcx_request_t **request_p);
RCX_API rcx_status_t rcx_send_init(const void *buf, size_t count,
                                   rcx_datatype_t datatype, int dest, int tag,
                                   rcx_comm_t *comm, rcx_request_t **request_p);

/*
 * Receive up to count elements into buf, from rank source or RCX_ANY_SOURCE.
 * RCX_ANY_SOURCE receives any one of the messages that have arrived. If the
 * rank that would have sent the message dies, the receive ends by its deadline,
 * or by RCX_ERR_MODE=peer if that rank is on this node or connected. info_p may
 * be NULL.
 */
RCX_API rcx_status_t rcx_recv(void *buf, size_t count, rcx_datatype_t datatype,
                              int source, int tag, rcx_comm_t *comm,
                              rcx_recv_info_t *info_p);
RCX_API rcx_status_t rcx_irecv(void *buf, size_t count, rcx_datatype_t datatype,
                               int source, int tag, rcx_comm_t *comm,
                               rcx_request_t **request_p);
RCX_API rcx_status_t rcx_recv_init(void *buf, size_t count,
                                   rcx_datatype_t datatype, int source, int tag,
                                   rcx_comm_t *comm, rcx_request_t **request_p);

/*
 * A send and a receive at once, which may be from and to any ranks: returns
 * when both are complete, and its status is that of the receive, or if that is
 * RCX_OK, of the send. The buffers must not overlap (RCX_ERR_ARG). info_p may
 * be NULL. Each side may meet a call of any other form.
 */
RCX_API rcx_status_t rcx_sendrecv(const void *sendbuf, size_t sendcount,
                                  rcx_datatype_t sendtype, int dest,
                                  int sendtag, void *recvbuf, size_t recvcount,
                                  rcx_datatype_t recvtype, int source,
                                  int recvtag, rcx_comm_t *comm,
                                  rcx_recv_info_t *info_p);

/*
 * Whether a message from rank source or RCX_ANY_SOURCE has arrived that no
 * receive has matched: makes progress once, and stores 1 or 0 in flag_p. If 1,
 * info_p (which may be NULL) gets its source, its tag, and its length in bytes
 * as count. The next receive of this source and tag receives this message,
 * unless another thread's does. The message may still be on its way; a receive
 * of it then waits for the rest.
 *
 * Errors as of rcx_recv(); a message too long for any receive is none here.
 */
RCX_API rcx_status_t rcx_iprobe(int source, int tag, rcx_comm_t *comm,
                                int *flag_p, rcx_recv_info_t *info_p);

/*
 * Cancel a receive that is active. If no message has matched it, the request
 * completes with RCX_ERR_CANCELED, soon and without other ranks. The message
 * that it would have received goes to the next receive that matches. If one has
 * matched, the receive completes as if it had not been cancelled. Test or wait
 * tells which; the request must be freed in both cases, or may be started again
 * if it is persistent. No effect if it is not active. Its buffer belongs to
 * the caller when it is complete. The communicator stays usable.
 *
 * RCX_ERR_ARG  request is no receive: a send or a collective, once started,
 *              cannot be taken back from the other ranks
 */
RCX_API rcx_status_t rcx_cancel(rcx_request_t *request);

/*
 * What a receive received the last time. Also after RCX_ERR_TRUNCATED and
 * RCX_ERR_MISMATCH; count is then what was sent, in whole elements.
 *
 * RCX_ERR_ARG   request is no receive, or no message has arrived
 * RCX_ERR_BUSY  it is active
 */
RCX_API rcx_status_t rcx_request_recv_info(rcx_request_t *request,
                                           rcx_recv_info_t *info_p);

/* ---- Requests ------------------------------------------------------------ */

/*
 * Start a persistent request. RCX_ERR_ARG for a request that is not persistent,
 * RCX_ERR_BUSY while it is active.
 */
RCX_API rcx_status_t rcx_start(rcx_request_t *request);

/*
 * Make progress once and store 1 where the operation is complete, else 0.
 * Returns the operation's status once it is complete. A request that is not
 * active is complete. Neither test nor wait frees a request.
 */
RCX_API rcx_status_t rcx_test(rcx_request_t *request, int *done_p);

/* Make progress until the operation is complete; return its status. */
RCX_API rcx_status_t rcx_wait(rcx_request_t *request);

/*
 * rcx_wait() for timeout_ns nanoseconds at most: RCX_IN_PROGRESS if the
 * operation is not complete by then. The operation goes on, and may be waited
 * for again. 0: makes progress once, as rcx_test() does. If a deadline
 * (rcx_comm_set_timeout()) passes meanwhile, the operation is complete, with
 * RCX_ERR_TIMEOUT. The call may last longer than timeout_ns by scheduling
 * delays, and by callbacks and users' ops that run in it. RCX_ERR_ARG: no
 * request, or timeout_ns is negative.
 */
RCX_API rcx_status_t rcx_wait_for(rcx_request_t *request, int64_t timeout_ns);

/*
 * Wait until one of n requests is complete, store its index, and return the
 * status of its operation, RCX_OK or an error. Of several complete ones it is
 * the one that ended first, so that no request starves. A request whose status
 * has been returned by this function, by test or by wait is ignored until it is
 * started again; so are NULL entries and persistent requests that were not
 * started. If that leaves none, n is stored and RCX_OK returned, without
 * waiting.
 *
 * The requests may be of any communicators of one context. A communicator that
 * fails ends its operations, which are then returned one by one, each with its
 * error; operations of other communicators go on. No other thread may free the
 * array or the requests meanwhile.
 *
 * RCX_ERR_ARG: requests (if n is not 0) or index_p is NULL, a request was
 * freed, or they are of different contexts; nothing is stored, and nothing is
 * waited for.
 */
RCX_API rcx_status_t rcx_wait_any(size_t n, rcx_request_t *const requests[],
                                  size_t *index_p);
/* rcx_wait_any() without waiting: makes progress once if none is complete, and
 * returns RCX_IN_PROGRESS, with nothing stored, if none is then. */
RCX_API rcx_status_t rcx_test_any(size_t n, rcx_request_t *const requests[],
                                  size_t *index_p);

/*
 * Wait for n requests, in any order; NULL entries are skipped. Returns RCX_OK
 * or the first error in the order of the array, after all are complete.
 */
RCX_API rcx_status_t rcx_wait_all(size_t n, rcx_request_t *const requests[]);

/*
 * rcx_wait_all() without waiting: makes progress once, and stores 1 if all
 * requests are complete, else 0. If 1, returns what rcx_wait_all() would; until
 * then RCX_OK, also if some have failed. The requests are of one context
 * (RCX_ERR_ARG), and NULL entries are skipped.
 */
RCX_API rcx_status_t rcx_test_all(size_t n, rcx_request_t *const requests[],
                                  int *done_p);

/*
 * Call fn when the request is complete, once for each completion, and at once
 * if it is complete already. fn runs on the thread that made the progress,
 * after its call has done its work; with RCX_PROGRESS=thread mostly on that
 * thread. fn may start operations, and free the request. It must not wait.
 * Callbacks run one after another. A nonblocking request takes a callback
 * before it is complete or after; a persistent one keeps it for all its starts.
 */
typedef void (*rcx_callback_fn_t)(rcx_request_t *request, rcx_status_t status,
                                  void *arg);
RCX_API rcx_status_t rcx_request_set_callback(rcx_request_t *request,
                                              rcx_callback_fn_t fn, void *arg);

/* Free a request that is not active; RCX_ERR_BUSY if it is. */
RCX_API rcx_status_t rcx_request_free(rcx_request_t **request_p);

/*
 * How the request is executed, as the environment would name it, such as
 * "ring:segment=131072"; "message" for a message. Valid until the request is
 * freed. NULL for no request.
 */
RCX_API const char *rcx_request_method(const rcx_request_t *request);

#ifdef __cplusplus
}
#endif

#endif
