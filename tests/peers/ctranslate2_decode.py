#!/usr/bin/env python3
"""How fast, and how well, CTranslate2 and we decode. Needs Python with ctranslate2, numpy and safetensors.

Usage: ctranslate2_decode.py speed BUILD [--size tiny,base] [--beam 4,1] [--batch 32,1] [--precision fp32,bf16,int8]
                                   [--threads 2] [--rounds 3]
       ctranslate2_decode.py model BUILD MODEL-FOLDER SOURCE REFERENCE [--beam 4,1] [--threads 2]

BUILD is the folder in which Werkbank was built. speed: random weights of a real size, 25 source tokens, exactly 25
target tokens, as tests/bench_decode.c does it, in turn with CTranslate2 in float32 and int8; with many sentences
CTranslate2 runs both with threads inside its products and with as many workers, and the better counts. Prints target
tokens per second and CPU seconds (which a busy machine changes less) of the best round, and ratios to CTranslate2's
best. model: the weights of a trained model folder, brought into CTranslate2's format; both translate the same
sentences, and both translations are scored.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import ctranslate2
import numpy as np

SIZES = {"tiny": (256, 1024, 4, 3, 8192), "base": (512, 2048, 8, 6, 32768), "big": (1024, 4096, 16, 6, 32768)}
N_TOKENS = 25


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sinusoids(n, d):
    """Ours: sines in the first half of the columns, cosines in the second, position 0 first."""
    step = np.exp(-np.log(10000.0) * np.arange(d // 2) / (d // 2 - 1))
    angle = np.arange(n)[:, None] * step[None, :]
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


def save(folder, weights, shape, words):
    """weights(name): a tensor by its name in our checkpoints."""
    d, heads, layers = shape

    def linear(spec, weight, bias=None):
        spec.weight = np.ascontiguousarray(weight)
        spec.bias = np.zeros(len(weight), np.float32) if bias is None else bias

    def norm(spec, name):
        spec.gamma, spec.beta = weights(name + ".scale").reshape(-1), weights(name + ".shift").reshape(-1)

    def feed_forward(spec, name):
        norm(spec.layer_norm, name + ".norm")
        linear(spec.linear_0, weights(name + ".in"), weights(name + ".in.bias").reshape(-1))
        linear(spec.linear_1, weights(name + ".out"), weights(name + ".out.bias").reshape(-1))

    def self_attention(spec, name):
        norm(spec.layer_norm, name + ".norm")
        linear(spec.linear[0], weights(name + ".qkv"))
        linear(spec.linear[1], weights(name + ".out"))

    spec = ctranslate2.specs.TransformerSpec.from_config(layers, heads, pre_norm=True,
                                                         activation=ctranslate2.specs.Activation.RELU)
    table = weights("embed")
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = sinusoids(1024, d)
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = True
    linear(spec.decoder.projection, table)
    norm(spec.encoder.layer_norm, "encoder.norm")
    norm(spec.decoder.layer_norm, "decoder.norm")
    for i, layer in enumerate(spec.encoder.layer):
        self_attention(layer.self_attention, "encoder.%d.self" % i)
        feed_forward(layer.ffn, "encoder.%d.ffn" % i)
    for i, layer in enumerate(spec.decoder.layer):
        self_attention(layer.self_attention, "decoder.%d.self" % i)
        norm(layer.attention.layer_norm, "decoder.%d.cross.norm" % i)
        linear(layer.attention.linear[0], weights("decoder.%d.cross.q" % i))
        linear(layer.attention.linear[1], weights("decoder.cross.kv")[2 * d * i:2 * d * (i + 1)])
        linear(layer.attention.linear[2], weights("decoder.%d.cross.out" % i))
        feed_forward(layer.ffn, "decoder.%d.ffn" % i)
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.add_source_bos = False
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-6
    spec.validate()
    spec.save(folder)


# ---- speed, random weights --------------------------------------------------------------------------

def random_weights(size):
    d, f, _, layers, v = SIZES[size]
    draw = np.random.default_rng(1)
    shapes = {"embed": (v, d), "cross.kv": (2 * d * layers, d), "qkv": (3 * d, d), "ffn.in": (f, d), "ffn.out": (d, f)}

    def weights(name):
        if name.endswith((".scale", ".shift", ".bias")):
            return np.full(f if name.endswith("in.bias") else d, name.endswith(".scale"), np.float32)
        shape = next((s for end, s in shapes.items() if name.endswith(end)), (d, d))
        return (draw.standard_normal(shape) * d ** -0.5).astype(np.float32)
    return weights


def ours(build, size, beam, batch, precision, threads):
    out = subprocess.run([os.path.join(build, "tests/bench_decode"), "--size", size, "--beam", str(beam), "--batch",
                          str(batch), "--precision", precision, "--threads", str(threads), "--workers",
                          str(threads if batch >= 2 * threads else 1), "--json"],
                         capture_output=True, text=True, check=True)
    result = json.loads(out.stdout)
    return result["target_tokens_per_second"], result["cpu_seconds"]


def theirs(model, v, beam, batch, per_worker):
    words = [["w%d" % ((i * N_TOKENS + j) * 7919 % (v - 4)) for j in range(N_TOKENS)] for i in range(batch)]
    speed, cpu = 0, 1e9
    for _ in range(5):
        start, used = time.perf_counter(), cpu_seconds()
        out = model.translate_batch(words, beam_size=beam, max_batch_size=per_worker, length_penalty=0.6,
                                    min_decoding_length=N_TOKENS, max_decoding_length=N_TOKENS)
        speed = max(speed, sum(len(r.hypotheses[0]) for r in out) / (time.perf_counter() - start))
        cpu = min(cpu, cpu_seconds() - used)
    return speed, cpu


def compare_speed(a, size, folder):
    _, _, heads, layers, v = SIZES[size]
    save(folder, random_weights(size), (SIZES[size][0], heads, (layers, layers)),
         ["<blank>", "<s>", "</s>", "<unk>"] + ["w%d" % i for i in range(v - 4)])
    models = {(kind, workers): ctranslate2.Translator(folder, device="cpu", compute_type=kind, inter_threads=workers,
                                                      intra_threads=a.threads // workers)
              for kind in ("float32", "int8") for workers in {1, a.threads}}
    for beam in a.beam:
        for batch in a.batch:
            best = {}

            def note(name, result):
                speed, cpu = best.get(name, (0, 1e9))
                best[name] = max(speed, result[0]), min(cpu, result[1])

            for _ in range(a.rounds):
                for precision in a.precision:
                    note(precision, ours(a.build, size, beam, batch, precision, a.threads))
                for (kind, workers), model in models.items():
                    if workers == 1 or batch >= 2 * workers:
                        note("CTranslate2 " + kind, theirs(model, v, beam, batch, -(-batch // workers)))
            top = max((r for name, r in best.items() if name.startswith("C")), key=lambda r: r[0])
            least = min(r[1] for name, r in best.items() if name.startswith("C"))
            for name, (speed, cpu) in best.items():
                ratio = "" if name.startswith("C") else ("   %.2fx its best speed, %.2fx by CPU time"
                                                         % (speed / top[0], least / cpu))
                print("%s beam %d batch %2d  %-20s %6.0f target tokens/s %7.3f CPU s%s"
                      % (size, beam, batch, name, speed, cpu, ratio), flush=True)


# ---- quality, a trained model -------------------------------------------------------------------------

def compare_model(a, folder):
    from safetensors.numpy import load_file
    tool = os.path.join(a.build, "werkbank")
    tensors = load_file(os.path.join(a.model, "model.safetensors"))
    shape = json.load(open(os.path.join(a.model, "state.json")))["shape"]
    words = [line.rstrip("\n").split("\t")[0] for line in open(os.path.join(a.model, "vocab.tsv"), encoding="utf-8")]
    words += ["<unused%d>" % i for i in range(shape["vocabulary"] - len(words))]
    save(folder, tensors.__getitem__, (shape["d_model"], shape["heads"],
                                       (shape["encoder_layers"], shape["decoder_layers"])), words)
    lines = open(a.source, encoding="utf-8").read().splitlines()
    asked = "".join(json.dumps({"id": i, "text": t, "beam": 1}) + "\n" for i, t in enumerate(lines))
    told = subprocess.run([tool, "translate", "-m", a.model, "--serve"], input=asked, capture_output=True, text=True,
                          check=True).stdout.splitlines()[1:]
    tokens = [json.loads(t)["source_tokens"] for t in told]

    def pipe(text, *command):
        return subprocess.run([tool, *command], input=text, capture_output=True, text=True, check=True).stdout

    for beam in a.beam:
        for precision in ("fp32", "bf16", "int8"):
            start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            out = pipe("\n".join(lines) + "\n", "translate", "-m", a.model, "--beam", str(beam), "--precision", precision,
                       "--threads", str(a.threads))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            print("beam %d  %-20s %6.2f s %6.2f CPU s (everything)  %s"
                  % (beam, precision, time.perf_counter() - start,
                     after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime,
                     pipe(out, "bleu", "-r", a.reference).splitlines()[0]), flush=True)
        for kind in ("float32", "int8"):
            model = ctranslate2.Translator(folder, device="cpu", compute_type=kind, inter_threads=a.threads,
                                           intra_threads=1)
            start, used = time.perf_counter(), cpu_seconds()
            got = model.translate_batch(tokens, beam_size=beam, max_batch_size=1024, batch_type="tokens",
                                        length_penalty=0.6, disable_unk=True)
            wall, cpu = time.perf_counter() - start, cpu_seconds() - used
            text = "".join(" ".join(r.hypotheses[0]) + "\n" for r in got)
            text = pipe(pipe(text, "bpe-undo"), "detokenize", "-l", "de")
            print("beam %d  %-20s %6.2f s %6.2f CPU s (only decoding)  %s"
                  % (beam, "CTranslate2 " + kind, wall, cpu, pipe(text, "bleu", "-r", a.reference).splitlines()[0]),
                  flush=True)


def numbers(text):
    return [int(x) for x in text.split(",")]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("what", choices=("speed", "model"))
parser.add_argument("build")
parser.add_argument("model", nargs="?")
parser.add_argument("source", nargs="?")
parser.add_argument("reference", nargs="?")
parser.add_argument("--size", default="base", type=lambda text: text.split(","))
parser.add_argument("--beam", default=[4, 1], type=numbers)
parser.add_argument("--batch", default=[32, 1], type=numbers)
parser.add_argument("--precision", default=["fp32", "bf16", "int8"], type=lambda text: text.split(","))
parser.add_argument("--threads", default=2, type=int)
parser.add_argument("--rounds", default=3, type=int)
arguments = parser.parse_args()
print("CTranslate2 %s, %d threads" % (ctranslate2.__version__, arguments.threads))
with tempfile.TemporaryDirectory() as scratch:
    if arguments.what == "model":
        if not arguments.reference:
            sys.exit("model needs BUILD MODEL-FOLDER SOURCE REFERENCE")
        compare_model(arguments, scratch)
    else:
        for each in [arguments.size] if isinstance(arguments.size, str) else arguments.size:
            compare_speed(arguments, each, scratch)
