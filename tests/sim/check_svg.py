#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a picture of rcx_sim can be read.

usage: check_svg.py draw|map FILE

It scales, no text leaves it or lies upon another one, it has a legend that
names every colour, and a map's colours are far apart, also for those who do
not see all of them. How wide a text is, nobody knows before it is drawn: here
every letter is as wide as a digit of DejaVu Sans, which is a wide font.
"""
import itertools
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
DIGIT, BOLD_DIGIT = 0.64, 0.70  # of the font's size
FAR, FAR_IN_PART = 25, 10       # CIE 1976; 2.3 is just noticeable
# Linear red, green and blue as seen without one kind of cone: Machado,
# Oliveira, Fernandes 2009, severity 1.
BLIND = {
    "protan": ((0.152286, 1.052583, -0.204868),
               (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968),
               (0.280085, 0.672501, 0.047413),
               (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779),
               (-0.078411, 0.930809, 0.147602),
               (0.004733, 0.691367, 0.303900)),
}


def box_of(text):
    """left, top, right, bottom"""
    size = float(text.get("font-size"))
    digit = BOLD_DIGIT if text.get("font-weight") == "bold" else DIGIT
    width = len(text.text) * size * digit
    left = float(text.get("x")) - width * {
        None: 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
    base = float(text.get("y"))
    return left, base - 0.76 * size, left + width, base + 0.24 * size


def collide(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def check_texts(root):
    view = [float(word) for word in root.get("viewBox").split()]
    assert view[:2] == [0, 0], "viewBox begins elsewhere"
    texts = [(text.text, box_of(text)) for text in root.iter(SVG + "text")]
    assert texts, "no text"
    for words, (left, top, right, bottom) in texts:
        assert left >= 0 and top >= 0 and right <= view[2] \
            and bottom <= view[3], f"{words!r} leaves the picture"
    for (words, box), (others, other) in itertools.combinations(texts, 2):
        assert not collide(box, other), f"{words!r} lies on {others!r}"


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in parts]


def times(matrix, vector):
    return [sum(m * v for m, v in zip(row, vector)) for row in matrix]


def lab(rgb):
    white = (0.95047, 1, 1.08883)
    xyz = times(((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722),
                 (0.0193, 0.1192, 0.9505)), [min(max(c, 0), 1) for c in rgb])
    x, y, z = (c ** (1 / 3) if c > 216 / 24389 else (24389 / 27 * c + 16) / 116
               for c in (c / w for c, w in zip(xyz, white)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(lab(a), lab(b))) ** 0.5


def check_colours(colours):
    for a, b in itertools.combinations(sorted(colours), 2):
        full = distance(linear(a), linear(b))
        assert full >= FAR, f"{a} and {b} are {full:.0f} apart"
        for name, matrix in BLIND.items():
            part = distance(times(matrix, linear(a)), times(matrix, linear(b)))
            assert part >= FAR_IN_PART, \
                f"{a} and {b} are {part:.0f} apart for the {name}"


def looks(root):
    """What cells look like: their place, with all that is painted there."""
    cells = {}
    for rect in root.iter(SVG + "rect"):
        place = tuple(rect.get(k) for k in ("x", "y", "width", "height"))
        if place[0] is not None:
            cells.setdefault(place, []).append(rect.get("fill"))
    return {tuple(fills) for fills in cells.values()}


def check_map(root, legend):
    keys = looks(legend)
    assert looks(root) == keys, "the legend has other colours than the map"
    assert len(keys) == len(list(legend.iter(SVG + "rect"))) - sum(
        len(fills) > 1 for fills in keys), "two methods look alike"
    check_colours({fills[0] for fills in keys})
    words = [text.text for text in root.iter(SVG + "text")]
    assert "ranks" in words and any("bytes" in w for w in words), "no units"


def check_draw(root, legend):
    def strokes(of):
        return {line.get("stroke") for line in of.iter(SVG + "line")
                if line.get("marker-end")}
    assert strokes(root) <= strokes(legend), "an arrow without a key"


def main(kind, path):
    root = tree.parse(path).getroot()
    try:
        assert root.get("viewBox"), "no viewBox"
        legend = [g for g in root.iter(SVG + "g") if g.get("id") == "legend"]
        assert len(legend) == 1, "no legend"
        check_texts(root)
        {"map": check_map, "draw": check_draw}[kind](root, legend[0])
    except AssertionError as error:
        print(f"# {path}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
