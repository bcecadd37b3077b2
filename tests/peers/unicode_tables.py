#!/usr/bin/env python3
"""unicode_tables.py - print eval/metrics/unicode.def: character classes and lower case as sacreBLEU sees them.

sacreBLEU takes classes from the regex module and lower case from Python, so
the tables are asked of those two. Usage: unicode_tables.py >eval/metrics/unicode.def
"""
import unicodedata

import regex

SURROGATES = range(0xD800, 0xE000)
POINTS = [c for c in range(0x80, 0x110000) if c not in SURROGATES]


def ranges(points):
    out = []
    for c in points:
        if out and c == out[-1][1] + 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def lower_ranges():
    out = []
    for c in POINTS:
        low = chr(c).lower()
        if len(low) != 1 or low == chr(c):
            continue
        delta = ord(low) - c
        last = out[-1] if out else None
        if last and last[3] == delta and (c - last[1] == last[2] or (last[0] == last[1] and c - last[1] == 2)):
            last[2], last[1] = c - last[1], c
        else:
            out.append([c, c, 1, delta])
    return out


def write(rows, per_line):
    for i in range(0, len(rows), per_line):
        print(" ".join(rows[i:i + per_line]))


def final_after(text):
    """Does a capital sigma behind this text become a final one?"""
    return (text + "\u03a3").lower()[-1] == "\u03c2"


print("""/*
 * unicode.def - character classes and lower case above U+007F, written by
 * tests/peers/unicode_tables.py; facts of Unicode, not to be edited.
 *
 * CLASS(class, first, last): P punctuation, S symbols, N numbers, ranges rising
 * LOWER(first, last, stride, delta): first, first + stride, … last + delta is the lower-case letter
 * CASED(kind, first, last): kind 1 letters that have case, 2 marks that do not part a word from its letters""")
print(" * Classes as in the regex module %s, letters as in Unicode %s.\n */" % (regex.__version__, unicodedata.unidata_version))
print("#ifdef CLASS")
rows = []
for name in "PSN":
    pattern = regex.compile(r"\p{%s}" % name)
    rows += [(a, b, name) for a, b in ranges([c for c in POINTS if pattern.match(chr(c))])]
write(["CLASS(%s,0x%X,0x%X)" % (n, a, b) for a, b, n in sorted(rows)], 4)
print("#endif\n#ifdef LOWER")
write(["LOWER(0x%X,0x%X,%d,%d)" % tuple(r) for r in lower_ranges()], 4)
print("#endif\n#ifdef CASED")
ALL = list(range(1, 0x80)) + POINTS
cased = [c for c in ALL if final_after(chr(c))]
known = set(cased)
ignorable = [c for c in ALL if c not in known and final_after("a" + chr(c))]
rows = [(a, b, 1) for a, b in ranges(cased)] + [(a, b, 2) for a, b in ranges(ignorable)]
write(["CASED(%d,0x%X,0x%X)" % (k, a, b) for a, b, k in sorted(rows)], 4)
print("#endif")
