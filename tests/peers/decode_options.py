#!/usr/bin/env python3
"""decode_options.py - compare options of decoding with transformers' generate on an imported MarianMT model.

Usage: decode_options.py BUILD GOLDEN

BUILD is the folder in which Werkbank was built, GOLDEN tests/golden/import. The model GOLDEN/marianmt translates random
lines greedily and with beams, without length penalty: repetition penalty, no repeated n-gram, minimum length, and
all of them. Compared are the tokens and the sums of log-probabilities. In greedy search transformers applies the
repetition penalty to logits, which have no fixed zero; here it gets log-probabilities, as in its own beam search.
With beams, transformers finishes a hypothesis only if its end is among the best K continuations of a step, Werkbank among
the best 2K: a translation of a greater probability counts as equal. Hypotheses that are cut off at the maximum length are left out: transformers gives their end the probability 1. Needs
Python with torch and transformers.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
from transformers import (LogitsProcessor, LogitsProcessorList, MarianMTModel, MarianTokenizer, MinNewTokensLengthLogitsProcessor,
                          NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor)

import import_peer as peer

LINES, MOST = 16, 20
ROWS = [
    {"repetition_penalty": 1.2},
    {"repetition_penalty": 2.5},
    {"no_repeat_ngram": 1},
    {"no_repeat_ngram": 2},
    {"no_repeat_ngram": 3},
    {"min_length": 5},
    {"min_length": 12},
    {"repetition_penalty": 1.5, "no_repeat_ngram": 2, "min_length": 4},
]


class LogSoftmax(LogitsProcessor):
    def __call__(self, input_ids, scores):
        return scores.log_softmax(-1)


class Banned(LogitsProcessor):
    def __init__(self, ids):
        self.ids = ids

    def __call__(self, input_ids, scores):
        scores = scores.clone()
        scores[:, self.ids] = -torch.inf
        return scores


def ours(build, model, lines, beam, row):
    asked = "".join(json.dumps({"id": i, "text": t, "beam": beam, "alpha": 0, "whole": True}) + "\n" for i, t in enumerate(lines))
    options = [x for name, value in row.items() for x in ("--" + name.replace("_", "-"), str(value))]
    done = subprocess.run([os.path.join(build, "werkbank"), "translate", "-m", model, "--serve", "--precision", "fp32", "--one-a-line",
                           "--threads", "1", "--max-length-factor", "0.1", "--max-length-extra", str(MOST), *options],
                          input=asked, capture_output=True, text=True, check=True)
    return sorted((json.loads(t) for t in done.stdout.splitlines()[1:]), key=lambda x: x["id"])


@torch.no_grad()
def theirs(model, tokenizer, line, n_source, beam, row, banned):
    processors = LogitsProcessorList()
    options = dict(num_beams=beam, length_penalty=0.0, do_sample=False, early_stopping=False, forced_eos_token_id=None,
                   max_new_tokens=n_source // 10 + MOST, return_dict_in_generate=True, output_scores=True)
    if beam == 1:
        processors += [LogSoftmax()]
        if "repetition_penalty" in row:
            processors += [RepetitionPenaltyLogitsProcessor(row["repetition_penalty"])]
        if "no_repeat_ngram" in row:
            processors += [NoRepeatNGramLogitsProcessor(row["no_repeat_ngram"])]
        if "min_length" in row:
            processors += [MinNewTokensLengthLogitsProcessor(1, row["min_length"], 0)]
    else:
        options.update({their: row[our] for our, their in (("repetition_penalty", "repetition_penalty"), (
            "no_repeat_ngram", "no_repeat_ngram_size"), ("min_length", "min_new_tokens")) if our in row})
    processors += [Banned(banned)]
    out = model.generate(tokenizer(line, return_tensors="pt")["input_ids"], logits_processor=processors, **options)
    ids = out.sequences[0, 1:].tolist()
    ids = ids[:ids.index(0) + 1] if 0 in ids else ids
    score = out.sequences_scores[0].item() if beam > 1 else sum(s[0, i].item() for s, i in zip(out.scores, ids))
    return ids, score


def main():
    build, golden = sys.argv[1:3]
    torch.set_num_threads(1)
    lines = [">>deu<< " + line for line in peer.golden_words(21, "aeinorst", LINES)]
    folder = os.path.join(golden, "marianmt")
    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)
    model.generation_config.bad_words_ids = None
    names = json.load(open(os.path.join(folder, "vocab.json"), encoding="utf-8"))
    banned = [names["<pad>"], names["<unk>"]]
    with tempfile.TemporaryDirectory() as scratch:
        imported = os.path.join(scratch, "model")
        peer.import_model(build, folder, imported)
        for beam in 1, 4:
            for row in [{}] + ROWS:
                same = n = 0
                worst = 0.0
                for line, x in zip(lines, ours(build, imported, lines, beam, row)):
                    want, score = theirs(model, tokenizer, line, len(x["source_tokens"]), beam, row, banned)
                    ended = abs(x["log_prob"] - sum(x["token_log_probs"])) > 1e-6
                    if not ended or want[-1] != 0:
                        continue
                    n += 1
                    got = [names[t] for t in x["tokens"]] + [0]
                    same += got == want or (beam > 1 and x["log_prob"] > score)
                    if got == want:
                        worst = max(worst, abs(x["log_prob"] - score))
                words = " ".join("%s=%g" % item for item in row.items()) or "no option"
                peer.say("beam %d, %s, scores within %.1g" % (beam, words, worst), same if worst < peer.FINE and n else 0, max(n, 1))
    peer.finish()


if __name__ == "__main__":
    main()
