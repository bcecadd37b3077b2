#!/usr/bin/env python3
"""mbr_compare.py - compare translate --mbr with the MBR decoder of mbrs (0.1.8 from pip) on the same candidates.

Usage: mbr_compare.py BUILD GOLDEN

BUILD is the folder in which Werkbank was built, GOLDEN tests/golden/import. Samples of GOLDEN/marianmt are the candidates and the
references of mbrs with chrF; compared are the chosen text and its expected utility. Needs Python with mbrs; of its
metrics only chrF is loaded, so pip's --no-deps and torch, sacrebleu, fastchrf are enough.
"""
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import types
import unittest.mock

import import_peer as peer

LINES, SAMPLES = 16, 16


def load_mbrs():
    """The decoder and chrF, without the packages of the other metrics."""
    folder = os.path.join(os.path.dirname(importlib.util.find_spec("mbrs").origin), "metrics")
    package = types.ModuleType("mbrs.metrics")
    package.__path__ = [folder]
    sys.modules["mbrs.metrics"] = package
    base = importlib.import_module("mbrs.metrics.base")
    for name in dir(base):
        setattr(package, name, getattr(base, name))
    chrf = importlib.import_module("mbrs.metrics.chrf")
    package.Metrics, package.get_metric = unittest.mock.MagicMock(), None
    decoder = importlib.import_module("mbrs.decoders.mbr").DecoderMBR
    return decoder(decoder.Config(), chrf.MetricChrF(chrf.MetricChrF.Config()))


def translate(build, model, lines, *options):
    done = subprocess.run([os.path.join(build, "werkbank"), "translate", "-m", model, "--one-a-line", "--sample", "--seed", "9", *options],
                          input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def main():
    build, golden = sys.argv[1:3]
    decoder = load_mbrs()
    lines = [">>deu<< " + line for line in peer.golden_words(31, "aeinorst", LINES)]
    with tempfile.TemporaryDirectory() as scratch:
        model = os.path.join(scratch, "model")
        peer.import_model(build, os.path.join(golden, "marianmt"), model)
        chosen = translate(build, model, lines, "--mbr", str(SAMPLES), "--scores")
        samples = [[] for _ in lines]
        for number, text in translate(build, model, lines, "--n-best", str(SAMPLES)):
            samples[int(number) - 1].append(text)
    same, worst = 0, 0.0
    for (score, text), candidates in zip(chosen, samples, strict=True):
        best = decoder.decode(candidates, candidates, nbest=1)
        same += best.sentence[0] == text
        worst = max(worst, abs(best.score[0] - float(score)))
    peer.say("mbrs: chosen texts, utilities within %.1g" % worst, same if worst < 1e-3 else 0, len(lines))
    peer.finish()


if __name__ == "__main__":
    main()
