#!/usr/bin/env python3
"""sentencepiece_compare.py - compare sp-learn, sp-apply and sp-undo with SentencePiece.

    PEER=/path/to/venv            a Python environment with sentencepiece 0.2.3
    $PEER/bin/python tests/peers/sentencepiece_compare.py PROGRAM [--type bpe|unigram] [--size N]
                                                          [--more FILE]... FILE...

PROGRAM is werkbank-data. Both sides learn a vocabulary of N entries (32768)
from all FILEs; the overlap is printed, and for unigram models the score of a
line, which may not be 1 % below SentencePiece's. SentencePiece's model is then read by
sp-apply and ours by SentencePiece: over each FILE and each --more FILE, pieces
and the text made of them again are compared line by line, and the first
differences shown. Then small models with SentencePiece's other settings
(byte_fallback, user-defined symbols, other treatments of blanks, …) over lines
full of traps. Unigram models are also compared by their five best splits, and by
samples of three words (chi-square). Times are processor seconds of learning and applying, in turn.
Ends with status 1 when fewer than 99.99 % of the lines are the same, or when
reading each other's models fails.
"""
import argparse
import collections
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

import sentencepiece as sp

IDS = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, minloglevel=2, model_type="bpe")
SETTINGS = {
    "defaults": {},
    "byte_fallback": dict(byte_fallback=True, character_coverage=0.999),
    "few characters": dict(character_coverage=0.99),
    "symbols": dict(user_defined_symbols=["<mask>", "foo bar", "New York", "the", "①", "▁in▁the"],
                    control_symbols=["<cls>", "<sep>"]),
    "identity": dict(normalization_rule_name="identity"),
    "case folded": dict(normalization_rule_name="nmt_nfkc_cf"),
    "no dummy prefix": dict(add_dummy_prefix=False),
    "blanks kept": dict(remove_extra_whitespaces=False),
    "blanks as pieces": dict(remove_extra_whitespaces=False, byte_fallback=True, split_digits=True,
                             allow_whitespace_only_pieces=True,
                             normalization_rule_name="identity", character_coverage=0.9999),
    "blanks as suffix": dict(treat_whitespace_as_suffix=True),
    "pieces over blanks": dict(split_by_whitespace=False),
    "symbols and bytes": dict(user_defined_symbols=["<mask>", "New York", "the"], byte_fallback=True,
                              character_coverage=0.999),
}


def read_lines(path):
    with open(path, encoding="utf-8", errors="replace", newline="\n") as f:
        lines = f.read().split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.writelines(line + "\n" for line in lines)


def ours(program, *arguments):
    """What the program writes, as lines, and the processor seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = done.stdout.decode("utf-8").split("\n")[:-1]
    return lines, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def same(name, a, b, shown=3):
    """The number of lines that differ; shows the first ones."""
    differences = [(i, x, y) for i, (x, y) in enumerate(zip(a, b), 1) if x != y]
    for i, x, y in differences[:shown]:
        print(f"  {name}: line {i}\n    SentencePiece {x!r}\n    Werkbank      {y!r}")
    return len(differences) + abs(len(a) - len(b))


def compare_model(program, model, path, lines):
    """Pieces and undone text of one model by both: lines that differ, seconds of each."""
    real = sp.SentencePieceProcessor(model_file=model)
    start = time.process_time()
    want = [" ".join(pieces) for pieces in real.encode(lines, out_type=str, num_threads=1)]
    seconds = time.process_time() - start
    got, our_seconds = ours(program, "sp-apply", "-m", model, path)
    bad = same("pieces", want, got)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n") as f:
        f.writelines(line + "\n" for line in want)
        f.flush()
        text, _ = ours(program, "sp-undo", "-m", model, f.name)
    bad += same("undone", [real.decode_pieces(line.split(" ")) for line in want], text)
    return bad, seconds, our_seconds


def line_score(model, lines):
    """The mean score of a line's best split, and its mean number of pieces."""
    real = sp.SentencePieceProcessor(model_file=model)
    known = range(len(IDS) + 1, real.get_piece_size())
    scores = [real.get_score(i) for i in range(real.get_piece_size())]
    scores[real.unk_id()] = min(scores[i] for i in known) - 10
    ids = real.encode(lines, out_type=int, num_threads=1)
    return (sum(scores[i] for line in ids for i in line) / len(lines),
            sum(map(len, ids)) / len(lines))


def compare_scores(real, mine, files):
    bad = False
    for path in files:
        lines = read_lines(path)
        (want, n_want), (got, n_got) = line_score(real, lines), line_score(mine, lines)
        bad = bad or got < want * 1.01
        print(f"{path}: score of a line {want:.2f} and {got:.2f}, pieces {n_want:.2f} and {n_got:.2f}")
    return bad


def compare_best(program, model, lines, folder, n=5):
    """Lines whose n best splits differ by more than the order of equal scores."""
    real = sp.SentencePieceProcessor(model_file=model)
    score = {real.id_to_piece(i): real.get_score(i) for i in range(real.get_piece_size())}
    path = os.path.join(folder, "best")
    bad = 0
    for line in lines:
        write_lines(path, [line])
        want = [" ".join(s) for s in real.nbest_encode(line, nbest_size=n, out_type=str)]
        got, _ = ours(program, "sp-apply", "-m", model, "--n-best", str(n), path)
        total = [[sum(score.get(p, -100) for p in s.split(" ")) for s in splits] for splits in (want, got)]
        if len(want) != len(got) or any(abs(x - y) > 1e-3 for x, y in zip(*total)):
            bad += same("best", want, got, 1)
    print(f"{n} best splits: {len(lines)} lines, {bad} different")
    return bad


def chi_square(a, b):
    """Of two samples of one size: how unlikely the statistic is, as that many standard deviations (Wilson and Hilferty 1931)."""
    common = [k for k in set(a) | set(b) if a[k] + b[k] >= 10]
    cells = [(a[k], b[k]) for k in common]
    rare = [sum(c.values()) - sum(c[k] for k in common) for c in (a, b)]
    cells += [rare] if sum(rare) else []
    degrees = len(cells) - 1
    statistic = sum((x - y) ** 2 / (x + y) for x, y in cells)
    spread = 2 / (9 * degrees) if degrees else 1
    return ((statistic / degrees) ** (1 / 3) - (1 - spread)) / math.sqrt(spread) if degrees else 0.0


def compare_samples(program, model, words, folder, n=20000):
    """Splits drawn by both, of words behind a number that makes our samples independent."""
    real = sp.SentencePieceProcessor(model_file=model)
    path = os.path.join(folder, "sampled")
    bad = 0
    for word in words:
        write_lines(path, [f"{i} {word}" for i in range(n)])
        for theta in (0.1, 0.5, 1.0):
            got, _ = ours(program, "sp-apply", "-m", model, "--unigram-sampling", str(theta), path)
            mine = collections.Counter(line[line.rindex("▁"):] for line in got)
            want = collections.Counter(
                " ".join(real.encode(word, out_type=str, enable_sampling=True, nbest_size=-1, alpha=theta))
                for _ in range(n))
            z = chi_square(want, mine)
            bad += z > 4
            print(f"samples of {word!r}, exponent {theta}: {len(want)} and {len(mine)} splits, "
                  f"{z:.2f} standard deviations")
    return bad


def compare_vocabularies(want, got):
    real, mine = ([line.split("\t")[0] for line in read_lines(path)] for path in (want, got))
    common = len(set(real) & set(mine))
    places = sum(a == b for a, b in zip(real, mine))
    print(f"vocabulary: {len(real)} and {len(mine)} entries, {common} in both, "
          f"{places} at the same place; files {'identical' if read_lines(want) == read_lines(got) else 'differ'}")
    for i, (a, b) in enumerate(zip(real, mine)):
        if a != b:
            print(f"  first difference: entry {i}, {a!r} and {b!r}")
            break


def traps(lines):
    r = random.Random(7)
    signs = [chr(c) for c in list(range(0x20, 0x7F)) * 3 + list(range(0xA0, 0x180))]
    signs += list("\u0300\u0301\u0308\u0323\u0340▁\u200b\u200d\ufeff\u3000¨\u1100\u1161\u11a8ㄱ가Ａ～①Ⅳ"
                  "\U0001f600中文あカ\u3099ｶﾞאا\u0654\U0001d400\x85\t\x01\x7f\u2028\u061c�ſÅΩﬁςᾂ\u0345")
    words = ["<mask>", "foo bar", "New York", "▁in▁the", " in the", "   ", "<s>", "</s>", "<unk>",
             "<cls>", "<0x41>"]
    made = ["".join(r.choice(signs) if r.random() < 0.7 else " " for _ in range(r.randint(0, 25)))
            for _ in range(10000)]
    for _ in range(4000):
        line = list(r.choice(lines))
        for _ in range(r.randint(1, 4)):
            line.insert(r.randrange(len(line) + 1), r.choice(signs + words))
        made.append("".join(line))
    for c in range(1, 0x110000, 1):
        if c not in (10, 13) and not 0xD800 <= c < 0xE000 and (c < 0x3400 or c % 61 == 0):
            made.append(f"a{chr(c)}b {chr(c)} {chr(c)}\u0301")
    return made


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("--type", choices=["bpe", "unigram"], default="bpe")
    p.add_argument("--size", type=int, default=32768)
    p.add_argument("--more", action="append", default=[])
    p.add_argument("files", nargs="+")
    a = p.parse_args()
    IDS["model_type"] = a.type
    segmentation = "sentencepiece" if a.type == "bpe" else "unigram"
    bad = lines_compared = wrong_splits = 0
    with tempfile.TemporaryDirectory() as folder:
        real, mine = (os.path.join(folder, name) for name in ("real", "mine"))
        learning, our_learning = [], []
        for _ in range(3 if a.type == "bpe" else 1):
            before = resource.getrusage(resource.RUSAGE_SELF)
            sp.SentencePieceTrainer.train(input=a.files, model_prefix=real, vocab_size=a.size,
                                          character_coverage=1.0, num_threads=2, **IDS)
            after = resource.getrusage(resource.RUSAGE_SELF)
            learning.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            _, seconds = ours(a.program, "sp-learn", "-q", "--segmentation", segmentation, "-s",
                              str(a.size), "-o", mine, *a.files)
            our_learning.append(seconds)
        print(f"learning: SentencePiece {min(learning):.2f} s, Werkbank {min(our_learning):.2f} s: "
              f"{min(learning) / min(our_learning):.2f} times as fast")
        compare_vocabularies(real + ".vocab", mine + ".vocab")
        if a.type == "unigram":
            wrong_splits += compare_scores(real + ".model", mine + ".model", a.files)
            compare_scores(real + ".model", mine + ".model", a.more)  # other text: only printed
            wrong_splits += compare_best(a.program, mine + ".model", read_lines(a.files[0])[:200], folder)
            wrong_splits += compare_samples(a.program, mine + ".model",
                                            ["internationalization", "Wiederaufbau", "lasses"], folder)
        spent = our_spent = 0
        for path in a.files + a.more:
            lines = read_lines(path)
            plain = os.path.join(folder, "plain")
            write_lines(plain, lines)
            for model in (real, mine):
                wrong, seconds, our_seconds = compare_model(a.program, model + ".model", plain, lines)
                print(f"{path}: {'their' if model == real else 'our'} model, {len(lines)} lines, "
                      f"{wrong} different; {seconds:.2f} s and {our_seconds:.2f} s")
                bad, lines_compared = bad + wrong, lines_compared + len(lines)
                spent, our_spent = spent + seconds, our_spent + our_seconds
        print(f"applying: SentencePiece {spent:.2f} s (without reading and writing), Werkbank "
              f"{our_spent:.2f} s (with): {spent / our_spent:.2f} times as fast")
        small = os.path.join(folder, "small")
        write_lines(small, read_lines(a.files[0])[:3000] + read_lines(a.files[-1])[:3000])
        odd = os.path.join(folder, "odd")
        lines = traps(read_lines(small))
        write_lines(odd, lines)
        for name, settings in SETTINGS.items():
            sp.SentencePieceTrainer.train(input=small, model_prefix=real, vocab_size=2500,
                                          **dict(IDS, **settings))
            wrong, _, _ = compare_model(a.program, real + ".model", odd, lines)
            print(f"traps, {name}: {len(lines)} lines, {wrong} different")
            bad, lines_compared = bad + wrong, lines_compared + len(lines)
    print(f"{lines_compared - bad} of {lines_compared} lines the same")
    return bad > lines_compared * 0.0001 or wrong_splits > 0


if __name__ == "__main__":
    sys.exit(main())
