#!/usr/bin/env python3
"""race.py - run benchmarks alternately for several rounds and print their ratios.

usage: race.py [--rounds 3] [--key target_tokens_per_second] COMMAND COMMAND...

Each COMMAND is one argument and prints a JSON object in its last line. The first is
compared with the others: the median of each, and the median of the ratios within a round,
which a machine that is busy now and then changes least.
"""
import argparse
import json
import shlex
import statistics
import subprocess
import sys

p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--key", default="target_tokens_per_second")
p.add_argument("commands", nargs="+")
o = p.parse_args()

seen = [[] for _ in o.commands]
for i in range(o.rounds):
    for values, command in zip(seen, o.commands):
        out = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, check=True, text=True).stdout
        values.append(json.loads(out.strip().split("\n")[-1])[o.key])
        print(f"round {i + 1}: {values[-1]:.1f} {o.key}: {command}", file=sys.stderr)
for values, command in zip(seen, o.commands):
    ratio = statistics.median(a / b for a, b in zip(seen[0], values))
    print(f"{statistics.median(values):10.1f}  {min(values):.1f} to {max(values):.1f}  first is {ratio:.2f}x  {command}")
