#!/usr/bin/env python3
"""import_hugging_face.py - compare imported MarianMT models with transformers.

Usage: import_hugging_face.py BUILD DATA [--lines 200] [--models 12] [--train SECONDS]
       import_hugging_face.py --golden FOLDER

BUILD is the folder in which Werkbank was built, DATA a folder with multi30k/train.{en,de} and test_2016_flickr.en.
Folders as OPUS-MT's are made by transformers and sentencepiece: two unigram models, vocab.json in another order
than theirs, without some of their pieces; config.json with random sizes and options; safetensors or
pytorch_model.bin. Each folder is imported; then the pieces of real lines, greedy output and the log-probability of
each token of the output are compared with MarianTokenizer and MarianMTModel. --train: the first model is trained by
transformers before. --golden: writes the small model of tests/eval/import.sh, which is in tests/golden/import, with
random text, and its translations by transformers. Needs Python with torch, transformers and sentencepiece.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import sentencepiece
import torch
import transformers
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore")
failures = 0
FINE = 1e-4


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


def write_text(folder, base, draw, tags, is_separate):
    """Writes the files of the text. Returns the sizes of both vocabularies."""
    sides = []
    for side, language in (("source", "en"), ("target", "de")):
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
        json.dump({"source_lang": "en", "target_lang": "de", "separate_vocabs": is_separate, "unk_token": "<unk>",
                   "eos_token": "</s>", "pad_token": "<pad>", "model_max_length": 512}, f)
    return len(numbers[0]), len(numbers[1])


def random_options(draw):
    d = draw.choice([32, 64, 128])
    return dict(d_model=d, encoder_layers=draw.randint(1, 4), decoder_layers=draw.randint(1, 4),
                encoder_attention_heads=draw.choice([2, 4, 8]), decoder_attention_heads=draw.choice([2, 4, 8]),
                encoder_ffn_dim=draw.choice([48, 128]), decoder_ffn_dim=draw.choice([48, 256]),
                activation_function=draw.choice(["swish", "swish", "relu", "gelu", "silu", "gelu_new"]),
                scale_embedding=draw.random() < 0.8)


def make_model(folder, base, seed, is_separate=False, tags=(), bias=True, pad_row=False, **options):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    os.makedirs(folder)
    source, target = write_text(folder, base, draw, list(tags), is_separate)
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


def tokenizer_of(folder):
    return MarianTokenizer.from_pretrained(folder)


def train(model, folder, data, seconds):
    """Trains by transformers on Multi30k, with Adam, for so many seconds."""
    tokenizer = tokenizer_of(folder)
    text = [[x.strip() for x in open(os.path.join(data, "multi30k/train." + s), encoding="utf-8")] for s in ("en", "de")]
    pairs = list(zip(*text))
    draw, began, step = random.Random(1), time.time(), 0
    adam = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98))
    model.train()
    while time.time() - began < seconds:
        some = draw.sample(pairs, 48)
        batch = tokenizer([x for x, _ in some], text_target=[y for _, y in some], return_tensors="pt", padding=True, truncation=True,
                          max_length=60)
        batch["labels"][batch["labels"] == model.config.pad_token_id] = -100
        adam.param_groups[0]["lr"] = 2e-3 * min(1, (step + 1) / 100)
        loss = model(**batch).loss
        adam.zero_grad()
        loss.backward()
        adam.step()
        step += 1
    print("trained %d steps, loss %.3f" % (step, loss.item()), flush=True)
    return model.eval()


def serve(a, model, lines, precision="fp32"):
    asked = "".join(json.dumps({"id": i, "text": t, "beam": 1, "whole": True}) + "\n" for i, t in enumerate(lines))
    done = subprocess.run([os.path.join(a.build, "werkbank"), "translate", "-m", model, "--serve", "--precision", precision, "--one-a-line",
                           "--threads", "1"], input=asked, capture_output=True, text=True, check=True)
    return sorted((json.loads(t) for t in done.stdout.splitlines()[1:]), key=lambda x: x["id"])


def say(what, good, all_, least=1.0):
    global failures
    bad = good < least * all_
    failures += bad
    print("%-52s %d of %d%s" % (what, good, all_, "   FAILED" if bad else ""), flush=True)


@torch.no_grad()
def compare(a, name, model, folder, imported, lines, generate):
    """Greedy output is compared with generate() for so many lines, else with the likeliest token after each prefix."""
    tokenizer, answers = tokenizer_of(folder), serve(a, imported, lines)
    target = json.load(open(os.path.join(folder, "target_vocab.json" if os.path.exists(os.path.join(folder, "target_vocab.json"))
                                         else "vocab.json"), encoding="utf-8"))
    same_pieces, same_tokens, worst, n, n_generated = 0, 0, 0.0, 0, 0
    for line, x in zip(lines, answers):
        ids = tokenizer(line, return_tensors="pt")["input_ids"]
        theirs = [t if t in tokenizer.encoder else "<unk>" for t in tokenizer._tokenize(line)]
        mine = [t if t in tokenizer.encoder else "<unk>" for t in x["source_tokens"]]
        same_pieces += theirs == mine
        tokens = [target[t] for t in x["tokens"]]
        forced = torch.tensor([[model.config.decoder_start_token_id] + tokens])
        logits = model(input_ids=ids, decoder_input_ids=forced).logits[0].log_softmax(-1)
        want = [logits[i, t].item() for i, t in enumerate(tokens + [0])]
        end = x["log_prob"] - sum(x["token_log_probs"])        # of </s>; 0: it is cut at the maximum length
        ended = end < -1e-5
        logits[:, [target["<pad>"], target["<unk>"]]] = -math.inf
        best = logits.argmax(-1).tolist()
        if n_generated < generate:
            got = model.generate(ids, num_beams=1, do_sample=False, max_new_tokens=len(tokens) + 1, forced_eos_token_id=None,
                                 bad_words_ids=[[target["<pad>"]], [target["<unk>"]]])[0, 1:].tolist()
            best = got if ended else got[:len(tokens)] + [best[-1]]
            n_generated += 1
        same_tokens += best[:len(tokens) + ended] == tokens + [0] * ended
        for p, q in zip(x["token_log_probs"] + [end] * ended, want):
            worst, n = max(worst, abs(p - q)), n + 1
    say(name + ": source pieces", same_pieces, len(lines))
    say(name + ": greedy output", same_tokens, len(lines))
    say(name + ": log-probabilities, worst %.2g" % worst, n if worst < FINE else 0, n)
    return answers


def golden_words(seed, letters, n):
    """Lines of random words."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(letters, k=draw.randint(2, 6))) for _ in range(60)]
    return [" ".join(draw.choices(words, k=draw.randint(2, 7))) for _ in range(n)]


def golden_line(model, ids, target):
    """Greedy output of generate(), at most 12 tokens: its pieces, log-probabilities, and the least distance of the best two."""
    bad = [[target["<pad>"]], [target["<unk>"]]]
    out = model.generate(ids, num_beams=1, do_sample=False, max_new_tokens=12, forced_eos_token_id=None, bad_words_ids=bad)
    tokens = out[0, 1:].tolist()
    logits = model(input_ids=ids, decoder_input_ids=out[:, :-1]).logits[0].log_softmax(-1)
    scores = [logits[i, t].item() for i, t in enumerate(tokens)]
    logits[:, sum(bad, [])] = -math.inf
    best = logits.topk(2).values
    names = {i: piece for piece, i in target.items()}
    return [names[t] for t in tokens if t], scores, (best[:, 0] - best[:, 1]).min().item()


@torch.no_grad()
def write_golden(folder):
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)                                           # the .spm names the rules' path
        with open("rules.tsv", "w", encoding="utf-8") as f:
            f.write("".join("%X\t%X\n" % (ord(x), ord(x.lower())) for x in "ABEIKÖ") + "2026\t2E 2E 2E\n")
        for language, letters in (("en", "abeiknorst"), ("de", "aeikmnrtuö")):
            with open(language + ".model", "wb") as f:
                learn(48, sentence_iterator=iter(golden_words(language, letters, 400)), model_writer=f,
                      normalization_rule_tsv="rules.tsv", character_coverage=1.0)
        words = golden_words("en", "abeiknorst", 20)
        lines = [">>deu<< " + x for x in words[:8]] + [">>nld<<" + x for x in words[:4]] + words[8:12]
        lines += [words[12].upper(), words[13] + "…", ">>deu<< ab zzz  ok ", words[14] + " >>nld<< " + words[15]]
        for seed in range(20):
            model = make_model("model%d" % seed, ".", seed, tags=[">>deu<<", ">>nld<<"], d_model=16, encoder_layers=2,
                               decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=24,
                               decoder_ffn_dim=32, activation_function="swish", scale_embedding=True)
            for name, p in model.named_parameters():
                if p.dim() == 2 and "positions" not in name:
                    p.mul_(2)
                elif "norm.weight" in name:             # else the tied table would repeat its input
                    p.mul_(torch.randint(2, p.shape) * 2 - 1)
            model.final_logits_bias[0, 0] = 3
            tokenizer, target = tokenizer_of("model%d" % seed), json.load(open("model%d/vocab.json" % seed, encoding="utf-8"))
            told = [golden_line(model, tokenizer(x, return_tensors="pt")["input_ids"], target) for x in lines]
            rows = [(x, *y[:2]) for x, y in zip(lines, told) if y[2] > 0.01]        # no near ties
            kinds = len({" ".join(tokens) for _, tokens, _ in rows})
            n_ended = sum(1 < len(tokens) < len(scores) for _, tokens, scores in rows)
            print("seed %d: %d sentences, %d translations, %d with an end" % (seed, len(rows), kinds, n_ended), flush=True)
            if kinds >= 10 and n_ended >= 2:
                break
        save(model, "model%d" % seed, "safetensors")
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir("model%d" % seed):
            shutil.copyfile(os.path.join("model%d" % seed, name), os.path.join(folder, name))
    with open(folder + ".tsv", "w", encoding="utf-8") as f:
        for line, tokens, scores in rows:
            f.write("\t".join([line, " ".join(tokens), " ".join("%.6f" % x for x in scores)]) + "\n")


def import_one(a, folder, to):
    done = subprocess.run([os.path.join(a.build, "werkbank"), "import", folder, "-o", to], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    with open(os.path.join(to, "recipe.ini"), encoding="utf-8") as f:
        recipe = [line.split("#")[0].strip() for line in f]
    say("segmentation of the recipe", recipe.count("segmentation = unigram"), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--golden", metavar="FOLDER", help="write the small model of tests/eval/import.sh")
    parser.add_argument("--lines", default=200, type=int)
    parser.add_argument("--models", default=12, type=int)
    parser.add_argument("--train", default=0, type=float)
    parser.add_argument("--keep", help="folder for the models (default: a temporary one)")
    a = parser.parse_args()
    torch.set_num_threads(1)
    if a.golden:
        return write_golden(os.path.abspath(a.golden))
    if not a.data:
        parser.error("give BUILD and DATA")
    lines = open(os.path.join(a.data, "multi30k/test_2016_flickr.en"), encoding="utf-8").read().splitlines()[:a.lines]
    lines[1:1] = ["", "Zażółć 漢字 naïve 🙂 & <b>", "  two  blanks ", "a" * 150]
    few = lines[:max(4, a.lines // 10)]
    with tempfile.TemporaryDirectory() as scratch:
        at = lambda *name: os.path.join(a.keep or scratch, *name)
        os.makedirs(at(), exist_ok=True)
        for language in ("en", "de"):
            learn(2000, input=os.path.join(a.data, "multi30k/train." + language), model_prefix=at(language))
        kinds = [dict(), dict(form="zip"), dict(form="old"), dict(is_separate=True), dict(tags=[">>deu<<", ">>nld<<"]),
                 dict(bias=False, pad_row=True)]
        for i in range(a.models):
            options = dict(kinds[i % len(kinds)])
            form = options.pop("form", "safetensors")
            if i == 0 and a.train:
                options.update(d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                               encoder_ffn_dim=256, decoder_ffn_dim=256, activation_function="swish", scale_embedding=True)
            model = make_model(at("hf%d" % i), at(), i, **options)
            if i == 0 and a.train:
                with torch.no_grad():
                    for parameter, p in model.named_parameters():
                        if p.dim() == 2 and "positions" not in parameter:
                            p.normal_(0, 0.05)
                    model.get_input_embeddings().weight[model.config.pad_token_id] = 0
                train(model, at("hf0"), a.data, a.train)
            save(model, at("hf%d" % i), form)
            import_one(a, at("hf%d" % i), at("our%d" % i))
            some = lines if i == 0 else few
            if options.get("tags"):
                some = [">>deu<< " + x for x in some[:-2]] + [">>nld<<" + some[-1], "a >>deu<< within"]
            name = "model %d (%s)" % (i, ", ".join([form] + sorted(k for k in options if k in ("is_separate", "tags", "pad_row"))))
            answers = compare(a, name, model, at("hf%d" % i), at("our%d" % i), some, len(some) if i == 0 and a.train else 2)
            if i == 0:
                int8 = serve(a, at("our0"), some, "int8")
                say("model 0: int8 gives the same output", sum(x["tokens"] == y["tokens"] for x, y in zip(int8, answers)), len(some),
                    0.6 if a.train else 0.0)
    sys.exit(failures > 0)


main()
