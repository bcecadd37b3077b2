#!/usr/bin/env python3
"""import_hugging_face.py - compare imported MarianMT models with transformers.

Usage: import_hugging_face.py BUILD DATA [--lines 200] [--models 12] [--train SECONDS] [--from en|de] [--keep FOLDER]
       import_hugging_face.py --golden FOLDER

BUILD is the folder in which Werkbank was built, DATA a folder with multi30k/train.{en,de} and test_2016_flickr.{en,de}.
Folders as OPUS-MT's are made by transformers and sentencepiece: two unigram models, vocab.json in another order
than theirs, without some of their pieces; config.json with random sizes and options; safetensors or
pytorch_model.bin. Each folder is imported; then the pieces of real lines, greedy output and the log-probability of
each token of the output are compared with MarianTokenizer and MarianMTModel. --train: the first model is trained by
transformers before; then beams are compared with generate(), and BLEU of int8 with that of fp32. --golden: writes the small model of
tests/eval/import.sh, which is in tests/golden/import, with random text, and its translations by transformers. Needs Python with torch,
transformers, sentencepiece and sacrebleu.
"""
import argparse
import json
import os
import random
import shutil
import tempfile
import time
import warnings

import sentencepiece
import torch
import transformers
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

import import_peer as peers

transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore")


class Peer:
    def __init__(self, model, folder):
        self.model, self.tokenizer = model, MarianTokenizer.from_pretrained(folder)
        self.target = read_numbers(folder)
        self.source_pieces = self.tokenizer.encoder
        self.names = [None] * len(self.target)
        for piece, i in self.target.items():
            self.names[i] = piece
        self.end, self.banned = 0, (self.target["<pad>"], self.target["<unk>"])

    def pieces(self, line):
        return self.tokenizer._tokenize(line)

    @torch.no_grad()
    def log_probs(self, line, ids):
        read = self.tokenizer(line, return_tensors="pt")["input_ids"]
        forced = torch.tensor([[self.model.config.decoder_start_token_id] + list(ids)])
        return self.model(input_ids=read, decoder_input_ids=forced).logits[0].log_softmax(-1)

    @torch.no_grad()
    def search(self, line, alpha):
        how = {} if alpha is None else dict(num_beams=4, length_penalty=float(alpha))
        out = self.model.generate(self.tokenizer(line, return_tensors="pt")["input_ids"], do_sample=False, max_new_tokens=peers.LONGEST,
                                  forced_eos_token_id=None, bad_words_ids=[[i] for i in self.banned], **how)
        return [i for i in out[0, 1:].tolist() if i not in (self.end, self.banned[0])]


def learn(size, **options):
    sentencepiece.SentencePieceTrainer.train(vocab_size=size, model_type="unigram", minloglevel=2, **options)


def pieces_of(path):
    s = sentencepiece.SentencePieceProcessor(model_file=path)
    return [s.id_to_piece(i) for i in range(s.get_piece_size()) if not s.is_control(i) and not s.is_unknown(i)]


def number(pieces, tags, draw):
    """Numbers as in a vocab.json of OPUS-MT: </s> and <unk> first, <pad> last; some pieces are missing."""
    some = list(dict.fromkeys(pieces))
    draw.shuffle(some)
    numbers = {"</s>": 0, "<unk>": 1}
    for piece in tags + some[:-20]:
        numbers.setdefault(piece, len(numbers))
    numbers["<pad>"] = len(numbers)
    return numbers


def read_numbers(folder):
    """The vocabulary of the target."""
    for name in ("target_vocab.json", "vocab.json"):
        if os.path.exists(os.path.join(folder, name)):
            return json.load(open(os.path.join(folder, name), encoding="utf-8"))


def write_text(folder, base, draw, tags, is_separate, pair):
    """Writes the files of the text. Returns the sizes of both vocabularies."""
    sides = []
    for side, language in zip(("source", "target"), pair):
        path = os.path.join(base, language + ".model")
        with open(path, "rb") as f, open(os.path.join(folder, side + ".spm"), "wb") as to:
            to.write(f.read())
        sides.append(pieces_of(path))
    if is_separate:
        numbers = [number(sides[0], tags, draw), number(sides[1], [], draw)]
    else:
        numbers = [number(sides[0] + sides[1], tags, draw)] * 2
    for name, what in (("vocab.json", numbers[0]), ("target_vocab.json", numbers[1])):
        if name == "vocab.json" or is_separate:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                json.dump(what, f)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"source_lang": pair[0], "target_lang": pair[1], "separate_vocabs": is_separate, "unk_token": "<unk>",
                   "eos_token": "</s>", "pad_token": "<pad>", "model_max_length": 512}, f)
    return len(numbers[0]), len(numbers[1])


def random_options(draw):
    d = draw.choice([32, 64, 128])
    return dict(d_model=d, encoder_layers=draw.randint(1, 4), decoder_layers=draw.randint(1, 4),
                encoder_attention_heads=draw.choice([2, 4, 8]), decoder_attention_heads=draw.choice([2, 4, 8]),
                encoder_ffn_dim=draw.choice([48, 128]), decoder_ffn_dim=draw.choice([48, 256]),
                activation_function=draw.choice(["swish", "swish", "relu", "gelu", "silu", "gelu_new"]),
                scale_embedding=draw.random() < 0.8)


def make_model(folder, base, seed, is_separate=False, tags=(), bias=True, pad_row=False, pair=("en", "de"), **options):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    os.makedirs(folder, exist_ok=True)
    source, target = write_text(folder, base, draw, list(tags), is_separate, pair)
    options = {**random_options(draw), **options}
    if is_separate:
        options.update(share_encoder_decoder_embeddings=False, decoder_vocab_size=target)
    pad = target - 1
    config = MarianConfig(vocab_size=source, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=pad,
                          decoder_start_token_id=pad, eos_token_id=0, max_position_embeddings=1024, init_std=0.15, **options)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
        if bias:
            model.final_logits_bias.normal_(0, 0.5)
            model.final_logits_bias[0, pad] = 0
        if pad_row:
            model.get_input_embeddings().weight[pad].normal_(0, 0.1)
    g = model.generation_config
    g.decoder_start_token_id, g.bad_words_ids, g.forced_eos_token_id, g.num_beams, g.max_length = pad, [[pad]], 0, 4, 512
    return model


def save(model, folder, form):
    model.save_pretrained(folder)
    if form != "safetensors":
        os.remove(os.path.join(folder, "model.safetensors"))
        torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"), _use_new_zipfile_serialization=form == "zip")


def train(peer, pairs, seconds):
    """Trains by transformers with Adam, for so many seconds of processor time."""
    model, draw, began, step, pad = peer.model, random.Random(1), time.process_time(), 0, peer.banned[0]
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 2 and "positions" not in name:
                p.normal_(0, 0.05)
        model.get_input_embeddings().weight[pad] = 0
    adam = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98))
    model.train()
    while time.process_time() - began < seconds:
        some = draw.sample(pairs, 48)
        batch = peer.tokenizer([x for x, _ in some], text_target=[y for _, y in some], return_tensors="pt", padding=True, truncation=True,
                               max_length=60)
        batch["labels"][batch["labels"] == pad] = -100
        adam.param_groups[0]["lr"] = 2e-3 * min(1, (step + 1) / 100)
        loss = model(**batch).loss
        adam.zero_grad()
        loss.backward()
        adam.step()
        step += 1
    print("trained %d steps, loss %.3f" % (step, loss.item()), flush=True)
    model.eval()


def write_golden(folder):
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)                                           # the .spm names the rules' path
        with open("rules.tsv", "w", encoding="utf-8") as f:
            f.write("".join("%X\t%X\n" % (ord(x), ord(x.lower())) for x in "ABEIKÖ") + "2026\t2E 2E 2E\n")
        for language, letters in (("en", "abeiknorst"), ("de", "aeikmnrtuö")):
            with open(language + ".model", "wb") as f:
                learn(48, sentence_iterator=iter(peers.golden_words(language, letters, 400)), model_writer=f,
                      normalization_rule_tsv="rules.tsv", character_coverage=1.0)
        words = peers.golden_words("en", "abeiknorst", 20)
        lines = [">>deu<< " + x for x in words[:8]] + [">>nld<<" + x for x in words[:4]] + words[8:12]
        lines += [words[12].upper(), words[13] + "…", ">>deu<< ab zzz  ok ", words[14] + " >>nld<< " + words[15]]

        @torch.no_grad()
        def make(seed):
            model = make_model("model%d" % seed, ".", seed, tags=[">>deu<<", ">>nld<<"], d_model=16, encoder_layers=2,
                               decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=24,
                               decoder_ffn_dim=32, activation_function="swish", scale_embedding=True)
            for name, p in model.named_parameters():
                if p.dim() == 2 and "positions" not in name:
                    p.mul_(2)
                elif "norm.weight" in name:             # else the tied table would repeat its input
                    p.mul_(torch.randint(2, p.shape) * 2 - 1)
            model.final_logits_bias[0, 0] = 3
            return Peer(model, "model%d" % seed), (model, "model%d" % seed)
        (model, at), rows = peers.choose_golden(make, lines, seeds=20)
        save(model, at, "safetensors")
        shutil.copytree(at, folder, dirs_exist_ok=True)
    peers.write_golden_rows(folder + ".tsv", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--golden", metavar="FOLDER", help="write the small model of tests/eval/import.sh")
    parser.add_argument("--lines", default=200, type=int)
    parser.add_argument("--models", default=12, type=int)
    parser.add_argument("--train", default=0, type=float, metavar="SECONDS")
    parser.add_argument("--from", default="en", choices=["en", "de"], dest="source", help="source language")
    parser.add_argument("--keep", help="folder for the models (default: a temporary one); a trained one in it is used again")
    a = parser.parse_args()
    torch.set_num_threads(1)
    if a.golden:
        return write_golden(os.path.abspath(a.golden))
    if not a.data:
        parser.error("give BUILD and DATA")
    pair = ("en", "de") if a.source == "en" else ("de", "en")
    read = lambda name, language: open(os.path.join(a.data, "multi30k", name + "." + language), encoding="utf-8").read().splitlines()
    tests = [read("test_2016_flickr", x) for x in pair]
    lines = tests[0][:a.lines]
    lines[1:1] = ["", "Zażółć 漢字 naïve 🙂 & <b>", "  two  blanks ", "a" * 150]
    few = lines[:max(4, a.lines // 10)]
    with tempfile.TemporaryDirectory() as scratch:
        at = lambda *name: os.path.join(a.keep or scratch, *name)
        os.makedirs(at(), exist_ok=True)
        for language in pair:
            learn(2000, input=os.path.join(a.data, "multi30k/train." + language), model_prefix=at(language))
        kinds = [dict(), dict(form="zip"), dict(form="old"), dict(is_separate=True), dict(tags=[">>deu<<", ">>nld<<"]),
                 dict(bias=False, pad_row=True)]
        for i in range(a.models):
            options, folder = dict(kinds[i % len(kinds)]), at("hf%d" % i)
            form, is_trained = options.pop("form", "safetensors"), i == 0 and a.train
            if is_trained:
                options.update(d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                               encoder_ffn_dim=256, decoder_ffn_dim=256, activation_function="swish", scale_embedding=True)
            model = make_model(folder, at(), i, pair=pair, **options)
            if is_trained and os.path.exists(at("hf0", "model.safetensors")):
                model = MarianMTModel.from_pretrained(folder).eval()
            elif is_trained:
                train(Peer(model, folder), list(zip(read("train", pair[0]), read("train", pair[1]))), a.train)
            save(model, folder, form)
            to = os.path.join(scratch, "our%d" % i)
            peers.import_model(a.build, folder, to)
            with open(os.path.join(to, "recipe.ini"), encoding="utf-8") as f:
                peers.say("segmentation of the recipe", [x.split("#")[0].strip() for x in f].count("segmentation = unigram"), 1)
            some = lines if i == 0 else few
            if options.get("tags"):
                some = [">>deu<< " + x for x in some[:-2]] + [">>nld<<" + some[-1], "a >>deu<< within"]
            name = "%s to %s, model %d (%s)" % (*pair, i, ", ".join([form] + sorted(k for k in options if k in ("is_separate", "tags", "pad_row"))))
            peer = Peer(model, folder)
            peers.compare(a.build, name, peer, to, some)
            if is_trained:
                peers.compare_search(a.build, name, peer, to, [x for x in some if x.strip()], "transformers")
                peers.compare_int8(a.build, name, to, *tests)
    peers.finish()


main()
