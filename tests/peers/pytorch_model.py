#!/usr/bin/env python3
"""pytorch_model.py - write tests/golden/model.pytorch*.safetensors: loss and every gradient of very small models.

The models are those of pytorch_family.py in double precision, with weights and a batch that follow from
formulas which tests/train/small_model.h knows too. Usage: pytorch_model.py [FOLDER [NAME...]]
"""
import math
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from pytorch_family import END, Architecture, Transformer

V, REAL = 32, 29
SMOOTHING = 0.1
LENGTHS = [(5, 4), (1, 3), (7, 1)]  # of source and target, without special tokens
SMALL = "d_model=8 d_ff=12 heads=2 encoder_layers=2 decoder_layers=2 "

# The same table is in tests/train/t_pytorch.c. "" is the default architecture.
GOLDEN = {
    "": "d_model=16 d_ff=24 heads=4 encoder_layers=2 decoder_layers=2",
    "opus": SMALL + "norm_place=post norm_epsilon=1e-5 positions=sinusoid-2k activation=silu "
                    "attention_bias=yes output_bias=yes decoder_start=zero",
    "modern": SMALL + "norm=rms activation=silu gated_ffn=yes positions=rotary ffn_bias=no",
    "student": SMALL + "encoder_layers=3 decoder_self=ssru decoder_ff=20 decoder_heads=4",
    "mbart": SMALL + "positions=learned max_positions=16 embedding_norm=yes activation=gelu "
                     "attention_bias=yes output_bias=yes norm_epsilon=1e-5 decoder_start=end",
    "separate": SMALL + "tied_embeddings=none source_vocabulary=40 embedding_scale=one final_norm=no "
                        "positions=sinusoid-pairs position_offset=2 activation=gelu-tanh",
    "gated": SMALL + "tied_embeddings=source norm=rms norm_place=post positions=none "
                     "activation=gelu-sigmoid gated_ffn=yes embedding_norm=yes embedding_scale=one "
                     "norm_epsilon=1e-5",
    "ssru": SMALL + "decoder_self=ssru norm_place=post tied_embeddings=output position_offset=2 "
                    "attention_bias=yes positions=sinusoid",
}


def weights(architecture):
    """Element i of the flat arena: a multiplicative hash of i in -0.3 .. 0.3; norm scales are 1 more."""
    w, at = {}, 0
    for name, shape in architecture.shapes(V):
        n = math.prod(shape)
        i = torch.arange(at, at + n, dtype=torch.int64)
        x = ((i * 2654435761 + 12345) % 2**32).double() / 2**32 * 0.6 - 0.3
        if name.endswith("norm.scale"):
            x = x + 1
        w[name] = x.float().double().reshape(shape)
        at += n
    return w


def write(name, words, folder):
    architecture = Architecture(words)
    model = Transformer(architecture, weights(architecture))
    source = [[4 + (7 * s + 3 * i) % 25 for i in range(n)] for s, (n, _) in enumerate(LENGTHS)]
    target = [[4 + (5 * s + 2 * i + 1) % 25 for i in range(n)] for s, (_, n) in enumerate(LENGTHS)]
    y, gold = model.logits(source, target)
    assert gold.tolist() == [word for t in target for word in t + [END]]
    loss = F.cross_entropy(y[:, :REAL], gold, label_smoothing=SMOOTHING, reduction="sum")
    nll = F.cross_entropy(y[:, :REAL], gold, reduction="sum")
    loss.backward()
    out = {tensor: t.grad.float().contiguous() for tensor, t in model.w.items()}
    out["loss"] = loss.detach().float().reshape(1)
    out["nll"] = nll.detach().float().reshape(1)
    path = f"{folder}/model.pytorch{'.' + name if name else ''}.safetensors"
    save_file(out, path, metadata={"tool": f"PyTorch {torch.__version__}, float64",
                                   "script": "tests/peers/pytorch_model.py", "model": words})
    print(f"PyTorch {torch.__version__}: loss {loss.item():.9f} nll {nll.item():.9f} {path}")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else here + "/../golden"
    for name in sys.argv[2:] or GOLDEN:
        write(name, GOLDEN[name], folder)


main()
