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

#include <bit>
#include <chrono>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

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

/*
 * Numbers of 16 bits, for compilers without std::float16_t and std::bfloat16_t,
 * which have datatypes as well. They convert from float by rounding to nearest,
 * ties to even, and to float without rounding. A NaN stays one.
 */
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    explicit bfloat16(float x)
    {
        const auto b = std::bit_cast<std::uint32_t>(x);

        bits = static_cast<std::uint16_t>(
            x != x ? b >> 16 | 0x40 : (b + 0x7fff + (b >> 16 & 1)) >> 16);
    }
    explicit operator float() const
    {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
};
struct float16 {
    std::uint16_t bits = 0;

    float16() = default;
    /* Below 2^-14 the sum with 0.5 leaves the significand in the low bits. */
    explicit float16(float x)
    {
        const auto b = std::bit_cast<std::uint32_t>(x);
        const std::uint32_t size = b & 0x7fffffff;
        std::uint32_t half = 0x7c00;

        if (x != x)
            half = 0x7e00;
        else if (size < 0x38800000)
            half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) +
                                                0.5f) -
                   0x3f000000;
        else if (size < 0x477ff000)
            half = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
        bits = static_cast<std::uint16_t>((b >> 16 & 0x8000) | half);
    }
    explicit operator float() const
    {
        const std::uint32_t sign = (bits & 0x8000u) << 16;
        const std::uint32_t size = bits & 0x7fffu;
        const std::uint32_t normal =
            (size << 13) + (size < 0x7c00 ? 0x38000000 : 0x70000000);
        const float tiny = static_cast<float>(size) * 0x1p-24f;

        return std::bit_cast<float>(
            sign |
            (size >= 0x400 ? normal : std::bit_cast<std::uint32_t>(tiny)));
    }
};
template <> struct datatype<bfloat16> : detail::of<RCX_BFLOAT16> {
};
template <> struct datatype<float16> : detail::of<RCX_FLOAT16> {
};
#ifdef __STDCPP_BFLOAT16_T__
template <> struct datatype<std::bfloat16_t> : detail::of<RCX_BFLOAT16> {
};
#endif
#ifdef __STDCPP_FLOAT16_T__
template <> struct datatype<std::float16_t> : detail::of<RCX_FLOAT16> {
};
#endif

/* A user-defined op: make_op(), or op(number) with a number of rcx.h. */
enum class op : rcx_op_t {};
inline constexpr op max{RCX_MAX}, min{RCX_MIN}, sum{RCX_SUM}, prod{RCX_PROD},
    land{RCX_LAND}, lor{RCX_LOR}, lxor{RCX_LXOR}, band{RCX_BAND}, bor{RCX_BOR},
    bxor{RCX_BXOR}, replace{RCX_REPLACE}, no_op{RCX_NO_OP}, avg{RCX_AVG},
    sum_exact{RCX_SUM_EXACT}, avg_exact{RCX_AVG_EXACT},
    sum_float{RCX_SUM_FLOAT}, avg_float{RCX_AVG_FLOAT};

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
using neighbors = std::vector<int>; /* ranks */

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
    /* Cancel a receive. wait() throws RCX_ERR_CANCELED if that was in time. */
    void cancel()
    {
        check(rcx_cancel(handle()), comm_);
    }
    rcx_comm_t *comm() const noexcept
    {
        return comm_;
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

/* Wait until all are complete, then throw the first error in their order.
 * Requests without a handle are skipped, here and below. */
inline void wait_all(std::span<const request> requests)
{
    const request *failed = nullptr;
    rcx_status_t first = RCX_OK;

    for (const request &r : requests) {
        const rcx_status_t status = r.handle() ? rcx_wait(r.handle()) : RCX_OK;

        if (first == RCX_OK && status != RCX_OK) {
            first = status;
            failed = &r;
        }
    }
    check(first, failed ? failed->comm() : nullptr);
}

namespace detail
{
inline std::vector<rcx_request_t *> handles(std::span<const request> requests)
{
    std::vector<rcx_request_t *> all(requests.size());

    for (std::size_t i = 0; i < all.size(); i++)
        all[i] = requests[i].handle();
    return all;
}
inline void check_one(rcx_status_t status, std::span<const request> requests,
                      std::size_t i)
{
    check(status, i < requests.size() ? requests[i].comm() : nullptr);
}
} // namespace detail

/* Make progress once; true if all are complete: then throws as wait_all(). */
inline bool test_all(std::span<const request> requests)
{
    const auto all = detail::handles(requests);
    int done = 0;
    const rcx_status_t status = rcx_test_all(all.size(), all.data(), &done);

    if (done)
        wait_all(requests);
    check(status);
    return done != 0;
}

/* Wait until one is complete, and return its index; the number of requests if
 * all have been reported. Throws the error of that one. */
inline std::size_t wait_any(std::span<const request> requests)
{
    const auto all = detail::handles(requests);
    std::size_t i = all.size();
    const rcx_status_t status = rcx_wait_any(all.size(), all.data(), &i);

    detail::check_one(status, requests, i);
    return i;
}

/* The same without waiting: nothing if none is complete. */
inline std::optional<std::size_t> test_any(std::span<const request> requests)
{
    const auto all = detail::handles(requests);
    std::size_t i = all.size();
    const rcx_status_t status = rcx_test_any(all.size(), all.data(), &i);

    detail::check_one(status, requests, i);
    return status == RCX_IN_PROGRESS ? std::nullopt : std::optional(i);
}

class creation;

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
    /* The same, nonblocking: see class creation. */
    creation idup() const;
    creation isplit(int color, int key = 0) const;
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
    /* A setting by the name of an environment variable; collective. */
    void set(const char *name, const char *value)
    {
        check(rcx_comm_set(handle(), name, value), handle());
    }
    void set_name(const char *name)
    {
        check(rcx_comm_set_name(handle(), name));
    }
    std::string name() const
    {
        const char *text = rcx_comm_name(handle());

        return text ? text : "";
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
    friend class creation;
    comm(rcx_comm_t *handle, bool owned) : handle_(handle, end{owned})
    {
    }
    std::unique_ptr<rcx_comm_t, end> handle_;
};

/* A communicator in the making. One that get() has not taken is freed. */
class creation
{
  public:
    creation(creation &&) = default;
    /* The request goes first: until it is complete, RCX may store the other. */
    creation &operator=(creation &&other) noexcept
    {
        request_ = std::move(other.request_);
        made_ = std::move(other.made_);
        return *this;
    }
    bool test()
    {
        return request_.test();
    }
    /* Wait for it. As of comm::split(), it may have no handle. Once. */
    comm get()
    {
        request_.wait();
        return comm(std::exchange(*made_, nullptr), true);
    }
    /* For wait_any() and callbacks. */
    rcx_request_t *handle() const noexcept
    {
        return request_.handle();
    }

  private:
    friend class comm;
    struct end {
        void operator()(rcx_comm_t **made) const
        {
            rcx_comm_free(made);
            delete made;
        }
    };
    template <class F>
    creation(rcx_comm_t *parent, F begin) : made_(new rcx_comm_t *(nullptr))
    {
        rcx_request_t *handle = nullptr;

        check(begin(made_.get(), &handle), parent);
        request_ = request(handle, parent);
    }
    std::unique_ptr<rcx_comm_t *, end> made_; /* outlives the request */
    request request_;
};

inline creation comm::idup() const
{
    return creation(handle(), [this](rcx_comm_t **made, rcx_request_t **r) {
        return rcx_comm_idup(handle(), made, r);
    });
}
inline creation comm::isplit(int color, int key) const
{
    return creation(handle(), [&](rcx_comm_t **made, rcx_request_t **r) {
        return rcx_comm_isplit(handle(), color, key, made, r);
    });
}

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
    /* Make progress without waiting; the number of events. */
    int progress()
    {
        const int events = rcx_progress(handle_);

        check(events < 0 ? static_cast<rcx_status_t>(events) : RCX_OK);
        return events;
    }
    /* For an event loop: the descriptor, and whether the host may sleep on it
     * now. False: something has happened already. See rcx_arm(). */
    int get_fd() const
    {
        int fd = -1;

        check(rcx_get_fd(handle_, &fd));
        return fd;
    }
    bool arm()
    {
        const rcx_status_t status = rcx_arm(handle_);

        check(status);
        return status == RCX_OK;
    }
    /* The processes of these ranks of the world have ended. */
    void peer_failed(std::span<const int> ranks)
    {
        check(rcx_peer_failed(handle_, static_cast<int>(ranks.size()),
                              ranks.data()));
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

/*
 * Memory of rcx_mem_alloc() for n elements, of which each rank has its own
 * number: a range, and so a buffer of all operations. All ranks construct it
 * together. The destructor frees it, and must run before that of the context.
 * The elements are zero at first.
 */
template <class T> class memory
{
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    memory(const comm &c, std::size_t n)
        : size_(n), memory_(nullptr, release(c))
    {
        void *block = nullptr;

        if (n > SIZE_MAX / sizeof(T))
            throw std::bad_array_new_length();
        check(rcx_mem_alloc(c.handle(), n * sizeof(T), &block), c.handle());
        memory_.reset(static_cast<T *>(block));
        std::uninitialized_value_construct_n(memory_.get(), n);
    }
    T *data() const noexcept
    {
        return memory_.get();
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    T *begin() const noexcept
    {
        return data();
    }
    T *end() const noexcept
    {
        return data() + size_;
    }
    T &operator[](std::size_t i) const noexcept
    {
        return data()[i];
    }

  private:
    struct release {
        rcx_comm_t *world;
        explicit release(const comm &c)
            : world(rcx_world(rcx_comm_context(c.handle())))
        {
        }
        void operator()(T *block) const
        {
            rcx_mem_free(world, block);
        }
    };
    std::size_t size_;
    std::unique_ptr<T, release> memory_;
};

/*
 * An allocator of such memory, for containers. Each allocation is collective:
 * all ranks of the communicator allocate at the same points, as by
 * std::vector<double, rcx::allocator<double>> v(n, world). So a container that
 * grows must grow on all ranks alike. The communicator must outlive it.
 */
template <class T> class allocator
{
  public:
    using value_type = T;

    allocator(const comm &c) noexcept : comm_(c.handle())
    {
    }
    template <class U>
    allocator(const allocator<U> &other) noexcept : comm_(other.handle())
    {
    }
    T *allocate(std::size_t n)
    {
        void *block = nullptr;

        if (n > SIZE_MAX / sizeof(T))
            throw std::bad_array_new_length();
        check(rcx_mem_alloc(comm_, n * sizeof(T), &block), comm_);
        return static_cast<T *>(block);
    }
    void deallocate(T *block, std::size_t) noexcept
    {
        rcx_mem_free(comm_, block);
    }
    rcx_comm_t *handle() const noexcept
    {
        return comm_;
    }
    template <class U> bool operator==(const allocator<U> &other) const noexcept
    {
        return rcx_comm_context(comm_) == rcx_comm_context(other.handle());
    }

  private:
    rcx_comm_t *comm_;
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
/* sent[i] elements go to rank dests[i], got[i] come from rank sources[i]; blocks
 * are adjacent, in the order of these lists. */
RCX_FORMS(RCX_IN_OUT, neighbor_alltoallv,
          (const In &in, const neighbors &dests, const counts &sent,
           Out &&out, const neighbors &sources, const counts &got, const comm &c),
          size(sent) == size(dests) && size(got) == size(sources) && size(in) == total(sent) && size(out) == total(got),
          data(in), size(dests), dests.data(), sent.data(), nullptr,
          data(out), size(sources), sources.data(), got.data(), nullptr, type_of<Out>())

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

/* ---- Several vectors as one ---------------------------------------------- */

namespace detail
{
/* The arrays that rcx_allreduce_many() takes. Without operands it is in
 * place. */
template <class T> struct many {
    std::vector<const void *> in;
    std::vector<void *> out;
    counts n;

    explicit many(std::span<const std::span<T>> results)
    {
        for (const auto &vector : results) {
            out.push_back(vector.data());
            n.push_back(vector.size());
        }
    }
    many(std::span<const std::span<const T>> operands,
         std::span<const std::span<T>> results)
        : many(results)
    {
        require(operands.size() == results.size(), "size(in) == size(out)");
        for (std::size_t i = 0; i < operands.size(); i++) {
            require(operands[i].size() == n[i], "size(in[i]) == size(out[i])");
            in.push_back(operands[i].data());
        }
        is_in_place = false;
    }
    const void *const *operands() const
    {
        return is_in_place ? static_cast<const void *const *>(RCX_IN_PLACE)
                           : in.data();
    }
    template <class F> request begin(F f, op o, const comm &c) const
    {
        return detail::begin(f, c, n.size(), operands(), out.data(), n.data(),
                             datatype<T>::value, number(o));
    }
    void call(op o, const comm &c) const
    {
        check(rcx_allreduce_many(n.size(), operands(), out.data(), n.data(),
                                 datatype<T>::value, number(o), c.handle()),
              c.handle());
    }
    bool is_in_place = true;
};
} // namespace detail

/*
 * Lists of vectors: std::vector<std::span<T>> results, and operands of
 * std::span<const T>, of the same lengths; without operands in place. The lists
 * are needed during the call only.
 */
template <class T>
using vectors = std::type_identity_t<std::span<const std::span<T>>>;

template <class T>
void allreduce_many(vectors<const T> in, vectors<T> out, op o, const comm &c)
{
    detail::many<T>(in, out).call(o, c);
}
template <class T> void allreduce_many(vectors<T> out, op o, const comm &c)
{
    detail::many<T>(out).call(o, c);
}
template <class T>
request iallreduce_many(vectors<const T> in, vectors<T> out, op o,
                        const comm &c)
{
    return detail::many<T>(in, out).begin(rcx_iallreduce_many, o, c);
}
template <class T> request iallreduce_many(vectors<T> out, op o, const comm &c)
{
    return detail::many<T>(out).begin(rcx_iallreduce_many, o, c);
}
template <class T>
request allreduce_many_init(vectors<const T> in, vectors<T> out, op o,
                            const comm &c)
{
    return detail::many<T>(in, out).begin(rcx_allreduce_many_init, o, c);
}
template <class T>
request allreduce_many_init(vectors<T> out, op o, const comm &c)
{
    return detail::many<T>(out).begin(rcx_allreduce_many_init, o, c);
}

/* ---- Receives ------------------------------------------------------------ */

/* Send in and receive into out at once. Returns what was received. */
template <buffer In, result Out>
rcx_recv_info_t sendrecv(const In &in, int dest, int sendtag, Out &&out,
                         int source, int recvtag, const comm &c)
{
    rcx_recv_info_t info;

    check(rcx_sendrecv(std::ranges::data(in), std::ranges::size(in),
                       detail::type_of<In>(), dest, sendtag,
                       std::ranges::data(out), std::ranges::size(out),
                       detail::type_of<Out>(), source, recvtag, c.handle(),
                       &info),
          c.handle());
    return info;
}
/* A message that has arrived and that no receive has matched; its count is in
 * bytes. Nothing: there is none. */
inline std::optional<rcx_recv_info_t> iprobe(int source, int tag, const comm &c)
{
    rcx_recv_info_t info;
    int flag = 0;

    check(rcx_iprobe(source, tag, c.handle(), &flag, &info), c.handle());
    return flag ? std::optional(info) : std::nullopt;
}

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
