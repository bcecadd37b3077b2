#!/usr/bin/env python3
"""score_compare.py - compare werkbank score with transformers and Marian's scorer on imported models.

Usage: score_compare.py BUILD GOLDEN PYMARIAN [--write]

BUILD is the folder in which Werkbank was built, GOLDEN tests/golden/import, PYMARIAN the program pymarian (1.12; of
another Python, if need be). The models GOLDEN/marianmt and GOLDEN/marian are imported; random lines are pairs. Compared
are the tokens, the log-probability of each token, and the sums; --normalize of Marian is --normalization tokens.
--write: writes the pairs with the log-probabilities of both programs to GOLDEN/scores.tsv, for tests/eval/score.sh:
model, source, target, log-probabilities. Needs Python with torch, transformers and sentencepiece.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
from sentencepiece import SentencePieceProcessor
from transformers import MarianMTModel, MarianTokenizer

import import_peer as peer
from import_peer import say

PAIRS = 24


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)
    return path


def our_scores(build, model, files, options=()):
    done = subprocess.run([os.path.join(build, "werkbank"), "score", *files, "-m", model, "--precision", "fp32", *options],
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@torch.no_grad()
def transformers_scores(folder, sources, targets):
    """Lists of log-probabilities; targets are lists of pieces with </s>."""
    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)
    number, out = json.load(open(os.path.join(folder, "vocab.json"), encoding="utf-8")), []
    for source, pieces in zip(sources, targets, strict=True):
        ids = [number.get(piece, number["<unk>"]) for piece in pieces]
        read = torch.tensor([[model.config.decoder_start_token_id] + ids[:-1]])
        logits = model(input_ids=tokenizer(source, return_tensors="pt")["input_ids"], decoder_input_ids=read).logits[0]
        out.append(logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0].tolist())
    return out


def marian_lines(a, sources, targets, scratch, *options):
    """Marian scores pieces, which are given."""
    files = [write_lines(os.path.join(scratch, "m" + str(i)), x) for i, x in enumerate((sources, targets))]
    folder = os.path.join(a.golden, "marian")
    return subprocess.run([a.pymarian, "score", "-m", os.path.join(folder, "model.npz"), "-v", *[os.path.join(folder, "vocab.yml")] * 2,
                           "-t", *files, "--cpu-threads", "1", *options], capture_output=True, text=True, check=True).stdout.splitlines()


def compare(name, ours, theirs):
    worst = max(abs(x - y) for p, q in zip(ours, theirs, strict=True) for x, y in zip(p, q, strict=True))
    n = sum(map(len, ours))
    say("%s: log-probabilities, worst %.2g" % (name, worst), n if worst < peer.FINE else 0, n)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("golden")
    parser.add_argument("pymarian")
    parser.add_argument("--write", action="store_true")
    a = parser.parse_args()
    sources = [">>deu<< " + line for line in peer.golden_words(11, "aeinorst", PAIRS)]
    targets = peer.golden_words(12, "aeiknmtrö", PAIRS)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        files = [write_lines(os.path.join(scratch, str(i)), x) for i, x in enumerate((sources, targets))]
        for name, options in ("marianmt", ()), ("marian", ("--protect", ">>deu<<", "--protect", ">>nld<<")):
            folder, model = os.path.join(a.golden, name), os.path.join(scratch, name)
            if name == "marian":
                os.makedirs(os.path.join(scratch, "copy"))
                for path in [os.path.join(folder, x) for x in ("model.npz", "vocab.yml")] + [
                        os.path.join(a.golden, "marianmt", x) for x in ("source.spm", "target.spm")]:
                    with open(path, "rb") as f, open(os.path.join(scratch, "copy", os.path.basename(path)), "wb") as to:
                        to.write(f.read())
                folder = os.path.join(scratch, "copy")
            peer.import_model(a.build, folder, model, options)
            answers = [json.loads(line) for line in our_scores(a.build, model, files, ["--json"])]
            ours, pieces = [x["token_log_probs"] for x in answers], [x["tokens"] for x in answers]
            if name == "marianmt":
                theirs = transformers_scores(folder, sources, pieces)
            else:
                sp = SentencePieceProcessor(model_file=os.path.join(folder, "source.spm"))
                tags = [">>deu<< " + " ".join(sp.encode(line.split(" ", 1)[1], out_type=str)) for line in sources]
                told = marian_lines(a, tags, [" ".join(p[:-1]) for p in pieces], scratch, "--word-scores")
                theirs = [[float(x) for x in line.split("WordScores=")[1].split()] for line in told]
                sums = [float(x) for x in our_scores(a.build, model, files, ["--normalization", "tokens"])]
                told = marian_lines(a, tags, [" ".join(p[:-1]) for p in pieces], scratch, "--normalize")
                compare(name + ", normalised", [[x] for x in sums], [[float(x)] for x in told])
            compare(name, ours, theirs)
            rows += ["\t".join([name, s, t, " ".join("%.6f" % x for x in p)]) for s, t, p in zip(sources, targets, theirs)]
    if a.write:
        write_lines(os.path.join(a.golden, "scores.tsv"), rows)
    peer.finish()


if __name__ == "__main__":
    sys.exit(main())
