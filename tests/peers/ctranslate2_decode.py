#!/usr/bin/env python3
"""How fast CTranslate2 decodes what tests/bench_decode.c decodes.

Usage: ctranslate2_decode.py [tiny|base|big] [beam] [sentences] [float32|int8] [threads]
Random weights, 25 source tokens, exactly 25 target tokens. Prints target tokens
per second, and CPU seconds, which a busy machine changes less. Needs Python with
ctranslate2 and numpy.
"""
import resource
import sys
import tempfile
import time

import ctranslate2
import numpy as np

SIZES = {"tiny": (256, 1024, 4, 3, 8192), "base": (512, 2048, 8, 6, 32768), "big": (1024, 4096, 16, 6, 32768)}
N_TOKENS = 25
REPEATS = 5

size, beam, sentences, kind, threads = (sys.argv[1:] + ["base", "4", "32", "float32", "1"][len(sys.argv) - 1:])[:5]
d, f, heads, layers, v = SIZES[size]
draw = np.random.default_rng(1)


def weight(rows, cols):
    return (draw.standard_normal((rows, cols)) * d ** -0.5).astype(np.float32)


def linear(spec, rows, cols):
    spec.weight = weight(rows, cols)
    spec.bias = np.zeros(rows, dtype=np.float32)


def norm(spec):
    spec.gamma = np.ones(d, dtype=np.float32)
    spec.beta = np.zeros(d, dtype=np.float32)


def attention(spec, own):
    norm(spec.layer_norm)
    if own:
        linear(spec.linear[0], 3 * d, d)
    else:
        linear(spec.linear[0], d, d)
        linear(spec.linear[1], 2 * d, d)
    linear(spec.linear[-1], d, d)


def feed_forward(spec):
    norm(spec.layer_norm)
    linear(spec.linear_0, f, d)
    linear(spec.linear_1, d, f)


spec = ctranslate2.specs.TransformerSpec.from_config((layers, layers), heads, pre_norm=True,
                                                     activation=ctranslate2.specs.Activation.RELU)
table = weight(v, d)
spec.encoder.embeddings[0].weight = table
spec.decoder.embeddings.weight = table
linear(spec.decoder.projection, v, d)
norm(spec.encoder.layer_norm)
norm(spec.decoder.layer_norm)
for layer in spec.encoder.layer:
    attention(layer.self_attention, True)
    feed_forward(layer.ffn)
for layer in spec.decoder.layer:
    attention(layer.self_attention, True)
    attention(layer.attention, False)
    feed_forward(layer.ffn)
words = ["<blank>", "<s>", "</s>", "<unk>"] + ["w%d" % i for i in range(v - 4)]
spec.register_source_vocabulary(words)
spec.register_target_vocabulary(words)
spec.config.add_source_bos = False
spec.config.add_source_eos = True
with tempfile.TemporaryDirectory() as folder:
    spec.validate()
    spec.optimize(quantization=kind)
    spec.save(folder)
    model = ctranslate2.Translator(folder, device="cpu", compute_type=kind, inter_threads=1,
                                   intra_threads=int(threads))
n = int(sentences)
source = [["w%d" % ((i * N_TOKENS + j) * 7919 % (v - 4)) for j in range(N_TOKENS)] for i in range(n)]
best = cpu = 1e9
for _ in range(REPEATS):
    start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    out = model.translate_batch(source, beam_size=int(beam), max_batch_size=n, length_penalty=0.6,
                                min_decoding_length=N_TOKENS, max_decoding_length=N_TOKENS)
    after = resource.getrusage(resource.RUSAGE_SELF)
    best = min(best, time.perf_counter() - start)
    cpu = min(cpu, after.ru_utime - used.ru_utime)
tokens = sum(len(r.hypotheses[0]) for r in out)
print("CTranslate2 %s %s beam %s, %d sentences, %s threads: %.0f target tokens/s, %.1f ms, %.2f CPU s (%d tokens)" %
      (ctranslate2.__version__, kind, beam, n, threads, tokens / best, best * 1000, cpu, tokens))
