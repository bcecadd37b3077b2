#!/usr/bin/env python3
"""import_multilingual.py - compare imported models of M2M100, NLLB and mBART-50 with transformers.

Usage: import_multilingual.py BUILD DATA [--lines 300] [--train SECONDS] [--only NAME] [--keep FOLDER]
       import_multilingual.py --golden FOLDER

BUILD is the folder in which Werkbank was built, DATA a folder with multi30k/train.{en,de} and test_2016_flickr.{en,de}.
transformers makes each folder, with a SentencePiece model of real text: in the forms of transformers 4 and 5, with the
languages' numbers of the tokenizer and with others, with and without computed positions in the file. Each is imported;
then source pieces, greedy output and the log-probability of each token are compared with the tokenizer and the model.
Beams are compared with generate(). --train: the models in safetensors are trained before, on both directions; then BLEU of
int8 and fp32 is compared. --golden: writes the small models of tests/eval/import.sh, FOLDER/m2m100 and FOLDER/mbart, with random text.
Needs Python with torch, sentencepiece and transformers 4 (4.57; version 5 has no NllbTokenizer that reads SentencePiece).
"""
import argparse
import json
import os
import random
import sys
import tempfile
import time
import warnings

import sentencepiece
import torch
import transformers
from transformers import (M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer, MBart50Tokenizer, MBartConfig,
                          MBartForConditionalGeneration, NllbTokenizer)

import import_peer as peers

transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore")
LANGUAGES = {"m2m100": {"en": "__en__", "de": "__de__"}, "nllb": {"en": "eng_Latn", "de": "deu_Latn"}, "mbart": {"en": "en_XX", "de": "de_DE"}}


class Peer:
    def __init__(self, family, model, tokenizer, pair):
        self.model, self.tokenizer, self.pair = model, tokenizer, pair
        self.source, self.target = (LANGUAGES[family][x] for x in pair)
        rows = model.get_input_embeddings().weight.shape[0]
        self.number = dict(tokenizer.get_vocab())
        if family == "m2m100":
            self.number.update(tokenizer.lang_token_to_id)
        by_id = {i: t for t, i in self.number.items()}
        self.names = [by_id.get(i, "madeupword%04d" % i) for i in range(rows)]
        self.end, self.banned = 2, (0, 1, 3)
        tokenizer.src_lang = self.source.strip("_") if family == "m2m100" else self.source

    def pieces(self, line):
        ids = self.tokenizer(line)["input_ids"]
        assert ids[-1] == 2 and ids[0] == self.number[self.source]
        return [self.names[i] for i in ids[:-1]]

    @torch.no_grad()
    def log_probs(self, line, ids):
        read = torch.tensor([self.tokenizer(line)["input_ids"]])
        forced = torch.tensor([[2, self.number[self.target]] + list(ids)])
        return self.model(input_ids=read, decoder_input_ids=forced).logits[0].log_softmax(-1)[1:]

    @torch.no_grad()
    def search(self, line, alpha):
        read = torch.tensor([self.tokenizer(line)["input_ids"]])
        by_default = alpha is None and self.model.generation_config.num_beams > 1  # else an import takes a beam of 4
        how = {} if by_default else dict(num_beams=4, length_penalty=float(1 if alpha is None else alpha), early_stopping=False)
        out = self.model.generate(read, do_sample=False, max_new_tokens=peers.LONGEST, forced_bos_token_id=self.number[self.target],
                                  bad_words_ids=[[0], [1], [3]], forced_eos_token_id=None, **how)
        return [i for i in out[0, 2:].tolist() if i not in (1, 2)]


def learn(folder, kind, size, **options):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "sentencepiece.bpe.model")
    with open(path, "wb") as f:
        sentencepiece.SentencePieceTrainer.train(vocab_size=size, model_type=kind, model_writer=f, minloglevel=2, **options)
    return path


def numbered(spm):
    s = sentencepiece.SentencePieceProcessor(model_file=spm)
    pieces = [s.id_to_piece(i) for i in range(3, s.get_piece_size())]
    return {t: i for i, t in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + pieces)}


def write_tokenizer(folder, family, spm, draw):
    """M2M100's vocab.json is in another order than the pieces and lacks some; NLLB lists its languages, in another order."""
    if family == "m2m100":
        numbers = numbered(spm)
        pieces = list(numbers)[4:]
        draw.shuffle(pieces)
        with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as f:
            json.dump({t: i for i, t in enumerate(list(numbers)[:4] + pieces[:-3])}, f)
        M2M100Tokenizer(os.path.join(folder, "vocab.json"), spm, src_lang="en", tgt_lang="de").save_pretrained(folder)
        return M2M100Tokenizer.from_pretrained(folder)
    kind = NllbTokenizer if family == "nllb" else MBart50Tokenizer
    kind(spm, src_lang=LANGUAGES[family]["en"], tgt_lang=LANGUAGES[family]["de"]).save_pretrained(folder)
    return kind.from_pretrained(folder)


def make(folder, family, spm, seed, rows_more=8, init=0.15, **options):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    tokenizer = write_tokenizer(folder, family, spm, draw)
    size = len(tokenizer.encoder) + len(tokenizer.lang_token_to_id) if family == "m2m100" else len(tokenizer)
    d = options.pop("d_model", draw.choice([32, 64]))
    common = dict(vocab_size=size + rows_more, d_model=d, encoder_layers=draw.randint(1, 3), decoder_layers=draw.randint(1, 3),
                  encoder_attention_heads=draw.choice([2, 4]), decoder_attention_heads=draw.choice([2, 4]), encoder_ffn_dim=48,
                  decoder_ffn_dim=draw.choice([48, 80]), dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, encoder_layerdrop=0.0,
                  decoder_layerdrop=0.0, init_std=init, max_position_embeddings=256, decoder_start_token_id=2, scale_embedding=True)
    common.update(options)
    if family == "mbart":
        model = MBartForConditionalGeneration(MBartConfig(**common))
    else:
        model = M2M100ForConditionalGeneration(M2M100Config(**common))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
        if family == "mbart":
            model.final_logits_bias.normal_(0, 0.3)
    if family != "nllb":                                # NLLB's files do not name a beam; the others' are those of the hub
        model.generation_config.num_beams, model.generation_config.early_stopping = 5, True
    return model.eval(), tokenizer


def save(model, folder, form):
    model.save_pretrained(folder)
    if form != "safetensors":
        os.remove(os.path.join(folder, "model.safetensors"))
        state = dict(model.state_dict())
        for side in ("encoder", "decoder"):          # as old versions wrote them
            if hasattr(getattr(model.model, side).embed_positions, "weights"):
                state["model.%s.embed_positions.weights" % side] = getattr(model.model, side).embed_positions.weights
        torch.save(state, os.path.join(folder, "pytorch_model.bin"))


def train(model, tokenizer, family, data, seconds):
    """Trains on Multi30k, both directions, with Adam, for so many seconds."""
    text = {x: [y.strip() for y in open(os.path.join(data, "multi30k/train." + x), encoding="utf-8")] for x in ("en", "de")}
    draw, began, step = random.Random(1), time.process_time(), 0
    adam = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98))
    model.train()
    number = {x: tokenizer.convert_tokens_to_ids(LANGUAGES[family][x]) for x in ("en", "de")}
    plain = lambda line: tokenizer.convert_tokens_to_ids(tokenizer.tokenize(line))[:60]
    pad = torch.nn.utils.rnn.pad_sequence
    while time.process_time() - began < seconds:
        some, a, b = draw.sample(range(len(text["en"])), 48), *draw.choice([("en", "de"), ("de", "en")])
        read = [torch.tensor([number[a]] + plain(text[a][i]) + [2]) for i in some]
        write = [torch.tensor([number[b]] + plain(text[b][i]) + [2]) for i in some]
        read, write = pad(read, True, 1), pad(write, True, 1)
        begin = torch.cat([torch.full((48, 1), 2), write[:, :-1]], 1)
        adam.param_groups[0]["lr"] = 2e-3 * min(1, (step + 1) / 100)
        logits = model(input_ids=read, attention_mask=read != 1, decoder_input_ids=begin, labels=None).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), write.flatten(), ignore_index=1)
        adam.zero_grad()
        loss.backward()
        adam.step()
        step += 1
    print("%s: trained %d steps, loss %.3f" % (family, step, loss.item()), flush=True)
    model.eval()


def check(a, at, name, family, model, tokenizer, form, lines, options):
    save(model, at(name), form)
    for pair in (("en", "de"), ("de", "en")):
        to = at("%s-%s" % (name, pair[0]))
        given = [] if pair[0] == "en" and options else sum((["--%s-language" % s, LANGUAGES[family][x].strip("_")]
                                                            for s, x in zip(("source", "target"), pair)), [])
        peers.import_model(a.build, at(name), to, given)
        peer = Peer(family, model, tokenizer, pair)
        some = lines[pair[0]] if a.train else lines[pair[0]][:60]
        title = "%s, %s to %s" % (name, *pair)
        peers.compare(a.build, title, peer, to, some)
        peers.compare_search(a.build, title, peer, to, some, "transformers")
        if a.train:
            peers.compare_int8(a.build, title, to, lines[pair[0]], lines[pair[1]])


@torch.no_grad()
def write_golden(folder):
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        lines = peers.golden_words(1, "abeiknorst", 16)
        with open("rules.tsv", "w", encoding="utf-8") as f:     # a small table of the normaliser
            f.write("".join("%X\t%X\n" % (ord(x), ord(x.lower())) for x in "ABEIKÖ") + "2026\t2E 2E 2E\n")
        for family, kind in (("m2m100", "bpe"), ("mbart", "unigram")):
            spm = learn("text" + family, kind, 40, sentence_iterator=iter(peers.golden_words(1, "abeiknorst", 400)),
                        normalization_rule_tsv="rules.tsv", character_coverage=1.0)
            def make_one(seed):
                at = family + str(seed)
                os.makedirs(at, exist_ok=True)
                model, tokenizer = make(at, family, spm, seed, rows_more=4, init=0.5, d_model=16, encoder_layers=2, decoder_layers=1,
                                        encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=32,
                                        max_position_embeddings=48)
                model.get_input_embeddings().weight[len(numbered(spm)):] *= 0.4       # languages are rare in the output
                for n, p in model.named_parameters():
                    if n.endswith("norm.weight"):           # else the tied table would repeat its input
                        p.mul_(torch.randint(2, p.shape) * 2 - 1)
                if family == "mbart":                       # sentences shall end
                    model.final_logits_bias[0, 2] = 3
                else:
                    model.model.decoder.layer_norm.bias.add_(0.8 * model.get_input_embeddings().weight[2])
                return Peer(family, model, tokenizer, ("de", "en")), (model, at)
            (model, at), rows = peers.choose_golden(make_one, lines, kinds=8, ends=1)
            save(model, at, "safetensors")
            os.makedirs(os.path.join(folder, family), exist_ok=True)
            for name in os.listdir(at):
                with open(os.path.join(at, name), "rb") as f, open(os.path.join(folder, family, name), "wb") as out:
                    out.write(f.read())
            peers.write_golden_rows(os.path.join(folder, family + ".tsv"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--golden", metavar="FOLDER", help="write the small models of tests/eval/import.sh")
    parser.add_argument("--lines", default=300, type=int)
    parser.add_argument("--train", default=0, type=float, metavar="SECONDS")
    parser.add_argument("--only", default="", help="only models with this in their names")
    parser.add_argument("--keep", help="folder for the models (default: a temporary one); trained ones in it are used again")
    a = parser.parse_args()
    torch.set_num_threads(1)
    if a.golden:
        return write_golden(os.path.abspath(a.golden))
    if not a.data:
        parser.error("give BUILD and DATA")
    lines = {x: open(os.path.join(a.data, "multi30k/test_2016_flickr." + x), encoding="utf-8").read().splitlines()[:a.lines] for x in ("en", "de")}
    for x in lines.values():
        x[1:1] = ["Zażółć 漢字 naïve 🙂 & <b>", "  two  blanks ", "a" * 150]
    with tempfile.TemporaryDirectory() as scratch:
        at = lambda *name: os.path.join(a.keep or scratch, *name)
        text = ",".join(os.path.join(a.data, "multi30k/train." + x) for x in ("en", "de"))
        spms = {kind: learn(at(kind), kind, 2000, input=text) for kind in ("bpe", "unigram")}
        big = dict(d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256,
                   decoder_ffn_dim=256, init=0.05) if a.train else {}
        kinds = [("m2m100", "m2m100", "bpe", "safetensors", big), ("m2m100-old", "m2m100", "unigram", "bin", dict(activation_function="gelu", scale_embedding=False)),
                 ("nllb", "nllb", "bpe", "safetensors", dict(big, rows_more=2)), ("mbart", "mbart", "unigram", "safetensors", big),
                 ("mbart-old", "mbart", "bpe", "bin", dict(activation_function="relu"))]
        for seed, (name, family, kind, form, options) in enumerate(kinds):
            if a.only not in name:
                continue
            os.makedirs(at(name), exist_ok=True)
            model, tokenizer = make(at(name), family, spms[kind], seed, **options)
            if form == "safetensors" and a.train and os.path.exists(at(name, "model.safetensors")):
                model = type(model).from_pretrained(at(name)).eval()
            elif form == "safetensors" and a.train:
                train(model, tokenizer, family, a.data, a.train)
            check(a, at, name, family, model, tokenizer, form, lines, form == "safetensors")
    peers.finish()


main()
