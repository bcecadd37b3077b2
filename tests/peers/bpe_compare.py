#!/usr/bin/env python3
"""bpe_compare.py - compare bpe-learn and bpe-apply with subword-nmt, byte for byte.

    PEER=/path/to/venv            a Python environment with subword-nmt 0.3.8
    $PEER/bin/python tests/peers/bpe_compare.py PROGRAM [--rounds N] [--seed S] [--merges N] [FILE...]

PROGRAM is werkbank-data. Without files: small texts drawn from alphabets full
of traps (white space that is no blank, ends of lines that are no LF,
backslashes, literal "</w>" and "@@", characters of 1 to 4 bytes). With files
(tokenised text): codes learned from all of them together, then applied to
each. Ends with status 1 at the first difference, and leaves both sides behind.
"""
import argparse
import codecs
import io
import os
import random
import subprocess
import sys
import tempfile

from subword_nmt import apply_bpe, learn_bpe

learn_bpe.tqdm = lambda x: x

ALPHABETS = [
    "ab",
    "ab c",
    "abcde fg",
    "aab \t",
    "a\\b.*( ",
    "ab \u00a0",
    "ab\u00a0\u3000c ",
    "ab \x85\u2028",
    "ab \x0b\x0c\x1c\x1f",
    "</w>a ",
    "@a b",
    "a\u00e4\u20ac\U0001f600 ",
    "xyz\u0301 e\u0308 \u200b",
    "a\rb ",
]


def draw_text(r):
    letters = r.choice(ALPHABETS)
    pieces = list(letters) + (["</w>", "@@ "] if r.random() < 0.2 else [])
    weights = [r.random() ** 2 + 0.01 for _ in pieces]
    lines = []
    for _ in range(r.choice([1, 3, 30, 200, 1000])):
        n = r.choice([0, 1, 2, 5, 20, 60])
        lines.append("".join(r.choices(pieces, weights, k=n)).rstrip("\r"))
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, "wb") as f:
        f.write(text.encode("utf-8"))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def peer_learn(paths, merges, frequency, out):
    text = b"".join(read(p) for p in paths)
    write(out + ".text", text.decode("utf-8"))
    err, sys.stderr = sys.stderr, io.StringIO()
    try:
        with codecs.open(out + ".text", encoding="utf-8") as i, codecs.open(out, "w", encoding="utf-8") as o:
            learn_bpe.learn_bpe(i, o, merges, frequency)
        return True
    except ValueError:          # max() of nothing: no pair at all
        return False
    finally:
        sys.stderr = err


def peer_apply(codes, path, out, vocabulary, threshold):
    limit = None
    if vocabulary:
        with codecs.open(vocabulary, encoding="utf-8") as f:
            limit = apply_bpe.read_vocabulary(f, threshold)
    with codecs.open(codes, encoding="utf-8") as c:
        bpe = apply_bpe.BPE(c, -1, "@@", limit, None)
    with codecs.open(path, encoding="utf-8") as i, codecs.open(out, "w", encoding="utf-8") as o:
        for line in i:
            o.write(bpe.process_line(line))


def run(args, out):
    with open(out, "wb") as f:
        done = subprocess.run(args, stdout=f, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def differ(what, *paths):
    print("DIFFERENT: %s: %s" % (what, " ".join(paths)))
    sys.exit(1)


def draw_vocabulary(r, path, out):
    """Pieces of an applied text with counts; some left out, so that splitting has to go on."""
    counts = {}
    for piece in read(path).decode("utf-8").replace("\r", " ").replace("\n", " ").split(" "):
        if piece and len(piece.splitlines()) == 1 and piece.splitlines()[0] == piece:
            counts[piece] = counts.get(piece, 0) + 1
    write(out, "".join("%s %d\n" % (p, c) for p, c in counts.items() if r.random() < 0.7))


def compare_apply(program, folder, codes, path, vocabulary=None, threshold=0):
    ours, theirs = os.path.join(folder, "ours.bpe"), os.path.join(folder, "theirs.bpe")
    args = [program, "bpe-apply", "-c", codes, path]
    if vocabulary:
        args[2:2] = ["--vocabulary", vocabulary, "--threshold", str(threshold)]
    status, message = run(args, ours)
    try:
        peer_apply(codes, path, theirs, vocabulary, threshold)
    except RecursionError:      # it splits "</w>" for ever when the text itself holds that mark; we stop
        if status:
            differ("bpe-apply (%d %s)" % (status, message.strip()), *args[2:])
        return
    if status or read(ours) != read(theirs):
        differ("bpe-apply (%d %s)" % (status, message.strip()), *args[2:], ours, theirs)


def compare(program, folder, paths, merges, frequency, r, old_version):
    ours, theirs = os.path.join(folder, "ours.codes"), os.path.join(folder, "theirs.codes")
    status, message = run([program, "bpe-learn", "-s", str(merges), "--min-frequency", str(frequency)] + paths, ours)
    if not peer_learn(paths, merges, frequency, theirs):
        if status != 65:
            differ("bpe-learn of text without pairs (%d %s)" % (status, message.strip()), *paths)
        return 0
    if status or read(ours) != read(theirs):
        differ("bpe-learn -s %d --min-frequency %d (%d %s)" % (merges, frequency, status, message.strip()),
               *paths, ours, theirs)
    n = read(ours).count(b"\n") - 1
    if not n:
        return 0                # subword-nmt cannot read codes without merges
    if old_version:
        text = read(ours).decode("utf-8").split("\n", 1)[1]
        write(ours, ("#version: 0.1\n" if r.random() < 0.5 else "") + old_codes(text, r))
    for path in paths:
        compare_apply(program, folder, ours, path)
        vocabulary = os.path.join(folder, "vocabulary")
        draw_vocabulary(r, os.path.join(folder, "ours.bpe"), vocabulary)
        for threshold in (0, 2, 10 ** 6):
            compare_apply(program, folder, ours, path, vocabulary, threshold)
    return n


def old_codes(text, r):
    """Merges of version 0.1: "</w>" is a symbol of its own, merged like any other; and some lines twice."""
    lines = []
    for line in text.rstrip("\n").split("\n"):
        left, right = line.split(" ")
        if right.endswith("</w>") and len(right) > 4:
            lines.append(right[:-4] + " </w>")
        lines.append(line)
        if r.random() < 0.1:
            lines.append(r.choice(lines))
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("files", nargs="*")
    p.add_argument("--rounds", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--merges", type=int, default=8000)
    a = p.parse_intermixed_args()
    folder = tempfile.mkdtemp(prefix="bpe-compare-")
    r = random.Random(a.seed)
    if a.files:
        n = compare(a.program, folder, a.files, a.merges, 2, r, False)
        print("same: %d merges from %d files, applied to each, also with a vocabulary" % (n, len(a.files)))
        return
    merges = 0
    for i in range(a.rounds):
        path = os.path.join(folder, "text")
        write(path, draw_text(r))
        merges += compare(a.program, folder, [path], r.choice([1, 5, 50, 500, 3000]), r.choice([1, 2, 2, 5]), r,
                          r.random() < 0.2)
    print("same: %d texts, %d merges" % (a.rounds, merges))


if __name__ == "__main__":
    main()
