#!/usr/bin/env python3
"""ctranslate2_decode.py - compare speed and BLEU of decoding with CTranslate2. Needs Python with ctranslate2, numpy and safetensors.

Usage: ctranslate2_decode.py speed BUILD [--size tiny,base] [--beam 4,1] [--batch 32,1] [--precision fp32,bf16,int8]
                                   [--threads 2] [--rounds 3]
       ctranslate2_decode.py model BUILD MODEL-FOLDER SOURCE REFERENCE [--beam 4,1] [--threads 2]
       ctranslate2_decode.py load BUILD [--size base] [--rounds 3]     milliseconds until a model is ready, and memory
       ctranslate2_decode.py random BUILD FOLDER [--size base]      a model folder of random weights, to measure with

BUILD is the folder in which Werkbank was built. speed: random weights of a real size, 25 source tokens, exactly 25
target tokens, as tests/bench/bench_decode.c does it, in turn with CTranslate2 in float32 and int8; with many sentences
CTranslate2 runs both with threads inside its products and with as many workers, and the better counts. Prints target
tokens per second and CPU seconds (which a busy machine changes less) of the best round, and ratios to CTranslate2's
best. model: a trained model folder and what werkbank export makes of it; both translate the same sentences, both
translations are scored, and those that are the same are counted. (A length penalty of 0 means the same to both.)
"""
import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import ctranslate2
import numpy as np
from safetensors.numpy import save_file

SIZES = {"tiny": (256, 1024, 4, 3, 8192), "base": (512, 2048, 8, 6, 32768), "big": (1024, 4096, 16, 6, 32768)}
N_TOKENS = 25


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def export(build, model, folder, precision):
    """Our own export of a model folder, to a new folder."""
    subprocess.run([os.path.join(build, "werkbank-eval"), "export", "--model", model, "--format", "ctranslate2",
                    "--precision", precision, "--output", folder], check=True)
    return folder


# ---- speed, random weights --------------------------------------------------------------------------

def random_model(build, size, folder):
    """A model folder with random weights of this size."""
    d, f, heads, layers, v = SIZES[size]
    listed = json.loads(subprocess.run(
        [os.path.join(build, "werkbank-train"), "model", "--json", "--size", size, "--vocabulary", str(v)],
        capture_output=True, text=True, check=True).stdout)["tensors"]
    draw = np.random.default_rng(1)
    tensors = {}
    for t in listed:
        name, shape = t["name"], t["shape"]
        tensors[name] = (np.full(shape[1:], name.endswith(".scale"), np.float32) if shape[0] == 1
                         else (draw.standard_normal(shape) * d ** -0.5).astype(np.float32))
    os.makedirs(folder)
    save_file(tensors, os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "vocab.tsv"), "w", encoding="utf-8") as out:
        out.writelines(w + "\t0\n" for w in ["<pad>", "</s>", "<s>", "<unk>"] + ["w%d" % i for i in range(v - 4)])
    with open(os.path.join(folder, "recipe.ini"), "w", encoding="utf-8") as out:
        out.write("[data]\nsegmentation = bpe\n")
    open(os.path.join(folder, "bpe.codes"), "w", encoding="utf-8").write("#version: 0.2\n")

    def sha256(name):
        with open(os.path.join(folder, name), "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    with open(os.path.join(folder, "state.json"), "w", encoding="utf-8") as out:
        json.dump({"v": 1, "step": 1, "loader_position": 0, "seed": 1, "seconds": 0, "best_bleu": -1, "best_step": -1,
                   "shape": {"d_model": d, "d_ff": f, "heads": heads, "encoder_layers": layers, "decoder_layers": layers,
                             "vocabulary": v, "real_vocabulary": v}, "vocabulary_sha256": sha256("vocab.tsv")}, out)
    with open(os.path.join(folder, "SHA256SUMS"), "w", encoding="utf-8") as out:
        out.writelines("%s  %s\n" % (sha256(name), name)
                       for name in ("model.safetensors", "state.json", "recipe.ini", "bpe.codes", "vocab.tsv"))
    return folder


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


def compare_speed(a, size, scratch):
    v = SIZES[size][4]
    model = random_model(a.build, size, os.path.join(scratch, size))
    folder = export(a.build, model, os.path.join(scratch, size + ".ct2"), "fp32")
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


# ---- how long it takes to be ready --------------------------------------------------------------------

READY = ("import sys, ctranslate2; t = ctranslate2.Translator(sys.argv[1], device='cpu', compute_type=sys.argv[2], "
         "inter_threads=1, intra_threads=int(sys.argv[3])); print('ready', flush=True); sys.stdin.read()")


def seconds_to_ready(command):
    """From the start of a program to its first line, and its peak memory in MB then."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        seconds = time.perf_counter() - start
        status = open("/proc/%d/status" % p.pid, encoding="ascii").read()
        p.stdin.close()
    return seconds, int(status.split("VmHWM:")[1].split()[0]) / 1e3


def compare_load(a, size, scratch):
    model = random_model(a.build, size, os.path.join(scratch, size))
    exported = {p: export(a.build, model, os.path.join(scratch, size + "." + p), p) for p in ("fp32", "int8")}
    programs = {p: [os.path.join(a.build, "werkbank-eval"), "translate", "-m", model, "--serve", "--precision", p, "--threads",
                    str(a.threads)] for p in a.precision}
    programs["CTranslate2 float32"] = [sys.executable, "-c", READY, exported["fp32"], "float32", str(a.threads)]
    programs["CTranslate2 int8, of int8"] = [sys.executable, "-c", READY, exported["int8"], "int8", str(a.threads)]
    programs["Python with CTranslate2, no model"] = [sys.executable, "-c", "import ctranslate2; print(1)"]
    seen = {name: [] for name in programs}
    for _ in range(a.rounds):
        for name, command in programs.items():
            seen[name].append(seconds_to_ready(command))
    for name, values in seen.items():
        print("%s %-34s ready after %4.0f ms (of %d), peak %4.0f MB"
              % (size, name, 1e3 * min(v[0] for v in values), a.rounds, max(v[1] for v in values)), flush=True)


# ---- quality, a trained model -------------------------------------------------------------------------

def compare_model(a, scratch):
    tool = os.path.join(a.build, "werkbank")
    exported = {p: export(a.build, a.model, os.path.join(scratch, p), p) for p in ("fp32", "int8")}
    lines = open(a.source, encoding="utf-8").read().splitlines()
    asked = "".join(json.dumps({"id": i, "text": t, "beam": 1}) + "\n" for i, t in enumerate(lines))
    told = subprocess.run([tool, "translate", "-m", a.model, "--serve"], input=asked, capture_output=True, text=True,
                          check=True).stdout.splitlines()[1:]
    tokens = [json.loads(t)["source_tokens"] for t in told]

    def pipe(text, *command):
        return subprocess.run([tool, *command], input=text, capture_output=True, text=True, check=True).stdout

    def bleu(text):
        return pipe(text, "bleu", "-r", a.reference).splitlines()[0]

    for beam, alpha in [(b, x) for b in a.beam for x in ((0,) if b == 1 else (0, 0.6))]:
        texts = {}
        for precision in ("fp32", "bf16", "int8"):
            start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            texts[precision] = out = pipe("\n".join(lines) + "\n", "translate", "-m", a.model, "--beam", str(beam),
                                          "--alpha", str(alpha), "--precision", precision, "--threads", str(a.threads))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            print("beam %d alpha %s  %-20s %6.2f s %6.2f CPU s (everything)  %s"
                  % (beam, alpha, precision, time.perf_counter() - start,
                     after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime, bleu(out)), flush=True)
        for kind, precision in (("float32", "fp32"), ("int8", "fp32"), ("int8", "int8")):
            model = ctranslate2.Translator(exported[precision], device="cpu", compute_type=kind, inter_threads=a.threads,
                                           intra_threads=1)
            start, used = time.perf_counter(), cpu_seconds()
            got = model.translate_batch(tokens, beam_size=beam, max_batch_size=1024, batch_type="tokens",
                                        length_penalty=alpha, disable_unk=True)
            wall, cpu = time.perf_counter() - start, cpu_seconds() - used
            text = "".join(" ".join(r.hypotheses[0]) + "\n" for r in got)
            text = pipe(pipe(text, "bpe-undo"), "detokenize", "-l", "de")
            same = sum(x == y for x, y in zip(text.splitlines(), texts[precision].splitlines()))
            print("beam %d alpha %s  CT2 %s of our %-4s %6.2f s %6.2f CPU s (only decoding)  %s, %d of %d as ours"
                  % (beam, alpha, kind, precision, wall, cpu, bleu(text), same, len(lines)), flush=True)


def numbers(text):
    return [int(x) for x in text.split(",")]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("what", choices=("speed", "model", "load", "random"))
parser.add_argument("build")
parser.add_argument("model", nargs="?")
parser.add_argument("source", nargs="?")
parser.add_argument("reference", nargs="?")
parser.add_argument("--size", default=["base"], type=lambda text: text.split(","))
parser.add_argument("--beam", default=[4, 1], type=numbers)
parser.add_argument("--batch", default=[32, 1], type=numbers)
parser.add_argument("--precision", default=["fp32", "bf16", "int8"], type=lambda text: text.split(","))
parser.add_argument("--threads", default=2, type=int)
parser.add_argument("--rounds", default=3, type=int)
arguments = parser.parse_args()
print("CTranslate2 %s, %d threads" % (ctranslate2.__version__, arguments.threads))
with tempfile.TemporaryDirectory() as scratch:
    if arguments.what == "random":
        random_model(arguments.build, arguments.size[0], arguments.model)
    elif arguments.what == "model":
        if not arguments.reference:
            sys.exit("model needs BUILD MODEL-FOLDER SOURCE REFERENCE")
        compare_model(arguments, scratch)
    else:
        for each in arguments.size:
            (compare_load if arguments.what == "load" else compare_speed)(arguments, each, scratch)
