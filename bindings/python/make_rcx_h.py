# SPDX-License-Identifier: BSD-3-Clause
"""Write rcx/_rcx_h.py: the declarations of rcx.h in the form that cffi needs to call librcx.

Usage: make_rcx_h.py RCX_H OUTPUT
"""

import re
import sys

import cffi

# text to remove: cffi has no preprocessor
NOT_C = (
    r"/\*.*?\*/",
    r"#ifdef __cplusplus.*?#endif",
    r"^#[^\n]*",
    r"\bRCX_API\b",
)

with open(sys.argv[1], encoding="utf-8") as header:
    text = header.read()
for pattern in NOT_C:
    text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
# cffi needs numbers where an enumerator refers to another one
values = {name: value for name, value in re.findall(r"\b(RCX_\w+) = (\d+)\b", text)}
text = re.sub(r"(= )(RCX_\w+)\b", lambda m: m[1] + values[m[2]], text)
text = re.sub(r"(\d+)u << (\d+)", lambda m: str(int(m[1]) << int(m[2])), text)

ffi = cffi.FFI()
ffi.cdef(text)
ffi.set_source("_rcx_h", None)
ffi.emit_python_code(sys.argv[2])
