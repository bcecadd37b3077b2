"""import_peer.py - what the comparisons of imported models have in common; a module, not a program.

A peer describes one model of another program:
    pieces(line)            the pieces that its encoder reads, without </s> at the end, as Werkbank names them
    log_probs(line, ids)    (len(ids) + 1, V) tensor: log-probabilities of the token after each prefix of ids
    names                   the piece of each id; source_pieces: those of the source, if they are others
    end, banned             id of </s>; ids that no translation contains
    target_ids(line)        ids of a translation, without </s>; for train()
    search(line, alpha)     ids of the program's beam search of 4, length penalty n^alpha, at most LONGEST tokens; alpha None: with the
                            beam and the length penalty that the program or the model has by default; for compare_search()
"""
import json
import math
import os
import random
import subprocess
import sys
import time

import torch

FINE, LONGEST = 1e-4, 60
failures = 0


def say(what, good, all_):
    global failures
    failed = good < all_ or not all_  # nothing compared is no success
    failures += failed
    print("%-60s %d of %d%s" % (what, good, all_, "   FAILED" if failed else ""), flush=True)


def import_model(build, folder, to, options=()):
    done = subprocess.run([os.path.join(build, "werkbank"), "import", folder, "-o", to, *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def serve(build, model, lines, precision="fp32", beam=1, options=("--max-length-factor", "1", "--max-length-extra", "5")):
    asked = "".join(json.dumps({"id": i, "text": t, "whole": True, **({"beam": beam} if beam else {})}) + "\n" for i, t in enumerate(lines))
    done = subprocess.run([os.path.join(build, "werkbank"), "translate", "-m", model, "--serve", "--precision", precision, "--one-a-line",
                           "--threads", "1", *options],
                          input=asked, capture_output=True, text=True, check=True)
    return sorted((json.loads(t) for t in done.stdout.splitlines()[1:]), key=lambda x: x["id"])


def train(peer, weights, pairs, seconds, batch=24):
    """Changes the weights by Adam: as many sentences of pairs (lines of source and target) as the seconds of processor time allow."""
    draw, began, step, mean = random.Random(1), time.process_time(), 0, 0.0
    adam = torch.optim.Adam(weights, 1e-3, betas=(0.9, 0.98))
    while time.process_time() - began < seconds:
        adam.param_groups[0]["lr"] = 2e-3 * min(1, (step + 1) / 100)
        adam.zero_grad()
        total = count = 0
        for source, target in draw.sample(pairs, batch):
            ids = peer.target_ids(target)[:60]
            rows = peer.log_probs(source, ids)
            loss = -rows.gather(1, torch.tensor(ids + [peer.end])[:, None]).sum()
            loss.backward()
            total, count = total + loss.item(), count + len(ids) + 1
        for w in weights:
            if w.grad is not None:
                w.grad /= count
        adam.step()
        step, mean = step + 1, total / count if not step else 0.98 * mean + 0.02 * total / count
    print("trained %d steps of %d sentences, NLL %.2f" % (step, batch, mean), flush=True)


@torch.no_grad()
def greedy(peer, line, most):
    """Ids of the greedy translation, with </s> if it ends, their log-probabilities, and the least distance of the best two."""
    ids, scores, distance = [], [], math.inf
    while len(ids) < most and (not ids or ids[-1] != peer.end):
        row = peer.log_probs(line, ids)[-1]
        allowed = row.clone()
        allowed[list(peer.banned)] = -math.inf
        best = allowed.topk(2)
        distance = min(distance, (best.values[0] - best.values[1]).item())
        ids.append(best.indices[0].item())
        scores.append(row[ids[-1]].item())
    return ids, scores, distance


@torch.no_grad()
def compare(build, name, peer, imported, lines):
    number = {piece: i for i, piece in reversed(list(enumerate(peer.names)))}
    known = getattr(peer, "source_pieces", number)
    same_pieces, same_tokens, worst, n = 0, 0, 0.0, 0
    for line, x in zip(lines, serve(build, imported, lines)):
        pieces = [t if t in known else "<unk>" for t in peer.pieces(line)]
        same_pieces += not line.strip() or pieces == [t if t in known else "<unk>" for t in x["source_tokens"]]
        ids = [number[t] for t in x["tokens"]]
        rows = peer.log_probs(line, ids)
        end = x["log_prob"] - sum(x["token_log_probs"])        # of </s>; 0: it is cut at the maximum length
        ended = end < -1e-5
        for row, i, p in zip(rows, ids + [peer.end] * ended, x["token_log_probs"] + [end] * ended):
            worst, n = max(worst, abs(row[i].item() - p)), n + 1
        rows[:, list(peer.banned)] = -math.inf
        same_tokens += rows.argmax(-1).tolist()[:len(ids) + ended] == ids + [peer.end] * ended
    say(name + ": source pieces", same_pieces, len(lines))
    say(name + ": greedy output", same_tokens, len(lines))
    say(name + ": log-probabilities, worst %.2g" % worst, n if worst < FINE else 0, n)


def compare_search(build, name, peer, imported, lines, rules):
    """
    Beam 4 by the program's rules, and the beam of the imported model without options against the program's own, of lines whose
    translations end; how many have the same tokens by Werkbank's own rules.
    """
    for alpha in (0, 1, None):
        want = [[peer.names[i] for i in peer.search(line, alpha)] for line in lines]
        ended = [i for i, x in enumerate(want) if len(x) < LONGEST - 2]
        if not ended:                           # random weights of some models never end a translation
            print("%s: no translation of the program ends; beams are not compared" % name, flush=True)
            continue
        same, by_alpha = {}, ["--alpha", str(alpha)] if alpha is not None else []
        for by in (rules, "werkbank"):
            given = by_alpha + ["--beam-rules", by] if by_alpha or by == "werkbank" else []
            found = serve(build, imported, lines, beam=4 if by_alpha else None,
                          options=(*given, "--max-length-factor", "0.1", "--max-length-extra", str(LONGEST)))
            same[by] = sum(found[i]["tokens"] == want[i] for i in ended)
        say("%s: %s (own rules: %d)" % (name, "beam 4, alpha %d" % alpha if by_alpha else "beam by default", same["werkbank"]), same[rules], len(ended))


def compare_int8(build, name, imported, lines, references):
    """BLEU of int8 and fp32, greedy."""
    import sacrebleu
    fp32, int8 = ([x["text"] for x in serve(build, imported, lines, precision)] for precision in ("fp32", "int8"))
    a, b = (sacrebleu.corpus_bleu(x, [references]).score for x in (fp32, int8))
    say("%s: int8 %.2f BLEU, fp32 %.2f, %d of %d equal" % (name, b, a, sum(x == y for x, y in zip(fp32, int8)), len(lines)), abs(a - b) <= 0.3, 1)


def golden_words(seed, letters, n):
    """Lines of random words."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(letters, k=draw.randint(2, 6))) for _ in range(60)]
    return [" ".join(draw.choices(words, k=draw.randint(2, 7))) for _ in range(n)]


def golden_rows(peer, lines):
    """Lines with their translations of at most 12 tokens, without near ties; the number of kinds, and of those with an end."""
    rows = []
    for line in lines:
        ids, scores, distance = greedy(peer, line, 12)
        if distance > 0.01:
            rows.append((line, [peer.names[i] for i in ids if i != peer.end], scores))
    kinds = len({" ".join(tokens) for _, tokens, _ in rows})
    return rows, kinds, sum(1 < len(tokens) < len(scores) for _, tokens, scores in rows)


def write_golden_rows(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        for line, tokens, scores in rows:
            f.write("\t".join([line, " ".join(tokens), " ".join("%.6f" % x for x in scores)]) + "\n")


def choose_golden(make, lines, seeds=40, kinds=10, ends=2):
    """The first model of make(seed) -> (peer, model) whose translations differ and end."""
    for seed in range(seeds):
        peer, model = make(seed)
        rows, n_kinds, n_ended = golden_rows(peer, lines)
        print("seed %d: %d sentences, %d translations, %d with an end" % (seed, len(rows), n_kinds, n_ended), flush=True)
        if n_kinds >= kinds and n_ended >= ends:
            return model, rows
    sys.exit("no seed gives different translations")


def finish():
    sys.exit(failures > 0)
