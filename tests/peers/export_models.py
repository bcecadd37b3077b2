#!/usr/bin/env python3
"""export_models.py - compare exported models with the programs they are for.

Usage: export_models.py BUILD DATA PYMARIAN [--lines 60] [--only TEXT] [--keep FOLDER]

BUILD is the folder in which Werkbank was built, DATA a folder with multi30k/train.{en,de} and test_2016_flickr.en,
PYMARIAN the program pymarian 1.12 (of another Python, if need be). Needs Python with torch, transformers, ctranslate2,
sentencepiece, safetensors, and for packages argostranslate.

Model folders of random weights with several architectures and kinds of text are exported to each format that can hold them.
Werkbank translates lines greedily; then
- pymarian score, MarianMTModel and CTranslate2 give the log-probabilities of its tokens, which must agree within 1e-4;
- pymarian decode, generate() and translate_batch() translate with beam 1, and must give the same tokens;
- tokenizers of the folder must give the same pieces; Argos Translate's own classes translate from the installed package;
- import of the export must give the same tensors bit for bit, the same vocabularies and the same subword models.
CTranslate2's converters convert the folders of Marian and Hugging Face; their results are imported and compared, too.
"""
import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import warnings

import ctranslate2
import numpy as np
import sentencepiece
import torch
import transformers
from safetensors.numpy import load_file, save_file

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
warnings.filterwarnings("ignore")
failures = 0
MOST = 1e-4
MARIAN = "norm_place=post attention_bias=yes output_bias=yes decoder_start=zero"
OPUS = "norm_place=post norm_epsilon=1e-5 positions=sinusoid-2k activation=silu attention_bias=yes output_bias=yes decoder_start=zero"
# text, architecture, formats that can hold the model
ROWS = [
    ("joint", "", "ctranslate2 argos"),
    ("bpe", "", "ctranslate2"),
    ("joint", MARIAN, "ctranslate2 argos marian"),
    ("unigram", MARIAN + " activation=silu tied_embeddings=output", "ctranslate2 argos marian"),
    ("merged", MARIAN + " activation=gelu tied_embeddings=source", "ctranslate2 marian"),
    ("separate", MARIAN + " norm=rms tied_embeddings=output", "ctranslate2 marian"),
    ("bpe", MARIAN + " decoder_self=ssru", "marian"),
    ("joint", MARIAN + " decoder_self=ssru norm_place=pre decoder_ff=32", "marian"),
    ("merged", MARIAN + " embedding_norm=yes tied_embeddings=none attention_bias=no output_bias=no ffn_bias=no", "ctranslate2 marian"),
    ("merged", OPUS, "ctranslate2 huggingface"),
    ("unigram", OPUS + " decoder_heads=2 decoder_ff=32", "ctranslate2 argos huggingface"),
    ("separate", OPUS + " tied_embeddings=output", "ctranslate2 huggingface"),
    ("joint", OPUS + " decoder_start=start activation=gelu-tanh", "ctranslate2 argos huggingface"),
    ("merged", OPUS + " positions=sinusoid activation=gelu tied_embeddings=source embedding_scale=one", "ctranslate2 huggingface"),
    ("merged", OPUS + " positions=learned max_positions=300 activation=relu", "ctranslate2 huggingface"),
    ("merged", OPUS + " activation=gelu-sigmoid attention_bias=no output_bias=no tied_embeddings=none", "ctranslate2 huggingface"),
    ("joint", "gated_ffn=yes activation=silu norm=rms ffn_bias=no final_norm=no", "ctranslate2 argos"),
    ("separate", "gated_ffn=yes activation=gelu tied_embeddings=none decoder_start=end position_offset=2", "ctranslate2"),
    ("joint", "positions=rotary", ""),
    ("joint", "positions=none decoder_start=zero", ""),
]
FORMATS = ("ctranslate2", "argos", "marian", "huggingface")


def say(what, good, all_=1):
    global failures
    failures += good != all_
    print(f"    {what:<58} {good} of {all_}{'' if good == all_ else '   FAILED'}", flush=True)


def facts_of(words):
    return {k: int(v) if v.isdigit() else v for k, v in (word.split("=") for word in words.split())}


# ---- model folders ----------------------------------------------------------------------------------------------

def learn(prefix, lines, size, kind, **options):
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=prefix, vocab_size=size, model_type=kind,
                                             pad_id=0, eos_id=1, bos_id=2, unk_id=3, minloglevel=2, **options)
    s = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    return [s.id_to_piece(i) for i in range(s.get_piece_size())][4:]


def vocabulary_text(pieces):
    all_ = ["<pad>", "</s>", "<s>", "<unk>"] + pieces
    return "".join(f"{p}\t0\n" for p in all_ + [f"<unused{i}>" for i in range(-len(all_) % 8)])


def make_texts(folder, data):
    """Files of the text by kind: recipe, vocabularies, subword models."""
    sides = [open(os.path.join(data, "multi30k/train." + s), encoding="utf-8").read().splitlines()[:4000] for s in ("en", "de")]
    os.chdir(folder)
    tags = ">>deu<< >>nld<<"
    joint = learn("joint", sides[0] + sides[1], 600, "bpe", user_defined_symbols=["<num>"])
    unigram = learn("unigram", sides[0] + sides[1], 600, "unigram")
    en, de = learn("en", sides[0], 400, "unigram"), learn("de", sides[1], 400, "bpe")
    merged = tags.split() + list(dict.fromkeys(de + en))
    spm = lambda name: open(name + ".model", "rb").read()
    texts = {
        "joint": ("segmentation = sentencepiece\nvocabularies = joint\nprotect = <num>", {"vocab.tsv": vocabulary_text(joint), "sentencepiece.model": spm("joint")}),
        "unigram": ("segmentation = unigram\nvocabularies = joint", {"vocab.tsv": vocabulary_text(unigram), "sentencepiece.model": spm("unigram")}),
        "merged": (f"segmentation = sentencepiece\nsource_segmentation = unigram\nvocabularies = merged\nprotect = {tags}",
                   {"vocab.tsv": vocabulary_text(merged), "sentencepiece.source.model": spm("en"), "sentencepiece.target.model": spm("de")}),
        "separate": ("segmentation = sentencepiece\nsource_segmentation = unigram\nvocabularies = separate",
                     {"vocab.source.tsv": vocabulary_text(en), "vocab.target.tsv": vocabulary_text(de),
                      "sentencepiece.source.model": spm("en"), "sentencepiece.target.model": spm("de")}),
    }
    letters = [chr(c) + end for c in list(range(97, 123)) + [0xe4, 0xf6, 0xfc, 0xdf] + list(range(65, 91)) + [44, 46, 45, 39, 48, 49, 50]
               for end in ("@@", "")]
    texts["bpe"] = ("segmentation = bpe", {"vocab.tsv": vocabulary_text(letters), "bpe.codes": b"#version: 0.2\n"})
    return {kind: (f"[data]\ntokenize = {'yes' if kind == 'bpe' else 'no'}\n{recipe}\nsource_language = en\ntarget_language = de\n", files)
            for kind, (recipe, files) in texts.items()}


def random_tensors(build, facts, n, n_source, seed):
    options = []
    for name, value in facts.items():
        name = name.replace("_", "-")
        options += ([f"--{name}"] if value == "yes" else [f"--no-{name}"] if value == "no" and name not in ("final-norm", "ffn-bias")
                    else [f"--{name}", str(value)])
    listed = json.loads(subprocess.run([os.path.join(build, "werkbank-train"), "model", "--json", "--vocabulary", str(n), *options],
                                       capture_output=True, text=True, check=True).stdout)["tensors"]
    draw, tensors = np.random.default_rng(seed), {}
    spread = 0.3 if facts.get("final_norm") == "no" else 2          # without the last norm logits grow, and float rounds them
    for t in listed:
        name, shape = t["name"], list(t["shape"])
        if name == "encoder.embed" and n_source:
            shape[0] = n_source
        if name.endswith((".scale", ".shift", ".bias")):
            sign = draw.choice([-1, 1], shape) if name.endswith(".scale") else 0
            tensors[name] = (sign + 0.1 * draw.standard_normal(shape)).astype(np.float32)
        else:
            tensors[name] = (spread * draw.standard_normal(shape) * shape[1] ** -0.5).astype(np.float32)
    return tensors


def clear_rows(tensors, files):
    """Rows without a token are zero, as import leaves them; those of <pad> and <s> of a source are never read."""
    for name, file in (("embed", "vocab.tsv"), ("output", "vocab.tsv"), ("output.bias", "vocab.tsv"), ("encoder.embed", "vocab.tsv")):
        side = "vocab.source.tsv" if name == "encoder.embed" else "vocab.target.tsv"
        if name in tensors:
            words = files.get(side, files.get(file)).splitlines()
            rows = tensors[name].reshape(len(words), -1)
            rows[[w.startswith("<unused") for w in words]] = 0
            if side == "vocab.source.tsv" and side in files:
                rows[[0, 2]] = 0


def write_model(folder, facts, tensors, recipe, files):
    os.makedirs(folder)
    names = [n for n in ("vocab.source.tsv", "vocab.target.tsv", "vocab.tsv") if n in files]
    shape = {}
    for name in names:
        lines = files[name].splitlines()
        real = sum(not x.startswith("<unused") for x in lines)
        end = "source_vocabulary" if name == "vocab.source.tsv" else "vocabulary"
        shape.update({end: len(lines), "real_" + end: real})
    for name, value in facts.items():
        if value != "no" or name in ("final_norm", "ffn_bias"):
            shape[name] = True if value == "yes" and name not in ("final_norm", "ffn_bias") else value
    state = {"v": 1, "step": 1, "loader_position": 0, "seed": 1, "seconds": 0, "best_bleu": -1, "best_step": -1, "shape": shape,
             "vocabulary_sha256": "".join(hashlib.sha256(files[n].encode()).hexdigest() for n in names)}
    save_file(tensors, os.path.join(folder, "model.safetensors"))
    for name, text in {"state.json": json.dumps(state), "recipe.ini": recipe, **files}.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
    with open(os.path.join(folder, "SHA256SUMS"), "w", encoding="ascii") as out:
        for name in sorted(set(os.listdir(folder)) - {"SHA256SUMS"}):
            out.write(f"{hashlib.sha256(open(os.path.join(folder, name), 'rb').read()).hexdigest()}  {name}\n")


def serve(build, model, lines):
    """Greedy translations of Werkbank, at most 14 tokens: source pieces, tokens, log-probabilities with that of the end."""
    asked = "".join(json.dumps({"id": i, "text": t, "beam": 1, "whole": True}) + "\n" for i, t in enumerate(lines))
    done = subprocess.run([os.path.join(build, "werkbank-eval"), "translate", "-m", model, "--serve", "--one-a-line", "--precision", "fp32",
                           "--threads", "1", "--max-length-factor", "0.1", "--max-length-extra", "14"], input=asked, capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(done.stderr)
    out = []
    for x in sorted((json.loads(t) for t in done.stdout.splitlines()[1:]), key=lambda x: x["id"]):
        end = x["log_prob"] - sum(x["token_log_probs"])
        out.append((x["source_tokens"], x["tokens"], x["token_log_probs"] + ([end] if end < -1e-6 else []), x["text"]))
    return out


# ---- the programs -------------------------------------------------------------------------------------------------

def agree(name, ours, scores, tokens=None, pieces=None):
    worst = max((abs(p - q) for (_, _, a, _), b in zip(ours, scores) for p, q in zip(a, b)), default=math.inf)
    say(f"{name}: log-probabilities, worst {worst:.1e}", int(worst <= MOST))
    if tokens:
        say(name + ": greedy tokens", sum(list(t)[:len(x[1])] == x[1] for x, t in zip(ours, tokens)), len(ours))
    if pieces:
        say(name + ": source pieces", sum(list(t) == x[0] for x, t in zip(ours, pieces)), len(ours))


def with_ctranslate2(name, folder, ours, add_end=False):
    t = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    source = [x[0] + ["</s>"] * add_end for x in ours]
    scored = t.score_batch(source, [x[1] for x in ours])
    known = "".join(open(os.path.join(folder, n), encoding="utf-8").read() for n in ("shared_vocabulary.json", "target_vocabulary.json")
                    if os.path.exists(os.path.join(folder, n)))
    found = t.translate_batch(source, beam_size=1, max_decoding_length=30, disable_unk=True,
                              suppress_sequences=[[x] for x in ("<pad>", "<s>") if f'"{x}"' in known])
    agree(name, ours, [s.log_probs for s in scored], [f.hypotheses[0] for f in found])


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)


def with_marian(a, folder, ours, lines, scratch):
    """Scores pieces with plain lists of the vocabularies; decodes with decoder.yml, raw text if it names a vocab.spm."""
    names, is_spm = [], os.path.exists(os.path.join(folder, "vocab.spm"))
    for side in ("source", "target"):
        path = os.path.join(scratch, side + ".vocab")
        if is_spm:
            s = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "vocab.spm"))
            pieces = [s.id_to_piece(i) for i in range(s.get_piece_size())]
        else:
            one = os.path.join(folder, "vocab.yml")
            listed = open(one if os.path.exists(one) else os.path.join(folder, f"vocab.{side}.yml"), encoding="utf-8").read().splitlines()
            pieces = [json.loads(line.rsplit(": ", 1)[0]) for line in listed]
        write_lines(path, pieces)
        names.append(path)
    text = [os.path.join(scratch, n) for n in ("in.source", "in.target", "in.raw")]
    write_lines(text[0], [" ".join(x[0]) for x in ours])
    write_lines(text[1], [" ".join(x[1]) for x in ours])
    write_lines(text[2], lines if is_spm else [" ".join(x[0]) for x in ours])
    model = os.path.join(folder, "model.npz")
    done = subprocess.run([a.pymarian, "score", "-m", model, "-v", *names, "-t", text[0], text[1], "--word-scores", "--cpu-threads", "1"],
                          capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-1500:])
    scores = [[float(p) for p in line.split("WordScores=")[1].split()] for line in done.stdout.splitlines()]
    done = subprocess.run([a.pymarian, "decode", "-c", os.path.join(folder, "decoder.yml"), "--beam-size", "1", "--cpu-threads", "1",
                           "--max-length-factor", "2", "--input", text[2], "--quiet"] + (["--no-spm-decode"] if is_spm else []),
                          capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-1500:])
    found = [line.split() for line in done.stdout.splitlines()]
    # the start of each, as the programs have different limits of length
    cut = [x[1][:len(f)] if len(f) < len(x[1]) and len(f) >= 2 * len(x[0]) else x[1] for x, f in zip(ours, found)]
    agree("pymarian", ours, scores)
    say("pymarian: greedy tokens", sum(f[:len(c)] == c for f, c in zip(found, cut)), len(ours))


@torch.no_grad()
def with_transformers(folder, ours, lines):
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    model, loading = transformers.MarianMTModel.from_pretrained(folder, output_loading_info=True)
    say("transformers: no tensor is missing or left over", int(not any(loading[k] for k in ("unexpected_keys", "mismatched_keys", "missing_keys"))))
    separate = os.path.join(folder, "target_vocab.json")
    target = json.load(open(separate if os.path.exists(separate) else os.path.join(folder, "vocab.json"), encoding="utf-8"))
    names = {i: t for t, i in target.items()}
    scores, tokens, pieces = [], [], []
    model.eval()
    for (source, mine, _, _), line in zip(ours, lines):
        ids = tokenizer(line, return_tensors="pt")["input_ids"]
        forced = torch.tensor([[model.config.decoder_start_token_id] + [target[t] for t in mine]])
        logits = model(input_ids=ids, decoder_input_ids=forced).logits[0].log_softmax(-1)
        scores.append([logits[i, t].item() for i, t in enumerate([target[t] for t in mine] + [0])])
        got = model.generate(ids, num_beams=1, do_sample=False, max_new_tokens=30, forced_eos_token_id=None,
                             bad_words_ids=model.generation_config.bad_words_ids + [[target["<unk>"]]])
        tokens.append([names[t] for t in got[0, 1:].tolist() if t])
        pieces.append([t if t in tokenizer.encoder else "<unk>" for t in tokenizer._tokenize(line)])
    agree("transformers", [([t if t in tokenizer.encoder else "<unk>" for t in x[0]], *x[1:]) for x in ours], scores, tokens, pieces)


def load_argos(scratch):
    """Argos Translate's own classes; sentence splitters, which need downloads, are replaced."""
    os.environ["ARGOS_PACKAGES_DIR"] = os.path.join(scratch, "argos")
    os.environ["XDG_DATA_HOME"] = os.path.join(scratch, "argos-data")
    sys.modules["stanza"] = types.ModuleType("stanza")
    minisbd = types.ModuleType("minisbd")
    minisbd.SBDetect = None
    minisbd.models = types.SimpleNamespace(cache_dir="", list_models=lambda: ["en"])
    sys.modules["minisbd"] = minisbd
    import argostranslate.package
    import argostranslate.translate
    return argostranslate


def with_argos(argos, path, model, ours, lines):
    from pathlib import Path
    argos.settings.package_data_dir = Path(tempfile.mkdtemp(dir=os.path.dirname(path)))
    argos.package.install_from_path(Path(path))
    installed = argos.package.get_installed_packages([argos.settings.package_data_dir])
    say("argostranslate: package installed", len(installed))
    pkg = installed[0]
    say("argostranslate: languages", int((pkg.from_code, pkg.to_code, pkg.from_name) == ("en", "de", "English")))
    known = {line.split("\t")[0] for line in open(os.path.join(model, "vocab.tsv"), encoding="utf-8")}
    with_ctranslate2("argostranslate's model", str(pkg.package_path / "model"), ours)
    say("argostranslate: source pieces", sum([p if p in known else "<unk>" for p in pkg.tokenizer.encode(t)] == x[0]
                                               for x, t in zip(ours, lines)), len(ours))
    t = argos.translate.PackageTranslation(argos.translate.Language("en", "English"), argos.translate.Language("de", "German"), pkg)
    t.sentencizer = types.SimpleNamespace(split_sentences=lambda text: [text])
    say("argostranslate: translates", sum(len(t.hypotheses(line, 1)[0].value) > 0 for line in lines[:5]), 5)


# ---- comparison ---------------------------------------------------------------------------------------------------

def werkbank(a, *command, check=True):
    done = subprocess.run([os.path.join(a.build, "werkbank"), *command], capture_output=True, text=True)
    if check and done.returncode:
        print(f"    werkbank {' '.join(command)}: {done.stderr.strip()}   FAILED")
    return done


def same_models(name, a, b, exact=True):
    """Tensors of the rows that tokens have, vocabularies and subword models."""
    x, y = (load_file(os.path.join(m, "model.safetensors")) for m in (a, b))
    same = 0
    for n in x:
        same += n in y and x[n].size == y[n].size and (x[n].reshape(-1) == y[n].reshape(-1)).all()
    if exact:
        say(f"{name}: tensors", same, max(len(x), len(y)))
    files = [f for f in os.listdir(a) if f.endswith((".tsv",) * exact + (".model", ".codes"))]
    say(f"{name}: vocabularies and subword models", sum(os.path.exists(os.path.join(b, f)) and
        open(os.path.join(a, f), "rb").read() == open(os.path.join(b, f), "rb").read() for f in files), len(files))


def round_trip(a, name, model, exported, ours, lines, exact):
    back = exported + ".back"
    if werkbank(a, "import", exported, "-o", back).returncode:
        say(name + ": import", 0)
        return
    same_models(name + " and back", model, back, exact)
    if not exact:
        again = serve(a.build, back, lines)
        say(name + " and back: same translations", sum(x[:2] == y[:2] for x, y in zip(ours, again)), len(ours))
        agree(name + " and back", ours, [y[2] for y in again])


def convert(a, kind, folder, words, ours, lines):
    """What CTranslate2's own converter makes of a folder; imported."""
    from ctranslate2.converters import MarianConverter, TransformersConverter
    to = folder + ".ct2"
    if kind == "marian":
        names = [n if os.path.exists(os.path.join(folder, n)) else "vocab.yml" for n in ("vocab.source.yml", "vocab.target.yml")]
        if not os.path.exists(os.path.join(folder, names[1])):
            return
        MarianConverter(os.path.join(folder, "model.npz"), [os.path.join(folder, n) for n in names]).convert(to)
    else:
        if os.path.exists(os.path.join(folder, "target_vocab.json")):
            return                                              # the converter cannot
        TransformersConverter(folder, copy_files=["source.spm", "target.spm"]).convert(to)
    for n in ("source.spm", "target.spm"):
        if os.path.exists(os.path.join(folder, n)) and not os.path.exists(os.path.join(to, n)):
            os.symlink(os.path.join(folder, n), os.path.join(to, n))
    if not os.path.exists(os.path.join(to, "source.spm")):
        return
    back = to + ".back"
    if werkbank(a, "import", to, "-o", back).returncode:
        say("CTranslate2's converter: import", 0)
        return
    again = serve(a.build, back, lines)
    with_ctranslate2("CTranslate2's converter and import", to, again, kind == "huggingface")
    # the converter gives both stacks the same heads, computes positions, and starts from zero
    if kind == "huggingface" and "decoder_heads" not in words and "decoder_start=start" not in words and "sinusoid-2k" in open(os.path.join(back, "recipe.ini"), encoding="utf-8").read():
        agree("CTranslate2's converter, import and Werkbank", ours, [y[2] for y in again], [y[1] for y in again])


def compare_row(a, i, texts, lines, argos, scratch):
    kind, words, expected = ROWS[i]
    print(f"{i}: {kind}, {words}", flush=True)
    recipe, files = texts[kind]
    facts = facts_of("d_model=32 d_ff=48 heads=4 encoder_layers=2 decoder_layers=2 " + words)
    target = files.get("vocab.tsv", files.get("vocab.target.tsv"))
    n_source = files["vocab.source.tsv"].count("\n") if kind == "separate" else 0
    tensors = random_tensors(a.build, facts, target.count("\n"), n_source, i)
    clear_rows(tensors, files)
    model = os.path.join(scratch, f"{i}")
    write_model(model, facts, tensors, recipe, files)
    if kind == "merged":
        lines = [">>deu<< " + x for x in lines[:5]] + lines[5:]
    ours = serve(a.build, model, lines)
    for f in FORMATS:
        to = os.path.join(scratch, f"{i}.{f}" + ("model" if f == "argos" else ""))
        done = werkbank(a, "export", "-m", model, "--format", f, "-o", to, check=f in expected.split())
        if f not in expected.split():
            say(f"{f} is refused: {done.stderr.strip()[-90:]}", int(done.returncode == 69 and "cannot hold" in done.stderr))
            continue
        if done.returncode:
            say(f, 0)
            continue
        if f == "ctranslate2":
            with_ctranslate2(f, to, ours)
        elif f == "argos":
            with_argos(argos, to, model, ours, lines)
        elif f == "marian":
            with_marian(a, to, ours, lines, scratch)
        else:
            with_transformers(to, ours, lines)
        # <pad> and <s> of a model that Werkbank trained have rows, which MarianMT has elsewhere; absent biases become zeros
        is_exact = f != "huggingface" and (f != "marian" or facts.get("attention_bias") != "no")
        round_trip(a, f, model, to, ours, lines, is_exact)
        if f in ("marian", "huggingface") and facts.get("decoder_self") != "ssru" and facts.get("norm") != "rms":
            convert(a, f, to, words, ours, lines)
        if f == "huggingface" and not werkbank(a, "export", "-m", to + ".back", "--format", f, "-o", to + ".2").returncode:
            werkbank(a, "import", to + ".2", "-o", to + ".2.back")
            same_models("huggingface, back, again and back", to + ".back", to + ".2.back")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("data")
    parser.add_argument("pymarian")
    parser.add_argument("--lines", default=60, type=int)
    parser.add_argument("--only", help="rows, such as 0,3")
    parser.add_argument("--keep", help="folder for the models (default: a temporary one)")
    a = parser.parse_args()
    a.build = os.path.abspath(a.build)
    torch.set_num_threads(1)
    lines = open(os.path.join(a.data, "multi30k/test_2016_flickr.en"), encoding="utf-8").read().splitlines()[:a.lines]
    lines[1:1] = ["Zażółć naïve & <b>", "a  b", "x"]
    with tempfile.TemporaryDirectory() as scratch:
        at = os.path.abspath(a.keep or scratch)
        os.makedirs(at, exist_ok=True)
        texts, argos = make_texts(at, os.path.abspath(a.data)), load_argos(at)
        for i in [int(x) for x in a.only.split(",")] if a.only else range(len(ROWS)):
            compare_row(a, i, texts, lines, argos, at)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
