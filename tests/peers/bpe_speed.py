#!/usr/bin/env python3
"""bpe_speed.py - race bpe-learn and bpe-apply with the fast BPE programs.

    PEER=/path/to/venv    a Python environment with youtokentome, sentencepiece, tokenizers
    $PEER/bin/python tests/peers/bpe_speed.py PROGRAM SOURCE TARGET [--fastbpe FAST] [--rounds 3]
                     [--threads 1 2] [--merges 32000] [--only learn|apply] [--peers NAMES...]

PROGRAM is werkbank-data, FAST the program of fastBPE, SOURCE and TARGET are tokenised text. Each
round runs all of them one after the other on the same text, each in a process of its own that
may use as many processors as it has threads. What is timed:

    learn  files to a file of merges or a model. PROGRAM and FAST: the whole process. The others:
           only the call that trains, without starting Python, importing, and (YouTokenToMe takes
           one file) putting the two sides together.
    apply  the source side with the merges or model just learned. PROGRAM, FAST and YouTokenToMe:
           file to file of pieces as text. SentencePiece, HF tokenizers: lines in memory
           to numbers in memory; reading and writing them is not counted.

wall: the median of the seconds that went by; cpu: of user and system time of all threads. The last
columns say how many times as long as PROGRAM it takes: medians of the ratios within a round.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def seconds():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return time.monotonic(), u.ru_utime + u.ru_stime


def timed(call):
    wall, cpu = seconds()
    call()
    wall_after, cpu_after = seconds()
    return {"wall": wall_after - wall, "cpu": cpu_after - cpu}


def read_lines(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return f.read().split("\n")[:-1]


def only_words(text):
    """Words are what stands between blanks, for HF tokenizers."""
    from tokenizers.pre_tokenizers import WhitespaceSplit
    text.pre_tokenizer = WhitespaceSplit()
    return text


# ---- what runs in a process of its own: learn(o) and apply(o), each returns seconds ----

class YouTokenToMe:
    name = "YouTokenToMe"

    def learn(self, o):
        import youtokentome as yttm
        return timed(lambda: yttm.BPE.train(data=o.both, model=o.model + ".yttm", vocab_size=o.merges,
                                            coverage=1.0, n_threads=o.threads))

    def apply(self, o):
        import youtokentome as yttm
        bpe = yttm.BPE(model=o.model + ".yttm", n_threads=o.threads)
        text, out = os.open(o.source, os.O_RDONLY), os.open(o.model + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(text, 0)
        os.dup2(out, 1)
        return timed(lambda: bpe.bpe_cython.encode_cli("subword", False, False, False, False, 0.0))


class SentencePiece:
    name = "SentencePiece"

    def learn(self, o):
        import sentencepiece
        return timed(lambda: sentencepiece.SentencePieceTrainer.train(
            input=[o.source, o.target], model_prefix=o.model + ".sp", model_type="bpe",
            vocab_size=o.merges, character_coverage=1.0, num_threads=o.threads,
            normalization_rule_name="identity", max_sentence_length=1 << 20,
            input_sentence_size=0, minloglevel=2))

    def apply(self, o):
        import sentencepiece
        sp = sentencepiece.SentencePieceProcessor(model_file=o.model + ".sp.model")
        lines = read_lines(o.source)
        return timed(lambda: sp.encode(lines, out_type=int, num_threads=o.threads))


class HfTokenizers:
    name = "HF tokenizers"

    def learn(self, o):
        from tokenizers import Tokenizer, models, trainers
        text = only_words(Tokenizer(models.BPE(end_of_word_suffix="</w>")))
        trainer = trainers.BpeTrainer(vocab_size=o.merges, show_progress=False, end_of_word_suffix="</w>")
        seconds_ = timed(lambda: text.train([o.source, o.target], trainer))
        text.save(o.model + ".hf")
        return seconds_

    def apply(self, o):
        from tokenizers import Tokenizer
        text = Tokenizer.from_file(o.model + ".hf")
        lines = read_lines(o.source)
        return timed(lambda: text.encode_batch(lines))


IN_PYTHON = {c.name: c for c in (YouTokenToMe, SentencePiece, HfTokenizers)}


# ---- whole processes ----

def run_process(command, out, threads):
    def limit():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "wb") as f:
        subprocess.run(command, stdout=f, stderr=subprocess.DEVNULL, check=True, preexec_fn=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.monotonic() - begin,
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def run_one(name, what, o):
    if name == "Werkbank" and what == "learn":
        return run_process([o.program, "bpe-learn", "-q", "-s", str(o.merges), "--threads", str(o.threads),
                            o.source, o.target], o.model + ".codes", o.threads)
    if name == "Werkbank":
        return run_process([o.program, "bpe-apply", "-c", o.model + ".codes", "--threads", str(o.threads),
                            o.source], o.model + ".out", o.threads)
    if name == "fastBPE" and what == "learn":
        return run_process([o.fastbpe, "learnbpe", str(o.merges), o.source, o.target],
                           o.model + ".fastbpe", o.threads)
    if name == "fastBPE":
        return run_process([o.fastbpe, "applybpe", o.model + ".out", o.source, o.model + ".fastbpe"],
                           os.devnull, o.threads)
    options = {k: getattr(o, k) for k in ("source", "target", "both", "model", "merges", "threads")}
    env = dict(os.environ, RAYON_NUM_THREADS=str(o.threads), TOKENIZERS_PARALLELISM="true")
    # YouTokenToMe writes its result to what was standard output: the answer comes back on stderr
    r = subprocess.run([sys.executable, __file__, "--in-python", name, what, json.dumps(options)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, check=False,
                       text=True)
    if r.returncode:
        sys.exit(f"{name} {what}: {r.stderr[-1000:]}")
    return json.loads(r.stderr.strip().split("\n")[-1])


def in_python(name, what, options):
    o = argparse.Namespace(**json.loads(options))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:o.threads])
    print(json.dumps(getattr(IN_PYTHON[name](), what)(o)), file=sys.stderr)


# ---- the race ----

def race(what, names, o):
    seen = {name: [] for name in names}
    for r in range(o.rounds):
        for name in names:
            seen[name].append(run_one(name, what, o))
            s = seen[name][-1]
            print(f"round {r + 1}: {what}, {o.threads} thread(s): {name}: {s['wall']:.2f} s, cpu {s['cpu']:.2f} s",
                  file=sys.stderr)
    print(f"\n{what}, {o.threads} thread(s)        wall s    cpu s   wall ratio  cpu ratio")
    for name in names:
        wall, cpu = ([s[k] for s in seen[name]] for k in ("wall", "cpu"))
        ratios = [statistics.median(s[k] / ours[k] for s, ours in zip(seen[name], seen[names[0]]))
                  for k in ("wall", "cpu")]
        print(f"  {name:<20} {statistics.median(wall):9.2f} {statistics.median(cpu):8.2f} "
              f"{ratios[0]:11.1f} {ratios[1]:10.1f}")
    sys.stdout.flush()


def main():
    if sys.argv[1:2] == ["--in-python"]:
        return in_python(*sys.argv[2:])
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("source")
    p.add_argument("target")
    p.add_argument("--fastbpe", help="the program of fastBPE; without it, it does not take part")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    p.add_argument("--merges", type=int, default=32000)
    p.add_argument("--only", choices=["learn", "apply"])
    p.add_argument("--peers", nargs="+", default=["fastBPE", *IN_PYTHON])
    o = p.parse_args()
    names = ["Werkbank"] + [n for n in o.peers if n != "fastBPE" or o.fastbpe]
    threads = o.threads
    with tempfile.TemporaryDirectory() as folder:
        o.model, o.both = folder + "/model", folder + "/both"
        with open(o.both, "wb") as f:
            for path in (o.source, o.target):
                with open(path, "rb") as part:
                    while block := part.read(1 << 24):
                        f.write(block)
        for o.threads in threads:
            if o.only != "apply":
                race("learn", names, o)
        for o.threads in threads:
            if o.only == "apply" and o.threads == threads[0]:
                for name in names:
                    run_one(name, "learn", o)
            if o.only != "learn":
                race("apply", names, o)
    return 0


if __name__ == "__main__":
    sys.exit(main())
