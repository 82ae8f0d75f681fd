# SPDX-License-Identifier: BSD-3-Clause
"""Make a program of the pieces of code in docs/reference/guide.md, as they are printed
there: each is a function's body, or, where it begins with "static", a function.

usage: guide_pieces.py GUIDE OUTPUT
"""
import sys

HEAD = """\
/* Made of docs/reference/guide.md by guide_pieces.py. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rcx/rcx.h>

static void must(rcx_status_t status)
{
    if (status == RCX_OK)
        return;
    fprintf(stderr, "must: %s\\n", rcx_status_string(status));
    abort();
}
"""

TAIL = """
/* guide_pieces [CHAPTER]: those of that chapter; of all but the last, which
 * ends the job. Rank 0 prints how many there were. */
int main(int argc, char **argv)
{
    const size_t n = sizeof pieces / sizeof *pieces;
    const char *last = pieces[n - 1].chapter;
    rcx_context_t *context;
    rcx_comm_t *world;
    int count = 0;

    must(rcx_init(NULL, &context));
    world = rcx_world(context);
    for (size_t i = 0; i < n; i++)
        if (argc > 1 ? strcmp(pieces[i].chapter, argv[1]) == 0
                     : strcmp(pieces[i].chapter, last) != 0) {
            pieces[i].run(context, world, rcx_comm_rank(world),
                          rcx_comm_size(world));
            count++;
        }
    if (rcx_comm_rank(world) == 0)
        printf("%d pieces\\n", count);
    must(rcx_finalize(&context));
    return 0;
}
"""


def pieces_of(lines):
    """Chapter, number of the first line, and the lines of each piece."""
    chapter, begin = None, None
    for number, line in enumerate(lines, 1):
        if begin is None and line.startswith("## "):
            chapter = line[3:]
        elif begin is None and line == "```c":
            begin = number + 1
        elif begin is None and line.startswith("```"):
            raise SystemExit(f"line {number}: {line} begins no piece of C")
        elif begin is not None and line == "```":
            yield chapter, begin, lines[begin - 1:number - 1]
            begin = None
    if begin is not None:
        raise SystemExit(f"line {begin}: the piece has no end")


def main(guide, output):
    with open(guide, encoding="utf-8") as file:
        lines = file.read().split("\n")
    rows = []
    with open(output, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for chapter, begin, body in pieces_of(lines):
            text = f'#line {begin} "{guide}"\n' + "\n".join(body) + "\n"
            if not body[0].startswith("static "):
                rows.append(f'    {{"{chapter}", piece_{begin}}},\n')
                text = (f"static void piece_{begin}(rcx_context_t *context, "
                        "rcx_comm_t *comm, int me, int p)\n{\n"
                        "    assert(context && comm && me >= 0 && me < p);\n"
                        "    {\n" + text + "    }\n}\n")
            file.write("\n" + text)
        file.write("\nstatic const struct {\n    const char *chapter;\n"
                   "    void (*run)(rcx_context_t *, rcx_comm_t *, int, int);\n"
                   "} pieces[] = {\n" + "".join(rows) + "};\n" + TAIL)


if __name__ == "__main__":
    main(*sys.argv[1:])
