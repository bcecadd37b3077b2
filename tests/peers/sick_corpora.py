#!/usr/bin/env python3
"""sick_corpora.py - verdicts of prep on healthy corpora, and on the same ones made sick in 14 ways.

usage: sick_corpora.py WERKBANK CATALOGUES [DATA]

WERKBANK	the program
CATALOGUES	a folder with catalogues of translated programs (*.mo below .../LANGUAGE/LC_MESSAGES), such as
		those of the packages libreoffice-l10n-*, vlc-l10n, gimp-data, gnucash-common and inkscape
DATA		a folder with multi30k, newstest and mixed (default: ../shared/data)

Half of the sick corpora are those on which the limits of data/judge were set (design), the others were looked
at afterwards (kept). A sickness that a language cannot have (capitals of Chinese) counts as not possible.
Prints a line for each false alarm and each miss, then the rates.
"""
import collections
import gettext
import glob
import html
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = ("gnucash", "vlc", "gimp20", "inkscape")
LANGUAGES = "fr ru ja es it tr zh_CN uk pl hu nb sk sl lt lv bg ca hr fa et id".split()
DESIGN = "multi30k mixed-3k lo-fr gimp20-ru vlc-ja inkscape-tr gnucash-pl mixed-20k".split()
KEPT = ("newstest multi30k-rev lo-zh_CN lo-he vlc-es inkscape-uk gnucash-hu gimp20-lv lo-vi mixed-tail vlc-nb "
        "lo-hi").split()
WITHOUT_CASE = {"zh", "ja", "he", "hi", "ar", "fa"}
WITHOUT_BLANKS = {"zh", "ja"}
RULES = {"shuffled": "misaligned", "half shuffled": "misaligned", "shifted": "shifted", "partly shifted": "shifted",
         "shifted by two": "shifted", "half swapped": "swapped", "a tenth swapped": "swapped", "copies": "copies",
         "third language": "target-language target-script", "one pair": "repeats", "quoted": "quoted",
         "entities": "entities", "capitals": "capitals", "cut": "lengths"}


def read_lines(path):
    opened = lzma.open(path, "rt", encoding="utf8", newline="\n") if path.endswith(".xz") else \
        open(path, encoding="utf8", newline="\n")
    with opened as f:
        return f.read().split("\n")[:-1]


def catalogue(files):
    """Pairs of the messages, without the marks of shortcut keys."""
    pairs = []
    for path in sorted(files):
        with open(path, "rb") as f:
            messages = gettext.GNUTranslations(f)._catalog
        for key, value in messages.items():
            if isinstance(key, tuple) or not key or key.count("\n") != value.count("\n"):
                continue
            sides = [[re.sub(r"[~_&](?=\w)", "", line).strip() for line in text.split("\n")]
                     for text in (key.split("\x04")[-1], value)]
            pairs += [p for p in zip(*sides) if len(p[0].split()) >= 2 and p[1]]
    return pairs


def corpora(catalogues, data):
    """name -> (source language, target language, pairs)"""
    out = {}

    def add(name, source, target, pairs):
        if len(pairs) >= 800:
            out[name] = source, target, pairs

    if os.path.isdir(f"{data}/multi30k"):
        m = list(zip(read_lines(f"{data}/multi30k/train.en"), read_lines(f"{data}/multi30k/train.de")))
        add("multi30k", "en", "de", m)
        add("multi30k-1k", "en", "de", m[:1000])
        add("multi30k-rev", "de", "en", [p[::-1] for p in m])
        mixed = list(zip(read_lines(f"{data}/mixed/train.en.xz"), read_lines(f"{data}/mixed/train.de.xz")))
        add("mixed", "en", "de", mixed)
        add("mixed-20k", "de", "en", [p[::-1] for p in mixed[100000:120000]])
        add("mixed-3k", "en", "de", mixed[200000:203000])
        add("mixed-tail", "en", "de", mixed[-20000:])
        news = [p for year in (2013, 2014, 2015, 2017)
                for p in zip(read_lines(f"{data}/newstest/newstest{year}.en"),
                             read_lines(f"{data}/newstest/newstest{year}.de"))]
        add("newstest", "en", "de", news)
    found = collections.defaultdict(list)
    for path in glob.glob(f"{catalogues}/**/LC_MESSAGES/*.mo", recursive=True):
        language, program = path.split("/")[-3], os.path.basename(path)[:-3]
        if "libreoffice" in path:
            found[f"lo-{language}"].append(path)
        elif program in PROGRAMS and language in LANGUAGES:
            found[f"{program}-{language}"].append(path)
    for name, files in sorted(found.items()):
        add(name, "en", name.split("-")[1].split("_")[0], catalogue(files))
    return out


def make_sick(how, source, target, other, draw):
    s, t, n = list(source), list(target), len(source)
    if how == "shuffled":
        draw.shuffle(t)
    elif how == "half shuffled":
        tail = t[n // 2:]
        draw.shuffle(tail)
        t[n // 2:] = tail
    elif how == "shifted":
        s, t = s[:-1], t[1:]
    elif how == "partly shifted":
        del t[n // 3], s[-1]
    elif how == "shifted by two":
        t = (t[:n // 2] + ["x y z", "a b"] + t[n // 2:])[:n]
    elif how in ("half swapped", "a tenth swapped"):
        for i in range(n):
            if draw.random() < .5 if how == "half swapped" else n // 2 <= i < n // 2 + n // 10:
                s[i], t[i] = t[i], s[i]
    elif how == "copies":
        t = [s[i] if draw.random() < .33 else t[i] for i in range(n)]
    elif how == "third language":
        t = [other[i % len(other)] if draw.random() < .2 else t[i] for i in range(n)]
    elif how == "one pair":
        s, t = s + [s[5]] * int(n * 1.7), t + [t[5]] * int(n * 1.7)
    elif how == "quoted":
        s, t = ([f'"{x}"' for x in side] for side in (s, t))
    elif how == "entities":
        s = [html.escape(x.replace(" and ", " & ").replace("s ", "'s ", 1)) for x in s]
        t = [html.escape(x.replace("e ", "e' ", 1)) for x in t]
    elif how == "capitals":
        t = [x.upper() if draw.random() < .5 else x for x in t]
    elif how == "cut":
        t = [" ".join(x.split()[:max(1, len(x.split()) // 2)]) for x in t]
    return s, t


def verdicts(werkbank, folder, source, target, languages, dev=None):
    """The verdicts of stats.json; None: prep failed."""
    def put(name, lines):
        with open(f"{folder}/{name}", "w", encoding="utf8") as f:
            f.write("".join(x + "\n" for x in lines))
        return f"{folder}/{name}"

    command = [werkbank, "prep", "small", "-q", "-C", f"{folder}/w", "--corpus", "c", "--merges", "300",
               "--overlap", "ignore", "--source-language", languages[0], "--target-language", languages[1],
               "--train-source", put("s", source), "--train-target", put("t", target)]
    if dev:
        command += ["--dev-source", put("ds", dev[0]), "--dev-target", put("dt", dev[1])]
    shutil.rmtree(f"{folder}/w", ignore_errors=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print("prep failed:", done.stderr[-300:])
        return None
    with open(f"{folder}/w/corpora/c/stats.json", encoding="utf8") as f:
        return json.load(f)["verdicts"]


def rate(werkbank, folder, all_corpora, names, what):
    hits, possible = 0, 0
    for name in names:
        if name not in all_corpora:
            continue
        source_language, target_language, pairs = all_corpora[name]
        source, target = zip(*pairs)
        other = [p[1] for p in all_corpora["lo-es" if target_language != "es" else "lo-fr"][2]]
        for how, rules in RULES.items():
            if (how == "capitals" and target_language in WITHOUT_CASE) or \
                    (how == "cut" and target_language in WITHOUT_BLANKS):
                continue
            s, t = make_sick(how, source, target, other, random.Random(name + how))
            tenth = len(pairs) // 10
            dev = (source[:tenth], target[:tenth]) if how == "cut" else None
            got = verdicts(werkbank, folder, s, t, (source_language, target_language), dev)
            found = any(v["rule"] in rules.split() for v in got or [])
            possible += 1
            hits += found
            if not found:
                print(f"missed: {name}, {how}: {[v['rule'] for v in got or []]}")
    print(f"{what}: {hits} of {possible} found")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    werkbank, catalogues = sys.argv[1:3]
    data = sys.argv[3] if len(sys.argv) > 3 else os.path.join(os.path.dirname(__file__), "../../../shared/data")
    all_corpora = corpora(catalogues, data)
    alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (source_language, target_language, pairs) in all_corpora.items():
            got = verdicts(werkbank, folder, *zip(*pairs), (source_language, target_language))
            alarms += bool(got)
            for v in got or []:
                print(f"false alarm: {name}: {v['rule']}: {v['what']}")
        print(f"healthy: {alarms} of {len(all_corpora)} corpora with a false alarm")
        rate(werkbank, folder, all_corpora, DESIGN, "design half")
        rate(werkbank, folder, all_corpora, KEPT, "kept half")


if __name__ == "__main__":
    main()
