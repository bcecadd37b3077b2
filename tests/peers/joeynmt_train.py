#!/usr/bin/env python3
"""joeynmt_train.py - JoeyNMT with a recipe's model on a prepared corpus, for so many minutes; BLEU of its test set.

usage: joeynmt_train.py WERKBANK CORPUS MINUTES [--threads 2] [--seed 1] [--folder FOLDER]
           [--d-model 128] [--d-ff 256] [--heads 4] [--layers 4] [--dropout 0.3]
           [--batch-tokens 1024] [--micro-batches 2] [--noam-factor 2.2] [--warmup 1200] [--validate 800]
           [--processor-time]

CORPUS is a folder that "werkbank prep" wrote. Text is tokenised and split by Werkbank with the corpus's own
codes, so that both train on the same pieces; translations go back the same way and are scored with the real
sacreBLEU (13a, cased). Model: pre-norm Transformer, one embedding for source, target and output, label smoothing
0.1, Adam (0.9, 0.98), Noam schedule, beam 5 with length penalty 1. JoeyNMT keeps its best checkpoint by development
BLEU (of pieces, greedy). The minutes count from the first step and include validation, as max_minutes does; with
--processor-time they are minutes of processor time, which compares programs on a machine with other work.
Prints one JSON line. Needs Python with joeynmt, torch and sacrebleu.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import sacrebleu
import yaml

SPECIAL = ["<unk>", "<pad>", "<s>", "</s>"]


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("werkbank")
    p.add_argument("corpus", type=Path)
    p.add_argument("minutes", type=float)
    p.add_argument("--folder", type=Path)
    for name, default in (("threads", 2), ("seed", 1), ("d-model", 128), ("d-ff", 256), ("heads", 4), ("layers", 4),
                          ("batch-tokens", 1024), ("micro-batches", 2), ("warmup", 1200), ("validate", 800)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--dropout", type=float, default=0.3)
    p.add_argument("--noam-factor", type=float, default=2.2)
    p.add_argument("--processor-time", action="store_true")
    return p.parse_args()


def pipe(text, *commands):
    for command in commands:
        text = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout
    return text


def write_pieces(a, recipe, folder):
    """Each set as pieces; the vocabulary of both sides of the training text."""
    counts = Counter()
    for part in ("train", "dev", "test"):
        for side, language in (("source", "en"), ("target", "de")):
            text = Path(recipe["%s_%s" % (part, side)]).read_bytes()
            pieces = pipe(text, [a.werkbank, "tokenize", "-l", language, "-q"],
                          [a.werkbank, "bpe-apply", "--codes", str(a.corpus / "bpe.codes"), "-q"])
            (folder / ("%s.%s" % (part, language))).write_bytes(pieces)
            if part == "train":
                counts.update(pieces.decode().split())
    words = SPECIAL + [w for w, _ in counts.most_common()]
    (folder / "vocabulary").write_text("\n".join(words) + "\n", encoding="utf-8")


def configuration(a, folder):
    side = {"level": "word", "lowercase": False, "max_length": 100, "min_length": 1, "voc_min_freq": 1,
            "voc_limit": 100000, "voc_file": str(folder / "vocabulary"), "tokenizer_type": "", "tokenizer_cfg": {}}
    part = {"type": "transformer", "num_layers": a.layers, "num_heads": a.heads, "hidden_size": a.d_model,
            "ff_size": a.d_ff, "dropout": a.dropout, "layer_norm": "pre",
            "embeddings": {"embedding_dim": a.d_model, "scale": True, "dropout": 0.0}}
    return {
        "name": "peer", "joeynmt_version": "2.3.0", "model_dir": str(folder / "model"), "use_cuda": False,
        "fp16": False, "random_seed": a.seed,
        "data": {"train": str(folder / "train"), "dev": str(folder / "dev"), "test": str(folder / "test"),
                 "dataset_type": "plain", "src": dict(side, lang="en"), "trg": dict(side, lang="de")},
        "testing": {"beam_size": 5, "beam_alpha": 1.0, "batch_size": 1024, "batch_type": "token",
                    "max_output_length": 100, "eval_metrics": ["bleu"], "sacrebleu_cfg": {"tokenize": "none"}},
        "training": {"optimizer": "adam", "adam_betas": [0.9, 0.98], "scheduling": "noam",
                     "learning_rate_factor": a.noam_factor, "learning_rate_warmup": a.warmup,
                     "learning_rate": 0.001, "learning_rate_min": 1e-9,
                     "label_smoothing": 0.1, "loss": "crossentropy", "normalization": "tokens",
                     "batch_size": a.batch_tokens, "batch_type": "token", "batch_multiplier": a.micro_batches,
                     "epochs": 100000, "validation_freq": a.validate, "logging_freq": min(100, a.validate // 2),
                     "early_stopping_metric": "bleu", "keep_best_ckpts": 1, "overwrite": True, "shuffle": True,
                     "print_valid_sents": []},
        "model": {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "bias_initializer": "zeros",
                  "tied_embeddings": True, "tied_softmax": True, "encoder": part, "decoder": part},
    }


def processor_seconds(pid):
    """User and system time of a process, all threads (proc(5))."""
    fields = Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def train(a, folder, config):
    """SIGINT ends JoeyNMT at the end of the minutes; its best validated checkpoint counts. A shell's background jobs
    ignore SIGINT, and so would Python in them: the child gets the default back."""
    log = folder / "log"
    with log.open("w") as out:
        job = subprocess.Popen([sys.executable, "-m", "joeynmt", "train", str(config), "--skip-test"], stdout=out,
                               stderr=subprocess.STDOUT, env=dict(os.environ, OMP_NUM_THREADS=str(a.threads)),
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while "EPOCH 1" not in log.read_text(errors="replace") and job.poll() is None:
            time.sleep(0.2)
        clock = (lambda: processor_seconds(job.pid)) if a.processor_time else time.monotonic
        begun = clock()
        while job.poll() is None and clock() - begun < 60 * a.minutes:
            time.sleep(0.5)
        job.send_signal(signal.SIGINT)
        job.wait()
    return log.read_text(errors="replace")


def translate(a, folder, config):
    """Writes out.dev and out.test, by the best checkpoint."""
    with (folder / "test.log").open("w") as out:
        subprocess.run([sys.executable, "-m", "joeynmt", "test", str(config), "--output-path", str(folder / "out")],
                       stdout=out, stderr=subprocess.STDOUT, check=True,
                       env=dict(os.environ, OMP_NUM_THREADS=str(a.threads)))


def score(a, folder, recipe, part):
    pieces = (folder / ("out." + part)).read_bytes()
    text = pipe(pieces, [a.werkbank, "bpe-undo", "-q"], [a.werkbank, "detokenize", "-l", "de", "-q"])
    reference = Path(recipe[part + "_target"]).read_text(encoding="utf-8").split("\n")[:-1]
    return round(sacrebleu.corpus_bleu(text.decode().split("\n")[:-1], [reference]).score, 2)


def main():
    a = arguments()
    folder = a.folder or Path(tempfile.mkdtemp(prefix="joeynmt-"))
    folder.mkdir(parents=True, exist_ok=True)
    recipe = {}
    for line in (a.corpus / "recipe.ini").read_text().splitlines():
        if " = " in line and not line.startswith("#"):
            key, value = line.split(" = ", 1)
            recipe[key.strip()] = value.split("#")[0].strip()
    write_pieces(a, recipe, folder)
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(configuration(a, folder)))
    log = train(a, folder, config)
    result = {"program": "joeynmt", "minutes": a.minutes, "processor_time": a.processor_time, "threads": a.threads, "seed": a.seed,
              "epochs": log.count("EPOCH"),
              "steps": max([int(n) for n in re.findall(r"Step: *(\d+), Batch Loss", log)] or [0])}
    translate(a, folder, config)
    for part in ("dev", "test"):
        result[part + "_bleu"] = score(a, folder, recipe, part)
    print(json.dumps(result))


main()
