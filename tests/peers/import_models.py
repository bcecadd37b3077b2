#!/usr/bin/env python3
"""import_models.py - compare translations of models of CTranslate2, PyTorch and safetensors before and after import.

Usage: import_models.py BUILD MODEL-FOLDER SOURCE [--lines 1000] [--beam 1,4]

BUILD is the folder in which Werkbank was built, MODEL-FOLDER a trained model, SOURCE raw text. Its weights are
- put into CTranslate2's own TransformerSpec, optimised to every type of weights there is and saved by it;
- loaded into PyTorch's own nn.Transformer, whose state dict safetensors.torch saves (fp32, fp16 and bf16);
- exported by werkbank itself (fp32, int8).
Each is imported; the imported model and the library's (loaded from the same files, computing in float32) translate the same
pieces, and translations that differ are counted. Needs Python with ctranslate2, torch and safetensors.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import ctranslate2
import numpy
import torch
from ctranslate2.specs import transformer_spec
from safetensors.numpy import load_file
from safetensors.torch import save_file

failures = 0


def run(a, *command, text=None, check=True):
    return subprocess.run([os.path.join(a.build, "werkbank"), *command], input=text, capture_output=True, text=True, check=check)


def sinusoids(n, d):
    rate = numpy.exp(-numpy.arange(d // 2) * math.log(10000.0) / (d // 2 - 1))
    angle = numpy.arange(n)[:, None] * rate[None, :]
    return numpy.concatenate([numpy.sin(angle), numpy.cos(angle)], 1).astype(numpy.float32)


# ---- CTranslate2 --------------------------------------------------------------------------------------------

def set_norm(spec, w, name):
    spec.gamma, spec.beta = w[name + ".scale"], w[name + ".shift"]


def ct2_layer(layer, w, name):
    set_norm(layer.self_attention.layer_norm, w, name + ".self.norm")
    layer.self_attention.linear[0].weight = w[name + ".self.qkv"]
    layer.self_attention.linear[1].weight = w[name + ".self.out"]
    set_norm(layer.ffn.layer_norm, w, name + ".ffn.norm")
    for i, part in enumerate(("in", "out")):
        linear = (layer.ffn.linear_0, layer.ffn.linear_1)[i]
        linear.weight, linear.bias = w["%s.ffn.%s" % (name, part)], w["%s.ffn.%s.bias" % (name, part)]


def ct2_spec(w, shape, tokens):
    w = {k: v.copy() for k, v in w.items()}        # it is quantised in place
    d, real = shape["d_model"], shape["real_vocabulary"]
    spec = transformer_spec.TransformerSpec.from_config((shape["encoder_layers"], shape["decoder_layers"]), shape["heads"],
                                                        pre_norm=True, activation=ctranslate2.specs.Activation.RELU)
    spec.encoder.embeddings[0].weight = w["embed"][:real]
    spec.decoder.embeddings.weight = w["embed"][:real]
    spec.decoder.projection.weight = w["embed"][:real]
    for stack, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = sinusoids(1024, d)
        set_norm(stack.layer_norm, w, name + ".norm")
        for i, layer in enumerate(stack.layer):
            ct2_layer(layer, w, "%s.%d" % (name, i))
    for i, layer in enumerate(spec.decoder.layer):
        set_norm(layer.attention.layer_norm, w, "decoder.%d.cross.norm" % i)
        layer.attention.linear[0].weight = w["decoder.%d.cross.q" % i]
        layer.attention.linear[1].weight = w["decoder.cross.kv"][2 * d * i:2 * d * (i + 1)]
        layer.attention.linear[2].weight = w["decoder.%d.cross.out" % i]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-6
    return spec


def ct2_translate(folder, pieces, beam):
    t = ctranslate2.Translator(folder, device="cpu", compute_type="float32", inter_threads=2, intra_threads=1)
    got = t.translate_batch(pieces, beam_size=beam, max_batch_size=2048, batch_type="tokens", length_penalty=0, disable_unk=True)
    return [" ".join(r.hypotheses[0]) for r in got]


# ---- PyTorch ------------------------------------------------------------------------------------------------

class Translator(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        d = shape["d_model"]
        self.embed = torch.nn.Embedding(shape["real_vocabulary"], d)
        self.transformer = torch.nn.Transformer(d, shape["heads"], shape["encoder_layers"], shape["decoder_layers"], shape["d_ff"],
                                                dropout=0, norm_first=True, layer_norm_eps=1e-6, batch_first=True)
        self.register_buffer("pe", torch.tensor(sinusoids(1024, d)))

    def enter(self, ids):
        return self.embed(ids) * math.sqrt(self.embed.embedding_dim) + self.pe[:ids.shape[1]]

    def logits(self, memory, ids):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.transformer.decoder(self.enter(ids), memory, tgt_mask=mask)[:, -1] @ self.embed.weight.T


def fill_attention(part, weight, out):
    part.in_proj_weight.copy_(torch.tensor(weight))
    part.out_proj.weight.copy_(torch.tensor(out))
    part.in_proj_bias.zero_()
    part.out_proj.bias.zero_()
    d = out.shape[0]
    part.in_proj_bias[d:2 * d] = 0.25         # of the keys: softmax does not see it


def fill(model, w, shape):
    d = shape["d_model"]
    t = model.transformer
    model.embed.weight.copy_(torch.tensor(w["embed"][:shape["real_vocabulary"]]))
    for stack, name in ((t.encoder, "encoder"), (t.decoder, "decoder")):
        pairs = [(stack.norm, name + ".norm")]
        for i, layer in enumerate(stack.layers):
            at = "%s.%d" % (name, i)
            fill_attention(layer.self_attn, w[at + ".self.qkv"], w[at + ".self.out"])
            if name == "decoder":
                kv = w["decoder.cross.kv"][2 * d * i:2 * d * (i + 1)]
                fill_attention(layer.multihead_attn, numpy.concatenate([w[at + ".cross.q"], kv]), w[at + ".cross.out"])
                pairs += [(layer.norm1, at + ".self.norm"), (layer.norm2, at + ".cross.norm"), (layer.norm3, at + ".ffn.norm")]
            else:
                pairs += [(layer.norm1, at + ".self.norm"), (layer.norm2, at + ".ffn.norm")]
            for linear, part in ((layer.linear1, "in"), (layer.linear2, "out")):
                linear.weight.copy_(torch.tensor(w["%s.ffn.%s" % (at, part)]))
                linear.bias.copy_(torch.tensor(w["%s.ffn.%s.bias" % (at, part)]))
        for norm, at in pairs:
            norm.weight.copy_(torch.tensor(w[at + ".scale"]))
            norm.bias.copy_(torch.tensor(w[at + ".shift"]))


@torch.no_grad()
def torch_translate(model, tokens, pieces):
    ids = {t: i for i, t in enumerate(tokens)}
    out = []
    for sentence in pieces:
        source = torch.tensor([[ids.get(p, 3) for p in sentence] + [1]])
        memory, target = model.transformer.encoder(model.enter(source)), torch.tensor([[2]])
        for _ in range(2 * source.shape[1] + 50):
            y = model.logits(memory, target)
            y[:, [0, 2, 3]] = -math.inf
            target = torch.cat([target, y.argmax(1, keepdim=True)], 1)
            if target[0, -1] == 1:
                break
        out.append(" ".join(tokens[i] for i in target[0, 1:].tolist() if i != 1))
    return out


# ---- ours ---------------------------------------------------------------------------------------------------

def serve(a, model, lines, beam):
    """Our translations and the pieces of both sides."""
    asked = "".join(json.dumps({"id": i, "text": t, "beam": beam}) + "\n" for i, t in enumerate(lines))
    told = run(a, "translate", "-m", model, "--serve", "--precision", "fp32", "--alpha", "0", "--threads", "2", text=asked).stdout
    return sorted((json.loads(t) for t in told.splitlines()[1:]), key=lambda x: x["id"])


def say(what, mine, theirs, least):
    global failures
    same = sum(x == y for x, y in zip(mine, theirs))
    bad = same < least * len(theirs)
    failures += bad
    print("%-44s %d of %d translations the same%s" % (what, same, len(theirs), "   FAILED" if bad else ""), flush=True)


def target_pieces(answers):
    return [" ".join(x["tokens"]) for x in answers]


def import_one(a, source, to, *options):
    done = run(a, "import", source, "-o", to, *options, check=False)
    if done.returncode:
        print(source, done.stderr)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("--lines", default=1000, type=int)
    parser.add_argument("--pytorch-lines", default=100, type=int)
    parser.add_argument("--beam", default="1,4")
    a = parser.parse_args()
    torch.set_num_threads(1)
    beams = [int(x) for x in a.beam.split(",")]
    lines = open(a.source, encoding="utf-8").read().splitlines()[:a.lines]
    w = load_file(os.path.join(a.model, "model.safetensors"))
    shape = json.load(open(os.path.join(a.model, "state.json"), encoding="utf-8"))["shape"]
    tokens = [x.rsplit("\t", 1)[0] for x in open(os.path.join(a.model, "vocab.tsv"), encoding="utf-8")][:shape["real_vocabulary"]]
    codes = os.path.join(a.model, "bpe.codes")
    answers = {b: serve(a, a.model, lines, b) for b in beams}
    pieces = [x["source_tokens"] for x in answers[beams[0]]]
    with tempfile.TemporaryDirectory() as scratch:
        def at(name):
            return os.path.join(scratch, name)

        for kind in ("float32", "int8", "int8_float16", "int16", "float16", "bfloat16"):
            spec = ct2_spec(w, shape, tokens)
            spec.validate()
            spec.optimize(quantization=kind if kind != "float32" else None)
            os.mkdir(at(kind))
            spec.save(at(kind))
            if not import_one(a, at(kind), at(kind + ".ours"), "--codes", codes):
                sys.exit(1)
            for beam in beams:
                mine = target_pieces(serve(a, at(kind + ".ours"), lines, beam))
                say("CTranslate2 %s, beam %d" % (kind, beam), mine, ct2_translate(at(kind), pieces, beam),
                    0.95 if kind == "bfloat16" else 0.99)     # CTranslate2 rounds its positions too, ours stay exact
        for precision in ("fp32", "int8"):
            run(a, "export", "-m", a.model, "--format", "ctranslate2", "--precision", precision, "-o", at("x." + precision))
            import_one(a, at("x." + precision), at("back." + precision))
            back = load_file(os.path.join(at("back." + precision), "model.safetensors"))
            print("our export %-4s and back: largest difference of a weight %.3g"
                  % (precision, max(abs(back[k] - w[k])[:shape["real_vocabulary"] if k == "embed" else None].max() for k in w)))
            say("our export %s and back, beam %d" % (precision, beams[0]), target_pieces(serve(a, at("back." + precision), lines, beams[0])),
                target_pieces(answers[beams[0]]), 1.0 if precision == "fp32" else 0.5)
        model = Translator(shape)
        with torch.no_grad():
            fill(model, w, shape)
        model.eval()
        for kind in (torch.float32, torch.float16, torch.bfloat16):
            name = str(kind)[6:]
            save_file({k: v.to(kind) for k, v in model.state_dict().items()}, at(name + ".safetensors"),
                      metadata={"norm_first": "True", "nhead": str(shape["heads"])})
            options = ["--codes", codes, "--vocabulary", os.path.join(a.model, "vocab.tsv")]
            if not import_one(a, at(name + ".safetensors"), at(name + ".pt"), *options):
                sys.exit(1)
            rounded = Translator(shape)
            rounded.load_state_dict({k: v.to(kind).float() if k != "pe" else v for k, v in model.state_dict().items()})
            some = torch_translate(rounded.eval(), tokens, pieces[:a.pytorch_lines])
            say("PyTorch %s, greedy" % name, target_pieces(serve(a, at(name + ".pt"), lines[:a.pytorch_lines], 1)), some, 0.99)
    sys.exit(failures > 0)


main()
