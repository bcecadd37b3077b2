#!/usr/bin/env python3
"""import_openseq2seq.py - compare imported checkpoints of OpenSeq2Seq's Transformer with its formulas in PyTorch.

Usage: import_openseq2seq.py BUILD DATA [--lines 100] [--models 6] [--train SECONDS]
       import_openseq2seq.py --golden FOLDER

TensorFlow's Saver writes the checkpoints, with the names, shapes and types of the reference's variables: fp32, or fp16 with
fp32 copies, with state of Adam or NovoGrad. The forward pass below follows encoders/transformer_encoder.py,
decoders/transformer_decoder.py and parts/transformer of NVIDIA/OpenSeq2Seq line by line. DATA: a folder with
multi30k/train.{en,de} and test_2016_flickr.en. --train: the first model is trained before, by PyTorch. --golden: writes the
small model of tests/eval/import.sh.
Needs Python with tensorflow-cpu 2.15, torch and sentencepiece.
"""
import argparse
import io
import math
import os
import random
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy
import sentencepiece
import tensorflow.compat.v1 as tf
import torch

import import_peer as peers

PAD, EOS, S, UNK = range(4)
SCOPE = "ForwardPass/"
TABLE = SCOPE + "transformer_encoder/embedding_shared_weights/embedding_and_softmax/weights"


def layer_norm(w, name, x, epsilon):
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + epsilon) * w[name + "/layer_norm_scale"] + w[name + "/layer_norm_bias"]


def position_encoding(length, hidden):
    scales = hidden // 2
    step = math.log(1.0e4) / (scales - 1)
    inverse = torch.exp(torch.arange(scales, dtype=torch.float32) * -step)
    scaled = torch.arange(length, dtype=torch.float32)[:, None] * inverse[None]
    return torch.cat([torch.sin(scaled), torch.cos(scaled)], 1)


def attention(w, name, x, y, heads, mask):
    d = x.shape[-1]
    q, k, v = x @ w[name + "/q/kernel"], y @ w[name + "/k/kernel"], y @ w[name + "/v/kernel"]
    q, k, v = (t.reshape(-1, heads, d // heads).transpose(0, 1) for t in (q, k, v))
    weights = (q * (d // heads) ** -0.5 @ k.transpose(1, 2) + mask).softmax(-1)
    return (weights @ v).transpose(0, 1).reshape(-1, d) @ w[name + "/output_transform/kernel"]


def ffn(w, name, x):
    inner = torch.relu(x @ w[name + "/filter_layer/kernel"] + w[name + "/filter_layer/bias"])
    return inner @ w[name + "/output_layer/kernel"] + w[name + "/output_layer/bias"]


class Reference:
    def __init__(self, w, heads, epsilon, spm):
        self.w, self.heads, self.epsilon, self.spm = w, heads, epsilon, spm
        self.names = [spm.id_to_piece(i) for i in range(spm.get_piece_size())]
        self.names += ["<$%d$>" % i for i in range(w[TABLE].shape[0] - len(self.names))]
        self.number = {piece: i for i, piece in enumerate(self.names)}
        self.end, self.banned = EOS, (PAD, S, UNK)

    def pieces(self, line):
        return ["<s>"] + self.spm.encode(line, out_type=str)

    def embed(self, ids):
        ids = torch.tensor(ids)
        return self.w[TABLE][ids] * self.w[TABLE].shape[1] ** 0.5 * (ids != PAD)[:, None]

    def stack(self, stack, x, memory, mask):
        w, n = self.w, 0
        while SCOPE + "%s/layer_%d/ffn/feed_foward_network/filter_layer/kernel" % (stack, n) in w:
            at = SCOPE + "%s/layer_%d/" % (stack, n)
            y = layer_norm(w, at + "self_attention/layer_normalization", x, self.epsilon)
            x = x + attention(w, at + "self_attention/self_attention", y, y, self.heads, mask)
            if memory is not None:
                y = layer_norm(w, at + "encdec_attention/layer_normalization", x, self.epsilon)
                x = x + attention(w, at + "encdec_attention/attention", y, memory, self.heads, 0)
            y = layer_norm(w, at + "ffn/layer_normalization", x, self.epsilon)
            x, n = x + ffn(w, at + "ffn/feed_foward_network", y), n + 1
        return layer_norm(w, SCOPE + stack + "/layer_normalization", x, self.epsilon)

    def target_ids(self, line):
        return [self.number.get(t, UNK) for t in self.spm.encode(line, out_type=str)]

    def log_probs(self, line, ids):
        """The decoder reads a zero vector, then <s>, then ids; the row of the zero vector, which gives <s>, is left out."""
        d = self.w[TABLE].shape[1]
        source = self.embed([self.number.get(t, UNK) for t in self.pieces(line)] + [EOS])
        memory = self.stack("transformer_encoder", source + position_encoding(len(source), d), None, 0)
        target = torch.cat([torch.zeros(1, d), self.embed([S] + list(ids))])
        causal = torch.full((len(target), len(target)), -1e9).triu(1)
        y = self.stack("transformer_decoder", target + position_encoding(len(target), d), memory, causal)
        return (y @ self.w[TABLE].t()).log_softmax(-1)[1:]


def names_and_shapes(vocabulary, d, f, layers):
    yield TABLE, (vocabulary, d)
    for stack, n in zip(("transformer_encoder", "transformer_decoder"), layers):
        norm = [("/layer_normalization/layer_norm_scale", (d,)), ("/layer_normalization/layer_norm_bias", (d,))]
        for i in range(n):
            parts = [("self_attention", "self_attention")] + [("encdec_attention", "attention")] * (stack == "transformer_decoder")
            at = SCOPE + "%s/layer_%d/" % (stack, i)
            for block, inner in parts:
                for name, shape in norm + [("/%s/%s/kernel" % (inner, x), (d, d)) for x in ("q", "k", "v", "output_transform")]:
                    yield at + block + name, shape
            for name, shape in norm:
                yield at + "ffn" + name, shape
            for product, shape in (("filter_layer", (d, f)), ("output_layer", (f, d))):
                yield at + "ffn/feed_foward_network/%s/kernel" % product, shape
                yield at + "ffn/feed_foward_network/%s/bias" % product, shape[1:]
        for name, shape in norm:
            yield SCOPE + stack + name, shape


def draw_weights(seed, vocabulary, d, f, layers):
    r, w = numpy.random.RandomState(seed), {}
    for name, shape in names_and_shapes(vocabulary, d, f, layers):
        x = r.randn(*shape) * (d ** -0.5 if name == TABLE else (3.0 / sum(shape)) ** 0.5 if len(shape) == 2 else 0.1)
        if name.endswith("scale"):
            x = (x + 1) * r.choice([-1, 1], shape)         # else the tied table would repeat its input
        w[name] = x.astype("float32")
    return w


def save(folder, w, mixed, optimizer, slots=None):
    """A checkpoint as the training writes it. mixed: matrices in fp16, and fp32 copies of them."""
    graph = tf.Graph()
    with graph.as_default(), tf.Session(graph=graph) as session:
        def variable(name, value):
            tf.get_variable(name, initializer=value, use_resource=False)
        variable("global_step", numpy.int64(300))
        for name, x in w.items():
            is_half = mixed and "layer_norm" not in name
            master = name
            if is_half:
                variable(name, x.astype("float16"))
                master = "Loss_Optimization/FP32-master-copy/" + name
                variable(master, x)
            else:
                variable(name, x)
            if slots is not None and name not in slots:
                continue
            inner = "Loss_Optimization/" + master
            if optimizer == "adam":
                variable(inner + "/Adam", 0 * x + 7)
                variable(inner + "/Adam_1", 0 * x + 8)
            else:
                variable(inner + "/Momentum", 0 * x + 7)
        if optimizer == "adam":
            variable("Loss_Optimization/beta1_power", numpy.float32(0.9))
            variable("Loss_Optimization/beta2_power", numpy.float32(0.98))
        else:
            variable("Loss_Optimization/nvgrad2_ema0", numpy.float32(1))
        if mixed:
            variable("Loss_Optimization/loss_scale", numpy.float32(16384))
            variable("Loss_Optimization/iteration", numpy.int64(5))
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(save_relative_paths=True)
        saver.save(session, os.path.join(folder, "model.ckpt"), global_step=300, write_meta_graph=False)


def learn(size, sentences, path, **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=out, vocab_size=size, model_type="bpe",
                                             pad_id=0, eos_id=1, bos_id=2, unk_id=3, character_coverage=1.0, minloglevel=2, **options)
    with open(path, "wb") as f:
        f.write(out.getvalue())
    spm = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    with open(os.path.splitext(path)[0] + ".vocab", "w", encoding="utf-8") as f:
        for i in range(spm.get_piece_size()):
            f.write("%s\t%g\n" % (spm.id_to_piece(i), spm.get_score(i)))
    return spm


def rows_of(spm):
    return -(-spm.get_piece_size() // 8) * 8


def tensors(w):
    return {name: torch.from_numpy(x) for name, x in w.items()}


def write_golden(folder):
    os.makedirs(folder, exist_ok=True)
    sentences = peers.golden_words("en", "abeiknorst", 300) + peers.golden_words("de", "aeikmnrtuö", 300)
    spm = learn(60, sentences, os.path.join(folder, "m_common.model"), normalization_rule_name="identity")
    lines = peers.golden_words("en", "abeiknorst", 20) + ["ab zzz  ok ", "TOR"]

    def make(seed):
        w = draw_weights(seed, rows_of(spm), 16, 24, (2, 1))
        w[TABLE] *= 3
        return Reference(tensors(w), 4, 1e-6, spm), w
    w, rows = peers.choose_golden(make, lines)
    save(folder, w, True, "adam", slots=[name for name in w if "bias" in name])
    peers.write_golden_rows(folder + ".tsv", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--golden", metavar="FOLDER", help="write the small model of tests/eval/import.sh")
    parser.add_argument("--lines", default=100, type=int)
    parser.add_argument("--models", default=6, type=int)
    parser.add_argument("--train", default=0, type=float, metavar="SECONDS")
    a = parser.parse_args()
    torch.set_num_threads(1)
    if a.golden:
        return write_golden(os.path.abspath(a.golden))
    read = lambda name: open(os.path.join(a.data, "multi30k", name), encoding="utf-8").read().splitlines()
    lines = read("test_2016_flickr.en")[:a.lines]
    lines[1:1] = ["", "Zażółć 漢字 naïve 🙂 & <b>", "  two  blanks ", "a" * 150]
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(a.models):
            draw, folder = random.Random(i), os.path.join(scratch, "model%d" % i)
            os.makedirs(folder)
            spm = learn(2000 + i, read("train.en") + read("train.de"), os.path.join(folder, "m_common.model"))
            d, heads = draw.choice([(32, 4), (64, 8), (128, 4)])
            mixed, optimizer = i % 2 == 1, "novograd" if i % 3 == 2 else "adam"
            epsilon = 1e-5 if optimizer == "novograd" else 1e-6
            if i == 0 and a.train:
                d, heads = 128, 4
            w = draw_weights(i, rows_of(spm), d, draw.choice([48, 128]), (draw.randint(1, 4), draw.randint(1, 4)))
            if i == 0 and a.train:
                t = {name: x.requires_grad_() for name, x in tensors(w).items()}        # changes w
                peers.train(Reference(t, heads, epsilon, spm), list(t.values()), list(zip(read("train.en"), read("train.de"))), a.train)
            save(folder, w, mixed, optimizer)
            options = ["--heads", str(heads)] + ["--norm-epsilon", "1e-5"] * (epsilon > 1e-6)
            to = os.path.join(scratch, "our%d" % i)
            peers.import_model(a.build, folder, to, options)
            name = "model %d (%s, %s)" % (i, "fp16 with copies" if mixed else "fp32", optimizer)
            peers.compare(a.build, name, Reference(tensors(w), heads, epsilon, spm), to, lines if i == 0 else lines[:20])
    peers.finish()


main()
