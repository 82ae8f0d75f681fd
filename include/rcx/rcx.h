/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX, Reduction Collectives on UCX: collective operations for programs that
 * are not MPI programs.
 *
 * Processes find each other through PMIx (or through callbacks of the host
 * program), and reduce vectors together:
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
 *   - Every free takes a pointer to the handle and stores NULL there. A handle
 *     used after it was freed is RCX_ERR_ARG until its slot is used again;
 *     after rcx_finalize() it is undefined.
 */
#ifndef RCX_H
#define RCX_H

#include <stddef.h>
#include <stdint.h>

#define RCX_VERSION_MAJOR 0
#define RCX_VERSION_MINOR 1
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
    RCX_ERR_CONFIG = -4,      /* an environment value is unknown or malformed */
    RCX_ERR_LAUNCH = -5,      /* the launcher and RCX did not find each other */
    RCX_ERR_TRANSPORT = -6,   /* UCX reported an error */
    RCX_ERR_TIMEOUT = -7,     /* a deadline passed */
    RCX_ERR_MISMATCH = -8,    /* ranks made calls that do not belong together */
    RCX_ERR_PEER_FAILED = -9, /* another process died */
    RCX_ERR_COMM_FAILED = -10, /* the communicator failed in an earlier call */
    RCX_ERR_OP = -11,          /* a user-defined op returned non-zero */
    RCX_ERR_BUSY = -12,        /* still in use */
    RCX_ERR_FORKED = -13,   /* called in a child of the process of rcx_init */
    RCX_ERR_LIMIT = -14,    /* a documented limit is reached */
    RCX_ERR_INTERNAL = -15, /* a bug in RCX */
    RCX_ERR_TRUNCATED = -16 /* a message is longer than its receive */
} rcx_status_t;

/* The name of a status and what it means, as static text; never NULL. */
RCX_API const char *rcx_status_string(rcx_status_t status);

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
 *                      once per combine.
 *   LAND LOR LXOR      integers and RCX_BOOL; the result is 0 or 1.
 *   BAND BOR BXOR      integers, RCX_BYTE (and RCX_BOOL).
 *   MAXLOC MINLOC      pair types; equal values keep the smaller index; a NaN
 *                      value wins, among several the smaller index.
 *   REPLACE NO_OP      every type: the right, the left operand. Not
 *                      commutative: the last, the first rank's vector.
 *   AVG                floating and complex types: SUM, and the result divided
 *                      once by the number of ranks. An extension to MPI's ops.
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
    RCX_REPLACE = 269, RCX_NO_OP = 270, RCX_AVG = 271
};
/* clang-format on */

/*
 * 1 where op is defined on datatype, else 0: what a collective or
 * rcx_reduce_local() would not refuse as RCX_ERR_UNSUPPORTED for this pair.
 * Needs no context, and depends on nothing else: not on the CPU, nor on a
 * handle being alive. A user's op is defined on every type; on a user's type
 * REPLACE, NO_OP and users' ops are. Of numbers that are no op or type: 0.
 */
RCX_API int rcx_op_supported(rcx_op_t op, rcx_datatype_t datatype);

/* ---- Contexts ------------------------------------------------------------ */

typedef struct rcx_context rcx_context_t;
typedef struct rcx_comm rcx_comm_t;
typedef struct rcx_request rcx_request_t;

/*
 * A bootstrap of the host's own, instead of PMIx: how processes that do not
 * know each other yet exchange addresses. Both functions are collective over
 * all ranks. rcx_init() calls allgather alone, which blocks, a few times: what
 * ranks have to know of each other before they open the network, the lengths of
 * their addresses, and the addresses. Non-zero means failure, and fails
 * rcx_init(). No deadline of RCX's reaches into it: the host bounds it.
 *
 * rcx_finalize() calls barrier alone, when the ranks have met over RCX's own
 * network and owe each other no more progress; not where something failed. It
 * may block, and is the host's to bound then; or return RCX_IN_PROGRESS as long
 * as ranks are missing: it is called again until it returns 0, or a deadline
 * passed, and RCX makes progress meanwhile. Another value is a failure. NULL:
 * the host has none, and RCX goes without. An rcx_init() that fails with
 * RCX_ERR_CONFIG, which it does on all ranks, ends with it, too.
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
 * How much a reduction owes its user, from most to least; see
 * docs/guarantees.md. An algorithm below the level asked for is never chosen.
 *
 *   CANONICAL  one fixed tree of the rank order combines every element: the
 *              bits depend on neither algorithm, message size nor root
 *   UNIFORM    rank order, one bracketing for all elements of a vector
 *   RANK       rank order, same bits on all ranks
 *   SAME       operands may be commuted, same bits on all ranks (default)
 *
 * Ops that do not commute get RANK or better whatever is asked.
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
 * here: UCX has one log for all its users in a process. The environment's
 * UCX_LOG_LEVEL and UCX_LOG_FILE say which it writes, and where.
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
    RCX_PARAM_ABORT = 1u << 8
};

/*
 * Which threads call RCX with one context and all that is made from it.
 *
 *   SINGLE      one thread, the same all the time
 *   SERIALIZED  any thread, one at a time (default)
 *   MULTIPLE    any threads at once: different communicators concurrently.
 *               Collectives on one communicator need an order, so two calls
 *               that start one at the same time, or while a blocking one runs,
 *               are RCX_ERR_BUSY on the one that comes second. Testing and
 *               waiting for requests may run beside a start.
 *
 * rcx_init() and rcx_finalize() of one context run alone.
 */
typedef enum rcx_thread_mode {
    RCX_THREAD_SINGLE = 0,
    RCX_THREAD_SERIALIZED = 1,
    RCX_THREAD_MULTIPLE = 2
} rcx_thread_mode_t;

/* What rcx_init() is told. Only fields named in field_mask are read. */
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
    /* For rcx_abort(), with a bootstrap of the host's own, whose arg it gets:
       end the processes of all ranks. Called on one rank, on any thread; it may
       return, with 0 where the others are seen to. NULL: the host has none */
    int (*bootstrap_abort)(int code, const char *text, void *arg);
} rcx_params_t;

/*
 * Create a context: read the environment, find the other processes, open UCX.
 * Collective over the processes of the job. params may be NULL: PMIx (or a
 * single process where no launcher is), and the environment. params and what
 * it points to are needed only during the call, but for bootstrap.arg and
 * log_arg, needed until rcx_finalize() returned.
 *
 * Several contexts per process are legal; over PMIx all processes create them
 * in the same order, or give each a name.
 *
 * RCX_ERR_ARG     params is malformed
 * RCX_ERR_CONFIG  an RCX_ variable has a value that is not valid, here or on
 *                 another rank, or ranks' values do not go together
 * RCX_ERR_LAUNCH  a launcher started several processes but no PMIx server
 *                 answers, or the exchange failed, or versions differ
 * RCX_ERR_TIMEOUT not all processes came in time
 * RCX_ERR_TRANSPORT, RCX_ERR_NOMEM
 */
RCX_API rcx_status_t rcx_init(const rcx_params_t *params,
                              rcx_context_t **context_p);

/*
 * Destroy a context. Collective over its processes; returns once no process
 * needs this one any more. The world communicator goes with it.
 *
 * RCX_ERR_ARG   context_p or what it points to is NULL
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
 * End the whole job: all processes of context's, wherever they are, and this
 * one. Does not return where it can do that. One line is logged first, an
 * error, with this rank, code and text (NULL: none). Then the bootstrap ends
 * the others: PMIx has the launcher do it (PMIx_Abort), which mostly takes less
 * than a second; a host's own may have a function for it
 * (rcx_params_t.bootstrap_abort). This process ends with exit status code, or 1
 * where the low 8 bits of code, all that an exit status has, are 0. Nothing
 * that belongs to exit() is done: no atexit(), no flush of stdio. What status
 * the job has is the launcher's to say, never 0.
 *
 * Where the bootstrap cannot end the others (a host's own without the function,
 * or whose function failed; a launcher that does not answer), this process
 * raises SIGABRT, which launchers take for the end of the job and a host can
 * see; the others are then the host's to end, or find out by their deadlines.
 *
 * From any thread in any mode, also while others are in calls of the same
 * context, from callbacks and from users' ops; not from signal handlers. The
 * context may have failed in any way. It needs no other process to make
 * progress, and waits for nothing but the launcher.
 *
 * RCX_ERR_ARG: context is NULL. RCX_ERR_FORKED: a child may end, its parent's
 * job is not its own to end.
 */
RCX_API rcx_status_t rcx_abort(rcx_context_t *context, int code,
                               const char *text);

/* The communicator of all processes, owned by the context. NULL for NULL. */
RCX_API rcx_comm_t *rcx_world(rcx_context_t *context);

/* ---- Communicators ------------------------------------------------------- */

/*
 * New communicators. Collective over comm, as blocking operations of it, but
 * create_group, which the n members alone call. Ranks: dup keeps them, split
 * orders those of one color by key, then by rank in comm; a group has them in
 * the order of ranks[] (different ranks of comm, the caller's among them).
 *
 * split with color RCX_UNDEFINED makes none: *new_p is NULL. tag (0..8191)
 * tells groups apart that are made at the same time and share two members; it
 * may be used again once that call has returned on all of them, also with an
 * error. Where threads make equal groups with one tag at once, each gets one;
 * where these differ and share two members, the second is RCX_ERR_BUSY on all
 * its members.
 *
 * dup and split that fail break comm. create_group leaves it as it is: an error
 * of one member is an error of all, at once on those that wait, else when they
 * call it; rcx_comm_error(comm) names the ranks of comm that are to blame. A
 * group fails with comm while it is being made. After RCX_ERR_TIMEOUT members
 * that had not called yet begin anew, so that the others may try again.
 *
 * A communicator takes the deadline of the one that it comes from, and is freed
 * by rcx_comm_free(), each rank for itself. What has requests yet goes with the
 * last of them: these go on, persistent ones may be started, and the handle is
 * none any more at once. 8188 may be alive at once in a process.
 *
 * RCX_ERR_ARG, RCX_ERR_NOMEM;  RCX_ERR_COMM_FAILED: comm has failed, before or
 * meanwhile;  RCX_ERR_LIMIT: no number is free on all members;  RCX_ERR_BUSY:
 * see above;  RCX_ERR_TIMEOUT, RCX_ERR_PEER_FAILED, RCX_ERR_TRANSPORT: a member
 * did not come in time, died, cannot be reached;  RCX_ERR_MISMATCH
 * (create_group, rare): a message of an earlier attempt was taken, call it
 * again.
 */
#define RCX_UNDEFINED (-1)
RCX_API rcx_status_t rcx_comm_dup(rcx_comm_t *comm, rcx_comm_t **new_p);
RCX_API rcx_status_t rcx_comm_split(rcx_comm_t *comm, int color, int key,
                                    rcx_comm_t **new_p);
RCX_API rcx_status_t rcx_comm_create_group(rcx_comm_t *comm, int n,
                                           const int ranks[], int tag,
                                           rcx_comm_t **new_p);
/* Free a communicator, see rcx_comm_dup(). RCX_ERR_BUSY: another thread is in a
 * call on it. RCX_ERR_ARG: the world. */
RCX_API rcx_status_t rcx_comm_free(rcx_comm_t **comm_p);

/*
 * The deadline of the operations that start on comm from now on, in
 * nanoseconds from their start; 0: none. Each rank for itself. The world's is
 * rcx_finalize()'s, too. An operation that is overdue ends once members have
 * had time to say whether they called it: after half of the deadline more, at
 * least 20 ms and at most 0.5 s; at once where all have answered.
 */
RCX_API rcx_status_t rcx_comm_set_timeout(rcx_comm_t *comm, int64_t timeout_ns);

/*
 * Give comm up: its operations end with an error, here and on the other members
 * (as soon as they are in RCX). From any thread in any mode, also while others
 * are in calls of the same context. Never waits.
 */
RCX_API rcx_status_t rcx_comm_abort(rcx_comm_t *comm);

/*
 * Why comm failed. A communicator fails, once and for good, when a deadline
 * passes, calls do not match, a transport fails, or a member aborts it. Its
 * operations then end with that error, later calls with RCX_ERR_COMM_FAILED.
 * Other communicators go on. What to do with it: free its requests, free it,
 * finalize.
 *
 * Calls that RCX_CHECK=full finds not to match, before any data moves, do not
 * break it: that call is RCX_ERR_MISMATCH on all ranks, and the next one is as
 * good as any. While status is RCX_OK, text and ranks are of the last such
 * call; before there was one, text is "".
 *
 * After an error nothing is received into recvbuf any more, but a message that
 * had begun to arrive may still (at most until rcx_finalize() returned), and
 * sendbuf may be read until then.
 */
typedef struct rcx_error_info {
    rcx_status_t status; /* RCX_OK: comm has not failed */
    int rank_count;      /* how many of ranks; 0: none is known to be at fault.
                            Where another rank has found them, those after the
                            eighth come in further messages, and this grows */
    const int *ranks;    /* of comm, that are dead, silent, were stopped, lack
                            memory or descriptors, or differ from the others */
    const char *text;    /* for people; ranks and it live as long as comm, but
                            for calls that are refused: to the next one */
} rcx_error_info_t;
RCX_API rcx_status_t rcx_comm_error(rcx_comm_t *comm, rcx_error_info_t *info_p);

/*
 * Write what this process's communicators did last, and what they wait for, to
 * path, as JSON; rcx_trace reads it (docs/debugging.md). A pipe or a character
 * device is written to, for a second at most; whatever else is there, a link
 * too, is replaced by a file of mode 0600 when the dump is whole. No
 * communication: it works when nothing else does. RCX_ERR_ARG: path cannot be
 * written.
 */
RCX_API rcx_status_t rcx_dump(rcx_context_t *context, const char *path);

/* My rank, and the number of ranks; -1 where comm is no communicator. */
RCX_API int rcx_comm_rank(const rcx_comm_t *comm);
RCX_API int rcx_comm_size(const rcx_comm_t *comm);

/*
 * Let communication advance without waiting for it. Returns the number of
 * events handled, 0 if there were none, negative an rcx_status_t. Nonblocking
 * operations advance in this function and in test, wait and blocking calls.
 */
RCX_API int rcx_progress(rcx_context_t *context);

/*
 * For a host that sleeps in an event loop of its own (epoll, libuv): fd can be
 * read when rcx_progress() has something to do. Before each sleep:
 *
 *     do rcx_progress(context); while (rcx_arm(context) == RCX_IN_PROGRESS);
 *
 * rcx_arm() returns RCX_OK when any later event, or a deadline, makes fd
 * readable. No function of RCX may be called between it and the sleep: a call
 * that makes progress may take the event. So test requests before, in a loop
 * (docs/embedding.md):
 *
 *     rcx_progress(context); rcx_test(request, &done);
 *     if (!done && rcx_arm(context) == RCX_OK) sleep on fd
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
 * left holds the operand of the lower ranks. dst may equal left or right and
 * overlaps them in no other way. Must be associative. Called on the thread
 * that progresses the context; must not call RCX. arg is passed untouched.
 * Non-zero fails the collective with RCX_ERR_OP on all ranks.
 *
 * This and all other functions that RCX calls (bootstrap, log, callbacks) have
 * to return: after longjmp() or a C++ exception out of one, the context is not
 * usable. C++ code catches inside and returns non-zero, as rcx::make_op() does.
 */
typedef int (*rcx_op_fn_t)(void *dst, const void *left, const void *right,
                           size_t count, rcx_datatype_t type, void *arg);

enum {
    RCX_OP_COMMUTATIVE = 1u << 0, /* a op b == b op a, bit for bit */
    RCX_OP_EXACT = 1u << 1,       /* associative bit for bit, as integers are */
    RCX_OP_NO_FAIL = 1u << 2      /* never returns non-zero: saves the closing
                                     round in which ranks agree that none did */
};

/*
 * Create an op. All ranks of a collective give ops created with the same flags.
 * Lives until rcx_op_free() or rcx_finalize(). The handle is none any more at
 * once; operations under way and persistent requests go on with the op, so that
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
 * dst[i] = left[i] op right[i], here and now, by the same kernels that the
 * collectives use. dst may equal left or right. AVG combines as SUM does.
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
 * Freed by rcx_mem_free(), at the latest by rcx_finalize(); no call that was
 * given it is under way by then.
 *
 * alloc: RCX_ERR_ARG (ptr_p NULL), RCX_ERR_NOMEM, RCX_ERR_BUSY
 * free: RCX_ERR_ARG (not from there), RCX_ERR_BUSY
 */
RCX_API rcx_status_t rcx_mem_alloc(rcx_comm_t *comm, size_t bytes,
                                   void **ptr_p);
RCX_API rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr);

/*
 * Where the blocks of all ranks lie in this process, for loads, stores and
 * atomics of one's own: peers[i] is rank i's (peers[own rank] is ptr), NULL
 * where it cannot be reached that way: on another node, or plain memory.
 * Collective; each rank gives a block of its own from rcx_mem_alloc(). The
 * caller orders the accesses.
 *
 * peers: comm's size pointers, which hold until the rank's own block is freed;
 * what a peer has freed by then stays mapped, and belongs to no rank.
 *
 * RCX_ERR_ARG (peers NULL; ptr, on this rank, not from rcx_mem_alloc()),
 * RCX_ERR_NOMEM, and those of rcx_allgather()
 */
RCX_API rcx_status_t rcx_mem_peers(rcx_comm_t *comm, void *ptr, void *peers[]);

/*
 * rcx_mem_alloc() for memory that there is already: bytes from ptr on, until
 * they are deregistered, at the latest by rcx_finalize(); they stay where they
 * are meanwhile. Collective. RCX_OK without a gain where UCX can show others no
 * such memory, which takes xpmem.
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
 * reduce_scatter also recvbuf == sendbuf + own block; gather, scatter and
 * allgather have forms of their own. Ranks may differ in it. Any other overlap
 * of the buffers is RCX_ERR_ARG. The value is ABI.
 */
#define RCX_IN_PLACE ((void *)-1)

/*
 * What all collectives share. Every rank of comm calls the same collectives in
 * the same order with the same count (recvcounts, counts), datatype, op and
 * root.
 *
 * sendbuf is never written unless in place. Buffers may be NULL where count is
 * 0. They are memory that the CPU can read: a GPU's own (cudaMalloc, hipMalloc)
 * is RCX_ERR_UNSUPPORTED; managed and pinned memory is not. The bits of the
 * result are the same on all ranks and from call to call; see rcx_order_t for
 * more.
 *
 * Three forms. Blocking: returns when the result is there. Nonblocking
 * (rcx_i...): buffers belong to RCX until rcx_wait() or rcx_test() said done;
 * the request is then to be freed. Persistent (..._init): prepares a request
 * that rcx_start() may start any number of times, over the same buffers. Where
 * an operation fails, its buffers are needed for longer: see rcx_error_info_t.
 *
 * RCX_ERR_ARG          comm, buffer, count, datatype, op, root not valid,
 *                      buffers overlap, count * size overflows
 * RCX_ERR_UNSUPPORTED  the op is not defined on the type, a buffer is a GPU's,
 *                      or the algorithm forced by the environment does not fit
 *                      the call (one that it only prefers is passed over)
 * RCX_ERR_MISMATCH     another rank made a call that does not match; comm stays
 *                      usable where RCX_CHECK=full found it
 * RCX_ERR_OP           the user's op failed on some rank
 * RCX_ERR_COMM_FAILED  an earlier call broke comm
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
 * n vectors as one: the same result, to the bit, as rcx_allreduce() of the one
 * vector that the n are one after another. Vector i has counts[i] elements, of
 * sendbufs[i], and its result goes to recvbufs[i]; vectors of 0 elements may be
 * anywhere, their pointers are not looked at.
 *
 * The three arrays are copied before the call returns; the buffers that they
 * point to belong to RCX as those of any call. In place: RCX_IN_PLACE as
 * sendbufs (in C++ with a cast), or sendbufs[i] == recvbufs[i] for all vectors
 * that are not empty; a list that is in place in part is RCX_ERR_ARG. So is any
 * other overlap of a result with a result or an operand. Operands may overlap
 * each other.
 *
 * Ranks agree on the sum of counts alone: each may have its vectors cut in
 * another way, and one may call rcx_allreduce(), since all of this is where the
 * one vector lies on a rank. That is also what a mismatch is found by.
 *
 * Where the vectors lie one after another in memory nothing is copied. Else
 * each segment of the operation finds its part of them when it begins. One that
 * is within a single vector is reduced in that one's result, which takes a copy
 * of the operand only where this is not in place; what belongs to several
 * vectors is packed into memory of RCX's, for as many segments as are under way
 * at once, which the operation (persistent: the request) has, and a later one
 * uses again, and put in its places when the segment has ended well. After an
 * error recvbufs[i] may hold anything.
 *
 * Errors as of all collectives; RCX_ERR_ARG also where n is not 0 and an array
 * is NULL.
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
 * The result of rcx_allreduce() on rank root alone; recvbuf is ignored
 * elsewhere. In place counts at the root; at the others only sendbuf is read.
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
 * The vector of count elements in buf of rank root, in buf of every rank. At
 * root buf is only read, so that it may be a pointer to what is not to be
 * written.
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
 * recvbuf of rank root gets p blocks of count elements, block i from rank i; it
 * is ignored elsewhere. In place, at root: RCX_IN_PLACE as sendbuf, or sendbuf
 * == recvbuf + own block.
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
 * recvbuf; displs == NULL: one block behind the other. counts is the same on
 * all ranks; displs is looked at only at root. Both are copied before the call
 * returns. Blocks may lie in any order with gaps between them; RCX_ERR_ARG if
 * two of them overlap.
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
 * i; sendbuf is ignored elsewhere. In place, at root: RCX_IN_PLACE as recvbuf,
 * or recvbuf == sendbuf + own block, which then stays where it is.
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
 * scatter of counts[i] elements to rank i, which begin at displs[i] in sendbuf;
 * counts, displs as of gatherv, but blocks that are only read may overlap.
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
 * where blocks lie one behind the other. Both are copied before the call
 * returns. Blocks may lie in any order with gaps between them; RCX_ERR_ARG if
 * two of them overlap. So p separate arrays are one call, with RCX_BYTE, the
 * lowest address, and differences.
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
 * Block i, of count elements, of sendbuf goes to rank i, which gets it as the
 * block of its recvbuf that has the sender's number. In place, by RCX_IN_PLACE
 * as sendbuf or sendbuf == recvbuf, what comes replaces what goes.
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
 * recvbuf. All four are each rank's own and are copied before the call returns;
 * NULL for displs: one block behind the other; RCX_ERR_ARG if two blocks of
 * recvbuf overlap. What rank i sends to j is as long as what j receives from i.
 * In place, by RCX_IN_PLACE as sendbuf or sendbuf == recvbuf, recvcounts and
 * recvdispls serve both ways, and the others are ignored; then any two ranks
 * send as much to each other. RCX_CHECK=full does not compare counts.
 *
 * Where RCX_ALLTOALLV says bruck, ranks pass on blocks of others, whose lengths
 * they tell each other first: in each call, and at a persistent request's first
 * start, but not at later ones. So a start of that is met by starts on all
 * ranks, first ones by first ones, and by no call of another form.
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
 * recvbuf[i] = sendbuf[i] of rank 0 op ... op sendbuf[i] of this rank, for
 * count elements. Order levels hold for each rank's result by itself: CANONICAL
 * means that it is the one of an allreduce over ranks 0 to this one, whatever p
 * is. RCX_AVG is RCX_ERR_UNSUPPORTED.
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
 * scan without this rank's own operand; recvbuf of rank 0 stays as it was, and
 * may be NULL. CANONICAL: the result of rank r + 1 has the bits of scan's on
 * rank r. RCX_AVG is RCX_ERR_UNSUPPORTED.
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

/* What a receive got. */
typedef struct rcx_recv_info {
    int source;   /* rank of comm */
    int tag;      /* of the receive */
    size_t count; /* whole elements, of the receive's type */
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
 * What a receive got the last time. Also after RCX_ERR_TRUNCATED and
 * RCX_ERR_MISMATCH; count is then what was sent, in whole elements.
 *
 * RCX_ERR_ARG   request is no receive, or no message has come
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
 * As rcx_wait(), for timeout_ns nanoseconds at most: RCX_IN_PROGRESS when they
 * are over and the operation is not, which breaks nothing. The operation goes
 * on, and may be waited for again. 0: makes progress once, as rcx_test() does.
 * Where a deadline (rcx_comm_set_timeout()) passes meanwhile, the operation is
 * complete, with RCX_ERR_TIMEOUT. The call may last longer than timeout_ns by
 * what the machine takes to run it again, and by callbacks and users' ops that
 * are called in it. RCX_ERR_ARG: no request, or timeout_ns is negative.
 */
RCX_API rcx_status_t rcx_wait_for(rcx_request_t *request, int64_t timeout_ns);

/*
 * Wait until one of n requests is complete, store its index, and return the
 * status of its operation, RCX_OK or an error. Of several that are complete it
 * is the one that ended first, wherever in the array it is, so that none is
 * passed over for ever. A request whose status a call of this, or of test or
 * wait, has returned is not looked at again until it is started again; nor are
 * NULL entries and persistent ones that were not started. Where that leaves
 * none, n is stored and RCX_OK returned, without waiting.
 *
 * The requests may be of any communicators of one context. One that fails ends
 * its operations, which are then reported one by one, each with its error;
 * those of others go on. The array and the requests are not to be freed by
 * others meanwhile.
 *
 * RCX_ERR_ARG: requests (where n is not 0) or index_p is NULL, a request was
 * freed, or they are of different contexts; nothing is stored, and nothing is
 * waited for.
 */
RCX_API rcx_status_t rcx_wait_any(size_t n, rcx_request_t *const requests[],
                                  size_t *index_p);
/* rcx_wait_any() without waiting: makes progress once, where none is complete
 * yet, and returns RCX_IN_PROGRESS, with nothing stored, where none is then. */
RCX_API rcx_status_t rcx_test_any(size_t n, rcx_request_t *const requests[],
                                  size_t *index_p);

/*
 * Wait for n requests, in any order; NULL entries are skipped. Returns RCX_OK
 * or the first error in the order of the array, after all are complete.
 */
RCX_API rcx_status_t rcx_wait_all(size_t n, rcx_request_t *const requests[]);

/*
 * Have fn called when the request is complete, once for each time (at once
 * where it is already): on the thread that made the progress, after the call
 * that it is in has done its work; with RCX_PROGRESS=thread mostly on that
 * thread. fn may start operations, and free the request; it must not wait,
 * and calls are made one after another. A nonblocking request takes one before
 * it is complete or after; a persistent one keeps it for all its starts.
 */
typedef void (*rcx_callback_fn_t)(rcx_request_t *request, rcx_status_t status,
                                  void *arg);
RCX_API rcx_status_t rcx_request_set_callback(rcx_request_t *request,
                                              rcx_callback_fn_t fn, void *arg);

/* Free a request that is not active; RCX_ERR_BUSY if it is. */
RCX_API rcx_status_t rcx_request_free(rcx_request_t **request_p);

/*
 * How the request is carried out, as the environment would name it, such as
 * "ring:segment=131072"; "message" for one; valid until the request is freed.
 * NULL for no request.
 */
RCX_API const char *rcx_request_method(const rcx_request_t *request);

#ifdef __cplusplus
}
#endif

#endif
