#!/usr/bin/env python3
"""score.py - compare werkbank-eval's BLEU, chrF and TER with the real sacreBLEU and multi-bleu.perl.

Usage: score.py WERKBANK-EVAL [FOLDER [MULTI-BLEU.PERL]]
FOLDER holds reference.txt and the outputs of systems (*.en-de.txt). Without it
only made-up text is compared: random lines full of marks, odd blanks, letters
of many scripts and entities, lines that mix Chinese, Japanese, Korean and English, with one to three references. Needs Python with
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

import numpy
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

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


def compare(what, got, metric, h, rs):
    """The score, its numbers, and the signature up to the version."""
    global worst, failures
    want = metric.corpus_score(h, rs)
    difference = abs(got["score"] - want.score)
    worst = max(worst, difference)
    same = difference <= 1e-9
    if hasattr(want, "counts") and "add-k" not in what:
        same &= got["counts"] == list(want.counts) and got["totals"] == list(want.totals)
        same &= got["hypothesis_length"] == want.sys_len and got["reference_length"] == want.ref_len
        same &= all(abs(a - b) <= 1e-9 for a, b in zip(got["precisions"], want.precisions))
        same &= abs(got["bp"] - want.bp) <= 1e-12
    end = "|version:"
    same &= got["sacrebleu_signature"].split(end)[0] == metric.get_signature().format().split(end)[0]
    if not same:
        failures += 1
        print("differs:", what, got, want, metric.get_signature())
    return want


def compare_sentences(what, program, command, metric, h, rs, hypothesis, references):
    """Each line of --sentence, to the digits that are printed."""
    global failures
    args = [program, command, "--sentence", "--width", "9"]
    for r in references:
        args += ["-r", r]
    got = subprocess.check_output(args + [hypothesis], text=True).split()
    want = ["%.9f" % metric.sentence_score(line, list(refs)).score for line, *refs in zip(h, *rs)]
    if got != want:
        failures += 1
        print("sentences differ:", what)


BLEU_CASES = [
    dict(tokenize=t, smooth_method=s, smooth_value=v, lowercase=low)
    for t in ("13a", "none", "intl", "char", "zh") for low in (False, True)
    for s, v in (("exp", None), ("floor", None), ("floor", 0.3), ("add-k", None), ("add-k", 2.5), ("none", None))
]
TER_OPTIONS = [("case_sensitive", "--cased"), ("normalized", "--ter-normalized"), ("no_punct", "--ter-no-punct"),
               ("asian_support", "--ter-asian-support")]
TER_CASES = [[bool(i >> k & 1) for k in range(4)] for i in range(16)]
CHRF_CASES = [
    dict(word_order=w, char_order=c, beta=b, lowercase=low)
    for w in (0, 1, 2) for c in (6, 3) for b in (2, 1) for low in (False, True)
]


def compare_all(program, hypothesis, references, bleu_cases, chrf_cases, ter_cases=TER_CASES):
    h, rs = read(hypothesis), [read(r) for r in references]
    for command, metric in (("bleu", BLEU(effective_order=True)), ("chrf", CHRF()), ("ter", TER())):
        compare_sentences(hypothesis + " " + command, program, command, metric, h, rs, hypothesis, references)
    for k in bleu_cases:
        options = ["--tokenizer", k["tokenize"], "--smoothing", k["smooth_method"]]
        options += ["--lowercase"] if k["lowercase"] else []
        options += ["--smooth-value", str(k["smooth_value"])] if k["smooth_value"] is not None else []
        compare("%s bleu %s" % (hypothesis, k), ours(program, "bleu", hypothesis, references, options),
                BLEU(force=True, **k), h, rs)
    for k in chrf_cases:
        options = ["--word-order", str(k["word_order"]), "--char-order", str(k["char_order"]), "--beta", str(k["beta"])]
        options += ["--lowercase"] if k["lowercase"] else []
        compare("%s chrf %s" % (hypothesis, k), ours(program, "chrf", hypothesis, references, options),
                CHRF(**k), h, rs)
    for flags in ter_cases:
        options = [option for (_, option), flag in zip(TER_OPTIONS, flags) if flag]
        got = ours(program, "ter", hypothesis, references, options)
        metric = TER(**{name: flag for (name, _), flag in zip(TER_OPTIONS, flags)})
        want = compare("%s ter %s" % (hypothesis, options), got, metric, h, rs)
        if got["edits"] != want.num_edits:
            print("differs:", hypothesis, options, "edits", got["edits"], want.num_edits)



ALPHABET = list("abcABCxyz019.,;:!?'\"()[]{}<>-_/\\@#$%&*+=|~^` ") + [
    "ä", "Ö", "ß", "ẞ", "é", "İ", "ı", "Σ", "ς", "σ", "ΟΔΟΣ", "Ж", "я", "Ǆ", "中", "文", "ｱ", "￥", "𝔄", "😀", "½", "²", "٣", "Ⅷ",
    "«", "»", "„", "“", "’", "…", "–", "—", "€", "°", "§", "¬", "´", "\u00a0", "\u0085", "\u2003", "\u3000", "\u202f",
    "\u200b", "\ufeff", "\u00ad", "\u0301", "\u0092", "\t", "\x1c", "\x0b", "\x7f",
    "&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;", "<skipped>", "1.000,50", "3-4", "x-y", " . ", ", ", " the ", " der ", " Haus ",
]


# Words of real-looking lines; the last ones lie at the borders of sacreBLEU's ranges of Chinese characters.
MIXED_WORDS = """
    你好 世界 中国 经济 发展 我们 的 是 在 了 不 人 有 一个 2024年 3月 百分之 5.5% 公司 “ ” 《 》 、 ， 。 ！ ？ ； ： …… —— （ ） 【 】 １２３ ＡＢＣ ％
    これ は 日本語 の テスト です 。 カタカナ ｶﾀｶﾅ ひらがな ー 「 」 『 』 ・ 東京 株式会社 ㈱ ㎏ 々 〆 ヶ ㍿ ① Ⅷ ★ ☂ ✓ ➀ →
    한국어 문장 입니다 . 서울 대학교 Ａ
    the a of GDP 's Anna's it's U.S. e.g. 1,000.5 3.14 10-20 x-y -5 .5 5. , . ! ? ; : " ( ) & &amp; &quot; %  COVID-19 iPhone https://a.b/c?d=1
    \u2000 \u2001 \u200b \u2028 \u2a6d \u2a6e \u2e7f \u2e80 \u2f80 \u2f81 \u2fa1 \u2fa2 \u303f \u3040 \u3400 \u4db5 \u4db6 \u4dbf \u4e00
    \u9fa5 \u9fbb \u9fbc \u9fff \uf900 \ufa2d \ufa2e \ufa6a \ufa6b \ufad9 \ufada \ufaff \ufe10 \ufe4f \ufe50 \uff00 \uffef \ufff0 \U00020000 \U0002f800 \U0002fa1d
    \u3f22 \u31ef \u31f0 \u33ff \u3300 \u31a0 \u31bf \u31c0 \u3100 \u312f \u3130 \u30fb \uff61 \uff65 \uff66 \u301f \u3020
""".split(" ")
MIXED_WORDS = [word.strip("\n") for word in MIXED_WORDS if word.strip("\n")]


def mixed_line(draw):
    words = [draw.choice(MIXED_WORDS) for _ in range(draw.randrange(0, 25))]
    return "".join(word + (" " if draw.random() < 0.4 else "") for word in words)


def made_up(folder, random_seed, n, mixed=False):
    draw = random.Random(random_seed)
    letters = MIXED_WORDS if mixed else ALPHABET
    base = [mixed_line(draw) if mixed else "".join(draw.choice(ALPHABET) for _ in range(draw.randrange(0, 40)))
            for _ in range(n)]

    def vary(line):
        return "".join(draw.choice(letters) if draw.random() < 0.15 else c for c in line)

    paths = []
    for name in ("hypothesis", "r0", "r1", "r2"):
        path = os.path.join(folder, "%s.%d" % (name, random_seed))
        with open(path, "w", encoding="utf-8", newline="\n") as f:
            f.writelines((vary(line) if draw.random() < 0.95 else "") + "\n" for line in base)
        paths.append(path)
    return paths


METRICS = [("bleu", [], BLEU(force=True)), ("chrf", [], CHRF()), ("chrf", ["--word-order", "2"], CHRF(word_order=2)),
           ("ter", [], TER())]


def say(what, same, got, want):
    global failures
    if not same:
        failures += 1
        print("differs:", what, got, want)


def in_double(metric, hypothesis, references, draws):
    """Mean and interval of NumPy's draws, summed without rounding."""
    rows = numpy.array(metric._extract_corpus_statistics(hypothesis, references), dtype=float)
    chosen = numpy.random.default_rng(12345).choice(len(rows), size=(draws, len(rows)))
    scores = numpy.sort([metric._compute_score_from_stats(rows[c].sum(0)).score for c in chosen])
    return scores.mean(), (scores[draws - 1 - draws // 40] - scores[draws // 40]) / 2


def compare_confidence(program, hypothesis, references):
    worst_single = worst_double = 0.0
    for command, options, metric in METRICS:
        got = ours(program, command, hypothesis, references, options + ["--confidence"])["confidence"]
        got = (got["mean"], got["interval"])
        h, rs = read(hypothesis), [read(r) for r in references]
        single = metric.corpus_score(h, rs, n_bootstrap=1000)
        worst_single = max(worst_single, abs(got[0] - float(single._mean)), abs(got[1] - float(single._ci)))
        double = in_double(metric, h, rs, 1000)
        worst_double = max(worst_double, abs(got[0] - double[0]), abs(got[1] - double[1]))
    say("%s confidence" % hypothesis, worst_single <= 5e-5 and worst_double <= 1e-9, worst_single, worst_double)
    return worst_single, worst_double


def compare_pairs(program, systems, references, tests=("bs", "ar")):
    """p-values of all systems against the first, by every metric; returns how many and both times."""
    n, mine, theirs = 0, 0.0, 0.0
    for test in tests:
        for command, options, metric in METRICS:
            args = [program, "compare", "--json", "--test", test, "--metric", command] + options
            for r in references:
                args += ["-r", r]
            start = time.perf_counter()
            got = json.loads(subprocess.check_output(args + systems))["systems"]
            mine += time.perf_counter() - start
            start = time.perf_counter()
            names = [("Baseline: " if i == 0 else "") + s for i, s in enumerate(systems)]
            want = PairedTest([(name, read(s)) for name, s in zip(names, systems)], {"x": metric},
                              [read(r) for r in references], test)()[1]
            theirs += time.perf_counter() - start
            want = next(v for k, v in want.items() if k != "System")
            for g, w in list(zip(got, want))[1:]:
                n += 1
                say("%s %s %s" % (g["system"], test, command), abs(g["p"] - w.p_value) < 1e-12 and
                    abs(g["score"] - w.score) < 1e-9, g, w)
    return n, mine, theirs


def compare_tokenised(program, perl, hypothesis, references):
    """multi-bleu.perl itself, on text that is tokenised by 13a; also with hyphens split before."""
    tokenise = BLEU().tokenizer
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, path in enumerate([hypothesis] + references):
            paths.append(os.path.join(folder, "plain%d" % i))
            with open(paths[-1], "w", encoding="utf-8", newline="\n") as f:
                f.writelines(tokenise(line) + "\n" for line in read(path))
            subprocess.check_call("perl -ple 's{(\\S)-(\\S)}{$1 ##AT##-##AT## $2}g' <%s >%s.split" % (paths[-1], paths[-1]),
                                  shell=True)
        for low in (False, True):
            for split in (False, True):
                end = ".split" if split else ""
                with open(paths[0] + end) as f:
                    want = subprocess.run(["perl", perl] + (["-lc"] if low else []) + [p + end for p in paths[1:]], stdin=f,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
                got = ours(program, "bleu", paths[0], paths[1:], ["--tokenizer", "multi-bleu"] +
                           (["--lowercase"] if low else []) + (["--split-compounds"] if split else []))
                line = "BLEU = %.2f, %s (BP=%.3f, ratio=%.3f, hyp_len=%d, ref_len=%d)\n" % (
                    got["score"], "/".join("%.1f" % p for p in got["precisions"]), got["bp"], got["ratio"],
                    got["hypothesis_length"], got["reference_length"])
                say("%s multi-bleu" % hypothesis, line == want, line, want)


def compare_doubt(program, systems, reference):
    worst = [0.0, 0.0]
    for path in systems:
        worst = [max(a, b) for a, b in zip(worst, compare_confidence(program, path, [reference]))]
    print("confidence: largest difference %.3g to single, %.3g to double precision" % tuple(worst))
    n, mine, theirs = compare_pairs(program, systems, [reference])
    for first, lines in ((4, 1000), (4, 100), (1, 30), (0, 7)):  # other baselines, fewer lines: p-values of all sizes
        with tempfile.TemporaryDirectory() as short:
            paths = []
            for path in systems[first:first + 1] + systems[:first] + systems[first + 1:] + [reference]:
                paths.append(os.path.join(short, os.path.basename(path)))
                with open(paths[-1], "w", encoding="utf-8", newline="\n") as f:
                    f.writelines(line + "\n" for line in read(path)[:lines])
            n += compare_pairs(program, paths[:-1], paths[-1:], ("bs",) if lines > 100 else ("bs", "ar"))[0]
    print("paired tests: %d p-values; sacrebleu %.1f s, werkbank %.1f s: %.1f times" % (n, theirs, mine, theirs / mine))


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            h, *rs = made_up(folder, seed, 60)
            compare_all(program, h, rs[:seed + 1], BLEU_CASES, CHRF_CASES)
        for seed in range(3, 11):
            h, *rs = made_up(folder, seed, 60, mixed=True)
            compare_all(program, h, rs[:seed % 3 + 1], [k for k in BLEU_CASES if k["smooth_method"] == "exp"], CHRF_CASES[:2])
        h, *rs = made_up(folder, 11, 5000, mixed=True)
        compare_all(program, h, rs[:1], [dict(BLEU_CASES[0], tokenize="zh", lowercase=low) for low in (False, True)], [], [])
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
        if len(sys.argv) > 3:
            for path in systems:
                compare_tokenised(program, sys.argv[3], path, [reference])
            compare_tokenised(program, sys.argv[3], systems[0], [reference, systems[1]])
        compare_doubt(program, systems, reference)
    print("largest difference %.3g, %d comparisons differ" % (worst, failures))
    return failures > 0


sys.exit(main())
