#!/usr/bin/env python3
"""Compare werkbank-eval's BLEU, chrF and TER with the real sacreBLEU.

Usage: score.py WERKBANK-EVAL [FOLDER]
FOLDER holds reference.txt and the outputs of systems (*.en-de.txt). Without it
only made-up text is compared: random lines full of marks, odd blanks, letters
of many scripts and entities, with one to three references. Needs Python with
sacrebleu 2.x. Prints the largest difference and the ratio of speed; the exit
status says whether all was equal to 1e-9.
"""
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from sacrebleu.metrics import BLEU, CHRF, TER

worst = 0.0
failures = 0


def read(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return [line.rstrip() for line in f]


def ours(program, command, hypothesis, references, options):
    args = [program, command, "--json"] + options
    for r in references:
        args += ["-r", r]
    return json.loads(subprocess.check_output(args + [hypothesis]))


def compare(what, got, want):
    global worst, failures
    difference = abs(got["score"] - want.score)
    worst = max(worst, difference)
    same = difference <= 1e-9
    if hasattr(want, "counts") and "add-k" not in what:
        same &= got["counts"] == list(want.counts) and got["totals"] == list(want.totals)
        same &= got["hypothesis_length"] == want.sys_len and got["reference_length"] == want.ref_len
        same &= all(abs(a - b) <= 1e-9 for a, b in zip(got["precisions"], want.precisions))
        same &= abs(got["bp"] - want.bp) <= 1e-12
    if not same:
        failures += 1
        print("differs:", what, got, want)


BLEU_CASES = [
    dict(tokenize=t, smooth_method=s, smooth_value=v, lowercase=low)
    for t in ("13a", "none", "intl", "char") for low in (False, True)
    for s, v in (("exp", None), ("floor", None), ("floor", 0.3), ("add-k", None), ("add-k", 2.5), ("none", None))
]
CHRF_CASES = [
    dict(word_order=w, char_order=c, beta=b, lowercase=low)
    for w in (0, 1, 2) for c in (6, 3) for b in (2, 1) for low in (False, True)
]


def compare_all(program, hypothesis, references, bleu_cases, chrf_cases):
    h, rs = read(hypothesis), [read(r) for r in references]
    for k in bleu_cases:
        options = ["--tokenizer", k["tokenize"], "--smoothing", k["smooth_method"]]
        options += ["--lowercase"] if k["lowercase"] else []
        options += ["--smooth-value", str(k["smooth_value"])] if k["smooth_value"] is not None else []
        compare("%s bleu %s" % (hypothesis, k), ours(program, "bleu", hypothesis, references, options),
                BLEU(force=True, **k).corpus_score(h, rs))
    for k in chrf_cases:
        options = ["--word-order", str(k["word_order"]), "--char-order", str(k["char_order"]), "--beta", str(k["beta"])]
        options += ["--lowercase"] if k["lowercase"] else []
        compare("%s chrf %s" % (hypothesis, k), ours(program, "chrf", hypothesis, references, options),
                CHRF(**k).corpus_score(h, rs))
    for cased in (False, True):
        want = TER(case_sensitive=cased).corpus_score(h, rs)
        got = ours(program, "ter", hypothesis, references, ["--cased"] if cased else [])
        compare("%s ter %s" % (hypothesis, cased), got, want)
        if got["edits"] != want.num_edits:
            print("differs:", hypothesis, "edits", got["edits"], want.num_edits)


ALPHABET = list("abcABCxyz019.,;:!?'\"()[]{}<>-_/\\@#$%&*+=|~^` ") + [
    "ä", "Ö", "ß", "ẞ", "é", "İ", "ı", "Σ", "ς", "σ", "ΟΔΟΣ", "Ж", "я", "Ǆ", "中", "文", "ｱ", "￥", "𝔄", "😀", "½", "²", "٣", "Ⅷ",
    "«", "»", "„", "“", "’", "…", "–", "—", "€", "°", "§", "¬", "´", "\u00a0", "\u0085", "\u2003", "\u3000", "\u202f",
    "\u200b", "\ufeff", "\u00ad", "\u0301", "\u0092", "\t", "\x1c", "\x0b", "\x7f",
    "&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;", "<skipped>", "1.000,50", "3-4", "x-y", " . ", ", ", " the ", " der ", " Haus ",
]


def made_up(folder, random_seed, n):
    draw = random.Random(random_seed)
    base = ["".join(draw.choice(ALPHABET) for _ in range(draw.randrange(0, 40))) for _ in range(n)]

    def vary(line):
        return "".join(draw.choice(ALPHABET) if draw.random() < 0.15 else c for c in line)

    paths = []
    for name in ("hypothesis", "r0", "r1", "r2"):
        path = os.path.join(folder, "%s.%d" % (name, random_seed))
        with open(path, "w", encoding="utf-8", newline="\n") as f:
            f.writelines((vary(line) if draw.random() < 0.95 else "") + "\n" for line in base)
        paths.append(path)
    return paths


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            h, *rs = made_up(folder, seed, 60)
            compare_all(program, h, rs[:seed + 1], BLEU_CASES, CHRF_CASES)
    if len(sys.argv) > 2:
        reference = os.path.join(sys.argv[2], "reference.txt")
        systems = sorted(glob.glob(os.path.join(sys.argv[2], "*.en-de.txt")))
        for path in systems:
            compare_all(program, path, [reference], [dict(BLEU_CASES[0], tokenize=t) for t in ("13a", "intl")],
                        [dict(word_order=w, char_order=6, beta=2, lowercase=False) for w in (0, 2)])
        h, r = read(systems[0]), read(reference)
        compare_all(program, systems[0], [reference, systems[1]], BLEU_CASES[:1], CHRF_CASES[:1])
        for name, metric, command, options in (("BLEU", BLEU(), "bleu", []), ("chrF2", CHRF(), "chrf", []),
                                               ("chrF2++", CHRF(word_order=2), "chrf", ["--word-order", "2"])):
            start = time.perf_counter()
            metric.corpus_score(h, [r])
            theirs = time.perf_counter() - start
            start = time.perf_counter()
            for _ in range(5):
                ours(program, command, systems[0], [reference], options)
            mine = (time.perf_counter() - start) / 5
            print("%s: sacrebleu %.3f s (without its start), werkbank %.3f s (whole program): %.1f times" %
                  (name, theirs, mine, theirs / mine))
    print("largest difference %.3g, %d comparisons differ" % (worst, failures))
    return failures > 0


sys.exit(main())
