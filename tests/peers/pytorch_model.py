#!/usr/bin/env python3
"""pytorch_model.py - write tests/golden/model.pytorch.safetensors: loss and every gradient of a very small model.

The model is built here once more, from PyTorch's own functions and in double
precision, with weights and a batch that follow from formulas which
tests/train/t_model.c knows too. Usage: pytorch_model.py [OUTPUT]
"""
import math
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

D, FF, H, LAYERS, V, REAL = 16, 24, 4, 2, 32, 29
SMOOTHING = 0.1
LENGTHS = [(5, 4), (1, 3), (7, 1)]  # of source and target, without special tokens
END, START = 1, 2


def shapes():
    """Name and shape of every tensor, in the order of train/model/params.def."""
    def norm(name):
        return [(f"{name}.scale", (D,)), (f"{name}.shift", (D,))]

    def ffn(layer):
        return norm(f"{layer}.ffn.norm") + [
            (f"{layer}.ffn.in", (FF, D)), (f"{layer}.ffn.in.bias", (FF,)),
            (f"{layer}.ffn.out", (D, FF)), (f"{layer}.ffn.out.bias", (D,))]

    out = [("embed", (V, D))]
    for i in range(LAYERS):
        out += norm(f"encoder.{i}.self.norm") + [(f"encoder.{i}.self.qkv", (3 * D, D)), (f"encoder.{i}.self.out", (D, D))]
        out += ffn(f"encoder.{i}")
    out += norm("encoder.norm") + [("decoder.cross.kv", (2 * D * LAYERS, D))]
    for i in range(LAYERS):
        out += norm(f"decoder.{i}.self.norm") + [(f"decoder.{i}.self.qkv", (3 * D, D)), (f"decoder.{i}.self.out", (D, D))]
        out += norm(f"decoder.{i}.cross.norm") + [(f"decoder.{i}.cross.q", (D, D)), (f"decoder.{i}.cross.out", (D, D))]
        out += ffn(f"decoder.{i}")
    return out + norm("decoder.norm")


def weights():
    """Element i of the flat arena: a multiplicative hash of i in -0.3 .. 0.3; norm scales are 1 more."""
    w, at = {}, 0
    for name, shape in shapes():
        n = math.prod(shape)
        i = torch.arange(at, at + n, dtype=torch.int64)
        x = ((i * 2654435761 + 12345) % 2**32).double() / 2**32 * 0.6 - 0.3
        if name.endswith("norm.scale"):
            x = x + 1
        w[name] = x.float().double().reshape(shape).requires_grad_()
        at += n
    return w


def sinusoid(n):
    """Sines in the first half of the columns, cosines in the second (tensor2tensor)."""
    half = D // 2
    rate = torch.exp(-torch.arange(half, dtype=torch.float64) * math.log(10000.0) / (half - 1))
    angle = torch.arange(n, dtype=torch.float64)[:, None] * rate[None, :]
    return torch.cat([angle.sin(), angle.cos()], 1)


def norm(w, name, x):
    return F.layer_norm(x, (D,), w[f"{name}.scale"], w[f"{name}.shift"], eps=1e-6)


def attend(q, k, v, causal):
    q, k, v = (t.reshape(t.shape[0], H, D // H).transpose(0, 1) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(0, 1).reshape(-1, D)


def self_attention(w, name, x, causal):
    q, k, v = (norm(w, f"{name}.norm", x) @ w[f"{name}.qkv"].T).split(D, 1)
    return x + attend(q, k, v, causal) @ w[f"{name}.out"].T


def ffn(w, name, x):
    hidden = F.relu(norm(w, f"{name}.norm", x) @ w[f"{name}.in"].T + w[f"{name}.in.bias"])
    return x + hidden @ w[f"{name}.out"].T + w[f"{name}.out.bias"]


def logits(w, source, target_in):
    def embed(ids):
        return w["embed"][ids] * math.sqrt(D) + sinusoid(len(ids))

    x = embed(source)
    for i in range(LAYERS):
        x = self_attention(w, f"encoder.{i}.self", x, False)
        x = ffn(w, f"encoder.{i}.ffn", x)
    memory = norm(w, "encoder.norm", x) @ w["decoder.cross.kv"].T
    x = embed(target_in)
    for i in range(LAYERS):
        x = self_attention(w, f"decoder.{i}.self", x, True)
        q = norm(w, f"decoder.{i}.cross.norm", x) @ w[f"decoder.{i}.cross.q"].T
        k, v = memory[:, 2 * D * i:2 * D * i + D], memory[:, 2 * D * i + D:2 * D * (i + 1)]
        x = x + attend(q, k, v, False) @ w[f"decoder.{i}.cross.out"].T
        x = ffn(w, f"decoder.{i}.ffn", x)
    return norm(w, "decoder.norm", x) @ w["embed"].T


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/model.pytorch.safetensors")
    w, loss, nll = weights(), 0, 0
    for s, (n_source, n_target) in enumerate(LENGTHS):
        source = [4 + (7 * s + 3 * i) % 25 for i in range(n_source)] + [END]
        target = [4 + (5 * s + 2 * i + 1) % 25 for i in range(n_target)]
        y = logits(w, torch.tensor(source), torch.tensor([START] + target))[:, :REAL]
        gold = torch.tensor(target + [END])
        loss = loss + F.cross_entropy(y, gold, label_smoothing=SMOOTHING, reduction="sum")
        nll = nll + F.cross_entropy(y, gold, reduction="sum")
    loss.backward()
    out = {name: t.grad.float().contiguous() for name, t in w.items()}
    out["loss"] = loss.detach().float().reshape(1)
    out["nll"] = nll.detach().float().reshape(1)
    save_file(out, sys.argv[1] if len(sys.argv) > 1 else default,
              metadata={"tool": f"PyTorch {torch.__version__}, float64", "script": "tests/peers/pytorch_model.py"})
    print(f"PyTorch {torch.__version__}: loss {loss.item():.9f} nll {nll.item():.9f}")


main()
