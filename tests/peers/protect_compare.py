#!/usr/bin/env python3
"""protect_compare.py - compare --protect with Moses, subword-nmt and SentencePiece.

    PEER=/path/to/venv            a Python environment with subword-nmt 0.3.8 and sentencepiece 0.2
    $PEER/bin/python tests/peers/protect_compare.py PROGRAM FILE.en FILE.de [MOSES]

PROGRAM is werkbank-data, MOSES the folder scripts/ of Moses (tokenizer/, share/). Protected symbols
are put into lines of both files: at the ends, next to punctuation, twice in a row, inside words.

    tokenize --protect --no-escape   tokenizer.perl -protected -no-escape
    bpe-apply --protect              subword-nmt apply_bpe with glossaries
    sp-apply, sp-undo, sp-learn      SentencePiece with user_defined_symbols: a model of theirs
                                     read by us, and one of ours read by them

Moses and subword-nmt search the symbols one after the other; werkbank takes the longest symbol at each
place. So no symbol here is a part of another one; tests/data/t_protect.c has those. Moses escapes its
protected symbols, too, which makes them useless: hence -no-escape. perl -CD reads its patterns as UTF-8. Ends with status 1 at a difference.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

import sentencepiece as sp
from subword_nmt import apply_bpe

SYMBOLS = ["<2de>", "<2fr>", "<BT>", "<num>", "__URL__", "<|im|>", "[X.*]", "(a+b)?", "$^{2}", "\\d+", "ЁЖ",
           "中文", "&amp;x", "%s", "-LRB-", "#;x", "\"q'"]


def symbol_lines(r, lines):
    """Every line with some symbols."""
    out = []
    for line in lines:
        words = line.split(" ")
        for _ in range(r.choice([1, 1, 2, 5])):
            s = r.choice(SYMBOLS)
            at = r.choice([0, len(words), r.randrange(len(words) + 1)])
            kind = r.randrange(4)
            if kind == 0:
                words.insert(at, s)
            elif kind == 1:
                words.insert(at, s + r.choice(SYMBOLS))
            else:
                i = min(at, len(words) - 1)
                k = r.choice([0, len(words[i]), r.randrange(len(words[i]) + 1)])
                words[i] = words[i][:k] + s + words[i][k:]
        out.append(" ".join(words))
    return out


def unambiguous(lines):
    """Lines in which the text around symbols, or two symbols, do not spell another symbol."""
    one = re.compile("|".join(map(re.escape, SYMBOLS)))
    return [l for l in lines
            if len(one.findall(l)) == sum(len(re.findall("(?=%s)" % re.escape(s), l)) for s in SYMBOLS)]


def write(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.writelines(line + "\n" for line in lines)


def run(*command, stdin=None):
    done = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(command), done.stderr.decode("utf-8", "replace")))
    return done.stdout.decode("utf-8").split("\n")[:-1]


def protect():
    return [word for s in SYMBOLS for word in ("--protect", s)]


def differences(what, want, got):
    pairs = [(a, b) for a, b in zip(want, got) if a != b]
    for a, b in pairs[:3]:
        print("  peer     %r\n  Werkbank %r" % (a, b))
    n = len(pairs) + abs(len(want) - len(got))
    print("%s: %d lines, %d different" % (what, len(want), n))
    return n


def compare_moses(program, moses, language, path, folder):
    patterns = os.path.join(folder, "patterns")
    write(patterns, ["".join("\\" + c if c in "\\^$.|?*+()[]{}/" else c for c in s) for s in SYMBOLS])
    bad = 0
    for ours, theirs in ([], []), (["--aggressive"], ["-a"]):
        with open(path, "rb") as f:
            want = run("perl", "-CD", moses + "/tokenizer/tokenizer.perl", "-q", "-no-escape", "-protected", patterns,
                       "-l", language, *theirs, stdin=f)
        got = run(program, "tokenize", "--no-escape", "-l", language, *ours, *protect(), path)
        bad += differences("tokenize -l %s %s" % (language, " ".join(ours)), want, got)
    return bad


def compare_bpe(program, path, lines, folder):
    codes = os.path.join(folder, "codes")
    run(program, "bpe-learn", "-q", "-s", "2000", "-o", codes, *protect(), path)
    with open(codes, encoding="utf-8") as f:
        bpe = apply_bpe.BPE(f, glossaries=[re.escape(s) for s in SYMBOLS])
    want = [bpe.process_line(line) for line in lines]
    got = run(program, "bpe-apply", "-c", codes, *protect(), path)
    bad = differences("bpe-apply", want, got)
    write(codes + ".pieces", got)
    return bad + differences("bpe-undo", lines, run(program, "bpe-undo", codes + ".pieces"))


def compare_model(program, name, model, path, lines):
    real = sp.SentencePieceProcessor(model_file=model)
    want = [" ".join(pieces) for pieces in real.encode(lines, out_type=str)]
    bad = differences("sp-apply, %s model" % name, want, run(program, "sp-apply", "-m", model, path))
    write(path + ".pieces", want)
    undone = [real.decode_pieces(line.split(" ")) for line in want]
    return bad + differences("sp-undo, %s model" % name, undone,
                             run(program, "sp-undo", "-m", model, path + ".pieces"))


def compare_sentencepiece(program, path, lines, folder):
    real, mine = (os.path.join(folder, name) for name in ("real", "mine"))
    sp.SentencePieceTrainer.train(input=path, model_prefix=real, vocab_size=3000, character_coverage=1.0,
                                  pad_id=0, eos_id=1, bos_id=2, unk_id=3, minloglevel=2, model_type="bpe",
                                  user_defined_symbols=SYMBOLS)
    run(program, "sp-learn", "-q", "-s", "3000", "-o", mine, *protect(), path)
    bad = 0
    for name, model in ("their", real), ("our", mine):
        bad += compare_model(program, name, model + ".model", path, lines)
    vocabularies = []
    for prefix in real, mine:
        with open(prefix + ".vocab", encoding="utf-8") as f:
            vocabularies.append([line.split("\t")[0] for line in f])
    common = len(set(vocabularies[0]) & set(vocabularies[1]))
    first = vocabularies[0][:4 + len(SYMBOLS)] == vocabularies[1][:4 + len(SYMBOLS)]
    print("sp-learn: %d and %d pieces, %d in both; the first ones %s" %
          (len(vocabularies[0]), len(vocabularies[1]), common, "agree" if first else "DIFFER"))
    return bad + (not first) + (common < 0.99 * len(vocabularies[0]))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, moses = sys.argv[1], sys.argv[4] if len(sys.argv) > 4 else None
    r = random.Random(34)
    bad = 0
    for language, name in ("en", sys.argv[2]), ("de", sys.argv[3]):
        with open(name, encoding="utf-8") as f, tempfile.TemporaryDirectory() as folder:
            lines = unambiguous(symbol_lines(r, [" ".join(line.split()) for line in f if line.strip()]))
            path = os.path.join(folder, "text")
            write(path, lines)
            if moses:
                bad += compare_moses(program, moses, language, path, folder)
            bad += compare_bpe(program, path, lines, folder)
            bad += compare_sentencepiece(program, path, lines, folder)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
