#!/usr/bin/env python3
"""pytorch_optim.py - compare learning-rate schedules and optimizers with those of PyTorch and transformers.

usage: pytorch_optim.py [--steps 200]

Runs tests/optim_steps of the current build folder ("make tests/optim_steps"). Needs PyTorch, NumPy and
transformers.

Schedules: SequentialLR of LinearLR (the warm-up: its first step has 1 / warmup of the rate, its last one the
peak) and CosineAnnealingLR, CosineAnnealingWarmRestarts, LinearLR or ConstantLR; inverse-sqrt is transformers'
get_inverse_sqrt_schedule, which counts steps from 0 and so is one step behind. Optimizers, on the tensors of a
small model with the same random gradients: torch.optim.Adam, torch.optim.AdamW with the decay for weights of
products and embeddings only (with a tiny epsilon: ours adds it before the corrections of the moments, PyTorch
after them, which differs for gradients that are not larger than epsilon), and transformers' Adafactor with scale_parameter=False, relative_step=False,
no first moment and clip_threshold=1. The peers compute in fp64: PyTorch rounds 1 - rate * decay, which in fp32
loses 3e-8 of each weight in each step. torch.optim.Adafactor is another variant: it multiplies the rate by the
root mean square of the weights.

Prints a line for each comparison, with the largest relative difference of a rate, or the largest difference
of a weight relative to the rate. The exit status is 1 if a difference is above its limit.
"""
import argparse
import json
import subprocess
import sys
import warnings

import numpy as np
import torch
from torch.optim import lr_scheduler as lr
from transformers import get_inverse_sqrt_schedule
from transformers.optimization import Adafactor

PROGRAM = "tests/optim_steps"
RATE_LIMIT = 1e-9	# relative, of a rate: both compute in double
WEIGHT_LIMIT = 2e-3	# of a weight, in rates: ours are fp32, so near 1 an ulp is 6e-5 of a rate
PEAK, WARMUP = 0.003, 20
failures = 0


def report(what, difference, limit):
    global failures
    failures += not difference <= limit
    print(f"{what}: {difference:.2g} (limit {limit:.2g}){'' if difference <= limit else '  DIFFERS'}")


def options_of(**more):
    return [str(x) for name, value in more.items() for x in (name, value)]


# ---- schedules --------------------------------------------------------------

def rates_of_peer(make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    schedule, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return np.array(rates)


def after_warmup(second):
    def make(optimizer):
        first = lr.LinearLR(optimizer, 1 / WARMUP, 1, WARMUP - 1)
        return lr.SequentialLR(optimizer, [first, second(optimizer)], [WARMUP])
    return make


def compare_schedule(what, make, steps, shift=0, **options):
    ours = np.array([float(x) for x in subprocess.run(
        [PROGRAM, "rates", str(steps), *options_of(peak_rate=PEAK, warmup=WARMUP, **options)],
        check=True, capture_output=True, text=True).stdout.split()])
    peer = rates_of_peer(make, steps + shift)[shift:]
    report(f"{what}, {steps} steps", float(np.max(np.abs(ours - peer) / ours)), RATE_LIMIT)


def compare_schedules(steps):
    way = steps - WARMUP
    compare_schedule("constant", after_warmup(lambda o: lr.ConstantLR(o, 1, 1)), steps, schedule="constant")
    compare_schedule("inverse-sqrt", lambda o: get_inverse_sqrt_schedule(o, WARMUP, WARMUP), steps, 1,
                     schedule="inverse-sqrt")
    for floor in (0, 0.1):
        compare_schedule(f"linear, floor {floor}", after_warmup(lambda o: lr.LinearLR(o, 1, floor, way)), steps,
                         schedule="linear", min_rate=floor)
        compare_schedule(f"cosine, floor {floor}",
                         after_warmup(lambda o: lr.CosineAnnealingLR(o, way, floor * PEAK)), steps,
                         schedule="cosine", min_rate=floor)
        compare_schedule(f"cosine, restart 37, floor {floor}",
                         after_warmup(lambda o: lr.CosineAnnealingWarmRestarts(o, 37, eta_min=floor * PEAK)), steps,
                         schedule="cosine", min_rate=floor, restart=37)


# ---- optimizers -------------------------------------------------------------

class Ours:
    """The program, and its weights by tensor."""

    def __init__(self, steps, **options):
        self.process = subprocess.Popen([PROGRAM, "updates", str(steps), *options_of(**options)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tensors = json.loads(self.process.stdout.readline())
        self.floats = sum(t["rows"] * t["cols"] for t in self.tensors)

    def weights(self):
        flat = np.frombuffer(self.process.stdout.read(4 * self.floats), np.float32).copy()
        assert len(flat) == self.floats
        return flat

    def split(self, flat):
        at = 0
        for t in self.tensors:
            n = t["rows"] * t["cols"]
            x = torch.from_numpy(flat[at:at + n])
            yield x if t["rows"] == 1 else x.reshape(t["rows"], t["cols"])
            at += n

    def step(self, gradient):
        self.process.stdin.write(gradient.tobytes())
        self.process.stdin.flush()
        return self.weights()


def compare_optimizer(what, make, steps, decay, rate=0.001, **options):
    ours = Ours(steps, schedule="constant", peak_rate=rate, warmup=1, weight_decay=decay, **options)
    params = [x.double().requires_grad_() for x in ours.split(ours.weights())]
    decays = [t["decays"] for t in ours.tensors]
    groups = [{"params": [p for p, d in zip(params, decays) if d], "weight_decay": decay},
              {"params": [p for p, d in zip(params, decays) if not d], "weight_decay": 0.0}]
    assert all(g["params"] for g in groups)
    optimizer, draw = make(groups, rate), np.random.default_rng(1)
    scales = 10 ** draw.uniform(-4, 1, len(params))	# tensors have gradients of different size
    worst = 0
    for step in range(steps):
        size = 10 ** draw.uniform(-1, 1)	# and steps, too, so that Adafactor clips some of them
        grads = [draw.standard_normal(p.shape).astype(np.float32) * np.float32(s * size)
                 for p, s in zip(params, scales)]
        for p, g in zip(params, grads):
            p.grad = torch.from_numpy(g).double()
        optimizer.step()
        got = ours.step(np.concatenate([g.ravel() for g in grads]))
        worst = max(worst, max(float((p.detach() - q).abs().max()) for p, q in zip(params, ours.split(got))))
    ours.process.stdin.close()
    assert ours.process.wait() == 0
    report(f"{what}, {steps} steps, largest difference of a weight in rates", worst / rate, WEIGHT_LIMIT)


def compare_optimizers(steps):
    adam = {"betas": (0.9, 0.98), "eps": 1e-15}
    ours = {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-15}
    compare_optimizer("adam", lambda g, rate: torch.optim.Adam(g, rate, **adam), steps, 0, optimizer="adam", **ours)
    for decay in (0.01, 1):
        compare_optimizer(f"adamw, decay {decay}", lambda g, rate: torch.optim.AdamW(g, rate, **adam), steps, decay,
                          optimizer="adamw", **ours)
    for decay in (0, 0.1):
        compare_optimizer(f"adafactor, decay {decay}",
                          lambda g, rate: Adafactor(g, lr=rate, scale_parameter=False, relative_step=False,
                                                    warmup_init=False, clip_threshold=1.0, beta1=None),
                          steps, decay, optimizer="adafactor")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--steps", type=int, default=200)
    o = p.parse_args()
    warnings.filterwarnings("ignore")
    compare_schedules(o.steps)
    compare_optimizers(o.steps)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
