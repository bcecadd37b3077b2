#!/usr/bin/env python3
"""import_opennmt.py - compare imported Transformers of OpenNMT-py or eole with the program that made them.

Usage: import_opennmt.py BUILD DATA [--program opennmt|eole] [--lines 300] [--models 6] [--train SECONDS] [--save FOLDER]
       import_opennmt.py --golden FOLDER [--program opennmt|eole]

The program makes models with random sizes, options and weights and saves them as its training does; OpenNMT-py 3.5.1 also saves
weights as safetensors, 2.3.0 and 1.2.0 save torchtext's vocabularies. Pieces are those of subword-nmt's codes on raw text, or of SentencePiece.
--train: the first model is trained before; --save: it is kept there, and used again by the next call. DATA: a folder with multi30k/train.{en,de} and
test_2016_flickr.en. --golden: writes the small model of tests/eval/import_opennmt.sh. Needs Python with torch, sentencepiece, subword_nmt and
OpenNMT-py 3.5.1 (or 2.3.0 with torchtext 0.5.0, 1.2.0 with 0.4.0) or eole 0.6.4, both installed without their dependencies but configargparse,
pyonmttok, six and what they import.
"""
import argparse
import importlib
import importlib.machinery
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import types
import warnings

warnings.filterwarnings("ignore")
for absent in ("spacy", "fasttext"):            # transforms of text that no model here has
    if importlib.machinery.PathFinder.find_spec(absent) is None:
        sys.modules[absent] = types.ModuleType(absent)
        sys.modules[absent].__spec__ = importlib.machinery.ModuleSpec(absent, None)
import sentencepiece
import torch
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

import import_peer as peers

logging.disable(logging.INFO)
SPECIALS = ["<unk>", "<blank>", "<s>", "</s>"]


# ---- OpenNMT-py -----------------------------------------------------------------------

class OpenNMT:
    """Models of one version: before 3 with torchtext's fields, since then with lists of tokens."""
    search_module = "onmt.translate.beam_search"

    def __init__(self):
        import onmt
        import onmt.model_builder
        self.is_old = int(onmt.__version__.split(".")[0]) < 3
        self.version = onmt.__version__

    def options(self, o):
        from onmt.opts import model_opts, train_opts
        from onmt.utils.parse import ArgumentParser
        parser = ArgumentParser()
        if self.version.startswith("1"):
            model_opts(parser)
        train_opts(parser)
        if self.is_old:
            required = ["-data", "x"] if self.version.startswith("1") else ["-data", "x", "-src_vocab", "v", "-tgt_vocab", "v"]
            rename = {"hidden_size": "rnn_size"}
        else:
            required, rename = ["-data", "x", "-src_vocab", "v", "-tgt_vocab", "v"], {}
        opt, _ = parser.parse_known_args(required)
        for key, value in dict(o, encoder_type="transformer", decoder_type="transformer", model_type="text", self_attn_type="scaled-dot",
                               dropout=[0.0], attention_dropout=[0.0], param_init_glorot=True, param_init=0.0).items():
            setattr(opt, rename.get(key, key), value)
        opt.word_vec_size = o["hidden_size"]
        opt.src_word_vec_size = opt.tgt_word_vec_size = opt.word_vec_size
        opt.layers = -1
        ArgumentParser.update_model_opts(opt)
        return opt

    def fields(self, lists):
        from collections import Counter
        import torchtext
        from onmt.inputters import get_fields
        fields = get_fields("text", *([0, 0] if self.version.startswith("1") else [{}, {}]))
        for side, tokens in lists.items():
            field = fields[side].base_field
            specials = [t for t in (field.unk_token, field.pad_token, field.init_token, field.eos_token) if t]
            field.vocab = torchtext.vocab.Vocab(Counter({t: len(tokens) - i for i, t in enumerate(tokens)}), specials=specials)
        return fields

    def build(self, o, lists):
        from onmt.model_builder import build_base_model
        opt = self.options(o)
        if not self.is_old:
            import pyonmttok
            vocabs = {"data_task": "seq2seq", "decoder_start_token": "<s>",
                      "src": pyonmttok.build_vocab_from_tokens(SPECIALS + lists["src"])}
            vocabs["tgt"] = vocabs["src"] if lists["src"] == lists["tgt"] else pyonmttok.build_vocab_from_tokens(SPECIALS + lists["tgt"])
            model = build_base_model(opt, vocabs)
            for p in model.parameters():
                torch.nn.init.xavier_uniform_(p) if p.dim() > 1 else torch.nn.init.zeros_(p)
            for name, p in model.named_parameters():
                if "norm" in name and name.endswith("weight"):
                    torch.nn.init.ones_(p)
            return model.eval(), opt, vocabs, {side: list(vocabs[side].ids_to_tokens) for side in lists}
        fields = self.fields(lists)
        if lists["src"] == lists["tgt"]:
            fields["src"].base_field.vocab = fields["tgt"].base_field.vocab
        model = build_base_model(opt, fields, False)
        return model.eval(), opt, fields, {side: list(fields[side].base_field.vocab.itos) for side in lists}

    def log_probs(self, model, source, target):
        if self.is_old:
            src, tgt, n = torch.tensor(source)[:, None, None], torch.tensor(target)[:, None, None], torch.tensor([len(source)])
            state, memory, n = model.encoder(src, n)
            model.decoder.init_state(src, memory, state)
            out, _ = model.decoder(tgt, memory, memory_lengths=n)
            return model.generator(out[:, 0])
        src, tgt, n = torch.tensor([source])[:, :, None], torch.tensor([target])[:, :, None], torch.tensor([len(source)])
        memory, state, n = model.encoder(src, n)
        model.decoder.init_state(src, memory, state)
        out, _ = model.decoder(tgt, memory, src_len=n)
        return model.generator(out[0]).log_softmax(-1)

    def save(self, folder, model, opt, vocabs, form):
        from onmt.models.model_saver import ModelSaver
        optim = types.SimpleNamespace(state_dict=lambda: {"training_step": 1, "decay_step": 1, "optimizer": {
            "state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.zeros(2)}}, "param_groups": [{"lr": 1.0, "params": [0]}]}})
        if self.is_old:
            ModelSaver(os.path.join(folder, "model"), model, opt, vocabs, optim)._save(1, model)
        else:
            saver = ModelSaver(os.path.join(folder, "model"), model, opt, vocabs, optim)
            saver._st_save(1, model) if form == "safetensors" else saver._save(1, model)

    def random(self, draw, i, is_joint):
        o = dict(hidden_size=draw.choice([32, 64, 128]), enc_layers=draw.randint(1, 4), dec_layers=draw.randint(1, 4),
                 heads=draw.choice([2, 4, 8]), transformer_ff=draw.choice([48, 128]), position_encoding=True,
                 share_embeddings=is_joint, share_decoder_embeddings=draw.random() < 0.5,
                 pos_ffn_activation_fn=draw.choice(["relu", "gelu"] if self.is_old else ["relu", "gelu", "silu", "gated-gelu"]))
        if self.version.startswith("1"):        # it has ReLU only
            del o["pos_ffn_activation_fn"]
        if self.is_old:
            return o
        o.update(add_qkvbias=draw.random() < 0.5, add_ffnbias=draw.random() < 0.5, layer_norm=draw.choice(["standard", "standard", "rms"]),
                 norm_eps=draw.choice([1e-6, 1e-5]))
        if i % 3 == 1:
            o.update(position_encoding=False, max_relative_positions=-1, rotary_interleave=draw.random() < 0.5)
        elif i % 3 == 2:
            o.update(position_encoding_type="SinusoidalConcat")
        return o

    golden = dict(hidden_size=16, enc_layers=2, dec_layers=1, heads=4, transformer_ff=24, position_encoding=False, max_relative_positions=-1,
                  rotary_interleave=True, share_decoder_embeddings=True, pos_ffn_activation_fn="silu", add_qkvbias=True)
    form = staticmethod(lambda i: ("pt", "safetensors")[i % 2])


# ---- eole -----------------------------------------------------------------------------

class Eole:
    version, search_module = "eole", "eole.predict.beam_search"

    def build(self, o, lists):
        import pyonmttok
        from eole.config.models import TransformerModelConfig
        from eole.config.run import TrainConfig
        from eole.models.model import get_model_class
        model_config = TransformerModelConfig(**json.loads(json.dumps(o)))
        vocabs = {"decoder_start_token": "<s>", "src": pyonmttok.build_vocab_from_tokens(SPECIALS + lists["src"]),
                  "specials": {"bos_token": "<s>", "pad_token": "<blank>", "eos_token": "</s>", "unk_token": "<unk>"}}
        vocabs["tgt"] = vocabs["src"] if lists["src"] == lists["tgt"] else pyonmttok.build_vocab_from_tokens(SPECIALS + lists["tgt"])
        config = TrainConfig(src_vocab="v", tgt_vocab="v", data={}, share_vocab=lists["src"] == lists["tgt"],
                             training=dict(dropout=[0.0], attention_dropout=[0.0], self_attn_backend="pytorch", param_init_method="xavier_uniform"),
                             model=json.loads(json.dumps(o)))
        model = get_model_class(model_config)
        model = model.build_blocks(model_config, vocabs, running_config=config.training)
        model.build_generator(model_config, config.training, vocabs)
        for name, p in model.named_parameters():
            torch.nn.init.xavier_uniform_(p) if p.dim() > 1 else torch.nn.init.zeros_(p)
            if "norm" in name and name.endswith("weight"):
                torch.nn.init.ones_(p)
        return model.eval(), config, vocabs, {side: list(vocabs[side].ids_to_tokens) for side in lists}

    def log_probs(self, model, source, target):
        src, tgt = torch.tensor([source]), torch.tensor([target + [0]])     # one token alone would be a step with a cache
        pad = src.eq(-1).unsqueeze(1)
        memory, _ = model.encoder(model.src_emb(src), pad_mask=pad)
        model.decoder.init_state(src=src, enc_out=memory, enc_final_hs=None)
        out, _ = model.decoder(model.tgt_emb(tgt), enc_out=memory, src_len=torch.tensor([len(source)]), src_pad_mask=pad,
                               tgt_pad_mask=tgt.eq(-1).unsqueeze(1))
        return model.generator(out[0, :-1]).log_softmax(-1)

    def save(self, folder, model, config, vocabs, form):
        from eole.models.model_saver import TrainingModelSaver
        saver = TrainingModelSaver(folder, model, config, vocabs)
        saver.update_step_dir(1)
        saver._save_weights(model.state_dict())
        saver._save_vocab()
        saver._save_config()

    def random(self, draw, i, is_joint):
        o = dict(architecture="transformer", hidden_size=draw.choice([32, 64, 128]), heads=draw.choice([2, 4, 8]), transformer_ff=draw.choice([48, 128]),
                 encoder=dict(layers=draw.randint(1, 4)), decoder=dict(layers=draw.randint(1, 4)), share_embeddings=is_joint,
                 share_decoder_embeddings=draw.random() < 0.5, generator_bias=draw.random() < 0.5, add_qkvbias=draw.random() < 0.5,
                 add_ffnbias=draw.random() < 0.5, layer_norm=draw.choice(["standard", "standard", "rms"]), norm_eps=draw.choice([1e-6, 1e-5]),
                 mlp_activation_fn=draw.choice(["relu", "gelu", "silu", "gated-silu", "gated-gelu", "gelu-tanh"]))
        kind = ("SinusoidalInterleaved", "Rotary", "Learned", "SinusoidalConcat")[i % 4]
        o["embeddings"] = dict(word_vec_size=o["hidden_size"], position_encoding_type=kind)
        if kind == "Learned":
            o["embeddings"]["n_positions"] = 300
        if kind == "Rotary":
            o["rope_config"] = dict(rotary_interleave=draw.random() < 0.5)
        return o

    golden = dict(architecture="transformer", hidden_size=16, heads=4, transformer_ff=24, encoder=dict(layers=2), decoder=dict(layers=1),
                  share_decoder_embeddings=True, generator_bias=False, mlp_activation_fn="gated-silu", layer_norm="rms",
                  embeddings=dict(word_vec_size=16, position_encoding_type="Rotary"), rope_config=dict(rotary_interleave=True))
    form = staticmethod(lambda i: "safetensors")


# ---- both -----------------------------------------------------------------------------

class Peer:
    def __init__(self, program, model, lists, split):
        self.program, self.model, self.split, self.names = program, model, split, lists["tgt"]
        self.source_pieces = {t: i for i, t in enumerate(lists["src"])}
        self.target = {t: i for i, t in enumerate(lists["tgt"])}
        self.start, self.end = self.target["<s>"], self.target["</s>"]
        self.banned = tuple(self.target[t] for t in ("<unk>", "<blank>", "<s>"))

    def pieces(self, line):
        return [t if t in self.source_pieces else "<unk>" for t in self.split(line)]

    def target_ids(self, line):
        return [self.target.get(t, self.target["<unk>"]) for t in self.split(line)]

    def log_probs(self, line, ids):
        source = [self.source_pieces.get(t, self.source_pieces["<unk>"]) for t in self.split(line)] or [self.source_pieces["<unk>"]]
        return self.program.log_probs(self.model, source, [self.start] + list(ids))

    @torch.no_grad()
    def search(self, line, alpha):
        """The program's BeamSearch with the log-probabilities of whole prefixes; its defaults are a beam of 5 and alpha 1."""
        module = importlib.import_module(self.program.search_module)
        width, alpha = (5, 1) if alpha is None else (4, alpha)
        scorer = module.GNMTGlobalScorer(float(alpha), 0.0, "avg" if alpha else "none", "none")
        beam = module.BeamSearch(width, 1, self.banned[1], self.start, self.end, self.banned[0], self.start, 1, scorer, 0, peers.LONGEST, False,
                                 0, set(), None, 0, True)
        beam.initialize(torch.zeros(1, 1, 1), torch.tensor([1]))
        for _ in range(peers.LONGEST):
            rows = torch.stack([self.log_probs(line, prefix[1:])[-1] for prefix in beam.alive_seq.tolist()])
            rows[:, list(self.banned)] = -1e20
            beam.advance(rows, None)
            if any(any(x) for x in beam.is_finished_list):
                beam.update_finished()
                if beam.done:
                    return [i for i in beam.predictions[0][0].tolist() if i != self.end]
        return [0] * peers.LONGEST


def splitter(folder, sentences, kind, size):
    """Learns pieces in the folder. Returns the function that splits a line."""
    if kind == "sentencepiece":
        prefix = os.path.join(folder, "sentencepiece.bpe")
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_prefix=prefix, vocab_size=size, model_type="unigram",
                                                 minloglevel=2)
        os.remove(prefix + ".vocab")
        spm = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
        return lambda line: spm.encode(line, out_type=str)
    path = os.path.join(folder, "bpecodes")
    with open(path, "w", encoding="utf-8") as f:
        learn_bpe(sentences, f, size)
    with open(path, encoding="utf-8") as f:
        bpe = BPE(f)
    return lambda line: bpe.process_line(line).split()


def token_lists(sides, split, is_joint):
    found = []
    for texts in ([sides[0] + sides[1]] if is_joint else sides):
        count = {}
        for line in texts:
            for piece in split(line):
                count[piece] = count.get(piece, 0) + 1
        found.append(sorted(count, key=lambda t: (-count[t], t)))
    return {"src": found[0], "tgt": found[-1]}


def enliven(model, factor):
    """Random weights of a size at which translations differ."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
            elif "emb" not in name and "generator" not in name:
                p.mul_(factor)


def write_golden(program, folder):
    os.makedirs(folder, exist_ok=True)
    sides = [peers.golden_words("en", "abeiknorst", 300), peers.golden_words("de", "aeikmnrtuö", 300)]
    split = splitter(folder, sides[0] + sides[1], "bpe", 24)
    lists = token_lists(sides, split, False)
    lines = peers.golden_words("en", "abeiknorst", 20) + ["ab zzz  ok ", "TOR"]

    def make(seed):
        torch.manual_seed(30 + seed)
        model, opt, vocabs, tokens = program.build(program.golden, lists)
        enliven(model, 2)
        with torch.no_grad():
            for name, p in model.named_parameters():
                if "norm" in name and name.endswith("weight"):      # else the tied table would repeat its input
                    p.mul_(torch.randint(2, p.shape) * 2 - 1)
                elif "emb" in name and p.dim() == 2:
                    p.mul_(3)
            for p in model.parameters():
                p.copy_(p.half().float())                           # a small file: its numbers are fp16
        return Peer(program, model, tokens, split), (model, opt, vocabs)
    (model, opt, vocabs), rows = peers.choose_golden(make, lines, seeds=200)
    program.save(folder, model.half(), opt, vocabs, "pt")
    for name in os.listdir(folder):                                 # eole's links
        path = os.path.join(folder, name)
        if os.path.islink(path):
            target = os.path.realpath(path)
            os.remove(path)
            shutil.copy(target, path)
    shutil.rmtree(os.path.join(folder, "step_1"), ignore_errors=True)
    peers.write_golden_rows(folder + ".tsv", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--program", default="opennmt", choices=["opennmt", "eole"])
    parser.add_argument("--golden", metavar="FOLDER", help="write the small model of tests/eval/import_opennmt.sh")
    parser.add_argument("--lines", default=300, type=int)
    parser.add_argument("--models", default=6, type=int)
    parser.add_argument("--train", default=0, type=float, metavar="SECONDS")
    parser.add_argument("--save", metavar="FOLDER", help="keep the first model there")
    a = parser.parse_args()
    torch.set_num_threads(1)
    program = OpenNMT() if a.program == "opennmt" else Eole()
    if a.golden:
        return write_golden(program, os.path.abspath(a.golden))
    read = lambda name: open(os.path.join(a.data, "multi30k", name), encoding="utf-8").read().splitlines()
    lines = read("test_2016_flickr.en")[:a.lines]
    lines[1:1] = ["", "Zażółć 漢字 naïve 🙂 & <b>", "  two  blanks "]
    sides = [read("train.en")[:1500], read("train.de")[:1500]]
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(a.models):
            draw, folder = random.Random(i), os.path.join(a.save if a.save and not i else scratch, "model%d" % i)
            os.makedirs(folder, exist_ok=True)
            kind, is_joint = ("bpe", "sentencepiece")[i // 2 % 2], i % 2 == 0
            split = splitter(folder, sides[0] + sides[1], kind, 800)
            options = program.random(draw, i, is_joint)
            if i == 0 and a.train:
                options.update(hidden_size=128, transformer_ff=256)
                if "embeddings" in options:
                    options["embeddings"]["word_vec_size"] = 128
            torch.manual_seed(i)
            model, opt, vocabs, lists = program.build(options, token_lists(sides, split, is_joint))
            peer = Peer(program, model, lists, split)
            trained = os.path.join(folder, "trained")
            if i == 0 and os.path.exists(trained):
                model.load_state_dict(torch.load(trained))
            elif i == 0 and a.train:
                peers.train(peer, list(model.parameters()), list(zip(read("train.en"), read("train.de"))), a.train)
            else:
                enliven(model, 1.5)
            program.save(folder, model, opt, vocabs, program.form(i))
            if i == 0 and a.save:
                torch.save(model.state_dict(), trained)
            to = os.path.join(scratch, "our%d" % i)
            peers.import_model(a.build, folder, to, ["--tokenize=no"] if kind == "bpe" else [])
            name, some = "%s model %d (%s%s)" % (program.version, i, kind, ", joint" * is_joint), lines if i == 0 else lines[:20]
            peers.compare(a.build, name, peer, to, some)
            if program.version[0] in "3e":
                peers.compare_search(a.build, name, peer, to, [x for x in some if x.strip()], "opennmt")
            if i == 0 and a.train:
                peers.compare_int8(a.build, name, to, read("test_2016_flickr.en"), read("test_2016_flickr.de"))
    peers.finish()


main()
