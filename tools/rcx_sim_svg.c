/* SPDX-License-Identifier: BSD-3-Clause */
#include "rcx_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

FILE *sim_svg_open(const char *path, int width, int height)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        fprintf(stderr, "rcx_sim: %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height);
    return file;
}

int sim_svg_close(FILE *file, const char *path)
{
    bool bad;

    fputs("</svg>\n", file);
    bad = ferror(file);
    bad |= fclose(file) != 0;
    if (bad)
        fprintf(stderr, "rcx_sim: %s: cannot be written\n", path);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
