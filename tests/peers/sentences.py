#!/usr/bin/env python3
"""sentences.py PROGRAM LANGUAGE FILE [LINES] - sentence boundaries against sentence-splitter (the Moses splitter) and pysbd.

FILE has one sentence a line. Five lines in turn, joined by a blank, are a paragraph; a splitter should find the four
boundaries between them. Lines that do not end a sentence (no mark at their end) are left out, because no splitter can
know their end. PROGRAM: tests/split_sentences. Prints precision, recall and F1 of boundaries, and seconds.
"""
import subprocess
import sys
import time

END = tuple('.!?。…"“”\')»')


def paragraphs(path, most):
    lines = [line.strip() for line in open(path, encoding="utf-8")]
    lines = [line for line in lines if line.endswith(END) and len(line) > 3][:most]
    return [lines[i:i + 5] for i in range(0, len(lines) - 4, 5)]


def ends(sentences, text):
    """Offsets, without blanks, at which sentences end."""
    at, found = 0, set()
    for sentence in sentences:
        at += len("".join(sentence.split()))
        found.add(at)
    assert at == len("".join(text.split())), (sentences, text)
    return found - {at}


def score(name, paragraphs, split, seconds):
    right = said = gold = 0
    for lines, sentences in zip(paragraphs, split):
        text = " ".join(lines)
        expected, got = ends(lines, text), ends(sentences, text)
        right += len(expected & got)
        said += len(got)
        gold += len(expected)
    p, r = right / max(said, 1), right / max(gold, 1)
    print(f"{name:20} precision {100 * p:6.2f}  recall {100 * r:6.2f}  F1 {200 * p * r / (p + r):6.2f}  {seconds:7.2f} s")


def main():
    program, language, path = sys.argv[1:4]
    texts = paragraphs(path, int(sys.argv[4]) if len(sys.argv) > 4 else 3000)
    joined = [" ".join(lines) for lines in texts]
    begin = time.time()
    out = subprocess.run([program, language], input="\n".join(joined) + "\n", capture_output=True, text=True, check=True).stdout
    ours = [block.split("\n") for block in out.rstrip("\n").split("\n\n")]
    score("werkbank", texts, ours, time.time() - begin)
    import pysbd
    from sentence_splitter import SentenceSplitter
    begin = time.time()
    moses = SentenceSplitter(language=language)
    score("sentence-splitter", texts, [moses.split(text) for text in joined], time.time() - begin)
    begin = time.time()
    segmenter = pysbd.Segmenter(language=language, clean=False)
    score("pysbd", texts, [segmenter.segment(text) for text in joined], time.time() - begin)


main()
