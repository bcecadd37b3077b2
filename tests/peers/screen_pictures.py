#!/usr/bin/env python3
"""screen_pictures.py - pictures of the workbench and of other terminal programs, all drawn by one renderer.

usage, in a build folder: screen_pictures.py [--out FOLDER] [--only WORD]... [--pairs FOLDER] [--jobs N]

Each program runs on a pseudo-terminal; its last screen becomes OUT/PROGRAM-VIEW-COLSxROWS-LOOK.png.
OUT/figures.tsv has for each picture the share of cells that are not empty, and the share of letters and digits whose
contrast with their background is below 4.5 to 1 (WCAG).
--only draws the pictures whose names have one of the words. --pairs copies pairs of a screen of the workbench and one of
another program (dark; 120x40 light too) under random names, for a judge who must not know which is which: OUT/key.tsv says it.

Needs pyte and Pillow, and the font DejaVu Sans Mono (FONTS=FOLDER). Other programs are drawn if they are installed: btop,
htop, nvtop (or NVTOP=PATH) with the eight made-up GPUs of the tests, and leet, which is a part of the module wandb.
"""
import argparse
import concurrent.futures
import fcntl
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

from terminal_picture import Session, draw_screen

SRCDIR = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NOW = 1750001205  # five seconds after the last record of the run "fleet"
SIZES = ((80, 24), (120, 40), (200, 60))
# look: background, environment. A program that asks for the background (OSC 11) gets it as answer.
LOOKS = {
    "dark": ("101216", {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}),
    "light": ("ffffff", {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}),
    "16": ("101216", {"TERM": "xterm-16color", "LC_ALL": "C.UTF-8"}),
    "ascii": ("101216", {"TERM": "xterm-256color", "LC_ALL": "C"}),
}
# view of the workbench: run, keys
VIEWS = {
    "home": ("fleet", "1"),
    "data": ("fleet", "2ctiny\r"),
    "pairs": ("fleet", "2cdemo\r\t"),
    "run": ("fleet", "3"),
    "hosts": ("fleet", "4"),
    "host": ("single", "4"),
    "compare": ("fleet", "5jma"),
    "samples": ("first", "6"),
    "translate": ("first", ["7", "two dogs are running in the park", "\033", "\033[C"]),
    "log": ("fleet", "8"),
    "settings": ("fleet", "9"),
    "report": ("fleet", ["3", "e"]),
    "help": ("fleet", "3?"),
    "palette": ("fleet", "3:eva"),
}
# other program: command, seconds until its plots are filled, keys, the view of the workbench for the same purpose
PEERS = {
    "btop": (["btop"], 30, "", "hosts"),
    "htop": (["htop", "-d", "10"], 5, "", "hosts"),
    "nvtop": ([os.environ.get("NVTOP", "nvtop"), "-d", "2"], 25, "", "host"),
    "leet": ([sys.executable, "-m", "wandb", "leet", "run", "LEET_RUN"], 8, "", "run"),
}
PEER_OPTIONS = {("btop", "16"): ["-t"]}  # what a user adds on a terminal like that

def make_run(folder, name, files, journal=None):
    """A run folder with copied records. Its lock is held if it has a journal of its own: it trains."""
    run = f"{folder}/w/runs/{name}"
    os.makedirs(run)
    for file in files:
        shutil.copyfile(file, f"{run}/{os.path.basename(file)}")
    if journal is None:
        return None
    with open(f"{run}/journal.jsonl", "w", encoding="utf-8") as out:
        out.write(journal)
    with open(f"{run}/state.json", "w", encoding="utf-8") as out:
        out.write('{"v":1,"state":"running","pid":4711,"attempt":1,"host":"node1"}')
    lock = open(f"{run}/lock", "w", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def make_workspace(folder):
    """Two recorded runs, a made-up run on eight hosts, one on a single host, two corpora. Returns locks of those that train."""
    golden, recorded = f"{SRCDIR}/tests/golden", glob.glob(f"{SRCDIR}/tests/golden/run/*")
    os.makedirs(f"{folder}/bin")
    shutil.copy("werkbank", f"{folder}/bin/werkbank")
    shutil.copy("tests/fake_eval", f"{folder}/bin/werkbank-eval")  # answers of Translate
    shutil.copytree(f"{golden}/corpus", f"{folder}/w/corpora/tiny")
    locks = []
    for name, hosts in (("fleet", 8), ("single", 1)):
        journal = subprocess.run(["awk", "-f", f"{SRCDIR}/tests/tui/fleet_journal.awk", "-v", f"hosts={hosts}", "-v", "gpus=8", "-v",
                                  "steps=3000"], check=True, capture_output=True, text=True).stdout
        if hosts == 1:  # its verdict speaks of a third host
            journal = "".join(line for line in journal.splitlines(True) if '"kind":"verdict"' not in line)
        locks.append(make_run(folder, name, recorded, journal))
    for name in ("first", "second"):
        make_run(folder, name, recorded)
        os.makedirs(f"{folder}/w/runs/{name}/checkpoints/100")
        for link in ("last", "best"):
            os.symlink("100", f"{folder}/w/runs/{name}/checkpoints/{link}")
    for name, lines in (("fleet", "steps = 5000\n"), ("single", "steps = 5000\n"), ("second", "steps = 2000\nwarmup = 400\n")):
        with open(f"{folder}/w/runs/{name}/recipe.ini", "w", encoding="utf-8") as recipe:
            recipe.write("[train]\n" + lines)
    with open(f"{folder}/w/runs/second/journal.jsonl", "r+", encoding="utf-8") as journal:
        records = journal.readlines()
        journal.seek(0)
        journal.truncate()
        journal.writelines(records[:60])
    subprocess.run(["./werkbank", "prep", "-C", f"{folder}/w", "demo", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return locks


def log_for_leet(folder):
    """The curves of the run "fleet" as an offline run of wandb. Returns its file; None: wandb is not installed."""
    program = """
import json, sys, time, wandb
settings = wandb.Settings(console="off", x_stats_sampling_interval=1)
run = wandb.init(mode="offline", project="translation", dir=sys.argv[1], settings=settings)
for line in open(sys.argv[2]):
    record = json.loads(line)
    if record["kind"] in ("train", "eval"):
        values = {k: record[k] for k in sys.argv[3:] if record.get(k) is not None}
        run.log(values, step=record["step"])
        time.sleep(0.4)  # it records the use of the machine meanwhile
run.finish()
"""
    done = subprocess.run([sys.executable, "-c", program, folder, f"{folder}/w/runs/fleet/journal.jsonl", "nll", "dev_nll", "bleu", "lr",
                           "grad_norm", "target_tps", "compute_s", "wait_s"], cwd=folder, capture_output=True, check=False)
    return (glob.glob(f"{folder}/wandb/offline-run-*/*.wandb") or [None])[0] if done.returncode == 0 else None


def prepare_peers(folder):
    """The settings and data of other programs; the environment they need, and the names of those that are there."""
    os.makedirs(f"{folder}/btop")
    with open(f"{folder}/btop/btop.conf", "w", encoding="utf-8") as out:
        out.write("update_ms = 100\n")  # fills its plots in half a minute
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-shared", "-fPIC", "-o", f"{folder}/libnvidia-ml.so.1",
                    f"{SRCDIR}/tests/train/fake_nvml.c", f"{SRCDIR}/tests/peers/nvtop_nvml.c"], check=True)
    run = log_for_leet(folder)
    there = {name: [run if word == "LEET_RUN" else word for word in row[0]] for name, row in PEERS.items()
             if (run if name == "leet" else shutil.which(row[0][0]))}
    for name in PEERS.keys() - there.keys():
        print(f"{name} is not installed; its pictures are left out")
    return there


def picture_jobs(folder, peers, only):
    """All pictures: (name, command, environment, size, background, keys, seconds)."""
    base = {"HOME": folder, "XDG_CONFIG_HOME": folder, "WERKBANK_RUNTIME": folder, "PATH": os.environ["PATH"]}
    jobs = []
    for look, (ground, environment) in LOOKS.items():
        for cols, rows in SIZES:
            for view, (run, keys) in VIEWS.items():
                name = f"werkbank-{view}-{cols}x{rows}-{look}"
                program = f"{folder}/bin/werkbank" if view == "translate" else os.path.abspath("werkbank")
                state = {"XDG_STATE_HOME": f"{folder}/{name}", "WERKBANK_NOW": str(NOW)}
                jobs.append((name, [program, "watch", "-C", "w", "--run", run], dict(base, **environment, **state), (cols, rows), ground,
                             keys, 0))
            for peer, command in peers.items():
                fake = {"LD_LIBRARY_PATH": folder, "WERKBANK_FAKE_NVML": "moving"} if peer == "nvtop" else {}
                command = command + PEER_OPTIONS.get((peer, look), [])
                jobs.append((f"{peer}-{cols}x{rows}-{look}", command, dict(base, **environment, **fake), (cols, rows), ground,
                             PEERS[peer][2], PEERS[peer][1]))
    return [job for job in jobs if not only or any(word in job[0] for word in only)]


def take_picture(job, folder, out):
    name, command, environment, size, ground, keys, seconds = job
    if "XDG_STATE_HOME" in environment:  # the hints of the first visit were seen
        os.makedirs(environment["XDG_STATE_HOME"] + "/werkbank")
        with open(environment["XDG_STATE_HOME"] + "/werkbank/workbench", "w", encoding="utf-8") as state:
            state.write(f"tour.seen = {' '.join(VIEWS)}\n")
    session = Session(command, environment, *size, ground, folder)
    alive = session.follow(20, 20, first=True) and session.follow(10, 2)
    for key in keys:
        os.write(session.fd, key.encode())
        alive = alive and session.follow(10, 1)
    if seconds:
        alive = alive and session.follow(seconds, seconds)
    figures = draw_screen(session.screen, ground, f"{out}/{name}.png") if alive else None
    session.close()
    return name, figures


def write_pairs(out, pairs):
    """Copies under random names: N-a.png and N-b.png; key.tsv of the other folder says which picture each was."""
    os.makedirs(pairs, exist_ok=True)
    both = [(f"werkbank-{row[3]}-{cols}x{rows}-{look}", f"{peer}-{cols}x{rows}-{look}")
            for peer, row in PEERS.items() for cols, rows in SIZES for look in LOOKS
            if look == "dark" or (cols, look) == (120, "light")]
    both = [pair for pair in both if all(os.path.exists(f"{out}/{name}.png") for name in pair)]
    random.shuffle(both)
    with open(f"{out}/key.tsv", "w", encoding="utf-8") as key:
        for number, pair in enumerate(both, 1):
            for letter, name in zip("ab", random.sample(pair, 2)):
                shutil.copyfile(f"{out}/{name}.png", f"{pairs}/{number:02}-{letter}.png")
                key.write(f"{number:02}-{letter}\t{name}\n")


def main():
    parser = argparse.ArgumentParser(description="pictures of terminal programs")
    parser.add_argument("--out", default="pictures")
    parser.add_argument("--only", action="append")
    parser.add_argument("--pairs")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    out = os.path.abspath(options.out)
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="werkbank-pictures-") as folder:
        locks = make_workspace(folder)
        jobs = picture_jobs(folder, prepare_peers(folder), options.only)
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool, open(f"{out}/figures.tsv", "w", encoding="utf-8") as table:
            table.write("picture\tcells used, %\tletters of contrast below 4.5, %\n")
            for name, figures in pool.map(take_picture, jobs, [folder] * len(jobs), [out] * len(jobs)):
                line = "the program ended by itself" if figures is None else "\t".join(f"{100 * f:.1f}" for f in figures)
                print(f"{name}\t{line}", file=table)
                print(f"{name}\t{line}", flush=True)
        for lock in locks:
            lock.close()
    if options.pairs:
        write_pairs(out, options.pairs)


if __name__ == "__main__":
    main()
