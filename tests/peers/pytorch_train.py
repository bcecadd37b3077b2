#!/usr/bin/env python3
"""pytorch_train.py - training speed of PyTorch with the same model and sentences, in target tokens per second.

usage: pytorch_train.py [SOURCE TARGET] [--size tiny|base|big] [--vocabulary 32768] [--tokens 4096]
                        [--seconds 20] [--threads 0] [--precision fp32|bf16]
                        [--compile [whole|layers]] [--device cpu|cuda]

The options are those of tests/bench_train, also that sentences are made up where no
text (in BPE pieces) is given. Batches are padded, of sentences sorted by length, up
to --tokens padded tokens a side: what PyTorch likes best. Counted are target tokens
without padding, </s> included. A step is forward, backward, norm, fused Adam; some steps
warm up. On a GPU all batches are there before, and memory comes in segments that grow: batches of
many shapes would make PyTorch allocate and free gigabytes in most steps. --compile: torch.compile with dynamic shapes (padded batches come in hundreds of them), of
the whole model, or of each kind of layer and the loss, as PyTorch advises where compiling the
whole takes too long ("regional compilation"). Kernels are found again where TORCHINDUCTOR_CACHE_DIR is
kept. Which tokens are padding is known before, so that a GPU is not waited for within a step.
"""
import argparse
import json
import math
import os
import random
import time
from collections import Counter

os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"tiny": (256, 1024, 4, 3), "base": (512, 2048, 8, 6), "big": (1024, 4096, 16, 6)}
DROP, SMOOTHING = 0.1, 0.1


def sinusoid(n, d):
    half = d // 2
    rate = torch.exp(-torch.arange(half).float() * math.log(10000.0) / (half - 1))
    angle = torch.arange(n).float()[:, None] * rate[None, :]
    return torch.cat([angle.sin(), angle.cos()], 1)


class Attention(nn.Module):
    def __init__(self, d, h, cross):
        super().__init__()
        self.h, self.cross = h, cross
        self.norm = nn.LayerNorm(d, eps=1e-6)
        self.q = nn.Linear(d, d if cross else 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)

    def forward(self, x, kv, mask, causal):
        b, t, d = x.shape
        q = self.q(self.norm(x))
        q, k, v = (q, *kv) if self.cross else q.split(d, 2)
        q, k, v = (y.reshape(b, -1, self.h, d // self.h).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=DROP, is_causal=causal)
        return x + F.dropout(self.out(y.transpose(1, 2).reshape(b, t, d)), DROP)


class FeedForward(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(d, eps=1e-6), nn.Linear(d, f), nn.Linear(f, d)

    def forward(self, x):
        return x + F.dropout(self.b(F.dropout(F.relu(self.a(self.norm(x))), DROP)), DROP)


class Transformer(nn.Module):
    def __init__(self, size, vocabulary):
        super().__init__()
        d, f, h, n = SIZES[size]
        self.d, self.n = d, n
        self.embed = nn.Embedding(vocabulary, d)
        nn.init.normal_(self.embed.weight, std=d ** -0.5)
        self.register_buffer("positions", sinusoid(512, d))
        self.encoder = nn.ModuleList(m for _ in range(n) for m in (Attention(d, h, False), FeedForward(d, f)))
        self.decoder = nn.ModuleList(m for _ in range(n)
                                     for m in (Attention(d, h, False), Attention(d, h, True), FeedForward(d, f)))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d, eps=1e-6), nn.LayerNorm(d, eps=1e-6)
        self.cross_kv = nn.Linear(d, 2 * d * n, bias=False)

    def begin(self, ids):
        return F.dropout(self.embed(ids) * math.sqrt(self.d) + self.positions[:ids.shape[1]], DROP)

    def forward(self, source, mask, target, gold, keep):
        x = self.begin(source)
        for m in self.encoder:
            x = m(x, None, mask, False) if isinstance(m, Attention) else m(x)
        memory = self.cross_kv(self.encoder_norm(x)).split(self.d, 2)
        x, layer = self.begin(target), 0
        for m in self.decoder:
            if isinstance(m, FeedForward):
                x = m(x)
            elif m.cross:
                x = m(x, memory[2 * layer:2 * layer + 2], mask, False)
                layer += 1
            else:
                x = m(x, None, None, True)
        return self.loss(self.decoder_norm(x).flatten(0, 1)[keep], gold.flatten()[keep])

    def loss(self, x, gold):
        y = F.linear(x, self.embed.weight)
        return F.cross_entropy(y.float(), gold, label_smoothing=SMOOTHING, reduction="sum")

    def compile_layers(self):
        for m in (*self.encoder, *self.decoder):
            m.compile(dynamic=True)
        self.begin = torch.compile(self.begin, dynamic=True)
        self.loss = torch.compile(self.loss, dynamic=True)
        return self


def load(source, target):
    pairs = [(a.split(), b.split()) for a, b in zip(open(source, encoding="utf8"), open(target, encoding="utf8"))]
    count = Counter(w for p in pairs for side in p for w in side)
    ids = {w: 4 + i for i, (w, _) in enumerate(count.most_common())}
    pairs = [([ids[w] for w in a], [ids[w] for w in b]) for a, b in pairs if a and b]
    return pairs, -(-(len(ids) + 4) // 8) * 8


def make_up(vocabulary):
    """Zipf's tokens, lengths as in WMT's training text: as tests/bench_train does."""
    draw = random.Random(1)

    def ids(n):
        return [min(int(3 + vocabulary ** draw.random()), vocabulary - 1) for _ in range(n)]

    pairs = []
    for _ in range(20000):
        n = int(min(max(math.exp(math.log(26) + 0.55 * draw.gauss(0, 1)), 1), 100))
        pairs.append((ids(n), ids(int(min(max(n * (0.8 + 0.45 * draw.random()), 1), 110)))))
    return pairs, vocabulary


def batches(pairs, tokens):
    """Sorted by length, padded, shuffled."""
    pairs = sorted(pairs, key=lambda p: (len(p[1]), len(p[0])))
    out, at = [], 0
    while at < len(pairs):
        n = ls = lt = 0
        while at + n < len(pairs):
            s, t = max(ls, len(pairs[at + n][0]) + 1), max(lt, len(pairs[at + n][1]) + 1)
            if n and max(s, t) * (n + 1) > tokens:
                break
            n, ls, lt = n + 1, s, t
        part = pairs[at:at + n]
        at += n
        source = torch.zeros(n, ls, dtype=torch.long)
        target, gold = torch.zeros(n, lt, dtype=torch.long), torch.zeros(n, lt, dtype=torch.long)
        for i, (a, b) in enumerate(part):
            source[i, :len(a) + 1] = torch.tensor(a + [1])
            target[i, :len(b) + 1] = torch.tensor([2] + b)
            gold[i, :len(b) + 1] = torch.tensor(b + [1])
        out.append((source, (source != 0)[:, None, None, :], target, gold, gold.flatten() != 0))
    random.Random(1).shuffle(out)
    return out


def on(device, batch):
    """The batch there, and which tokens to keep as numbers; a CPU likes the mask better."""
    if device == "cpu":
        return batch
    return [x.to(device) for x in (*batch[:4], batch[4].nonzero()[:, 0])]


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("text", nargs="*")
    p.add_argument("--size", default="tiny", choices=SIZES)
    p.add_argument("--precision", default="bf16", choices=("fp32", "bf16"))
    for name, value in (("vocabulary", 32768), ("tokens", 4096), ("seconds", 20), ("threads", 0)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--compile", nargs="?", const="whole", choices=("whole", "layers"))
    p.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    p.add_argument("--json", action="store_true", help="always so")
    return p.parse_args()


def main():
    o = options()
    if o.threads:
        torch.set_num_threads(o.threads)
    pairs, vocabulary = load(*o.text) if o.text else make_up(o.vocabulary)
    model = Transformer(o.size, vocabulary).to(o.device)
    run = (model.compile_layers() if o.compile == "layers"
           else torch.compile(model, dynamic=True) if o.compile else model)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    warm_up = (20 if o.device == "cuda" else 2) + (4 if o.compile else 0)
    todo = [(on(o.device, b), int(b[4].sum()), b[3].numel()) for b in batches(pairs, o.tokens)]
    step = tokens = padded = begun = cpu = s = 0
    while step <= warm_up or s < o.seconds:
        if step == warm_up:
            wait(o.device)
            tokens = padded = 0
            begun, cpu = time.monotonic(), time.process_time()
        batch, n, room = todo[step % len(todo)]
        with torch.autocast(o.device, torch.bfloat16, enabled=o.precision == "bf16"):
            loss = run(*batch) / n
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        adam.step()
        adam.zero_grad(set_to_none=True)
        tokens, padded, step = tokens + n, padded + room, step + 1
        s = time.monotonic() - begun if step > warm_up else 0
    wait(o.device)
    s = time.monotonic() - begun
    steps, cpu = step - warm_up, time.process_time() - cpu
    print(json.dumps({"tool": f"PyTorch {torch.__version__}", "size": o.size, "precision": o.precision,
                      "compile": o.compile or "no", "batch_tokens": o.tokens, "vocabulary": vocabulary,
                      "parameters": sum(p.numel() for p in model.parameters()), "steps": steps,
                      "seconds": round(s, 3), "target_tokens_per_second": round(tokens / s, 1),
                      "target_tokens_per_cpu_second": round(tokens / cpu, 1), "fill": round(tokens / padded, 3),
                      "step_s": round(s / steps, 4), "cpu_s": round(cpu / steps, 4),
                      "loss": round(loss.item(), 4)}))


main()
