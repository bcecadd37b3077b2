#!/usr/bin/env python3
"""safetensors_read.py - read a checkpoint with the library "safetensors". usage: safetensors_read.py CHECKPOINT-FOLDER

Prints names, shapes and sums of the weights; fails when the library refuses a
file, or when optimizer and model do not hold the same tensors.
"""
import os
import sys

import safetensors
from safetensors.numpy import load_file

folder = sys.argv[1]
model = load_file(os.path.join(folder, "model.safetensors"))
moments = load_file(os.path.join(folder, "optimizer.safetensors"))
for name, x in model.items():
    print(f"{name:32s} {str(x.dtype):8s} {str(x.shape):16s} {float(x.astype('float64').sum()):.6f}")
    for suffix in (".m", ".v"):
        if moments.pop(name + suffix).shape != x.shape:
            sys.exit(f"{name}{suffix}: another shape than the weight")
if moments:
    sys.exit(f"moments of unknown tensors: {sorted(moments)}")
print(f"safetensors {safetensors.__version__}: {len(model)} tensors, {sum(x.size for x in model.values())} parameters")
