/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX for C++20: rcx.h with types, handles that free themselves, and
 * exceptions.
 *
 *     rcx::context context;
 *     std::vector<double> part(n), sum(n);
 *     rcx::allreduce(part, sum, rcx::sum, context.world());
 *
 * Each function calls the one of rcx.h with the same name; rcx.h documents its
 * meaning, its buffers and its guarantees. A buffer is any contiguous range
 * (vector, array, span): the type of its elements determines the datatype, its
 * length the count. Without a send buffer an operation is in place.
 *
 * i... functions start an operation and return a request. ..._init functions
 * return a persistent one, which request::start() starts any number of times.
 * Buffers must live until the operation is complete. Errors are thrown as
 * rcx::error. If an operation had started before it failed, its buffers must
 * live until the context has ended (see rcx_error_info_t).
 */
#ifndef RCX_HPP
#define RCX_HPP

#if __cplusplus < 202002L
#error "rcx.hpp needs C++20: compile with -std=c++20, or use rcx.h"
#endif

#include <rcx/rcx.h>

#include <chrono>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rcx
{

/* ---- Errors -------------------------------------------------------------- */

class error : public std::runtime_error
{
  public:
    error(rcx_status_t status, const std::string &text)
        : std::runtime_error(text), status_(status)
    {
    }
    rcx_status_t status() const noexcept
    {
        return status_;
    }

  private:
    rcx_status_t status_;
};

/* Throw an error unless status is RCX_OK or RCX_IN_PROGRESS. If comm is given,
 * the text includes what rcx_comm_error() tells, such as the missing ranks. */
inline void check(rcx_status_t status, rcx_comm_t *comm = nullptr)
{
    rcx_error_info_t info;
    std::string text;

    if (status >= RCX_OK)
        return;
    text = rcx_status_string(status);
    if (comm && rcx_comm_error(comm, &info) == RCX_OK && info.text[0])
        text += std::string(": ") + info.text;
    throw error(status, text);
}

/* ---- Types and ops ------------------------------------------------------- */

/* The datatype of T. Specialize it for other types, with a value from
 * rcx_type_create(). */
template <class T> struct datatype;

namespace detail
{
template <rcx_datatype_t number> struct of {
    static constexpr rcx_datatype_t value = number;
};
} // namespace detail

template <> struct datatype<signed char> : detail::of<RCX_SIGNED_CHAR> {
};
template <> struct datatype<unsigned char> : detail::of<RCX_UNSIGNED_CHAR> {
};
template <> struct datatype<short> : detail::of<RCX_SHORT> {
};
template <> struct datatype<unsigned short> : detail::of<RCX_UNSIGNED_SHORT> {
};
template <> struct datatype<int> : detail::of<RCX_INT> {
};
template <> struct datatype<unsigned> : detail::of<RCX_UNSIGNED> {
};
template <> struct datatype<long> : detail::of<RCX_LONG> {
};
template <> struct datatype<unsigned long> : detail::of<RCX_UNSIGNED_LONG> {
};
template <> struct datatype<long long> : detail::of<RCX_LONG_LONG> {
};
template <>
struct datatype<unsigned long long> : detail::of<RCX_UNSIGNED_LONG_LONG> {
};
template <> struct datatype<float> : detail::of<RCX_FLOAT> {
};
template <> struct datatype<double> : detail::of<RCX_DOUBLE> {
};
template <> struct datatype<long double> : detail::of<RCX_LONG_DOUBLE> {
};
template <>
struct datatype<std::complex<float>> : detail::of<RCX_COMPLEX_FLOAT> {
};
template <>
struct datatype<std::complex<double>> : detail::of<RCX_COMPLEX_DOUBLE> {
};
template <>
struct datatype<std::complex<long double>>
    : detail::of<RCX_COMPLEX_LONG_DOUBLE> {
};
template <> struct datatype<rcx_exact32_t> : detail::of<RCX_EXACT_FLOAT32> {
};
template <> struct datatype<rcx_exact64_t> : detail::of<RCX_EXACT_FLOAT64> {
};
template <> struct datatype<bool> : detail::of<RCX_BOOL> {
};
template <> struct datatype<std::byte> : detail::of<RCX_BYTE> {
};

/* A user-defined op: make_op(), or op(number) with a number of rcx.h. */
enum class op : rcx_op_t {};
inline constexpr op max{RCX_MAX}, min{RCX_MIN}, sum{RCX_SUM}, prod{RCX_PROD},
    land{RCX_LAND}, lor{RCX_LOR}, lxor{RCX_LXOR}, band{RCX_BAND}, bor{RCX_BOR},
    bxor{RCX_BXOR}, replace{RCX_REPLACE}, no_op{RCX_NO_OP}, avg{RCX_AVG},
    sum_exact{RCX_SUM_EXACT}, avg_exact{RCX_AVG_EXACT};

template <class R>
concept buffer =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && requires
{
    datatype<std::ranges::range_value_t<R>>::value;
};

/* A buffer that can be written to. */
template <class R>
concept result = buffer<R> && !std::is_const_v<
    std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/* Two buffers with elements of the same type. */
template <class A, class B>
concept alike = std::is_same_v<std::ranges::range_value_t<A>,
                               std::ranges::range_value_t<B>>;

using counts = std::vector<std::size_t>;

/* ---- Handles ------------------------------------------------------------- */

/* A nonblocking or persistent operation. The destructor waits for its
 * completion, ignores its status, and frees it. */
class request
{
  public:
    request() = default;
    request(rcx_request_t *handle, rcx_comm_t *comm)
        : handle_(handle), comm_(comm)
    {
    }

    void start()
    {
        check(rcx_start(handle()), comm_);
    }
    void wait()
    {
        check(rcx_wait(handle()), comm_);
    }
    bool test()
    {
        int done = 0;

        check(rcx_test(handle(), &done), comm_);
        return done != 0;
    }
    /* False: the operation is not complete after that time. It continues. */
    bool wait_for(std::chrono::nanoseconds time)
    {
        const rcx_status_t status = rcx_wait_for(handle(), time.count());

        check(status, comm_);
        return status != RCX_IN_PROGRESS;
    }
    /* Sender, tag and length of a completed receive. */
    rcx_recv_info_t received() const
    {
        rcx_recv_info_t info;

        check(rcx_request_recv_info(handle(), &info), comm_);
        return info;
    }
    std::string method() const
    {
        return rcx_request_method(handle());
    }
    rcx_request_t *handle() const noexcept
    {
        return handle_.get();
    }

  private:
    struct end {
        void operator()(rcx_request_t *handle) const
        {
            rcx_wait(handle);
            rcx_request_free(&handle);
        }
    };
    std::unique_ptr<rcx_request_t, end> handle_;
    rcx_comm_t *comm_ = nullptr;
};

inline void wait_all(std::span<request> requests)
{
    for (request &r : requests)
        if (r.handle())
            r.wait();
}

/* A communicator. The destructor frees it, except the world, which belongs to
 * the context. */
class comm
{
  public:
    static comm view(rcx_comm_t *handle)
    {
        return comm(handle, false);
    }
    int rank() const
    {
        return rcx_comm_rank(handle());
    }
    int size() const
    {
        return rcx_comm_size(handle());
    }
    comm dup() const
    {
        rcx_comm_t *fresh = nullptr;

        check(rcx_comm_dup(handle(), &fresh), handle());
        return comm(fresh, true);
    }
    /* The result has no handle if color is RCX_UNDEFINED. */
    comm split(int color, int key = 0) const
    {
        rcx_comm_t *fresh = nullptr;

        check(rcx_comm_split(handle(), color, key, &fresh), handle());
        return comm(fresh, true);
    }
    /* A communicator of the ranks of each node. */
    comm split_node(int key = 0) const
    {
        rcx_comm_t *fresh = nullptr;

        check(rcx_comm_split_node(handle(), key, &fresh), handle());
        return comm(fresh, true);
    }
    int node_of(int rank) const
    {
        int node = -1;

        check(rcx_comm_node_of(handle(), rank, &node), handle());
        return node;
    }
    /* The ranks in another communicator; RCX_UNDEFINED: not a member. */
    std::vector<int> translate(std::span<const int> ranks, const comm &to) const
    {
        std::vector<int> found(ranks.size());

        check(rcx_comm_translate(handle(), static_cast<int>(ranks.size()),
                                 ranks.data(), to.handle(), found.data()),
              handle());
        return found;
    }
    rcx_comparison_t compare(const comm &other) const
    {
        rcx_comparison_t result = RCX_COMM_UNEQUAL;

        check(rcx_comm_compare(handle(), other.handle(), &result), handle());
        return result;
    }
    void set_timeout(std::chrono::nanoseconds time)
    {
        check(rcx_comm_set_timeout(handle(), time.count()), handle());
    }
    void abort()
    {
        check(rcx_comm_abort(handle()));
    }
    /* The same: the operations of all ranks end, so that all can shrink(). */
    void revoke()
    {
        check(rcx_comm_revoke(handle()));
    }
    /* Return the AND of the flags of the ranks that live: all get the same one,
     * also of a communicator that has failed. No time: its timeout. */
    std::uint64_t agree(std::uint64_t flags, std::chrono::nanoseconds time = {})
    {
        check(rcx_comm_agree(handle(), &flags, time.count()), handle());
        return flags;
    }
    /* A communicator of the ranks that live, otherwise as agree(). This one is
     * not freed. */
    comm shrink(std::chrono::nanoseconds time = {})
    {
        rcx_comm_t *fresh = nullptr;

        check(rcx_comm_shrink(handle(), time.count(), &fresh), handle());
        return comm(fresh, true);
    }
    /* The ranks that have failed by the last agree() or shrink(). */
    std::vector<int> failed() const
    {
        const int *ranks = nullptr;
        int n = 0;

        check(rcx_comm_failed(handle(), &n, &ranks));
        return std::vector<int>(ranks, ranks + n);
    }
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    rcx_comm_t *handle() const noexcept
    {
        return handle_.get();
    }

  private:
    struct end {
        bool owned;
        void operator()(rcx_comm_t *handle) const
        {
            if (owned)
                rcx_comm_free(&handle);
        }
    };
    comm(rcx_comm_t *handle, bool owned) : handle_(handle, end{owned})
    {
    }
    std::unique_ptr<rcx_comm_t, end> handle_;
};

/* The id of a new job, for rcx_params_t::id; see rcx_get_id(). */
inline rcx_id_t get_id(const char *address = nullptr)
{
    rcx_id_t id;

    check(rcx_get_id(address, &id));
    return id;
}

/* The destructor calls rcx_finalize(). All requests and communicators must be
 * destroyed before. */
class context
{
  public:
    explicit context(const rcx_params_t *params = nullptr)
    {
        check(rcx_init(params, &handle_));
    }
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    ~context()
    {
        if (handle_)
            rcx_finalize(&handle_);
    }
    /* As the destructor does, but throws its error. */
    void finalize()
    {
        check(rcx_finalize(&handle_));
    }
    comm world() const
    {
        return comm::view(rcx_world(handle_));
    }
    rcx_context_t *handle() const noexcept
    {
        return handle_;
    }

  private:
    rcx_context_t *handle_ = nullptr;
};

/*
 * A user-defined op: f(left, right) returns the result of two elements, where
 * left is from lower ranks. f must be associative; flags are those of
 * rcx_op_create(). An exception in f ends the call with RCX_ERR_OP on all
 * ranks, and error() returns it on the rank where it was thrown. The object
 * must outlive all operations that use it, and be destroyed before its context.
 */
template <class T, std::invocable<const T &, const T &> F> class user_op
{
  public:
    user_op(const context &c, F f, unsigned flags = 0)
        : context_(c.handle()), state_(new state{std::move(f), nullptr})
    {
        check(rcx_op_create(context_, combine, flags, state_.get(), &number_));
    }
    user_op(const user_op &) = delete;
    user_op &operator=(const user_op &) = delete;
    ~user_op()
    {
        rcx_op_free(context_, &number_);
    }
    operator op() const noexcept
    {
        return op(number_);
    }
    /* Return the last exception of f on this rank, and clear it; null: none. */
    std::exception_ptr error()
    {
        return std::exchange(state_->thrown, nullptr);
    }

  private:
    struct state {
        F f;
        std::exception_ptr thrown;
    };
    /* noexcept, as an exception must not pass through the C code of RCX. */
    static int combine(void *dst, const void *left, const void *right,
                       std::size_t count, rcx_datatype_t type,
                       void *arg) noexcept
    {
        state *s = static_cast<state *>(arg);

        if (type != datatype<T>::value)
            return 1;
        try {
            for (std::size_t i = 0; i < count; i++)
                static_cast<T *>(dst)[i] =
                    s->f(static_cast<const T *>(left)[i],
                         static_cast<const T *>(right)[i]);
        } catch (...) {
            s->thrown = std::current_exception();
            return 1;
        }
        return 0;
    }

    rcx_context_t *context_;
    std::unique_ptr<state> state_;
    rcx_op_t number_ = 0;
};

template <class T, class F>
user_op<T, F> make_op(const context &c, F f, unsigned flags = 0)
{
    return user_op<T, F>(c, std::move(f), flags);
}

/* ---- Calls --------------------------------------------------------------- */

namespace detail
{
using std::ranges::data, std::ranges::size;

template <class R> constexpr rcx_datatype_t type_of()
{
    return datatype<std::ranges::range_value_t<R>>::value;
}
constexpr rcx_op_t number(op o)
{
    return static_cast<rcx_op_t>(o);
}
inline std::size_t ranks(const comm &c)
{
    return static_cast<std::size_t>(c.size());
}
inline std::size_t own(const comm &c)
{
    return static_cast<std::size_t>(c.rank());
}
inline std::size_t total(const counts &n)
{
    return std::accumulate(n.begin(), n.end(), std::size_t{0});
}

/* Throw RCX_ERR_ARG unless good, before anything is sent. what: the
 * condition. */
inline void require(bool good, const char *what)
{
    if (!good)
        throw error(RCX_ERR_ARG, std::string(rcx_status_string(RCX_ERR_ARG)) +
                                     ": required: " + what);
}

/* Call a nonblocking or persistent function of rcx.h (begin), or a blocking one
 * (call). Both add the communicator to the arguments. */
template <class F, class... A> request begin(F f, const comm &c, A... arguments)
{
    rcx_request_t *handle = nullptr;

    check(f(arguments..., c.handle(), &handle), c.handle());
    return request(handle, c.handle());
}
template <class F, class... A> void call(F f, const comm &c, A... arguments)
{
    check(f(arguments..., c.handle()), c.handle());
}
} // namespace detail

/*
 * Defines a function of rcx.h in its three forms: blocking, nonblocking and
 * persistent. The lists below have its parameters, the condition for their
 * lengths, and the arguments for rcx.h.
 */
/* clang-format off */
#define RCX_FORM(TEMPLATE, RESULT, RETURN, HOW, NAME, PARAMETERS, GOOD, ...)  \
    RCX_BARE TEMPLATE inline RESULT NAME PARAMETERS                           \
    {                                                                         \
        using namespace detail;                                               \
        require(GOOD, #GOOD);                                                 \
        RETURN HOW(rcx_##NAME, c __VA_OPT__(, ) __VA_ARGS__);                 \
    }
#define RCX_FORMS(TEMPLATE, NAME, PARAMETERS, ...)                            \
    RCX_FORM(TEMPLATE, void, , detail::call, NAME, PARAMETERS, __VA_ARGS__)   \
    RCX_FORM(TEMPLATE, request, return, detail::begin, i##NAME, PARAMETERS, __VA_ARGS__) \
    RCX_FORM(TEMPLATE, request, return, detail::begin, NAME##_init, PARAMETERS, __VA_ARGS__)
#define RCX_BARE(...) __VA_ARGS__
#define RCX_IN (template <buffer In>)
#define RCX_OUT (template <result Out>)
#define RCX_IN_OUT (template <buffer In, result Out> requires alike<In, Out>)

/* ---- Reductions ---------------------------------------------------------- */

RCX_FORMS(RCX_IN_OUT, allreduce, (const In &in, Out &&out, op o, const comm &c),
          size(in) == size(out), data(in), data(out), size(out), type_of<Out>(), number(o))
RCX_FORMS(RCX_OUT, allreduce, (Out &&out, op o, const comm &c),
          true, RCX_IN_PLACE, data(out), size(out), type_of<Out>(), number(o))
RCX_FORMS(RCX_IN_OUT, scan, (const In &in, Out &&out, op o, const comm &c),
          size(in) == size(out), data(in), data(out), size(out), type_of<Out>(), number(o))
RCX_FORMS(RCX_OUT, scan, (Out &&out, op o, const comm &c),
          true, RCX_IN_PLACE, data(out), size(out), type_of<Out>(), number(o))
RCX_FORMS(RCX_IN_OUT, exscan, (const In &in, Out &&out, op o, const comm &c),
          size(in) == size(out), data(in), data(out), size(out), type_of<Out>(), number(o))
RCX_FORMS(RCX_OUT, exscan, (Out &&out, op o, const comm &c),
          true, RCX_IN_PLACE, data(out), size(out), type_of<Out>(), number(o))
/* out is used on the root only. */
RCX_FORMS(RCX_IN_OUT, reduce, (const In &in, Out &&out, op o, int root, const comm &c),
          c.rank() != root || size(in) == size(out),
          data(in), data(out), size(in), type_of<In>(), number(o), root)
RCX_FORMS(RCX_IN_OUT, reduce_scatter_block, (const In &in, Out &&out, op o, const comm &c),
          size(in) == size(out) * ranks(c), data(in), data(out), size(out), type_of<Out>(), number(o))
/* Rank i gets n[i] elements. */
RCX_FORMS(RCX_IN_OUT, reduce_scatter, (const In &in, Out &&out, const counts &n, op o, const comm &c),
          size(n) == ranks(c) && size(in) == total(n) && size(out) == n[own(c)],
          data(in), data(out), n.data(), type_of<Out>(), number(o))

/* ---- Data movement ------------------------------------------------------- */

RCX_FORMS((), barrier, (const comm &c), true)
RCX_FORMS(RCX_OUT, bcast, (Out &&out, int root, const comm &c),
          true, data(out), size(out), type_of<Out>(), root)
RCX_FORMS(RCX_IN_OUT, allgather, (const In &in, Out &&out, const comm &c),
          size(out) == size(in) * ranks(c), data(in), data(out), size(in), type_of<In>())
RCX_FORMS(RCX_OUT, allgather, (Out &&out, const comm &c),
          size(out) % ranks(c) == 0, RCX_IN_PLACE, data(out), size(out) / ranks(c), type_of<Out>())
RCX_FORMS(RCX_OUT, alltoall, (Out &&out, const comm &c),
          size(out) % ranks(c) == 0, RCX_IN_PLACE, data(out), size(out) / ranks(c), type_of<Out>())
RCX_FORMS(RCX_IN_OUT, alltoall, (const In &in, Out &&out, const comm &c),
          size(in) == size(out) && size(in) % ranks(c) == 0,
          data(in), data(out), size(in) / ranks(c), type_of<In>())
/* out of gather, and in of scatter, are used on the root only. */
RCX_FORMS(RCX_IN_OUT, gather, (const In &in, Out &&out, int root, const comm &c),
          c.rank() != root || size(out) == size(in) * ranks(c),
          data(in), data(out), size(in), type_of<In>(), root)
RCX_FORMS(RCX_IN_OUT, scatter, (const In &in, Out &&out, int root, const comm &c),
          c.rank() != root || size(in) == size(out) * ranks(c),
          data(in), data(out), size(out), type_of<Out>(), root)
/* Rank i has n[i] elements; blocks are adjacent, in the order of ranks. */
RCX_FORMS(RCX_IN_OUT, allgatherv, (const In &in, Out &&out, const counts &n, const comm &c),
          size(n) == ranks(c) && size(out) == total(n) && size(in) == n[own(c)],
          data(in), data(out), n.data(), nullptr, type_of<In>())
RCX_FORMS(RCX_IN_OUT, gatherv, (const In &in, Out &&out, const counts &n, int root, const comm &c),
          size(n) == ranks(c) && (c.rank() != root || size(out) == total(n)) && size(in) == n[own(c)],
          data(in), data(out), n.data(), nullptr, type_of<In>(), root)
RCX_FORMS(RCX_IN_OUT, scatterv, (const In &in, Out &&out, const counts &n, int root, const comm &c),
          size(n) == ranks(c) && (c.rank() != root || size(in) == total(n)) && size(out) == n[own(c)],
          data(in), data(out), n.data(), nullptr, type_of<Out>(), root)
RCX_FORMS(RCX_IN_OUT, alltoallv,
          (const In &in, const counts &sent, Out &&out, const counts &got, const comm &c),
          size(sent) == ranks(c) && size(got) == ranks(c) && size(in) == total(sent) && size(out) == total(got),
          data(in), sent.data(), nullptr, data(out), got.data(), nullptr, type_of<Out>())

/* ---- Messages ------------------------------------------------------------ */

RCX_FORMS(RCX_IN, send, (const In &in, int dest, int tag, const comm &c),
          true, data(in), size(in), type_of<In>(), dest, tag)
/* clang-format on */
#undef RCX_FORM
#undef RCX_FORMS
#undef RCX_BARE
#undef RCX_IN
#undef RCX_OUT
#undef RCX_IN_OUT

/* Returns the message's sender, tag and length. */
template <result Out>
rcx_recv_info_t recv(Out &&out, int source, int tag, const comm &c)
{
    rcx_recv_info_t info;

    check(rcx_recv(std::ranges::data(out), std::ranges::size(out),
                   detail::type_of<Out>(), source, tag, c.handle(), &info),
          c.handle());
    return info;
}
template <result Out>
request irecv(Out &&out, int source, int tag, const comm &c)
{
    return detail::begin(rcx_irecv, c, std::ranges::data(out),
                         std::ranges::size(out), detail::type_of<Out>(), source,
                         tag);
}
template <result Out>
request recv_init(Out &&out, int source, int tag, const comm &c)
{
    return detail::begin(rcx_recv_init, c, std::ranges::data(out),
                         std::ranges::size(out), detail::type_of<Out>(), source,
                         tag);
}

} // namespace rcx

#endif
