/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers to write SVG files. */
#ifndef RCX_TOOLS_COMMON_SVG_H
#define RCX_TOOLS_COMMON_SVG_H

#include <stdio.h>

enum { SVG_COLOURS = 8 };
struct svg_colour {
    const char *fill, *text; /* text: the colour of text upon fill */
};
extern const struct svg_colour svg_colours[SVG_COLOURS];

/* Open a file and begin the picture. Exits if the file cannot be opened, or is
 * there and is no picture. */
FILE *svg_open(const char *path, int width, int height);
/* Upper bound of the width of a text with that many letters. */
int svg_width(int letters, int size);
/* more: further attributes. The text is not escaped, so it must not contain
 * special characters of XML. */
__attribute__((format(printf, 6, 7))) void svg_text(FILE *file, int x, int y,
                                                    int size, const char *more,
                                                    const char *format, ...);
/* End the picture and close the file. Returns the exit status. */
int svg_close(FILE *file, const char *path);

#endif
