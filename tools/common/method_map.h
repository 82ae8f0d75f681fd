/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures that show which method is used where: a table with coloured
 * cells. */
#ifndef RCX_TOOLS_COMMON_METHOD_MAP_H
#define RCX_TOOLS_COMMON_METHOD_MAP_H

#include <stdbool.h>
#include <stddef.h>

enum { MAP_TITLE = 200, MAP_NAME = 24, MAP_METHOD = 128 };

struct method_cell {
    int method;  /* -1: none */
    bool dotted; /* legend_is says what a dot means */
};

struct method_map {
    char title[2][MAP_TITLE];
    const char *rows_are, *columns_are, *legend_is;
    int rows, columns, methods;
    char (*row_names)[MAP_NAME], (*column_names)[MAP_NAME];
    char (*method_names)[MAP_METHOD];
    struct method_cell *cells; /* by row and column */
};

/* The letter of a method in the picture. */
char method_map_letter(int method);
/* Print a size in the style of "8", "64K". */
void method_map_bytes(char name[MAP_NAME], size_t bytes);
/* Write the picture to a file. Returns the exit status. */
int method_map_svg(const struct method_map *m, const char *path);

#endif
