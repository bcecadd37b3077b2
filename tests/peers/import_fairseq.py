#!/usr/bin/env python3
"""import_fairseq.py - compare imported Transformers of fairseq with fairseq.

Usage: import_fairseq.py BUILD DATA [--lines 100] [--models 6] [--train SECONDS]
       import_fairseq.py --golden FOLDER

fairseq 0.12.2 makes models with random sizes, options and weights; checkpoints have "args" (a Namespace) or "cfg", or the names
of old files: in_proj_weight, layer_norms.0. Pieces are those of subword-nmt's codes, which werkbank-data learns, on raw text,
or of SentencePiece. --train: the first model is trained before. DATA: a folder with multi30k/train.{en,de} and test_2016_flickr.en. --golden: writes the small model of
tests/eval/import.sh. Needs Python with torch, sentencepiece, subword_nmt, omegaconf 2.0.6, hydra-core 1.0.7 and fairseq 0.12.2;
FAIRSEQ: a folder with its sources, if it is not installed.
"""
import argparse
import dataclasses
import math
import os
import random
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.environ.get("FAIRSEQ", "."))
original = dataclasses.dataclass


def dataclass(cls=None, **options):
    """Python 3.11 refuses defaults of classes without a hash, which fairseq and hydra have."""
    def wrap(c):
        c = original(c, **options)
        if c.__hash__ is None:
            c.__hash__ = object.__hash__
        return c
    return wrap if cls is None else wrap(cls)


dataclass.__kwdefaults__ = original.__kwdefaults__        # torch looks for kw_only in them
dataclasses.dataclass = dataclass
import logging

logging.disable(logging.INFO)
import sentencepiece
import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

import import_peer as peers


class Task:
    def __init__(self, source, target):
        self.source_dictionary, self.target_dictionary = source, target


class Peer:
    def __init__(self, model, task, split):
        self.model, self.source, self.target, self.split = model, task.source_dictionary, task.target_dictionary, split
        self.names = list(task.target_dictionary.symbols)
        self.end, self.banned = 2, (0, 1, 3)

    def pieces(self, line):
        return [t if t in self.source.indices else "<unk>" for t in self.split(line)]

    def target_ids(self, line):
        return [self.target.index(t) for t in self.split(line)]

    def log_probs(self, line, ids):
        source = torch.tensor([[self.source.index(t) for t in self.split(line)] + [2]])
        logits, _ = self.model(source, torch.tensor([source.shape[1:]]), torch.tensor([[2] + list(ids)]))
        return logits[0].log_softmax(-1)

    @torch.no_grad()
    def search(self, line, alpha):
        generator = SequenceGenerator([self.model], self.target, beam_size=4, max_len_b=peers.LONGEST, min_len=0, len_penalty=float(alpha),
                                      unk_penalty=math.inf, tokens_to_suppress=("<s>",))
        source = torch.tensor([[self.source.index(t) for t in self.split(line)] + [2]])
        batch = {"net_input": {"src_tokens": source, "src_lengths": torch.tensor([source.shape[1]])}}
        return generator.generate([self.model], batch)[0][0]["tokens"].tolist()[:-1]


def make_model(seed, task, languages, **options):
    torch.manual_seed(seed)
    args = argparse.Namespace(arch="transformer", task="translation", source_lang=languages[0], target_lang=languages[1], dropout=0.0,
                              max_source_positions=300, max_target_positions=300, **options)
    base_architecture(args)
    model = TransformerModel.build_model(args, task).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
            elif "embed" not in name:
                p.mul_(1.5)
    return model, args


def old_names(state):
    """The names before upgrade_state_dict()."""
    out = {}
    for name, x in state.items():
        if ".q_proj." in name:
            parts = [state[name.replace("q_proj", k)] for k in ("q_proj", "k_proj", "v_proj")]
            out[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
        elif name.startswith("encoder.layers.") and ".self_attn_layer_norm." in name:
            out[name.replace("self_attn_layer_norm", "layer_norms.0")] = x
        elif name.startswith("encoder.layers.") and ".final_layer_norm." in name:
            out[name.replace("final_layer_norm", "layer_norms.1")] = x
        elif ".k_proj." not in name and ".v_proj." not in name and "output_projection" not in name:
            out[name] = x
    return out


def save(path, model, args, form):
    state = model.state_dict()
    root = {"args": args, "cfg": None, "model": state, "optimizer_history": [{"num_updates": 3}], "extra_state": {"epoch": 1},
            "last_optimizer_state": None}
    if form == "cfg":
        root.update(args=None, cfg={"_name": None, "model": dict(vars(args), _name="transformer"),
                                    "task": {"_name": "translation", "source_lang": args.source_lang, "target_lang": args.target_lang}})
    elif form == "old":
        root["model"] = old_names(state)
        del root["cfg"]
    torch.save(root, path, _use_new_zipfile_serialization=form != "old")


def splitter(folder, sentences, kind, size, **options):
    """Learns pieces in the folder. Returns the function that splits a line."""
    if kind == "sentencepiece":
        prefix = os.path.join(folder, "sentencepiece.bpe")
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_prefix=prefix, vocab_size=size,
                                                 model_type="bpe", minloglevel=2, **options)
        os.remove(prefix + ".vocab")
        spm = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
        return lambda line: spm.encode(line, out_type=str)
    path = os.path.join(folder, "bpecodes")
    with open(path, "w", encoding="utf-8") as f:
        learn_bpe(sentences, f, size)
    with open(path, encoding="utf-8") as f:
        bpe = BPE(f)
    return lambda line: bpe.process_line(line).split()


def dictionaries(folder, sides, split, is_joint):
    found = []
    for texts in ([sides[0] + sides[1]] * 2 if is_joint else sides):
        d = Dictionary()
        for line in texts:
            for piece in split(line):
                d.add_symbol(piece)
        d.finalize(padding_factor=8)
        found.append(d)
    for d, language in zip(found, ("en", "de")):
        d.save(os.path.join(folder, "dict.%s.txt" % language))
    return Task(*found)


def write_golden(folder):
    os.makedirs(folder, exist_ok=True)
    sides = [peers.golden_words("en", "abeiknorst", 300), peers.golden_words("de", "aeikmnrtuö", 300)]
    split = splitter(folder, sides[0] + sides[1], "bpe", 24)
    task = dictionaries(folder, sides, split, False)
    lines = peers.golden_words("en", "abeiknorst", 20) + ["ab zzz  ok ", "TOR"]

    def make(seed):
        model, args = make_model(30 + seed, task, ("en", "de"), encoder_embed_dim=16, encoder_ffn_embed_dim=24, decoder_ffn_embed_dim=20,
                                 encoder_layers=2, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=2,
                                 share_decoder_input_output_embed=True)
        with torch.no_grad():
            for name, p in model.named_parameters():
                if p.dim() == 2:
                    p.mul_(2)
                elif "norm.weight" in name:                 # else the tied table would repeat its input
                    p.mul_(torch.randint(2, p.shape) * 2 - 1)
            for p in model.parameters():
                p.copy_(p.half().float())                   # a small file: its numbers are fp16
        return Peer(model, task, split), (model, args)
    (model, args), rows = peers.choose_golden(make, lines, seeds=200)
    save(os.path.join(folder, "model.pt"), model.half(), args, "args")
    peers.write_golden_rows(folder + ".tsv", rows)


def random_options(draw, i, is_joint):
    d, before = draw.choice([32, 64, 128]), draw.random() < 0.5
    options = dict(encoder_embed_dim=d, encoder_layers=draw.randint(1, 4), decoder_layers=draw.randint(1, 4),
                   encoder_attention_heads=draw.choice([2, 4, 8]), decoder_attention_heads=draw.choice([2, 4, 8]),
                   encoder_ffn_embed_dim=draw.choice([48, 128]), decoder_ffn_embed_dim=draw.choice([48, 256]),
                   encoder_normalize_before=before, decoder_normalize_before=before, layernorm_embedding=draw.random() < 0.3,
                   no_scale_embedding=draw.random() < 0.2, activation_fn=draw.choice(["relu", "relu", "gelu", "gelu_accurate"]))
    if is_joint:
        options["share_all_embeddings"] = True
        options["share_decoder_input_output_embed"] = True
    elif draw.random() < 0.5:
        options["share_decoder_input_output_embed"] = True
    if i % 4 == 3:
        options.update(encoder_learned_pos=True, decoder_learned_pos=True)
    return options


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
    lines[1:1] = ["", "Zażółć 漢字 naïve 🙂 & <b>", "  two  blanks "]
    sides = [read("train.en")[:4000], read("train.de")[:4000]]
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(a.models):
            draw, folder = random.Random(i), os.path.join(scratch, "model%d" % i)
            os.makedirs(folder)
            form, kind, is_joint = ("args", "cfg", "old")[i % 3], ("bpe", "sentencepiece")[i // 2 % 2], i % 2 == 0
            split = splitter(folder, sides[0] + sides[1], kind, 1200)
            task = dictionaries(folder, sides, split, is_joint)
            options = random_options(draw, i, is_joint)
            if form == "old":
                options.update(share_decoder_input_output_embed=True)
            if i == 0 and a.train:
                options.update(encoder_embed_dim=128, encoder_ffn_embed_dim=256, decoder_ffn_embed_dim=256, encoder_layers=2, decoder_layers=2)
            model, args = make_model(i, task, ("en", "de"), **options)
            if i == 0 and a.train:
                peers.train(Peer(model, task, split), list(model.parameters()), list(zip(read("train.en"), read("train.de"))), a.train)
            save(os.path.join(folder, "checkpoint_best.pt"), model, args, form)
            to = os.path.join(scratch, "our%d" % i)
            peers.import_model(a.build, folder, to, ["--tokenize=no"] if kind == "bpe" else [])
            name = "model %d (%s, %s%s%s%s)" % (i, form, kind, ", joint" * is_joint, ", pre-norm" * options["encoder_normalize_before"],
                                                ", learned positions" * options.get("encoder_learned_pos", False))
            peer, some = Peer(model, task, split), lines if i == 0 else lines[:20]
            peers.compare(a.build, name, peer, to, some)
            peers.compare_search(a.build, name, peer, to, [x for x in some if x.strip()], "fairseq")
            if i == 0 and a.train:
                peers.compare_int8(a.build, name, to, read("test_2016_flickr.en"), read("test_2016_flickr.de"))
    peers.finish()


main()
