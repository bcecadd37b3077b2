#!/usr/bin/env python3
"""pytorch_curve.py - compare the loss curve with PyTorch: the same small model, weights and batches.

usage: pytorch_curve.py [--steps 500] [--precisions fp32,bf16] [--threads 2] [-- OPTION...]

Runs tests/train_curve of the current build folder (OPTIONs are its own), then trains with PyTorch:
functions of its own on padded batches, autocast for bf16, Adam. No dropout. Prints the loss of
some steps, the largest and mean difference, of single steps and of means over 20, and that of PyTorch's
own two precisions for comparison.
"""
import argparse
import json
import math
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

SMOOTHING, END, START = 0.1, 1, 2


def sinusoid(n, d):
    """Sines in the first half of the columns, cosines in the second."""
    half = d // 2
    rate = torch.exp(-torch.arange(half, dtype=torch.float64) * math.log(10000.0) / (half - 1))
    angle = torch.arange(n, dtype=torch.float64)[:, None] * rate[None, :]
    return torch.cat([angle.sin(), angle.cos()], 1).float()


def pad(rows):
    out = torch.zeros(len(rows), max(len(r) for r in rows), dtype=torch.long)
    for i, r in enumerate(rows):
        out[i, :len(r)] = torch.tensor(r)
    return out


class Model:
    def __init__(self, weights):
        self.w = {name: t.clone().requires_grad_() for name, t in weights.items()}
        self.d = weights["embed"].shape[1]
        self.h = max(1, self.d // 32)
        self.layers = sum(name.startswith("decoder.") and name.endswith("self.qkv") for name in weights)
        self.waves = sinusoid(512, self.d)

    def norm(self, name, x):
        return F.layer_norm(x, (self.d,), self.w[name + ".scale"], self.w[name + ".shift"], eps=1e-6)

    def attend(self, q, k, v, mask, causal):
        q, k, v = (t.reshape(t.shape[0], t.shape[1], self.h, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return y.transpose(1, 2).reshape(y.shape[0], y.shape[2], self.d)

    def self_attention(self, name, x, mask, causal):
        q, k, v = F.linear(self.norm(name + ".norm", x), self.w[name + ".qkv"]).split(self.d, 2)
        return x + F.linear(self.attend(q, k, v, mask, causal), self.w[name + ".out"])

    def ffn(self, name, x):
        w = self.w
        hidden = F.relu(F.linear(self.norm(name + ".norm", x), w[name + ".in"], w[name + ".in.bias"]))
        return x + F.linear(hidden, w[name + ".out"], w[name + ".out.bias"])

    def embed(self, ids):
        return self.w["embed"][ids] * math.sqrt(self.d) + self.waves[:ids.shape[1]]

    def loss(self, source, target):
        d, w = self.d, self.w
        ids, gold = pad([s + [END] for s in source]), pad([t + [END] for t in target])
        mask = (ids != 0)[:, None, None, :]
        x = self.embed(ids)
        for i in range(self.layers):
            x = self.self_attention(f"encoder.{i}.self", x, mask, False)
            x = self.ffn(f"encoder.{i}.ffn", x)
        memory = F.linear(self.norm("encoder.norm", x), w["decoder.cross.kv"]).split(d, 2)
        x = self.embed(pad([[START] + t for t in target]))
        for i in range(self.layers):
            x = self.self_attention(f"decoder.{i}.self", x, None, True)
            q = F.linear(self.norm(f"decoder.{i}.cross.norm", x), w[f"decoder.{i}.cross.q"])
            y = self.attend(q, memory[2 * i], memory[2 * i + 1], mask, False)
            x = x + F.linear(y, w[f"decoder.{i}.cross.out"])
            x = self.ffn(f"decoder.{i}.ffn", x)
        keep = gold != 0
        y = F.linear(self.norm("decoder.norm", x)[keep], w["embed"])
        return F.cross_entropy(y.float(), gold[keep], label_smoothing=SMOOTHING)


def train(weights, steps, bf16, rate):
    model, out = Model(weights), []
    adam = torch.optim.Adam(model.w.values(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
    for step in steps:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model.loss(step["source"], step["target"])
        adam.zero_grad()
        loss.backward()
        adam.step()
        out.append(loss.item())
    return out


def compare(name, a, b):
    each = [abs(x - y) for x, y in zip(a, b)]
    n = min(20, len(a))
    mean = [abs(sum(a[i:i + n]) - sum(b[i:i + n])) / n for i in range(0, len(a) - n + 1, n)]
    print(f"{name}: difference of a step at most {max(each):.5f}, on average {sum(each) / len(each):.5f}; "
          f"of means of {n} steps at most {max(mean):.5f}; last {n} steps "
          f"{sum(a[-n:]) / n:.4f} and {sum(b[-n:]) / n:.4f}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--precisions", default="fp32,bf16")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rate", type=int, default=1000)
    p.add_argument("options", nargs="*")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    curves = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in o.precisions.split(","):
            command = ["tests/train_curve", folder, "--steps", str(o.steps), "--precision", precision,
                       "--threads", str(o.threads), "--rate", str(o.rate)] + o.options
            lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
            steps = [json.loads(line) for line in lines]
            curves["werkbank " + precision] = [s["loss"] for s in steps]
            weights = load_file(folder + "/initial.safetensors")
            curves["PyTorch " + precision] = train(weights, steps, precision == "bf16", o.rate * 1e-6)
    print("step  " + "  ".join(f"{name:>14}" for name in curves))
    last = o.steps - 1
    for i in sorted({0, 1, 2, 5, 10, 20, 50, *range(100, last, 100), last} & set(range(o.steps))):
        print(f"{i + 1:4}  " + "  ".join(f"{c[i]:14.5f}" for c in curves.values()))
    for precision in o.precisions.split(","):
        compare(precision, curves["werkbank " + precision], curves["PyTorch " + precision])
    if "PyTorch fp32" in curves and "PyTorch bf16" in curves:
        compare("PyTorch's bf16 and fp32", curves["PyTorch bf16"], curves["PyTorch fp32"])


main()
