/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions without torch.distributed, for programs that wait for each of
 * them, such as inference: no Work, no future, no thread. all_reduce_() is a
 * function of Python's C interface, as a call of pybind11 takes longer than
 * the reduction of a short vector between two cores.
 */
#include "direct.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "operands.h"

namespace rcx_torch
{

namespace py = pybind11;

/* A wait of this time keeps Python's lock: to give it up and get it back may
 * take 5 ms if other threads compute. Signals are looked for so often. */
static constexpr int64_t short_wait_ns = 50000, signals_ns = 100000000;

/* The communicator of all processes; accessed with Python's lock. */
static std::shared_ptr<Direct> everyone;

/* Thrown where Python's error is set already. */
class Raised : public std::exception
{
};

/* ---- Communicators ------------------------------------------------------- */

Direct::Direct(std::shared_ptr<Context> context, rcx_comm_t *comm, bool owned)
    : context_(std::move(context)), comm_(comm), owned_(owned)
{
}

Direct::~Direct()
{
    if (owned_)
        rcx_comm_free(&comm_);
}

/* A handler of a signal may raise an exception: then the communicator fails, as
 * others may wait for this call, which has not taken place. */
rcx_status_t Direct::wait(rcx_request_t *request)
{
    rcx_status_t status = rcx_wait_for(request, short_wait_ns);
    bool is_raised = false;

    while (status == RCX_IN_PROGRESS) {
        {
            const py::gil_scoped_release released;
            status = rcx_wait_for(request, signals_ns);
        }
        if (status == RCX_IN_PROGRESS && !is_raised &&
            PyErr_CheckSignals() != 0) {
            is_raised = true;
            rcx_comm_abort(comm_);
        }
    }
    if (is_raised)
        throw Raised();
    return status;
}

void Direct::all_reduce(const at::Tensor &t, rcx_datatype_t type, rcx_op_t op)
{
    rcx_request_t *request = nullptr;
    rcx_status_t status = rcx_iallreduce(RCX_IN_PLACE, t.data_ptr(),
                                         static_cast<size_t>(t.numel()), type,
                                         op, comm_, &request);

    check(status, comm_);
    try {
        status = wait(request);
    } catch (...) {
        kept_.push_back(t);
        rcx_request_free(&request);
        throw;
    }
    rcx_request_free(&request);
    if (status != RCX_OK)
        kept_.push_back(t);
    check(status, comm_);
}

double Direct::time(const at::Tensor &t, rcx_datatype_t type, rcx_op_t op,
                    int times)
{
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();

    for (int i = 0; i < times; i++)
        check(rcx_allreduce(RCX_IN_PLACE, t.data_ptr(),
                            static_cast<size_t>(t.numel()), type, op, comm_),
              comm_);
    return std::chrono::duration<double>(clock::now() - begin).count() / times;
}

std::shared_ptr<Direct> Direct::split(int color, int key)
{
    rcx_comm_t *comm = nullptr;

    check(rcx_comm_split(comm_, color, key, &comm), comm_);
    return comm ? std::make_shared<Direct>(context_, comm, true) : nullptr;
}

/* The memory is the context's, and ends with it. */
at::Tensor Direct::empty(const std::vector<int64_t> &shape, at::ScalarType type)
{
    const auto bytes = static_cast<size_t>(c10::multiply_integers(shape)) *
                       c10::elementSize(type);
    const std::weak_ptr<Context> context = context_;
    void *memory = nullptr;

    check(rcx_mem_alloc(comm_, bytes > 0 ? bytes : 1, &memory), comm_);
    return at::from_blob(
        memory, shape,
        [context](void *ptr) {
            if (const auto alive = context.lock())
                rcx_mem_free(alive->world(), ptr);
        },
        at::TensorOptions().dtype(type));
}

void Direct::set_timeout(milliseconds timeout)
{
    check(rcx_comm_set_timeout(comm_, nanoseconds(timeout)), comm_);
}

/* ---- The default communicator -------------------------------------------- */

using Seconds = std::chrono::duration<double>;

/* Without a store: a launcher's job, or RCX_ROOT, or one process. */
static std::shared_ptr<Direct>
init(const c10::optional<c10::intrusive_ptr<c10d::Store>> &store, int rank,
     int size, Seconds timeout)
{
    const auto limit = std::chrono::ceil<milliseconds>(timeout);
    std::shared_ptr<Context> context;

    if (everyone)
        return everyone;
    {
        const py::gil_scoped_release released;
        context = store ? Context::over_store(*store, rank, size, limit, false)
                        : Context::over_pmix(limit, false);
    }
    if (!everyone)
        everyone = std::make_shared<Direct>(context, context->world(), false);
    return everyone;
}

static void finalize()
{
    auto last = std::exchange(everyone, nullptr);
    const py::gil_scoped_release released;

    last = nullptr;
}

static Direct &everyone_or_init()
{
    static constexpr Seconds limit{1800};

    return *(everyone ? everyone : init(c10::nullopt, 0, 1, limit));
}

/* ---- Arguments ----------------------------------------------------------- */

static bool is_half(rcx_datatype_t type)
{
    return type == RCX_FLOAT16 || type == RCX_BFLOAT16;
}

/* The names of ops, and what they are if sums accumulate in float. */
static rcx_op_t op_named(const std::string &name, const std::string &accumulate,
                         rcx_datatype_t type)
{
    static const struct {
        const char *name;
        rcx_op_t op, in_float;
    } ops[] = {{"sum", RCX_SUM, RCX_SUM_FLOAT},
               {"avg", RCX_AVG, RCX_AVG_FLOAT},
               {"max", RCX_MAX, 0},
               {"min", RCX_MIN, 0},
               {"product", RCX_PROD, 0}};

    TORCH_CHECK(accumulate.empty() || accumulate == "float",
                "rcx: all_reduce_: accumulate=\"", accumulate,
                "\": valid are None and \"float\"");
    for (const auto &each : ops) {
        if (name != each.name)
            continue;
        TORCH_CHECK(
            accumulate.empty() ||
                (each.in_float && (is_half(type) || type == RCX_FLOAT32)),
            "rcx: all_reduce_: accumulate=\"float\" is for sums and "
            "averages of bfloat16, float16 and float32");
        const rcx_op_t op =
            !accumulate.empty() && is_half(type) ? each.in_float : each.op;
        TORCH_CHECK(rcx_op_supported(op, type), "rcx: all_reduce_: op \"", name,
                    "\" is not defined on this type of tensor");
        return op;
    }
    TORCH_CHECK(false, "rcx: all_reduce_: op=\"", name,
                "\": valid are sum, avg, max, min, product");
}

static void check_tensor(const at::Tensor &t)
{
    TORCH_CHECK(t.device().is_cpu(), "rcx: all_reduce_: a tensor on ",
                t.device().str(), ": needs one on the CPU");
    TORCH_CHECK(t.layout() == at::kStrided,
                "rcx: all_reduce_: a tensor of layout ", t.layout(),
                ": needs a dense one");
    TORCH_CHECK(!t.is_conj() && !t.is_neg(),
                "rcx: all_reduce_: a conjugate or negative view: call "
                "resolve_conj() or resolve_neg() before");
    TORCH_CHECK(!(t.requires_grad() && at::GradMode::is_enabled()),
                "rcx: all_reduce_: the tensor requires grad, and this function "
                "is not differentiable: use torch.no_grad() or detach()");
}

/* Reduce t, of any strides. */
static void reduce(Direct &comm, const at::Tensor &t, rcx_datatype_t type,
                   rcx_op_t op)
{
    if (t.is_contiguous()) {
        comm.all_reduce(t, type, op);
    } else {
        const at::NoGradGuard no_grad;
        const at::Tensor copy = t.contiguous();

        comm.all_reduce(copy, type, op);
        t.copy_(copy);
        return; /* which counts versions */
    }
    if (!t.is_inference())
        t.unsafeGetTensorImpl()->bump_version();
}

/* ---- The function of Python ---------------------------------------------- */

enum { TENSOR, OP, ACCUMULATE, COMM, PARAMETERS };
static const char *const parameters[PARAMETERS] = {"tensor", "op", "accumulate",
                                                   "comm"};

/* Put arguments in their places; false: Python's error is set. */
static bool place(PyObject *const *args, Py_ssize_t given, PyObject *names,
                  PyObject *found[PARAMETERS])
{
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;

    if (given > PARAMETERS) {
        PyErr_SetString(PyExc_TypeError, "all_reduce_: too many arguments");
        return false;
    }
    for (Py_ssize_t i = 0; i < given; i++)
        found[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *const name = PyTuple_GET_ITEM(names, i);
        int k = 0;

        while (k < PARAMETERS &&
               PyUnicode_CompareWithASCIIString(name, parameters[k]) != 0)
            k++;
        if (k == PARAMETERS || found[k]) {
            PyErr_Format(PyExc_TypeError, "all_reduce_: argument %R is %s",
                         name, k == PARAMETERS ? "unknown" : "given twice");
            return false;
        }
        found[k] = args[given + i];
    }
    if (found[TENSOR] && THPVariable_Check(found[TENSOR]))
        return true;
    PyErr_SetString(PyExc_TypeError, "all_reduce_: needs a tensor");
    return false;
}

static std::string text_of(PyObject *object, const char *otherwise)
{
    return object && object != Py_None ? py::cast<std::string>(object)
                                       : otherwise;
}

static void reduce_as_asked(PyObject *const found[PARAMETERS])
{
    const at::Tensor &t = THPVariable_Unpack(found[TENSOR]);
    const bool is_plain = !found[OP] && !found[ACCUMULATE];
    PyObject *const comm = found[COMM];

    check_tensor(t);
    const rcx_datatype_t type = datatype_of(t);
    const rcx_op_t op = is_plain
                            ? op_named("sum", "", type)
                            : op_named(text_of(found[OP], "sum"),
                                       text_of(found[ACCUMULATE], ""), type);
    reduce(comm && comm != Py_None ? py::cast<Direct &>(py::handle(comm))
                                   : everyone_or_init(),
           t, type, op);
}

static PyObject *all_reduce(PyObject *, PyObject *const *args, Py_ssize_t given,
                            PyObject *names)
{
    HANDLE_TH_ERRORS
    PyObject *found[PARAMETERS] = {nullptr};

    if (!place(args, given, names, found))
        return nullptr;
    try {
        reduce_as_asked(found);
    } catch (const Raised &) {
        return nullptr;
    } catch (const Excluded &error) {
        const auto module = py::module_::import("rcx_torch._C");
        PyErr_SetString(module.attr("ExcludedError").ptr(), error.what());
        return nullptr;
    } catch (const py::cast_error &) {
        PyErr_SetString(PyExc_TypeError, "all_reduce_: op and accumulate are "
                                         "text, and comm is a Comm");
        return nullptr;
    }
    Py_INCREF(found[TENSOR]);
    return found[TENSOR];
    END_HANDLE_TH_ERRORS
}

static PyMethodDef functions[] = {
    {"all_reduce_",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(all_reduce)),
     METH_FASTCALL | METH_KEYWORDS,
     "all_reduce_(tensor, op='sum', accumulate=None, comm=None)"},
    {nullptr, nullptr, 0, nullptr}};

static at::ScalarType type_of(const py::handle &dtype)
{
    TORCH_CHECK_TYPE(THPDtype_Check(dtype.ptr()),
                     "rcx: empty: dtype is not a torch.dtype");
    return reinterpret_cast<THPDtype *>(dtype.ptr())->scalar_type;
}

void add_direct(py::module_ &m)
{
    using released = py::call_guard<py::gil_scoped_release>;

    if (PyModule_AddFunctions(m.ptr(), functions) != 0)
        throw py::error_already_set();
    py::class_<Direct, std::shared_ptr<Direct>>(m, "Comm")
        .def_property_readonly(
            "rank",
            [](const Direct &comm) { return rcx_comm_rank(comm.handle()); })
        .def_property_readonly(
            "size",
            [](const Direct &comm) { return rcx_comm_size(comm.handle()); })
        .def("split", &Direct::split, py::arg("color"), py::arg("key") = 0,
             released())
        .def("set_timeout",
             [](Direct &comm, Seconds timeout) {
                 comm.set_timeout(std::chrono::ceil<milliseconds>(timeout));
             })
        .def("empty",
             [](Direct &comm, const std::vector<int64_t> &shape,
                const py::object &dtype) {
                 return comm.empty(shape, type_of(dtype));
             })
        .def("_time", [](Direct &comm, const at::Tensor &t,
                         const std::string &accumulate, int times) {
            const rcx_datatype_t type = datatype_of(t);
            const rcx_op_t op = op_named("sum", accumulate, type);
            const py::gil_scoped_release waiting;

            return comm.time(t, type, op, times);
        });
    m.def("init_direct", init);
    m.def("finalize_direct", finalize);
}

} // namespace rcx_torch
