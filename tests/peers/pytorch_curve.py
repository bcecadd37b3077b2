#!/usr/bin/env python3
"""pytorch_curve.py - compare the loss curve with PyTorch: the same small model, weights and batches.

usage: pytorch_curve.py [--steps 500] [--precisions fp32,bf16] [--threads 2] [--model "norm=rms …"] [-- OPTION...]
       pytorch_curve.py --all [--steps 200] [--rows TEXT] [--double] [--threads 2] [-- OPTION...]

Runs tests/train_curve of the current build folder (OPTIONs are its own), then trains with PyTorch:
pytorch_family.py on padded batches, autocast for bf16, Adam. No dropout. Prints the loss of
some steps, the largest and mean difference, of single steps and of means over 20, and that of PyTorch's
own two precisions for comparison.

--all: a line for each fact of share/conf/arch.def and for combinations that people have, in fp32: the
largest difference of a step's loss, and the time of a step: ours, PyTorch's and PyTorch's divided by ours. Both
programs take turns, step by step, so that other load slows both; a time is the median of the steps after
the third, of all threads. Fails if a difference is above 1e-4. --rows: only those whose name or options contain TEXT. --double:
PyTorch computes in double precision.

ReLU and Adam together amplify rounding: a unit that hardly ever opens has gradients near Adam's epsilon, and
whether it opens is decided by the last bit. At a rate of 0.001 two fp32 programs, or PyTorch in fp32 and in
double precision, are 0.001 apart after 100 steps; with a smooth activation 1e-6. So rows of --all that do not
name an activation have SiLU, and the rate is 0.0001.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from pytorch_family import Adam, Architecture, Transformer

SMOOTHING, MOST = 0.1, 1e-4

OPUS = ("norm_place=post attention_bias=yes output_bias=yes activation=silu positions=sinusoid-2k "
        "norm_epsilon=1e-5 decoder_start=zero")
MODERN = "norm=rms activation=silu gated_ffn=yes positions=rotary ffn_bias=no"

# ReLU: the default architecture.
ROWS = [
    ("default", "activation=relu"),
    ("norm_place", "norm_place=post"),
    ("norm", "norm=rms"),
    ("norm", "norm=rms norm_place=post"),
    ("norm_epsilon", "norm_epsilon=1e-5"),
    ("norm_epsilon", "norm_epsilon=1e-12"),
    ("final_norm", "final_norm=no"),
    ("embedding_norm", "embedding_norm=yes"),
    ("embedding_norm", "embedding_norm=yes norm=rms norm_place=post"),
    ("embedding_scale", "embedding_scale=one"),
    ("tied_embeddings", "tied_embeddings=output"),
    ("tied_embeddings", "tied_embeddings=source"),
    ("tied_embeddings", "tied_embeddings=none"),
    ("tied_embeddings", "tied_embeddings=none embedding_scale=one"),
    ("source_vocabulary", "tied_embeddings=output source_vocabulary=+8"),
    ("positions", "positions=sinusoid-2k"),
    ("positions", "positions=sinusoid-pairs"),
    ("positions", "positions=learned"),
    ("positions", "positions=rotary"),
    ("positions", "positions=none"),
    ("position_offset", "position_offset=2"),
    ("position_offset", "positions=sinusoid-2k position_offset=2"),
    ("max_positions", "positions=learned max_positions=128"),
    ("activation", "activation=gelu"),
    ("activation", "activation=gelu-tanh"),
    ("activation", "activation=gelu-sigmoid"),
    ("activation", "activation=silu"),
    ("gated_ffn", "gated_ffn=yes activation=silu"),
    ("gated_ffn", "gated_ffn=yes activation=gelu"),
    ("gated_ffn", "gated_ffn=yes activation=relu"),
    ("ffn_bias", "ffn_bias=no"),
    ("attention_bias", "attention_bias=yes"),
    ("output_bias", "output_bias=yes"),
    ("decoder_self", "decoder_self=ssru"),
    ("decoder_start", "decoder_start=zero"),
    ("decoder_start", "decoder_start=end"),
    ("decoder_ff", "decoder_ff=96"),
    ("decoder_heads", "decoder_heads=4"),
    ("OPUS-MT", OPUS),
    ("modern", MODERN),
    ("student", "encoder_layers=4 decoder_layers=2 decoder_self=ssru decoder_ff=128"),
    ("mBART-like", "positions=learned embedding_norm=yes activation=gelu attention_bias=yes "
                   "norm_epsilon=1e-5 output_bias=yes decoder_start=end"),
    ("M2M100-like", "position_offset=2 attention_bias=yes norm_epsilon=1e-5 decoder_start=end"),
    ("fairseq-like", "norm_place=post position_offset=2 attention_bias=yes norm_epsilon=1e-5 "
                     "decoder_start=end"),
]


class Training:
    """PyTorch's side: a model and Adam."""

    def __init__(self, weights, words, rate, bf16=False, double=False):
        if double:
            weights = {name: t.double() for name, t in weights.items()}
        self.model, self.bf16 = Transformer(Architecture(words), weights), bf16
        self.adam = Adam(self.model.w.values(), rate)

    def step(self, batch):
        """The loss before the step."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            y, gold = self.model.logits(batch["source"], batch["target"])
            loss = F.cross_entropy(y.float() if self.bf16 else y, gold, label_smoothing=SMOOTHING)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()


def sizes_of(options):
    """What train_curve's own options say, as words; see its main()."""
    given = dict(zip(options[::2], options[1::2]))
    d = int(given.get("--d_model", 64))
    layers = given.get("--layers", 2)
    return f"d_model={d} d_ff={4 * d} heads={max(1, d // 32)} encoder_layers={layers} decoder_layers={layers}"


def absolute(words, options):
    """source_vocabulary=+N is N more than the target's."""
    target = int(dict(zip(options[::2], options[1::2])).get("--vocabulary", 512))
    return re.sub(r"=\+(\d+)", lambda m: f"={target + int(m[1])}", words)


def command_of(o, folder, precision, words):
    return ["tests/train_curve", folder, "--steps", str(o.steps), "--precision", precision, "--threads",
            str(o.threads), "--rate", str(o.rate), "--model", words] + o.options


def take_turns(o, words):
    """Steps of both programs, one after the other: losses and seconds of each."""
    sizes = sizes_of(o.options) + " " + words
    losses, seconds = ([], []), ([], [])
    with tempfile.TemporaryDirectory() as folder:
        command = command_of(o, folder, "fp32", words) + ["--turns"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
            training = None
            for _ in range(o.steps):
                ours.stdin.write("\n")
                ours.stdin.flush()
                line = ours.stdout.readline()
                if not line:
                    raise SystemExit(f"train_curve failed: {words}")
                step = json.loads(line)
                training = training or Training(load_file(folder + "/initial.safetensors"), sizes,
                                                o.rate * 1e-6, double=o.double)
                begin = time.process_time()
                loss = training.step(step)
                seconds[1].append(time.process_time() - begin)
                seconds[0].append(step["cpu_seconds"])
                losses[0].append(step["loss"])
                losses[1].append(loss)
    return losses, seconds


def compare_all(o):
    failed = 0
    print(f"{o.steps} steps, {o.threads} threads, rate {o.rate / 1e6}, {sizes_of(o.options)}")
    print("largest difference of a loss | CPU ms of a step: ours, PyTorch's | PyTorch / ours | row")
    for name, words in ROWS:
        if o.rows not in f"{name} {words}":
            continue
        if "activation=" not in words:
            words += " activation=silu"
        losses, seconds = take_turns(o, absolute(words, o.options))
        most = max(abs(a - b) for a, b in zip(*losses))
        ours, theirs = (statistics.median(s[3:] or s) for s in seconds)
        bad = not most <= MOST
        failed += bad
        print(f"{most:.1e}{' FAILED' if bad else ''} | {1000 * ours:6.1f} {1000 * theirs:6.1f} | {theirs / ours:5.2f} | "
              f"{name}: {words}", flush=True)
    return 1 if failed else 0


def compare(name, a, b):
    each = [abs(x - y) for x, y in zip(a, b)]
    n = min(20, len(a))
    mean = [abs(sum(a[i:i + n]) - sum(b[i:i + n])) / n for i in range(0, len(a) - n + 1, n)]
    print(f"{name}: difference of a step at most {max(each):.5f}, on average {sum(each) / len(each):.5f}; "
          f"of means of {n} steps at most {max(mean):.5f}; last {n} steps "
          f"{sum(a[-n:]) / n:.4f} and {sum(b[-n:]) / n:.4f}")


def compare_curves(o):
    curves = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in o.precisions.split(","):
            command = command_of(o, folder, precision, o.model)
            lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
            steps = [json.loads(line) for line in lines]
            curves["werkbank " + precision] = [s["loss"] for s in steps]
            training = Training(load_file(folder + "/initial.safetensors"),
                                sizes_of(o.options) + " " + o.model, o.rate * 1e-6, precision == "bf16")
            curves["PyTorch " + precision] = [training.step(s) for s in steps]
    print("step  " + "  ".join(f"{name:>14}" for name in curves))
    last = o.steps - 1
    for i in sorted({0, 1, 2, 5, 10, 20, 50, *range(100, last, 100), last} & set(range(o.steps))):
        print(f"{i + 1:4}  " + "  ".join(f"{c[i]:14.5f}" for c in curves.values()))
    for precision in o.precisions.split(","):
        compare(precision, curves["werkbank " + precision], curves["PyTorch " + precision])
    if "PyTorch fp32" in curves and "PyTorch bf16" in curves:
        compare("PyTorch's bf16 and fp32", curves["PyTorch bf16"], curves["PyTorch fp32"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--steps", type=int)
    p.add_argument("--precisions", default="fp32,bf16")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rate", type=int, help="learning rate, in millionths")
    p.add_argument("--model", default="", help="options of [model]: name=value ...")
    p.add_argument("--all", action="store_true", help="a line for each option of [model]")
    p.add_argument("--rows", default="", help="with --all: only rows that contain this text")
    p.add_argument("--double", action="store_true", help="with --all: PyTorch in double precision")
    p.add_argument("options", nargs="*")
    o = p.parse_args()
    o.steps = o.steps or (200 if o.all else 500)
    o.rate = o.rate or (100 if o.all else 1000)
    torch.set_num_threads(o.threads)
    sys.exit(compare_all(o) if o.all else compare_curves(o))


main()
