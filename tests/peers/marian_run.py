#!/usr/bin/env python3
"""marian_run.py - compare models with Marian (pymarian from pip): probabilities of tokens, and speed of decoding.

usage: marian_run.py score BUILD PYMARIAN
       marian_run.py golden BUILD PYMARIAN FOLDER
       marian_run.py speed BUILD PYMARIAN CORPUS SOURCE [--size student,base] [--lines 500] [--rounds 3] [--beam 1]

Needs numpy and safetensors; score also torch. BUILD is the folder in which Werkbank was built, PYMARIAN the program
pymarian (1.12; of another Python, if need be).

score: random weights of several architectures, norms and biases included, as a model folder, as Marian's .npz and for
pytorch_family.py. The targets are random; the command score and Marian's scorer score them. Prints for each architecture the
largest difference of a token's log-probability from Marian's; fails if one is above 1e-4.

golden: writes FOLDER/marian and FOLDER/marian.tsv, a small model of tests/eval/import.sh with an SSRU decoder, its translations
and their scores by Marian. It has the text files of FOLDER/marianmt, which import_hugging_face.py --golden writes.

speed: random weights with the vocabulary of CORPUS, a prepared corpus with a shortlist (werkbank prep, werkbank
shortlist), int8 in both, the same shortlist, one thread. The first lines of SOURCE, raw text, are translated, in
Marian's case its tokens, which costs it less. No translation ends before the greatest length, as many tokens as
the source has; Marian counts those of the longest sentence of a batch, so tokens are counted. Both take turns, with
several sizes of batches. Prints processor seconds beyond those for one line (the time to start), target tokens per processor second, and both ratios.
"""
import argparse
import hashlib
import itertools
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile

import numpy as np
from safetensors.numpy import save_file

from marian_names import config_of, tensors_of

MOST = 1e-4
MARIAN = "attention_bias=yes output_bias=yes decoder_start=zero norm_place=post"
TINY = "d_model=32 d_ff=96 heads=4 encoder_layers=3 decoder_layers=2 " + MARIAN
ROWS = [
    ("student", "decoder_self=ssru"),
    ("transformer", ""),
    ("swish", "activation=silu"),
    ("gelu", "activation=gelu"),
    ("wider decoder", "decoder_self=ssru decoder_ff=64"),
    ("output tied to the target", "decoder_self=ssru tied_embeddings=output"),
    ("source tied to the target", "tied_embeddings=source"),
    ("nothing tied", "tied_embeddings=none"),
    ("RMS norm", "norm=rms"),
    ("no bias of the output", "output_bias=no"),
    ("pre-norm", "norm_place=pre"),
    ("pre-norm student", "norm_place=pre decoder_self=ssru"),
    ("norm of embeddings", "embedding_norm=yes"),
]
SIZES = {
    "student": "d_model=256 d_ff=1536 heads=8 encoder_layers=6 decoder_layers=2 decoder_self=ssru " + MARIAN,
    "base": "d_model=512 d_ff=2048 heads=8 encoder_layers=12 decoder_layers=2 decoder_self=ssru " + MARIAN,
}
PAD, END, START, UNKNOWN = range(4)


def facts_of(words):
    """Options as a dictionary; numbers are int."""
    pairs = (word.split("=") for word in words.split())
    facts = {name: int(value) if value.isdigit() else value for name, value in pairs}
    return facts


# ---- a model folder of random weights -------------------------------------------------------------------

def random_tensors(build, facts, vocabulary, spread, seed=1):
    """Our tensors of this architecture by name; norms near 1, biases near 0, both within 0.1 * spread."""
    options = []
    for name, value in facts.items():
        name = name.replace("_", "-")
        options += ([f"--{name}"] if value == "yes" else [f"--no-{name}"] if value == "no" and name not in
                    ("final-norm", "ffn-bias") else [f"--{name}", str(value)])
    listed = json.loads(subprocess.run(
        [os.path.join(build, "werkbank-train"), "model", "--json", "--vocabulary", str(vocabulary), *options],
        capture_output=True, text=True, check=True).stdout)["tensors"]
    draw, tensors = np.random.default_rng(seed), {}
    for t in listed:
        name, shape = t["name"], t["shape"]
        if name.endswith((".scale", ".shift", ".bias")):
            tensors[name] = (name.endswith(".scale") + 0.1 * spread * draw.standard_normal(shape)).astype(np.float32)
        else:
            tensors[name] = (draw.standard_normal(shape) * shape[1] ** -0.5).astype(np.float32)
    return tensors


def write_model(folder, facts, tensors, files):
    """A model folder. files: vocab.tsv and further ones, contents by name."""
    vocabulary = files["vocab.tsv"]
    n = vocabulary.count("\n")
    state = {"v": 1, "step": 1, "loader_position": 0, "seed": 1, "seconds": 0, "best_bleu": -1, "best_step": -1}
    shape = {"vocabulary": -(-n // 8) * 8, "real_vocabulary": n}
    for name, value in facts.items():
        if value != "no" or name in ("final_norm", "ffn_bias"):
            shape[name] = True if value == "yes" else value
    state["shape"] = shape
    state["vocabulary_sha256"] = hashlib.sha256(vocabulary.encode()).hexdigest()
    os.makedirs(folder)
    save_file(tensors, os.path.join(folder, "model.safetensors"))
    for name, text in {"state.json": json.dumps(state), **files}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)
    names = sorted(os.listdir(folder))
    with open(os.path.join(folder, "SHA256SUMS"), "w", encoding="ascii") as out:
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                out.write(f"{hashlib.sha256(f.read()).hexdigest()}  {name}\n")


def write_npz(path, facts, tensors, vocabulary):
    """Marian's model: arrays that are not compressed; the configuration ends with one NUL."""
    text = (config_of(facts, vocabulary) + "\0").encode()
    np.savez(path, **tensors_of(facts, tensors), **{"special:model.yml": np.frombuffer(text, np.int8)})


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)


# ---- probabilities ------------------------------------------------------------------------------------------

def pytorch_scores(facts, tensors, sources, targets):
    """Log-probabilities of each target token and the end; lists of ids."""
    import torch

    from pytorch_family import Architecture, Transformer
    model = Transformer(Architecture(" ".join(f"{k}={v}" for k, v in facts.items())),
                        {name: torch.from_numpy(t) for name, t in tensors.items()})
    with torch.no_grad():
        out = []
        for source, target in zip(sources, targets):
            y, gold = model.logits([source], [target])
            out.append(y.log_softmax(1).gather(1, gold[:, None])[:, 0].tolist())
    return out


def our_scores(build, folder, sources, targets, scratch):
    """The same by the command score."""
    names = [os.path.join(scratch, name) for name in ("our.source", "our.target")]
    write_lines(names[0], sources)
    write_lines(names[1], targets)
    told = subprocess.run([os.path.join(build, "werkbank-eval"), "score", *names, "-m", folder, "--precision", "fp32", "--json"],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    for line, target in zip(map(json.loads, told), targets, strict=True):
        if line["tokens"] != target.split() + ["</s>"]:
            raise SystemExit(f"score read other tokens: {line}")
    return [json.loads(line)["token_log_probs"] for line in told]


def marian_scores(pymarian, model, vocabulary, sources, targets, scratch):
    names = [os.path.join(scratch, name) for name in ("score.source", "score.target")]
    write_lines(names[0], sources)
    write_lines(names[1], targets)
    told = subprocess.run([pymarian, "score", "-m", model, "-v", vocabulary, vocabulary, "-t", *names, "--word-scores",
                           "--cpu-threads", "1"], capture_output=True, text=True, check=True).stdout
    return [[float(x) for x in line.split("WordScores=")[1].split()] for line in told.splitlines()]


def compare_scores(o, scratch):
    draw, failed = np.random.default_rng(2), 0
    letters = [chr(0x4e00 + i) for i in range(300)]
    pieces = ["<pad>", "</s>", "<s>", "<unk>"] + letters
    lines = [[draw.integers(4, len(pieces), size=n).tolist() for n in draw.integers(1, 40, size=20)] for _ in range(2)]
    texts = [[" ".join(pieces[i] for i in ids) for ids in side] for side in lines]
    print("largest difference of a token's log-probability: Werkbank and Marian, pytorch_family.py and Marian | row")
    for i, (name, words) in enumerate(ROWS):
        facts = facts_of(TINY)
        facts.update(facts_of(words))
        tensors = random_tensors(o.build, facts, len(pieces), 1)
        folder, npz = (os.path.join(scratch, f"{i}{end}") for end in ("", ".npz"))
        write_model(folder, facts, tensors, {
            "vocab.tsv": "".join(piece + "\t0\n" for piece in pieces), "bpe.codes": "#version: 0.2\n",
            "recipe.ini": "[data]\nsegmentation = bpe\ntokenize = no\n"})
        write_npz(npz, facts, tensors, len(pieces))
        write_lines(folder + ".vocab", pieces)
        marian = marian_scores(o.pymarian, npz, folder + ".vocab", *texts, scratch)
        worst = []
        for scores in our_scores(o.build, folder, *texts, scratch), pytorch_scores(facts, tensors, *lines):
            worst.append(max(abs(a - b) for x, y in zip(scores, marian, strict=True) for a, b in zip(x, y, strict=True)))
        bad = not max(worst) <= MOST
        failed += bad
        print(f"{worst[0]:.1e} {worst[1]:.1e}{' FAILED' if bad else ''} | {name}: {words}", flush=True)
    return 1 if failed else 0


def write_golden(o, scratch):
    from sentencepiece import SentencePieceProcessor

    with open(os.path.join(o.corpus, "marianmt", "vocab.json"), encoding="utf-8") as f:
        numbers = json.load(f)
    pieces = sorted(numbers, key=numbers.get)[:-1]           # without <pad>
    del pieces[len(pieces) // 8 * 8:]
    to = os.path.join(o.corpus, "marian")
    os.makedirs(to, exist_ok=True)
    npz, vocabulary = os.path.join(to, "model.npz"), os.path.join(to, "vocab.yml")
    write_lines(vocabulary, [f"{json.dumps(piece, ensure_ascii=False)}: {i}" for i, piece in enumerate(pieces)])
    with open(os.path.join(o.corpus, "marianmt.tsv"), encoding="utf-8") as f:
        lines = [line.split("\t")[0].replace(">>nld<<", ">>nld<< ") for line in f]
    sp = SentencePieceProcessor(model_file=os.path.join(o.corpus, "marianmt", "source.spm"))
    text = ["".join(w + " " for w in line.split() if w[:2] == ">>") + " ".join(
        sp.encode(" ".join(w for w in line.split() if w[:2] != ">>"), out_type=str)) for line in lines]
    facts = facts_of("d_model=8 d_ff=16 heads=2 encoder_layers=1 decoder_layers=2 decoder_self=ssru " + MARIAN)
    for seed in range(20):
        tensors = random_tensors(o.build, facts, len(pieces), 2, seed)
        for name in tensors:                                 # else the tied table would repeat its input
            if name.endswith("norm.scale"):
                tensors[name] *= np.random.default_rng(seed).choice([-1, 1], tensors[name].shape).astype(np.float32)
        tensors["output.bias"].reshape(-1)[0] = 2.5          # </s>
        tensors["embed"] *= 2
        write_npz(npz, facts, tensors, len(pieces))
        write_lines(os.path.join(scratch, "in"), text)
        out = subprocess.run([o.pymarian, "decode", "-m", npz, "-v", vocabulary, vocabulary, "--beam-size", "1", "--cpu-threads", "1",
                              "--max-length-factor", "10", "--input", os.path.join(scratch, "in"), "--quiet"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
        rows = [(line, source, y.split()[:12]) for line, source, y in zip(lines, text, out, strict=True)]
        kinds, n_ended = len({" ".join(y) for _, _, y in rows}), sum(1 < len(y) < 12 for _, _, y in rows)
        print(f"seed {seed}: {len(rows)} sentences, {kinds} translations, {n_ended} with an end", flush=True)
        if kinds >= 8 and n_ended >= 2:
            break
    scores = marian_scores(o.pymarian, npz, vocabulary, [x[1] for x in rows], [" ".join(x[2]) for x in rows], scratch)
    write_lines(to + ".tsv", ["\t".join([line, " ".join(y), " ".join(f"{p:.6f}" for p in score[:12])])
                              for (line, _, y), score in zip(rows, scores)])
    return 0


# ---- speed ----------------------------------------------------------------------------------------------------

def write_lex(path, shortlist):
    """Our shortlist as Marian's binary one. Every source ends in </s>, whose list has the tokens that are always allowed."""
    data = open(shortlist, "rb").read()
    vocabulary, frequent, listed = struct.unpack_from("<iiq", data, 16)
    ints = np.frombuffer(data, np.int32, frequent + vocabulary + 1 + listed, 160)
    always, start, lists = np.split(ints, [frequent, frequent + vocabulary + 1])
    rows = [lists[start[i]:start[i + 1]] for i in range(vocabulary)]
    rows[END] = np.union1d(rows[END], always)
    starts = np.cumsum([0] + [len(row) for row in rows])
    body = (struct.pack("<4Q", 4, max(map(len, rows)), vocabulary + 1, starts[-1]) + starts.astype("<u8").tobytes() +
            np.concatenate(rows).astype("<u4").tobytes())
    check = 0
    for word in struct.unpack_from(f"<{len(body) // 8}Q", body):
        check ^= word + 0x9e3779b9 + (check << 6) + (check >> 2) & 0xffffffffffffffff
        check &= 0xffffffffffffffff
    with open(path, "wb") as out:
        out.write(struct.pack("<2Q", 0xF11A48D5013417F5, check) + body)


def timed(command, text):
    """Processor seconds of a command, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


class Contestant:
    """A command; tokens: function that counts the tokens of its output."""

    def __init__(self, name, command, text, tokens):
        self.name, self.command, self.text, self.count = name, command, text, tokens
        self.seconds, self.first, self.tokens = [], [], 0

    def run(self):
        self.first.append(timed(self.command, self.text.split("\n")[0] + "\n")[0])
        seconds, out = timed(self.command, self.text)
        self.seconds.append(seconds)
        self.tokens = self.count(out)

    def work(self):
        return min(self.seconds) - min(self.first)

    def speed(self):
        return self.tokens / self.work()


def prepare_speed(o, size, scratch):
    """The contestants of a size: ours, then Marian's with several batches."""
    files = {}
    for name in ("vocab.tsv", "bpe.codes", "recipe.ini"):
        with open(os.path.join(o.corpus, name), encoding="utf-8") as f:
            files[name] = f.read()
    pieces = [line.split("\t")[0] for line in files["vocab.tsv"].splitlines()]
    facts = facts_of(SIZES[size])
    tensors = random_tensors(o.build, facts, len(pieces), 0.1)
    tensors["output.bias"].reshape(-1)[[PAD, END, START, UNKNOWN]] = -100
    folder = os.path.join(scratch, size)
    write_model(folder, facts, tensors, files)
    write_npz(folder + ".npz", facts, tensors, len(pieces))
    write_lines(folder + ".vocab", pieces)
    shortlist = os.path.join(o.corpus, "shortlist.bin")
    write_lex(folder + ".lex", shortlist)
    subprocess.run([o.pymarian, "convert", "-f", folder + ".npz", "-t", folder + ".bin", "-g", "intgemm8"],
                   capture_output=True, check=True)
    with open(o.source, encoding="utf-8") as f:
        raw = "".join(itertools.islice(f, o.lines))
    tool = os.path.join(o.build, "werkbank-eval")
    asked = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(raw.splitlines()))
    told = subprocess.run([tool, "translate", "-m", folder, "--serve", "--one-a-line", "--beam", "1", "--shortlist", shortlist,
                           "--max-length-factor", "0.1", "--max-length-extra", "1", "--precision", "int8"],
                          input=asked, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    tokens = [json.loads(t)["source_tokens"] for t in told]
    ours = [tool, "translate", "-q", "-m", folder, "--one-a-line", "--beam", str(o.beam), "--shortlist", shortlist, "--precision",
            "int8", "--threads", "1", "--max-length-factor", "1", "--max-length-extra", "0"]
    marian = [o.pymarian, "decode", "-m", folder + ".bin", "-v", folder + ".vocab", folder + ".vocab", "--shortlist",
              folder + ".lex", "false", "--beam-size", str(o.beam), "--cpu-threads", "1", "--quiet",
              "--max-length-factor", "1", "--maxi-batch", "1000", "--maxi-batch-sort", "src", "--max-length", "1000", "-w", "2000"]
    if o.beam == 1:
        marian.append("--skip-cost")
    out = [Contestant("Werkbank", ours, raw, lambda out: sum(map(len, tokens)))]
    text = "".join(" ".join(t) + "\n" for t in tokens)
    for batch in o.batches:
        out.append(Contestant(f"Marian, {batch} sentences", marian + ["--mini-batch", str(batch)], text,
                              lambda out: len(out.split())))
    return out


def compare_speed(o, scratch):
    for size in o.size:
        contestants = prepare_speed(o, size, scratch)
        for _ in range(o.rounds):
            for c in contestants:
                c.run()
        best, least = max(c.speed() for c in contestants[1:]), min(c.work() for c in contestants[1:])
        for c in contestants:
            print(f"{size} {c.name:22} {c.work():.2f} CPU s and {min(c.first):.2f} to start, {c.tokens} tokens, {c.speed():.0f} "
                  f"a CPU s: {c.speed() / best:.2f}x Marian's best, by the time for the text {least / c.work():.2f}x", flush=True)
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=("score", "golden", "speed"))
    p.add_argument("build")
    p.add_argument("pymarian")
    p.add_argument("corpus", nargs="?")
    p.add_argument("source", nargs="?")
    p.add_argument("--size", default=["student", "base"], type=lambda text: text.split(","))
    p.add_argument("--lines", default=500, type=int)
    p.add_argument("--rounds", default=3, type=int)
    p.add_argument("--beam", default=1, type=int)
    p.add_argument("--batches", default=[8, 32, 64, 128], type=lambda text: [int(x) for x in text.split(",")])
    o = p.parse_args()
    if o.what == "speed" and not o.source:
        sys.exit("speed needs BUILD PYMARIAN CORPUS SOURCE")
    with tempfile.TemporaryDirectory() as scratch:
        return {"score": compare_scores, "golden": write_golden, "speed": compare_speed}[o.what](o, scratch)


sys.exit(main())
