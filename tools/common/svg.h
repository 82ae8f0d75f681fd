/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures. */
#ifndef RCX_TOOLS_COMMON_SVG_H
#define RCX_TOOLS_COMMON_SVG_H

#include <stdio.h>

enum { SVG_COLOURS = 8 };
struct svg_colour {
    const char *fill, *text; /* the latter upon the former */
};
extern const struct svg_colour svg_colours[SVG_COLOURS];

/* Exits where the file cannot be written. */
FILE *svg_open(const char *path, int width, int height);
/* The most that so many letters take in a font of that size. */
int svg_width(int letters, int size);
/* more: further attributes; it says nothing that XML would read. */
__attribute__((format(printf, 6, 7))) void svg_text(FILE *file, int x, int y,
                                                    int size, const char *more,
                                                    const char *format, ...);
/* The exit status. */
int svg_close(FILE *file, const char *path);

#endif
