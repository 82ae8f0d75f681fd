# SPDX-License-Identifier: BSD-3-Clause
"""Write what rcx.h declares in Fortran, and the C functions behind it.

Usage: make_rcx_h.py RCX_H OUTPUT.f90 OUTPUT.c

OUTPUT.f90 has two modules. rcx_h: constants, types, and interfaces of functions for users of
module rcx. rcx_c: the functions that rcx.f90 wraps by hand, as C has them. OUTPUT.c has the
functions that rcx_h declares: each takes descriptors of arrays, checks them by call.c, and
calls librcx. A declaration without a rule here is an error.
"""

import re
import sys
import textwrap

# Functions that rcx.f90 wraps: their arguments are texts, logicals or arrays of RCX.
BY_HAND = {
    "rcx_abort", "rcx_comm_error", "rcx_comm_failed", "rcx_comm_name", "rcx_comm_set",
    "rcx_comm_set_name", "rcx_dump", "rcx_exact32_add",
    "rcx_exact64_add", "rcx_exact64_add_product", "rcx_exact64_add_product32", "rcx_get_id",
    "rcx_init", "rcx_op_supported", "rcx_request_method", "rcx_status_string", "rcx_test",
    "rcx_version",
}
# Fortran has a variable of this name.
LEFT_OUT = {"rcx_in_place"}
# Structs for which rcx.f90 has a type of its own, or arguments.
C_ONLY = {"setting", "params", "error_info"}
# Functions to which rcx.f90 adds a specific one.
GENERIC = {"rcx_request_free"}
# Handles: the typedef is a pointer to an opaque struct, or a number.
HANDLES = {"rcx_context_t": "context", "rcx_comm_t": "comm", "rcx_request_t": "request"}
NUMBERS = {"rcx_datatype_t": "datatype", "rcx_op_t": "op"}
# Names of arguments that differ.
RENAMED = {"type_p": "datatype", "type": "datatype"}
# C's n is the length of this array, else of the first one.
LENGTH_OF = "counts"

# Elements of a buffer that a call accesses: by operation and argument, C expressions of call.h.
NEEDS = {
    ("allreduce", "sendbuf"): "count", ("allreduce", "recvbuf"): "count",
    ("bcast", "buf"): "count", ("send", "buf"): "count", ("recv", "buf"): "count",
    ("scan", "sendbuf"): "count", ("scan", "recvbuf"): "count",
    ("exscan", "sendbuf"): "count", ("exscan", "recvbuf"): "call.rank == 0 ? 0 : count",
    ("reduce_local", "dst"): "count", ("reduce_local", "left"): "count",
    ("reduce_local", "right"): "count",
    ("reduce", "sendbuf"): "count",
    ("reduce", "recvbuf"): "call.rank == root ? count : 0",
    ("reduce_scatter", "sendbuf"): "rcx_f_sum(recvcounts, call.size)",
    ("reduce_scatter", "recvbuf"): "sendbuf == RCX_IN_PLACE ? rcx_f_sum(recvcounts, call.size)"
                                   " : rcx_f_at(recvcounts, call.rank)",
    ("reduce_scatter_block", "sendbuf"): "rcx_f_times(recvcount, call.size)",
    ("reduce_scatter_block", "recvbuf"): "sendbuf == RCX_IN_PLACE ?"
                                         " rcx_f_times(recvcount, call.size) : recvcount",
    ("gatherv", "sendbuf"): "rcx_f_at(counts, call.rank)",
    ("gatherv", "recvbuf"): "call.rank == root ? rcx_f_reach(counts, displs, call.size) : 0",
    ("scatterv", "sendbuf"): "call.rank == root ? rcx_f_reach(counts, displs, call.size) : 0",
    ("scatterv", "recvbuf"): "rcx_f_at(counts, call.rank)",
    ("gather", "sendbuf"): "count",
    ("gather", "recvbuf"): "call.rank == root ? rcx_f_times(count, call.size) : 0",
    ("scatter", "sendbuf"): "call.rank == root ? rcx_f_times(count, call.size) : 0",
    ("scatter", "recvbuf"): "count",
    ("allgather", "sendbuf"): "count",
    ("allgather", "recvbuf"): "rcx_f_times(count, call.size)",
    ("allgatherv", "sendbuf"): "rcx_f_at(counts, call.rank)",
    ("allgatherv", "recvbuf"): "rcx_f_reach(counts, displs, call.size)",
    ("alltoall", "sendbuf"): "rcx_f_times(count, call.size)",
    ("alltoall", "recvbuf"): "rcx_f_times(count, call.size)",
    ("alltoallv", "sendbuf"): "rcx_f_reach(sendcounts, senddispls, call.size)",
    ("alltoallv", "recvbuf"): "rcx_f_reach(recvcounts, recvdispls, call.size)",
    ("sendrecv", "sendbuf"): "sendcount", ("sendrecv", "recvbuf"): "recvcount",
    ("neighbor_alltoallv", "sendbuf"): "rcx_f_reach(sendcounts, senddispls, (int)dest_count)",
    ("neighbor_alltoallv", "recvbuf"): "rcx_f_reach(recvcounts, recvdispls, (int)source_count)",
}

# Types of C that Fortran has a kind for, and the value that initialises one.
KINDS = {
    "int": "integer(c_int)", "unsigned": "integer(c_int)", "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)", "size_t": "integer(c_size_t)", "double": "real(c_double)",
    "float": "real(c_float)", "char": "character(kind=c_char)",
}
INITIAL = {"integer": "0", "real": "0", "character": "c_null_char", "type(c_ptr)": "c_null_ptr",
           "type(c_funptr)": "c_null_funptr"}


class Header:
    """What rcx.h declares."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.DOTALL)
        self.constants = []  # (name, value, handle type or None)
        self.enums = set()  # typedefs of enums
        self.structs = {}  # name without rcx_ and _t: [(C type, declarator)]
        self.function_types = {}  # typedef: (C type of the result, arguments)
        self.functions = {}  # name: (C type of the result, arguments)
        for name, value in re.findall(r"^#define (RCX_\w+) (.+)$", text, re.M):
            if name not in ("RCX_IN_PLACE", "RCX_API"):
                self.constants.append((name, value.strip("()"), None))
        text = re.sub(r"^#ifdef __cplusplus.*?#endif|^#[^\n]*", " ", text, flags=re.M | re.DOTALL)
        self._take_enums(text)
        for tag, body in re.findall(r"typedef struct rcx_(\w+) \{(.*?)\n\} rcx_\w+_t;", text, re.DOTALL):
            self.structs[tag] = [member(part) for part in body.split(";") if part.strip()]
        for result, name, arguments in re.findall(
                r"typedef (\w+) \(\*(rcx_\w+_fn_t)\)\((.*?)\);", text, re.DOTALL):
            self.function_types[name] = (result, split(arguments))
        for result, name, arguments in re.findall(
                r"RCX_API ([\w \*]+?)\b(rcx_\w+)\((.*?)\);", text, re.DOTALL):
            self.functions[name] = (result.strip(), split(arguments))
        if len(self.functions) != text.count("RCX_API"):
            raise SystemExit("a declaration of RCX_API is not understood")

    def _take_enums(self, text):
        """The constants of an enum behind a typedef of a number have the type of that handle."""
        for handle, tag, body in re.findall(
                r"(?:typedef int (\w+);\s*|typedef )?enum (rcx_\w+ )?\{(.*?)\}", text, re.DOTALL):
            self.enums |= {tag.strip() + "_t"} if tag else set()
            for name, value in re.findall(r"(RCX_\w+) = ([^,]+)", body):
                shift = re.fullmatch(r"1u << (\d+)", value.strip())
                self.constants.append((name, str(1 << int(shift[1])) if shift else value.strip(),
                                       NUMBERS.get(handle)))


def split(arguments):
    """[(C type, declarator)] of a list of arguments."""
    if arguments.strip() in ("", "void"):
        return []
    return [member(argument) for argument in arguments.split(",")]


def member(text):
    """(C type, name) of a declaration; [] and (...) of its name go to the type."""
    text = " ".join(text.split())
    function = re.fullmatch(r"int \(\*(\w+)\)\(.*\)", text)
    if function:
        return "function", function[1]
    match = re.fullmatch(r"(.*?)(\w+)(\[(\d*)\])?", text)
    return (match[1].strip().replace(" *", "*") + ("[" + match[4] + "]" if match[3] else ""),
            match[2])


def plain(name):
    """The name that an argument has in Fortran."""
    return RENAMED.get(name, name.removesuffix("_p"))


def wrapped(line, indent):
    """A line of Fortran of any length."""
    return " &\n".join(textwrap.wrap(line, 96, initial_indent=indent,
                                     subsequent_indent=indent + "    ", break_long_words=False))


class Raw:
    """Declarations as C has them: pointers are type(c_ptr), or references to one number."""

    def __init__(self, header):
        self.header = header

    def value(self, c_type):
        """The Fortran type of a value of this C type."""
        base = c_type.removeprefix("const ")
        if base.endswith("*") or "*" in base and base.endswith("]"):
            return "type(c_ptr)"
        if base in KINDS:
            return KINDS[base]
        if base in self.header.enums or base == "rcx_status_t" or base in NUMBERS:
            return "integer(c_int)"
        if base == "function" or base in self.header.function_types:
            return "type(c_funptr)"
        if base.removeprefix("rcx_").removesuffix("_t") in self.header.structs:
            return f"type({base.removesuffix('_t')})"
        raise SystemExit(f"no rule for {c_type}")

    def component(self, c_type, name):
        array = re.fullmatch(r"(.*)\[(\d+)\]", c_type)
        kind = self.value(array[1] if array else c_type)
        initial = INITIAL.get(kind, INITIAL.get(kind.split("(")[0]))
        shape = f"({array[2]})" if array else ""
        return f"{kind} :: {name}{shape}" + (f" = {initial}" if initial else "")

    def argument(self, c_type, name):
        """A number or struct that C has a pointer to is a reference; arrays are of any size."""
        base = c_type.removeprefix("const ").removesuffix("[]").removesuffix("*")
        intent = "in" if c_type.startswith("const ") and not c_type.endswith("**") else "inout"
        if c_type.endswith("[]"):
            return f"{self.value(base)}, intent({intent}) :: {name}(*)"
        if c_type.endswith("*") and base not in HANDLES and base not in ("void", "char"):
            return f"{self.value(base)}, intent({intent}) :: {name}"
        return f"{self.value(c_type)}, value :: {name}"

    def procedure(self, name, result, arguments, label):
        """An interface body."""
        names = [plain(argument) for _, argument in arguments]
        kind = "subroutine" if result == "void" else "function"
        returned = "" if result == "void" else " result(answer)"
        bound = f'bind(c, name="{label}")' if label else "bind(c)"
        yield wrapped(f"{kind} {name}({', '.join(names)}) {bound}{returned}", "    ")
        yield "      import"
        for (c_type, argument), shown in zip(arguments, names):
            yield "      " + self.argument(c_type, shown)
        if result != "void":
            yield f"      {self.value(result)} :: answer"
        yield f"    end {kind}"


class Shim:
    """A function of rcx.h as Fortran and as C see it."""

    def __init__(self, header, name, result, arguments):
        self.header = header
        self.name = name
        self.result = result
        self.arguments = arguments
        self.operation = re.sub(r"^rcx_i?|_init$", "", name)
        if name in header.functions and f"rcx_{name[4:]}_init" in header.functions:
            self.operation = name[4:]  # its i does not stand for nonblocking
        self.starts = ("rcx_request_t**", "request_p") in arguments
        self.blocks = not self.starts
        self.drops_n = arguments[:1] in ([("size_t", "n")], [("int", "n")]) or \
            len(arguments) > 1 and arguments[1] == ("int", "n")
        counts = [c_type for c_type, argument in arguments
                  if c_type in ("size_t", "const size_t[]") and argument != "n"]
        # both kinds of integers are counts
        self.variants = ["int", "long"] if counts else [""]

    # --- Fortran ---

    def interface(self):
        is_generic = len(self.variants) > 1 or self.name in GENERIC
        yield f"  interface {self.name}" if is_generic else "  interface"
        for variant in self.variants:
            yield from self._body(variant, is_generic)
        yield "  end interface"

    def _body(self, variant, is_generic):
        arguments = [(c_type, name) for c_type, name in self.arguments
                     if not (self.drops_n and name == "n")]
        names = [plain(name) for _, name in arguments]
        lines = [self._argument(c_type, name, variant) for c_type, name in arguments]
        kind, returned = "function", " result(answer)"
        if self.result == "rcx_status_t":
            kind, returned = "subroutine", ""
            names.append("status")
            lines.append("integer(c_int), intent(out), optional :: status")
        else:
            lines.append(f"{self._result()} :: answer")
        name = f"{self.name}_{variant or 'one'}" if is_generic else self.name
        label = self.symbol(variant)
        yield wrapped(f'{kind} {name}({", ".join(names)}) bind(c, name="{label}"){returned}', "    ")
        yield "      import"
        yield from ("      " + line for line in lines)
        yield f"    end {kind}"

    def _result(self):
        handle = HANDLES.get(self.result.removesuffix("*").strip())
        if handle or self.result.endswith("*"):
            return f"type(rcx_{handle})" if handle else "type(c_ptr)"
        return KINDS[self.result]

    def _argument(self, c_type, name, variant):
        shown = plain(name)
        integer = "integer(c_int32_t)" if variant == "int" else "integer(c_int64_t)"
        if self.is_buffer(c_type, name) or c_type in ("const void*const[]", "void*const[]"):
            # what is received has no intent, so that RCX_IN_PLACE goes in
            return "type(*), dimension(..)" + (", intent(in)" if c_type.startswith("const") else "") \
                + (", asynchronous" if self.starts else "") + f" :: {shown}"
        base = c_type.removeprefix("const ").rstrip("*")
        if base in HANDLES:
            handle = f"type(rcx_{HANDLES[base]})"
            if c_type.endswith("**"):
                intent = "inout" if self.name.endswith(("_free", "finalize")) else "out"
                # a communicator that is set when the request completes
                later = ", asynchronous" if self.starts and base == "rcx_comm_t" else ""
                return f"{handle}, intent({intent}){later} :: {shown}"
            return f"{handle}, value :: {shown}"
        if base in NUMBERS:
            number = f"type(rcx_{NUMBERS[base]})"
            if c_type.endswith("*"):
                return f"{number}, intent({'out' if name.endswith('_p') else 'inout'}) :: {shown}"
            return f"{number}, value :: {shown}"
        if c_type in self.header.function_types:
            return f"procedure({c_type.removesuffix('_t')}) :: {shown}"
        fixed = {
            "size_t": f"{integer}, value",
            "const size_t[]": f"{integer}, intent(in)" + (", optional" if "displs" in name else ""),
            "const int[]": "integer(c_int), intent(in)", "int[]": "integer(c_int), intent(inout)",
            "rcx_request_t*const[]": "type(rcx_request), intent(in)",
            "void*[]": "type(c_ptr), intent(inout)",
            "void*": "type(c_ptr), value", "void**": "type(c_ptr), intent(out)",
            "int": "integer(c_int), value", "unsigned": "integer(c_int), value",
            "rcx_status_t": "integer(c_int), value",
            "int64_t": "integer(c_int64_t), value", "uint64_t*": "integer(c_int64_t), intent(inout)",
            "int*": "integer(c_int), intent(out)", "rcx_comparison_t*": "integer(c_int), intent(out)",
            "size_t*": "integer(c_int), intent(out)" if name == "index_p" else "integer(c_size_t), intent(out)",
            "rcx_recv_info_t*": "type(rcx_recv_info), intent(out)" + (", optional" if self.operation in ("recv", "sendrecv", "probe") else ""),
        }
        if c_type not in fixed:
            raise SystemExit(f"{self.name}: no rule for {c_type} {name}")
        return f"{fixed[c_type]} :: {shown}" + ("(:)" if c_type.endswith("[]") else "")

    def is_buffer(self, c_type, name):
        """Memory of rcx_mem_alloc() is a c_ptr, and so is what is passed on to a user's function."""
        return c_type in ("const void*", "void*") and name not in ("ptr", "arg", "data")

    # --- C ---

    def symbol(self, variant=""):
        return "rcx_f_" + self.name[4:] + ("_int" if variant == "int" else "")

    def c_code(self):
        arguments = [(c_type, name) for c_type, name in self.arguments
                     if not (self.drops_n and name == "n")]
        parameters = [self._parameter(c_type, name) for c_type, name in arguments]
        if self.result != "rcx_status_t":
            yield from self._answer(parameters)
            return
        parameters.append("int *status")
        yield from signature("void " + self.symbol(), parameters)
        yield "{"
        yield "    struct rcx_f_call call;"
        yield from ("    " + line for line in self._prelude())
        given = ", ".join(self._given(c_type, name) for c_type, name in self.arguments)
        yield f"    if (call.status == RCX_OK)"
        yield f"        call.status = {self.name}({given});"
        if ("size_t*", "index_p") in arguments:
            yield "    if (found <= n)"
            yield "        *index = found < n ? (int)found + 1 : 0;"
        yield "    rcx_f_end(&call, status);"
        yield "}"
        yield ""
        if len(self.variants) > 1:
            yield from self._for_int(arguments, parameters)

    def _answer(self, parameters):
        handle = HANDLES.get(self.result.removesuffix("*").strip())
        answer = f"struct rcx_f_{handle}" if handle else self.result
        given = ", ".join(self._given(c_type, name) for c_type, name in self.arguments)
        yield from signature(f"{answer} {self.symbol()}", parameters)
        yield "{"
        yield f"    return ({answer}){{{self.name}({given})}};" if handle else f"    return {self.name}({given});"
        yield "}"
        yield ""

    def _for_int(self, arguments, parameters):
        """The same with counts of the default kind: descriptors tell theirs."""
        yield from signature("void " + self.symbol("int"),
                             [parameter.replace("int64_t", "int32_t") if c_type == "size_t" else parameter
                              for (c_type, _), parameter in zip(arguments + [("", "")], parameters)])
        yield "{"
        names = ", ".join(re.search(r"(\w+)$", parameter)[1] for parameter in parameters)
        yield f"    {self.symbol()}({names});"
        yield "}"
        yield ""

    def _parameter(self, c_type, name):
        shown = plain(name)
        base = c_type.removeprefix("const ").rstrip("*")
        if self._is_described(c_type, name):
            return f"const CFI_cdesc_t *{shown}_d"
        for table in HANDLES, NUMBERS:
            if base in table:
                is_output = c_type.count("*") > (table is HANDLES)
                return f"struct rcx_f_{table[base]} {'*' if is_output else ''}{shown}"
        if c_type == "size_t":
            return f"int64_t {shown}_f"
        if name == "index_p":
            return "int *index"
        return f"{c_type.replace('*', ' *')} {shown}".replace("* ", "*")

    def _is_described(self, c_type, name):
        return self.is_buffer(c_type, name) or c_type.endswith("[]")

    def _prelude(self):
        """Locals for all that is not passed on as it is."""
        names = {name: c_type for c_type, name in self.arguments}
        comm = "comm.handle" if names.get("comm") == "rcx_comm_t*" else "NULL"
        context = "context.handle" if names.get("context") == "rcx_context_t*" else "NULL"
        in_place = "rcx_f_is_in_place(sendbuf_d)"
        yield f'rcx_f_begin(&call, "{self.name}", {context}, {comm}, {"true" if self.blocks else "false"});'
        for c_type, name in self.arguments:
            if c_type.endswith("**") and not self.name.endswith(("_free", "finalize")) and \
                    c_type.rstrip("*") in HANDLES:
                yield f"{plain(name)}->handle = NULL;"
            elif c_type == "size_t" and not (self.drops_n and name == "n"):
                yield f'const size_t {name} = rcx_f_count(&call, "{name}", {name}_f);'
            elif name == "index_p":
                yield "size_t found = (size_t)-1;"
        arrays = [(c_type, name) for c_type, name in self.arguments if c_type.endswith("[]")]
        if self.drops_n:
            of = LENGTH_OF if LENGTH_OF in names else arrays[0][1]
            yield f"const size_t n = (size_t){of}_d->dim[0].extent;"
        usual = "n" if self.drops_n else "call.size"
        for c_type, name in arrays:
            length = usual
            if "dest_count" in names:
                length = "dest_count" if name.startswith(("dest", "send")) else "source_count"
            got = f'rcx_f_counts(&call, "{name}", {name}_d, {length})' if c_type == "const size_t[]" else \
                f'rcx_f_array(&call, "{name}", {name}_d, {length}, sizeof *{name}, {self._is_written(c_type)})'
            # those that are ignored are not read
            if name.startswith("send") and "sendbuf" in names:
                got = f"{in_place} ? NULL : {got}"
            elif name == "displs" and "root" in names:
                got = f"call.rank != root ? NULL : {got}"
            yield f"{c_type.removesuffix('[]').replace('*', ' *')} *{name} = {got};".replace("* *", "**")
        for c_type, name in self.arguments:
            if self.is_buffer(c_type, name):
                if (self.operation, name) not in NEEDS:
                    raise SystemExit(f"{self.name}: NEEDS does not have {name} of {self.operation}")
                need = NEEDS[self.operation, name]
                kind = name[:4] + "type" if "sendtype" in names else "datatype"
                yield f"{c_type.replace('*', ' *')}{name} = rcx_f_buffer("
                yield f'    &call, "{name}", {name}_d, {need}, {kind}.number, {self._is_written(c_type)});'

    def _is_written(self, c_type):
        return "false" if "const" in c_type else "true"

    def _given(self, c_type, name):
        shown = plain(name)
        base = c_type.removeprefix("const ").rstrip("*")
        if self._is_described(c_type, name):
            return name
        if base in HANDLES:
            return f"&{shown}->handle" if c_type.endswith("**") else f"{shown}.handle"
        if base in NUMBERS:
            return f"&{shown}->number" if c_type.endswith("*") else f"{shown}.number"
        if c_type == "size_t":
            return name
        if self.drops_n and name == "n" and c_type == "int":
            return "(int)n"
        return "&found" if name == "index_p" else shown


def signature(start, parameters):
    whole = [parameter.replace(" ", "~") for parameter in parameters]
    lines = textwrap.wrap(f"{start}({', '.join(whole)})", 80, subsequent_indent="    ",
                          break_long_words=False)
    return [line.replace("~", " ") for line in lines]


def is_direct(arguments):
    """Whether Fortran calls the function of rcx.h itself: no handle, no number of elements."""
    return all(re.fullmatch(r"(const )?rcx_exact\d\d_t\*", c_type) for c_type, _ in arguments)


def handle_types():
    for handle in HANDLES.values():
        yield f"  type, bind(c) :: rcx_{handle}\n    type(c_ptr) :: handle = c_null_ptr\n  end type"
    for number in NUMBERS.values():
        yield f"  type, bind(c) :: rcx_{number}\n    integer(c_int) :: number = 0\n  end type"


def struct(raw, tag, members):
    yield f"  type, bind(c) :: rcx_{tag}"
    yield from (f"    {raw.component(c_type, name)}" for c_type, name in members)
    yield "  end type"


def comparisons():
    """== and /= of handles."""
    handles = [*HANDLES.values(), *NUMBERS.values()]
    for operator, name in (("==", "equal"), ("/=", "differ")):
        yield f"  interface operator({operator})"
        yield wrapped("procedure " + ", ".join(f"{name}_{handle}" for handle in handles), "    ")
        yield "  end interface"


def comparing():
    for handle in [*HANDLES.values(), *NUMBERS.values()]:
        values = "a%number == b%number" if handle in NUMBERS.values() else \
            "transfer(a%handle, 0_c_intptr_t) == transfer(b%handle, 0_c_intptr_t)"
        for name, answer in (("equal", values), ("differ", values.replace("==", "/="))):
            yield f"""
  elemental function {name}_{handle}(a, b) result(answer)
    type(rcx_{handle}), intent(in) :: a, b
    logical :: answer

    answer = {answer}
  end function"""


def constants(header):
    for name, value, handle in header.constants:
        if handle:
            numbers = {other: number for other, number, _ in header.constants}
            yield f"  type(rcx_{handle}), parameter, public :: {name} = rcx_{handle}({numbers.get(value, value)})"
        elif re.fullmatch(r"-?\d+|0x[0-9a-f]+", value):
            yield f"  integer(c_int), parameter, public :: {name} = {int(value, 0)}"
        else:
            raise SystemExit(f"no rule for {name} = {value}")
    for handle in HANDLES.values():
        yield f"  type(rcx_{handle}), parameter, public :: RCX_{handle.upper()}_NULL = rcx_{handle}(c_null_ptr)"


def write_fortran(header, file):
    raw = Raw(header)
    shims, direct, wraps = [], [], []
    for name, (result, arguments) in header.functions.items():
        if name in LEFT_OUT:
            continue
        if name in BY_HAND:
            wraps.append((name, result, arguments))
        elif is_direct(arguments):
            direct.append((name, result, arguments))
        else:
            shims.append(Shim(header, name, result, arguments))
    public = [f"rcx_{handle}" for handle in [*HANDLES.values(), *NUMBERS.values()]]
    public += [f"rcx_{tag}" for tag in header.structs if tag not in C_ONLY]
    public += [name.removesuffix("_t") for name in header.function_types]
    public += [shim.name for shim in shims] + [name for name, _, _ in direct]
    say = lambda lines: print(*lines, sep="\n", file=file)
    say(["! SPDX-License-Identifier: BSD-3-Clause", "! Made from rcx.h by make_rcx_h.py.", "module rcx_h",
         "  use, intrinsic :: iso_c_binding", "  implicit none", "  private"])
    say([wrapped("public :: operator(==), operator(/=), RCX_IN_PLACE, " + ", ".join(public), "  "), ""])
    say(handle_types())
    for tag, members in header.structs.items():
        if tag not in C_ONLY:
            say(struct(raw, tag, members))
    say(["  ! Its address stands for RCX_IN_PLACE.",
         '  integer(c_int), bind(c, name="rcx_f_in_place"), protected :: RCX_IN_PLACE', ""])
    say(constants(header))
    say(["", "  abstract interface"])
    for name, (result, arguments) in header.function_types.items():
        say(raw.procedure(name.removesuffix("_t"), result, arguments, None))
    say(["  end interface", "", "  interface"])
    for name, result, arguments in direct:
        say(raw.procedure(name, result, arguments, name))
    say(["  end interface", ""])
    for shim in shims:
        say(shim.interface())
    say([*comparisons(), "contains", *comparing(), "end module", "", "module rcx_c",
         "  use, intrinsic :: iso_c_binding", "  use rcx_h", "  implicit none", ""])
    for tag in header.structs:
        if tag in C_ONLY:
            say(struct(raw, tag, header.structs[tag]))
    say(["  interface"])
    for name, result, arguments in wraps:
        say(raw.procedure("c_" + name[4:], result, arguments, name))
    say(["  end interface", "end module"])
    return shims


def check_names(header):
    """Fortran does not distinguish cases: no two names may be equal but for theirs."""
    names = [name for name, _, _ in header.constants] + list(header.functions)
    names += [f"rcx_{tag}" for tag in [*header.structs, *HANDLES.values(), *NUMBERS.values()]]
    names = [name.lower() for name in names if name not in LEFT_OUT]
    twice = {name for name in names if names.count(name) > 1}
    if twice or BY_HAND - set(header.functions):
        raise SystemExit(f"names that stand for two things: {twice}; unknown: {BY_HAND - set(header.functions)}")


def main():
    header = Header(sys.argv[1])
    check_names(header)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        shims = write_fortran(header, file)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        print('/* SPDX-License-Identifier: BSD-3-Clause */\n/* Made from rcx.h by make_rcx_h.py. */\n'
              '#include "call.h"\n', file=file)
        for shim in shims:
            print(*shim.c_code(), sep="\n", file=file)


main()
