/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of which method is taken where: a table whose cells are coloured. */
#ifndef RCX_TOOLS_COMMON_METHOD_MAP_H
#define RCX_TOOLS_COMMON_METHOD_MAP_H

#include <stdbool.h>
#include <stddef.h>

enum { MAP_TITLE = 200, MAP_NAME = 24, MAP_METHOD = 128 };

struct method_cell {
    int method;  /* -1: none */
    bool dotted; /* what legend_is says of dots */
};

struct method_map {
    char title[2][MAP_TITLE];
    const char *rows_are, *columns_are, *legend_is;
    int rows, columns, methods;
    char (*row_names)[MAP_NAME], (*column_names)[MAP_NAME];
    char (*method_names)[MAP_METHOD];
    struct method_cell *cells; /* by row and column */
};

/* What a method is called in the picture. */
char method_map_letter(int method);
/* "8", "64K" */
void method_map_bytes(char name[MAP_NAME], size_t bytes);
/* The exit status. */
int method_map_svg(const struct method_map *m, const char *path);

#endif
