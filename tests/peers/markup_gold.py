#!/usr/bin/env python3
"""markup_gold.py WERKBANK MODEL [SENTENCES] - mark-up of lines against the grammar of the demo corpus.

Needs a model that was trained on the demo corpus, and the programs in the folder of WERKBANK. Sentences of the grammar with one noun get
random nested tags; one pair stands around the noun. Checks that the tags of each translation equal those of the source and are well nested.
The gold of the pair around the noun: its German form in the translation, known from share/demo/lexicon.txt. Prints the shares.
"""
import os
import random
import re
import subprocess
import sys

TAG = re.compile(r"<[^<>]*>")


def read_nouns(path):
    """English forms to German forms."""
    nouns, section = {}, ""
    for line in open(path, encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line
        elif line and section == "[noun]":
            english, german = [part.split() for part in line.split("|")[:2]]
            forms = {german[0], german[-1], german[2] if len(german) > 2 else german[0]}
            forms |= {f + e for f in list(forms) for e in ("n", "s", "es", "e", "en")}
            for form in english:
                if form != "-":
                    nouns[form.replace("_", " ")] = forms
    return nouns


def add_nesting(words, noun, rng, number):
    """Words as text with random pairs and items; the noun stands in <n>."""
    if len(words) > 1 and number[0] < 12 and rng.random() < 0.7:
        i = rng.randrange(len(words))
        k = rng.randrange(i + 1, len(words) + 1)
        if k - i < len(words):
            number[0] += 1
            me = number[0]
            inner = add_nesting(words[i:k], noun - i if i <= noun < k else -1, rng, number)
            left = add_nesting(words[:i], noun if noun < i else -1, rng, number) if i else ""
            right = add_nesting(words[k:], noun - k if noun >= k else -1, rng, number) if k < len(words) else ""
            return " ".join(x for x in (left, f"<t{me} a='{me}'>{inner}</t{me}>", right) if x)
    out = []
    for i, word in enumerate(words):
        if rng.random() < 0.05:
            number[0] += 1
            out.append(f"<x id=\"{number[0]}\"/>")
        m = re.match(r"(\w+)(.*)", word)
        out.append(f"<n>{m.group(1)}</n>{m.group(2)}" if i == noun else word)
    return " ".join(out)


def is_nested(text):
    stack = []
    for tag in TAG.findall(text):
        if tag.startswith("</"):
            if not stack or stack.pop() != tag[2:-1]:
                return False
        elif not tag.endswith("/>"):
            stack.append(re.match(r"<(\w+)", tag).group(1))
    return not stack


def main():
    werkbank, model = sys.argv[1:3]
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    nouns = read_nouns(os.path.join(os.path.dirname(__file__), "../../share/demo/lexicon.txt"))
    rng = random.Random(7)
    subprocess.run([werkbank, "demo-corpus", "-q", "--demo-pairs", str(4 * wanted), "--seed", "77", "/tmp/gold.en", "/tmp/gold.de"], check=True)
    lines, forms = [], []
    for line in open("/tmp/gold.en", encoding="utf-8"):
        words = line.split()
        found = [i for i, w in enumerate(words) if re.sub(r"\W", "", w) in nouns]
        if len(found) == 1 and len(lines) < wanted:
            lines.append(add_nesting(words, found[0], rng, [0]))
            forms.append(nouns[re.sub(r"\W", "", words[found[0]])])
    out = subprocess.run([werkbank, "translate", "-q", "-m", model, "--markup"], input="\n".join(lines) + "\n",
                         capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    assert len(out) == len(lines), (len(out), len(lines))
    tags = sum(sorted(TAG.findall(a)) == sorted(TAG.findall(b)) for a, b in zip(lines, out))
    nested = sum(map(is_nested, out))
    gold = right = 0
    for text, form in zip(out, forms):
        plain = TAG.sub("", text)
        inside = TAG.sub("", re.search(r"<n>(.*?)</n>", text).group(1)).strip()
        hits = [w for w in re.findall(r"\w+", plain) if w in form]
        if len(hits) == 1:
            gold += 1
            right += inside == hits[0]
            if inside != hits[0] and gold - right <= 5:
                print("not there:", text)
    print(f"sentences {len(out)}; equal tags {tags}; well nested {nested}; noun in its pair {right} of {gold} "
          f"({100 * right / max(gold, 1):.2f} %)")
    return 0 if tags == nested == len(out) else 1


sys.exit(main())
