#!/usr/bin/env python3
"""marian_forward.py - compare the architecture of OPUS-MT with MarianMTModel of transformers.

usage: marian_forward.py [--steps 50] [--threads 1] [-- OPTION...]

Needs torch, transformers, safetensors. Runs tests/train_curve of the current build folder (OPTIONs are its own)
with the options of OPUS-MT and gives its initial weights to MarianMTModel and to pytorch_family.py. Prints the
largest difference of a logit between the two, for one pair, after all weights were moved at random; then trains
MarianMTModel with Adam on the same batches and prints the largest difference of its loss from ours. Fails if
one is above 1e-4.

Marian reads a zero vector first: MarianMTModel has one row more in its table, <pad>, which is 0, and whose
logit is dropped.
"""
import argparse
import json
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from transformers import MarianConfig, MarianMTModel

from pytorch_family import END, Adam, Architecture, Transformer, pad

WORDS = ("norm_place=post attention_bias=yes output_bias=yes activation=silu positions=sinusoid-2k "
         "norm_epsilon=1e-5 decoder_start=zero")
MOST = 1e-4


def new_model(a, vocabulary):
    """MarianMTModel of an Architecture."""
    config = MarianConfig(
        vocab_size=vocabulary + 1, d_model=a.d_model, encoder_layers=a.encoder_layers,
        decoder_layers=a.decoder_layers, encoder_attention_heads=a.heads, decoder_attention_heads=a.decoder_heads,
        encoder_ffn_dim=a.d_ff, decoder_ffn_dim=a.decoder_ff, activation_function="swish", dropout=0,
        attention_dropout=0, activation_dropout=0, scale_embedding=True, pad_token_id=vocabulary,
        decoder_start_token_id=vocabulary, eos_token_id=END, max_position_embeddings=512)
    model = MarianMTModel(config).train()
    bias = model.final_logits_bias
    del model.final_logits_bias  # a buffer; ours is trained
    model.final_logits_bias = torch.nn.Parameter(bias)
    return model


def set_weights(model, a, w):
    """Our weights under the names of MarianMTModel. Every one of its parameters must get a value."""
    D, put = a.d_model, {}

    def pair(name, weight, bias):
        put[name + ".weight"], put[name + ".bias"] = weight, bias.reshape(-1)

    def attention(to, name, q, k, v):
        for part, (weight, bias) in zip("qkv", (q, k, v)):
            pair(f"{to}.{part}_proj", weight, bias)
        pair(to + ".out_proj", w[name + ".out"], w[name + ".out.bias"])
        pair(to + "_layer_norm", w[name + ".norm.scale"].reshape(-1), w[name + ".norm.shift"])

    def rows(name):
        return list(zip(w[name].split(D), w[name + ".bias"].reshape(-1).split(D)))

    def ffn(to, name):
        pair(to + ".fc1", w[name + ".in"], w[name + ".in.bias"])
        pair(to + ".fc2", w[name + ".out"], w[name + ".out.bias"])
        pair(to + ".final_layer_norm", w[name + ".norm.scale"].reshape(-1), w[name + ".norm.shift"])

    put["model.shared.weight"] = torch.cat([w["embed"], torch.zeros(1, D)])
    put["final_logits_bias"] = F.pad(w["output.bias"].reshape(1, -1), (0, 1))
    memory = rows("decoder.cross.kv")
    for i in range(a.encoder_layers):
        attention(f"model.encoder.layers.{i}.self_attn", f"encoder.{i}.self", *rows(f"encoder.{i}.self.qkv"))
        ffn(f"model.encoder.layers.{i}", f"encoder.{i}.ffn")
    for i in range(a.decoder_layers):
        attention(f"model.decoder.layers.{i}.self_attn", f"decoder.{i}.self", *rows(f"decoder.{i}.self.qkv"))
        attention(f"model.decoder.layers.{i}.encoder_attn", f"decoder.{i}.cross", *rows(f"decoder.{i}.cross.q"),
                  *memory[2 * i:2 * i + 2])
        ffn(f"model.decoder.layers.{i}", f"decoder.{i}.ffn")
    for name, p in model.named_parameters():
        if name.endswith("embed_positions.weight"):
            p.requires_grad_(False)
            continue
        with torch.no_grad():
            p.copy_(put.pop(name))
    if put:
        raise SystemExit(f"MarianMTModel has no parameter {sorted(put)}")


def logits_of(model, source, target):
    """As Transformer.logits(), by MarianMTModel."""
    padding = model.config.pad_token_id
    ids, gold = pad([s + [END] for s in source], padding), pad([t + [END] for t in target])
    first = pad([[padding] + t for t in target], padding)
    y = model(input_ids=ids, attention_mask=(ids != padding).long(), decoder_input_ids=first).logits
    keep = gold != 0
    return y[keep][:, :padding], gold[keep]


def compare_logits(a, weights):
    """One pair, with biases and norms that are not 0 and 1."""
    torch.manual_seed(1)
    moved = {name: t + 0.1 * torch.randn_like(t) for name, t in weights.items()}
    model = new_model(a, moved["embed"].shape[0])
    set_weights(model, a, moved)
    pair = [[5, 17, 33, 4, 120, 9, 8]], [[21, 6, 300, 44, 7]]
    with torch.no_grad():
        ours, theirs = Transformer(a, moved).logits(*pair)[0], logits_of(model, *pair)[0]
    most = (ours - theirs).abs().max().item()
    print(f"logits of a pair: difference at most {most:.1e}, logits up to {theirs.abs().max().item():.1f}")
    return most


def compare_training(a, weights, steps, rate):
    model = new_model(a, weights["embed"].shape[0])
    set_weights(model, a, weights)
    adam = Adam([p for p in model.parameters() if p.requires_grad], rate)
    worst = 0
    for step in steps:
        y, gold = logits_of(model, step["source"], step["target"])
        loss = F.cross_entropy(y, gold, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()
        worst = max(worst, abs(loss.item() - step["loss"]))
    print(f"{len(steps)} steps: loss {steps[0]['loss']:.4f} to {steps[-1]['loss']:.4f}, difference at most {worst:.1e}")
    return worst


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("options", nargs="*")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    a = Architecture("d_model=64 d_ff=256 heads=2 encoder_layers=2 decoder_layers=2 " + WORDS)
    with tempfile.TemporaryDirectory() as folder:
        command = ["tests/train_curve", folder, "--steps", str(o.steps), "--threads", str(o.threads), "--model", WORDS]
        out = subprocess.run(command + o.options, stdout=subprocess.PIPE, check=True, text=True).stdout
        weights = load_file(folder + "/initial.safetensors")
    worst = compare_logits(a, weights)
    worst = max(worst, compare_training(a, weights, [json.loads(line) for line in out.splitlines()], 1e-3))
    sys.exit(0 if worst <= MOST else 1)


main()
