# SPDX-License-Identifier: BSD-3-Clause
"""Tables and CSV files of measured times, for bench_peers and
bench_elsewhere.

A time is of one library in one setting, at a size, in a round. A library's time
at a size is that of its best setting.
"""
import csv
import statistics

COLUMNS = ["p", "coll", "bytes", "library", "setting", "round", "seconds"]


class Times:
    """The times of a library in one setting, for a collective at p ranks."""

    def __init__(self, setting=""):
        self.setting = setting
        self.seconds = {}       # by bytes: seconds by round

    def add(self, size, number, seconds):
        self.seconds.setdefault(size, {})[number] = seconds

    def of(self, size, function):
        found = self.seconds.get(size)
        return function(found.values()) if found else None


def fastest(variants, size, function):
    """Return time and setting of the best of a library's settings at a size;
    function is median or min."""
    found = [(v.of(size, function), v) for v in variants if v.seconds.get(size)]
    return min(found, key=lambda pair: pair[0], default=(None, None))


def in_turns(table, size):
    """Return the median of the rounds' ratios RCX / peer, for the
    fastest peer, which has the highest one."""
    def rounds(variants):
        best = fastest(variants, size, statistics.median)[1]
        return best.seconds[size] if best else {}

    ours = rounds(table.libraries["rcx"])
    ratios = []
    for name in table.peers:
        theirs = rounds(table.libraries[name])
        both = [ours[n] / theirs[n] for n in ours if n in theirs]
        if both:
            ratios.append(statistics.median(both))
    return max(ratios, default=None)


def micro(seconds):
    """Format a time as microseconds with three digits."""
    if seconds is None:
        return "-"
    us = seconds * 1e6
    return f"{us:.0f}" if us >= 100 else f"{us:.3g}"


def ratio(ours, theirs):
    if ours is None or theirs is None:
        return "-"
    value = ours / theirs
    if value >= 10:
        return f"{value:.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


class Table:
    """The times of a collective at p ranks. libraries: lists of Times by name,
    "rcx" first; titles: of all of them; peers: names of those that RCX is
    compared with."""

    def __init__(self, headline, sizes, libraries, titles, peers):
        self.headline, self.sizes, self.libraries = headline, sizes, libraries
        self.titles = [titles[name] for name in libraries]
        self.peers = [name for name in libraries if name in peers]

    def rows(self, function):
        """Yield by size: times in the order of libraries, ratios to each other
        library and to the best peer. RCX memory has its ratio to the limit."""
        for size in self.sizes:
            times = {name: fastest(variants, size, function)[0]
                     for name, variants in self.libraries.items()}
            peers = [times[name] for name in self.peers if times[name]]
            ratios = [ratio(times["rcx-memory"], times.get("limit"))
                      if name == "rcx-memory" else ratio(times["rcx"], times[name])
                      for name in self.libraries if name != "rcx"]
            yield (size, list(times.values()), ratios,
                   ratio(times["rcx"], min(peers, default=None)))

    def best_peer(self, size):
        """Return name and setting of the fastest peer at a size."""
        found = [(*fastest(self.libraries[name], size, statistics.median), name)
                 for name in self.peers]
        found = [(time, name, variant.setting) for time, variant, name in found
                 if variant]
        _, name, setting = min(found, default=(None, "-", ""))
        return f"{name} {setting}".strip()


def print_grid(grid):
    widths = [max(map(len, column)) for column in zip(*grid)]
    for line in grid:
        print("  ".join(word.rjust(width)
                        for word, width in zip(line, widths)))


def print_text(table):
    titles = table.titles
    for what, function in (("median", statistics.median), ("least", min)):
        grid = [["bytes"] + titles +
                ["RCX memory / limit" if t == "RCX memory" else "RCX / " + t
                 for t in titles[1:]] + ["RCX / best"]]
        if what == "median":
            grid[0] += ["in turns", "best peer"]
        for size, times, ratios, to_best in table.rows(function):
            grid.append([str(size)] + [micro(t) for t in times] + ratios +
                        [to_best])
            if what == "median":
                grid[-1] += [ratio(in_turns(table, size), 1),
                             table.best_peer(size)]
        print("\n" + table.headline.replace("median", what))
        print_grid(grid)


def print_markdown(table):
    print(f"\n{table.headline}. In brackets RCX / peer; below 1 "
          "RCX is faster; of RCX memory, to the limit. In turns: the median of the rounds' ratios. The last "
          "column is of the least times.\n")
    print("| bytes | " + " | ".join(table.titles) +
          " | RCX / best peer | the same, in turns | the same, least |")
    print("| ---: " * (len(table.titles) + 4) + "|")
    least = table.rows(min)
    for row in table.rows(statistics.median):
        size, times, ratios, to_best = row
        cells = [micro(times[0])]
        cells += [f"{micro(t)} ({r})" if t is not None else "-"
                  for t, r in zip(times[1:], ratios)]
        print(f"| {size} | " + " | ".join(cells) + f" | {to_best} | "
              f"{ratio(in_turns(table, size), 1)} | {next(least)[3]} |")


def write_csv(path, rows, comment, more=()):
    """Write rows of COLUMNS, and of more columns, below lines of a comment."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        for line in comment.splitlines():
            file.write(f"# {line}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, *more])
        writer.writerows(rows)


def read_csv(path):
    """Return comment lines, and by (p, collective) lists of Times by library.
    Raises ValueError if it is not such a file."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = file.read().splitlines()
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    reader = csv.DictReader(line for line in lines if line[:1] not in ("#", ""))
    if reader.fieldnames != COLUMNS:
        raise ValueError(f"{path} has other columns than {','.join(COLUMNS)}")
    tables = {}
    for row in reader:
        if None in row.values() or None in row:
            raise ValueError(f"{path}: line {reader.line_num} is cut")
        library = tables.setdefault((int(row["p"]), row["coll"]), {}).setdefault(
            row["library"], {})
        library.setdefault(row["setting"], Times(row["setting"])).add(
            int(row["bytes"]), int(row["round"]), float(row["seconds"]))
    return comments, {key: {name: list(settings.values())
                            for name, settings in libraries.items()}
                      for key, libraries in tables.items()}
