# SPDX-License-Identifier: BSD-3-Clause
"""Makes the manual's section 3, and rcx(7), of rcx.h: each function has its comment there.

Usage: make_pages.py names RCX_H                         names of the pages, one on a line
       make_pages.py pages RCX_H VERSION DIR EXAMPLE...  makes them in DIR

An example is a C program; the manual shows how it calls a function.
"""

import dataclasses
import pathlib
import re
import sys
import textwrap


@dataclasses.dataclass
class Item:
    """A comment, and the declarations up to the next one."""

    section: str
    text: list[str]
    code: str

    @property
    def functions(self) -> list[str]:
        """Those that are declared here."""
        return re.findall(r"^RCX_API [^;]*?\b(rcx_\w+)\(", self.code, re.MULTILINE)

    @property
    def first_sentence(self) -> str:
        """For the line of whatis."""
        text = " ".join(" ".join(self.text).split())
        return re.split(r"(?<!\.)\.(?: |$)|[:;] | \(", text)[0]


def parse(header: str) -> list[Item]:
    """The items of rcx.h, in order; the first is what it says at its beginning."""
    header = re.sub(r"^/\* clang-format o\w+ \*/\n", "", header, flags=re.MULTILINE)
    items = [Item("", [], "")]
    section = ""
    for comment, code in re.findall(r"^/\*(.*?)\*/\n(.*?)(?=^/\*|\Z)", header,
                                    re.MULTILINE | re.DOTALL):
        heading = re.match(r" ---- (.*?) -+ $", comment)
        if heading:
            section, comment = heading[1], ""
        if "SPDX" in comment:
            continue
        lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in comment.split("\n")]
        code = re.sub(r"^#(if|endif|define RCX_H|define RCX_API|include|else)[^\n]*\n", "", code,
                      flags=re.MULTILINE)
        item = Item(section, [line.strip() if len(lines) == 1 else line for line in lines],
                    code.strip())
        # a word about one of several declarations, which have their comment above
        if len(lines) == 1 and items[-1].functions and not item.functions:
            items[-1].code += "\n" + code.strip()
        elif any(lines) or item.code:
            items.append(item)
    return items[1:]


def escaped(line: str) -> str:
    """A line of text as roff has it."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + line if line.startswith((".", "\\(aq")) else line


def is_set(paragraph: list[str]) -> bool:
    """Lists and tables stay as they are set."""
    return any(re.search(r"\S {2,}\S|^ ", line) for line in paragraph)


def body(text: list[str]) -> list[str]:
    """Paragraphs."""
    out: list[str] = []
    paragraph: list[str] = []
    for line in [*text, ""]:
        if line:
            paragraph.append(line)
        elif paragraph:
            lines = [escaped(part) for part in paragraph]
            out += [".PP", ".nf", *lines, ".fi"] if is_set(paragraph) else [".PP", *lines]
            paragraph = []
    return out


def verbatim(code: str) -> list[str]:
    """Declarations, without what only the compiler reads."""
    lines = code.split("\n")
    moved = len("RCX_API ")
    for i, line in enumerate(lines):
        if line.startswith("RCX_API ") or (i and line.startswith(" " * 18)):
            lines[i] = line[moved:]
    return [".nf", *(escaped(line) for line in lines), ".fi"]


def head(names: list[str], section: int, what: str, version: str) -> list[str]:
    """The first lines of a page."""
    return [".\\\" made of rcx.h", f".TH {names[0].upper()} {section} \"\" \"RCX {version}\" RCX",
            ".SH NAME", f"{escaped(', '.join(names))} \\- {escaped(what)}"]


def return_value(item: Item) -> list[str]:
    """What the return type says of all functions that have it."""
    if not re.search(r"^RCX_API rcx_status_t ", item.code, re.MULTILINE):
        return [".SH RETURN VALUE", "What the description says."]
    return [".SH RETURN VALUE", ".B RCX_OK,", "or an error, of which the description names the",
            "special ones. Its text is",
            ".BR rcx_status_string (3)\\(aqs,", "and the log has a line with details. All are in",
            ".BR rcx (7)."]


def examples_of(names: list[str], programs: dict[str, str]) -> list[str]:
    """The first call of one of the functions in each program."""
    out: list[str] = []
    call = re.compile(rf"^[^\n;{{}}/*]*\b(?:{'|'.join(names)})\((?:[^;])*;", re.MULTILINE)
    for program, text in programs.items():
        if found := call.search(text):
            lines = textwrap.dedent(found[0]).split("\n")
            out += [".PP", f"In {escaped(program)}:", ".PP", ".nf", ".RS 4",
                    *(escaped(line) for line in lines), ".RE", ".fi"]
    return [".SH EXAMPLES", *out[1:]] if out else []


def function_page(item: Item, common: list[str], version: str,
                  programs: dict[str, str]) -> list[str]:
    """Of the functions that one comment is about."""
    return [*head(item.functions, 3, item.first_sentence, version),
            ".SH SYNOPSIS", ".nf", "#include <rcx/rcx.h>", ".fi", ".PP", *verbatim(item.code),
            ".SH DESCRIPTION", *body(item.text)[1:],
            *([f".SH ALL OF {item.section.upper()}", *common] if common else []),
            *return_value(item), *examples_of(item.functions, programs),
            ".SH SEE ALSO", ".BR rcx (7)"]


def overview(items: list[Item], version: str, programs: dict[str, str]) -> list[str]:
    """rcx(7): what holds of all, types, and which functions there are."""
    out = [*head(["rcx"], 7, "collective operations for programs that are not MPI programs",
                 version),
           ".SH DESCRIPTION", *body(items[0].text)[1:]]
    for section in dict.fromkeys(item.section for item in items[1:]):
        here = [item for item in items[1:] if item.section == section]
        out.append(f".SH {section.upper()}")
        for item in here:
            if item.functions:
                out += [".PP", *(f".BR {name} (3)" for name in item.functions)]
            elif item.code:
                out += [*body(item.text), ".PP", *verbatim(item.code)]
    for program, text in programs.items():
        out += [".SH EXAMPLES", escaped(program), ".PP", ".nf",
                *(escaped(line) or "\\&" for line in text.rstrip().split("\n")), ".fi"]
        break
    return out


def pages(header: str, version: str, programs: dict[str, str]) -> dict[str, list[str]]:
    """All pages by name."""
    items = parse(header)
    made = {"rcx.7": overview(items, version, programs)}
    for item in items:
        # what a section says of all its functions, or a macro for them
        common = [line for other in items if other.section == item.section
                  and not other.functions
                  and (not other.code or other.code.startswith("#define"))
                  for line in body(other.text)]
        for i, name in enumerate(item.functions):
            made[f"{name}.3"] = (function_page(item, common, version, programs) if i == 0
                                 else [f".so man3/{item.functions[0]}.3"])
    return made


def main() -> None:
    """See above."""
    header = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    if sys.argv[1] == "names":
        print(*pages(header, "", {}), sep="\n")
        return
    programs = {pathlib.Path(path).name: pathlib.Path(path).read_text(encoding="utf-8")
                for path in sys.argv[5:]}
    for name, lines in pages(header, sys.argv[3], programs).items():
        text = "\n".join(line for line in lines if line) + "\n"
        (pathlib.Path(sys.argv[4]) / name).write_text(text, encoding="utf-8")


main()
