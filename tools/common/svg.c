/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes SVG files for the pictures of rcx_tune and rcx_sim: begin and end of a
 * file, text, colours.
 */
#include "common/svg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

/* The palette of Okabe and Ito, which colour-blind people can distinguish. The
 * first colours differ most. */
const struct svg_colour svg_colours[SVG_COLOURS] = {
    {"#56B4E9", "black"}, {"#E69F00", "black"}, {"#009E73", "black"},
    {"#F0E442", "black"}, {"#D55E00", "black"}, {"#0072B2", "white"},
    {"#CC79A7", "black"}, {"#333333", "white"},
};

static const char head[] = "<?xml ";

static void __attribute__((noreturn)) refuse(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, path, why);
    exit(EXIT_FAILURE);
}

/* A file that is no picture was not meant. */
static void check_former(const char *path)
{
    FILE *file = file_open(path);
    char text[sizeof head] = "";
    size_t n;

    if (!file) /* a new one, a pipe or a device; or fopen() says why */
        return;
    n = fread(text, 1, strlen(head), file);
    fclose(file);
    if (n > 0 && strcmp(text, head) != 0)
        refuse(path, "the file exists, and is no picture");
}

FILE *svg_open(const char *path, int width, int height)
{
    FILE *file;

    check_former(path);
    file = fopen(path, "w");
    if (!file)
        refuse(path, strerror(errno));
    fprintf(file,
            "%sversion=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            head, width, height, width, height, width, height);
    return file;
}

int svg_width(int letters, int size)
{
    return (letters * size * 65 + 99) / 100; /* a digit of a wide font is 0.64
                                                of its size */
}

void svg_text(FILE *file, int x, int y, int size, const char *more,
              const char *format, ...)
{
    va_list args;

    fprintf(file, "<text x=\"%d\" y=\"%d\" font-size=\"%d\"%s%s>", x, y, size,
            *more ? " " : "", more);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fputs("</text>\n", file);
}

int svg_close(FILE *file, const char *path)
{
    bool bad;

    fputs("</svg>\n", file);
    bad = ferror(file);
    bad |= fclose(file) != 0;
    if (bad)
        fprintf(stderr, "%s: %s: cannot be written\n",
                program_invocation_short_name, path);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
