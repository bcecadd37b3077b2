#!/usr/bin/env python3
"""constraints.py - prefixes, alternatives, shortlists and forbidden words, side by side with CTranslate2.

usage: constraints.py MODEL SHORTLIST SOURCE [SENTENCES]     in a build folder; MODEL is a model folder

The model is exported; both then search greedily (and with a beam of 4 without length penalty). Prints how often
they agree; VERBOSE=1 shows where they do not. We forbid a word however it is split, CTranslate2 one way of splitting
it; a prefix goes through text in our case.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import ctranslate2

model, shortlist, source = sys.argv[1:4]
n = int(sys.argv[4]) if len(sys.argv) > 4 else 200
lines = open(source, encoding="utf-8").read().splitlines()[:n]


class Service:
    def __init__(self, *options):
        self.p = subprocess.Popen(["./werkbank", "translate", "-m", model, "--serve", "--threads", "1",
                                   "--precision", "fp32", *options],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        json.loads(self.p.stdout.readline())

    def ask(self, **request):
        self.p.stdin.write(json.dumps(request).encode() + b"\n")
        self.p.stdin.flush()
        answer = json.loads(self.p.stdout.readline())
        if "error" in answer:
            sys.exit(answer["error"])
        return answer


def write_vmap(folder):
    """The shortlist in CTranslate2's form: source token, tab, target tokens; without source: for all."""
    pieces = [line.split("\t")[0] for line in open(os.path.join(model, "vocab.tsv"), encoding="utf-8")]
    data = open(shortlist, "rb").read()
    vocabulary, frequent, listed = struct.unpack_from("<iiq", data, 16)
    ints = struct.unpack_from("<%di" % (frequent + vocabulary + 1 + listed), data, 160)
    start, lists = ints[frequent:frequent + vocabulary + 1], ints[frequent + vocabulary + 1:]
    with open(os.path.join(folder, "vmap.txt"), "w", encoding="utf-8") as out:
        out.write("\t%s\n" % " ".join(pieces[i] for i in ints[:frequent]))
        for i in range(vocabulary):
            if start[i] < start[i + 1]:
                out.write("%s\t%s\n" % (pieces[i], " ".join(pieces[k] for k in lists[start[i]:start[i + 1]])))


def main():
    tmp = tempfile.TemporaryDirectory()
    folder = os.path.join(tmp.name, "model")
    subprocess.run(["./werkbank", "export", "-q", "-m", model, "--format", "ctranslate2", "-o", folder], check=True)
    write_vmap(folder)
    peer = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    ours, listed = Service(), Service("--shortlist", shortlist)
    agree = {}

    def count(what, our, their):
        yes, all_ = agree.get(what, (0, 0))
        agree[what] = (yes + (our == their), all_ + 1)
        if our != their and os.environ.get("VERBOSE"):
            print("%s\n   %s\n   %s" % (what, " ".join(our), " ".join(their)), file=sys.stderr)

    def theirs(tokens, **how):
        how = dict(beam_size=1, length_penalty=0, max_decoding_length=250) | how
        return peer.translate_batch([tokens], **how)[0].hypotheses

    for line in lines:
        for beam in (1, 4):
            a = ours.ask(text=line, beam=beam, alpha=0)
            count("beam %d" % beam, a["tokens"], theirs(a["source_tokens"], beam_size=beam)[0])
            b = listed.ask(text=line, beam=beam, alpha=0, n_best=min(beam, 2))
            # nothing at all may be the likeliest translation; CTranslate2 leaves it out
            b = next(x for x in b.get("n_best", [b]) if x["tokens"]) | {"source_tokens": b["source_tokens"]}
            count("shortlist, beam %d" % beam, b["tokens"],
                  theirs(b["source_tokens"], beam_size=beam, use_vmap=True)[0])
        a = ours.ask(text=line, beam=1)
        at = len(a["tokens"]) // 2
        a = ours.ask(text=line, beam=1, alternatives=6, at=at)
        found = [x["piece"] for x in a["alternatives"]]
        # those that end there are no alternatives to CTranslate2
        want = [h[at] for h in theirs(a["source_tokens"], target_prefix=[a["tokens"][:at]], num_hypotheses=5,
                                      return_alternatives=True) if len(h) > at]
        count("alternatives", [x for x in found if x != "</s>"][:len(want)], want)
        other = a["alternatives"][1]
        if other["piece"] != "</s>":
            b = ours.ask(text=line, beam=1, prefix=other["prefix"])
            prefix = a["tokens"][:at] + [other["piece"]]
            count("prefix of the second alternative",
                  b["tokens"], theirs(a["source_tokens"], target_prefix=[prefix])[0])
        whole = [i for i, x in enumerate(a["tokens"]) if not x.endswith("@@") and x.isalpha() and
                 (i == 0 or not a["tokens"][i - 1].endswith("@@"))]
        if whole:
            word = a["tokens"][whole[len(whole) // 2]]
            b = ours.ask(text=line, beam=1, forbid=[word])
            count("forbidden word", b["tokens"], theirs(a["source_tokens"], suppress_sequences=[[word]])[0])
    for what, (yes, all_) in agree.items():
        print("%-34s %4d of %4d the same (%.1f %%)" % (what, yes, all_, 100 * yes / all_))


main()
