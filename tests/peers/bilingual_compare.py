#!/usr/bin/env python3
"""bilingual_compare.py - compare the readers of TMX, XLIFF, PO, CSV and TSV with those of other programs.

    PEER=/path/to/venv            a Python environment with translate-toolkit 3, polib 1.2 and lxml
    $PEER/bin/python tests/peers/bilingual_compare.py PROGRAM [-n PAIRS] [-s SEED] [--time FILE.en FILE.de [PAIRS]]

PROGRAM is werkbank or werkbank-data, built with optimisation if --time is given. Texts are made up: quotes, separators, line ends, markup,
entities, control sequences of programs, letters of many scripts. The peers write files of these texts, and everybody reads them:

    TMX      written by translate-toolkit and by hand (variants of languages, units without a side, inline codes);
             read by translate-toolkit (without codes only) and by lxml with the rule of bilingual.h in ten lines
    XLIFF    written by translate-toolkit (1.2) and by hand (2.0); read by translate-toolkit
    PO       written by polib and by translate-toolkit; read by polib and translate-toolkit; fuzzy, obsolete, plural, msgctxt
    CSV      written by Python's csv: , and ; with and without header, all quoting rules; read by csv
    TSV      lines without quotes; read by split

White space is squeezed on both sides: a pair of Werkbank is a line. --time measures a TMX of the real text, in turns. Ends with status 1 at
a difference.
"""
import argparse
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import polib
from lxml import etree
from translate.storage import pypo, tmx, xliff, xliff2

WORDS = ["house", "Haus", "don't", '"quoted"', '"', '""', "a,b", ";", "\\n", "\\", "&amp;", "&", "<b>x</b>", "<", "]]>", "%d", "_File", "&File",
         "привет", "中文", "🙂", "é", "e\u0301", "\u00a0", "\u2028", "ا", "{0}", "'", "x=1", "#", "#, fuzzy", "msgid", "~", "-"]
SPACES = [" ", "  ", "\n", "\t", " \n "]
CODES = {"ph", "bpt", "ept", "it", "ut"}
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def squeeze(text):
    return re.sub(r"[ \t\n\v\f\r]+", " ", text or "").strip(" ")


def make_text(r, most=9):
    words = [r.choice(WORDS) for _ in range(r.randrange(1, most))]
    return "".join(w + r.choice(SPACES if r.random() < 0.2 else [" "]) for w in words).strip() or "x"


def make_pairs(r, n):
    """Pairs; some have an empty side."""
    out = []
    for _ in range(n):
        s, t = make_text(r), make_text(r)
        if r.random() < 0.05:
            t = ""
        out.append((s, t))
    return out


def kept(pairs):
    """Pairs with both sides, squeezed."""
    return [p for p in ((squeeze(s), squeeze(t)) for s, t in pairs) if p[0] and p[1]]


class Checker:
    def __init__(self, program, folder):
        self.program, self.folder, self.failed, self.compared = program, folder, 0, {}

    def ours(self, path, *options):
        out = subprocess.run([self.program, "pairs", "--json", "--quiet", *options, path], capture_output=True)
        if out.returncode:
            raise RuntimeError(f"{path}: {out.stderr.decode()}")
        return [(p["source"], p["target"]) for p in map(json.loads, out.stdout.decode().split("\n")[:-1])]

    def compare(self, name, path, want, *options):
        got = self.ours(path, *options)
        self.compared[name] = self.compared.get(name, 0) + len(want)
        if got == want:
            return
        self.failed += 1
        first = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        print(f"DIFFERENT {name}: {len(got)} pairs, theirs {len(want)}; pair {first}:\n  ours   {got[first:first + 1]}\n"
              f"  theirs {want[first:first + 1]}")

    def path(self, name):
        return os.path.join(self.folder, name)


# ---- TMX ----------------------------------------------------------------------------


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def fit(wanted, tag):
    wanted, tag = wanted.lower(), tag.lower().replace("_", "-")
    return 3 if wanted == tag else 2 if tag.startswith(wanted + "-") else 0


def text_without_codes(seg):
    out = [seg.text or ""]
    for child in seg:
        if isinstance(child.tag, str):
            if child.get("type") == "lb":
                out.append(" ")
            if etree.QName(child).localname not in CODES:
                out.append(text_without_codes(child))
        out.append(child.tail or "")
    return "".join(out)


def read_tmx_with_lxml(path, source="en", target="de"):
    pairs = []
    for _, tu in etree.iterparse(path, tag="tu", huge_tree=True):
        best = {source: (0, ""), target: (0, "")}
        for tuv in tu.iterfind("tuv"):
            for wanted in best:
                n = fit(wanted, tuv.get(XML_LANG) or tuv.get("lang") or "")
                if n > best[wanted][0]:
                    best[wanted] = (n, text_without_codes(tuv.find("seg")))
        pairs.append((best[source][1], best[target][1]))
        tu.clear()
        while tu.getprevious() is not None:
            del tu.getparent()[0]
    return kept(pairs)


def inline_text(r):
    """A segment with codes."""
    out = []
    for i in range(r.randrange(1, 6)):
        word = escape(r.choice(WORDS))
        kind = r.randrange(8)
        if kind == 0:
            out.append(f'<bpt i="{i}">&lt;b&gt;</bpt>{word}<ept i="{i}">&lt;/b&gt;</ept>')
        elif kind == 1:
            out.append(f'<ph type="{r.choice(["lb", "x"])}">code<sub>sub text</sub>code</ph>')
        elif kind == 2:
            out.append(f"<hi>{word} <hi>x</hi></hi>")
        elif kind == 3:
            out.append(f'<it pos="begin">&lt;i&gt;</it>{word}<!-- c --><?pi x?><![CDATA[<c>]]>')
        else:
            out.append(word)
        out.append(r.choice(SPACES))
    return "".join(out)


def check_tmx(c, r, n):
    pairs = make_pairs(r, n)
    store = tmx.tmxfile(sourcelanguage="en", targetlanguage="de")
    for s, t in pairs:
        store.addtranslation(s, "en", t, "de")
    path = c.path("toolkit.tmx")
    store.savefile(path)
    theirs = [(u.source, u.target) for u in tmx.tmxfile.parsefile(path).units]
    c.compare("TMX of translate-toolkit", path, kept(theirs))
    c.compare("TMX of translate-toolkit, by lxml", path, read_tmx_with_lxml(path))
    units = []
    for s, t in pairs:
        tuvs = [(r.choice(["en", "en-US", "EN_GB", "en-GB"]), escape(s) if r.random() < 0.5 else inline_text(r)),
                (r.choice(["de", "DE", "de-AT", "de_CH"]), escape(t) if r.random() < 0.5 else inline_text(r)),
                (r.choice(["fr", "de-DE", "en-AU", "den", "e"]), inline_text(r))]
        r.shuffle(tuvs)
        tuvs = tuvs[:r.choice([1, 3, 3, 3])]
        attribute = r.choice(["xml:lang", "lang"])
        units.append("<tu><note>n</note>" + "".join(f'<tuv {attribute}="{lang}"><prop type="p">q</prop><seg>{text}</seg></tuv>'
                                                    for lang, text in tuvs) + "</tu>")
    text = '<tmx version="1.4"><header/><body>' + "\n".join(units) + "</body></tmx>"
    for encoding in ["UTF-8", "UTF-16"]:
        path = c.path(f"nasty-{encoding}.tmx")
        with open(path, "wb") as f:
            f.write((f'<?xml version="1.0" encoding="{encoding}"?>\n' + text).encode(encoding))
        c.compare(f"TMX by hand, {encoding}", path, read_tmx_with_lxml(path))


# ---- XLIFF -----------------------------------------------------------------------------


def check_xliff(c, r, n):
    pairs = make_pairs(r, n)
    store = xliff.xlifffile()
    store.setsourcelanguage("en-US")
    store.settargetlanguage("de-DE")
    for i, (s, t) in enumerate(pairs):
        unit = store.addsourceunit(s)
        unit.target = t or None
        if t and r.random() < 0.1:
            unit.xmlelement.find("{*}target").set("state", r.choice(["new", "needs-translation"]))
            pairs[i] = (s, "")
        elif t and r.random() < 0.2:
            unit.xmlelement.find("{*}target").set("state", r.choice(["translated", "final", "needs-review-translation"]))
    path = c.path("toolkit.xlf")
    store.savefile(path)
    theirs = [(u.source, "" if (u.xmlelement.find("{*}target") is not None and u.xmlelement.find("{*}target").get("state") in
                                ("new", "needs-translation")) else u.target) for u in xliff.xlifffile.parsefile(path).units]
    c.compare("XLIFF 1.2 of translate-toolkit", path, kept(theirs))
    c.compare("XLIFF 1.2, the other direction", path, kept((t, s) for s, t in theirs),
              "--source-language", "de", "--target-language", "en")
    path = c.path("two.xlf")
    with open(path, "w", encoding="utf-8") as f:
        f.write('<?xml version="1.0"?><xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de">'
                '<file id="f">')
        for i, (s, t) in enumerate(pairs):
            f.write(f'<unit id="u{i}"><segment state="final"><source>{escape(s)}</source><target>{escape(t)}</target></segment>'
                    f"</unit>\n")
        f.write("</file></xliff>")
    theirs = [(u.source, u.target) for u in xliff2.Xliff2File.parsefile(path).units]
    c.compare("XLIFF 2.0", path, kept(theirs))


# ---- PO ----------------------------------------------------------------------------------


def check_po(c, r, n):
    po = polib.POFile(wrapwidth=r.choice([40, 78, 200]))
    po.metadata = {"Language": "de_DE", "Content-Type": "text/plain; charset=UTF-8", "Plural-Forms": "nplurals=2; plural=(n != 1);"}
    for i, (s, t) in enumerate(make_pairs(r, n)):
        e = polib.POEntry(msgid=s, msgstr=t, msgctxt=f"c{i}", comment=r.choice(["", "a # comment"]),
                          occurrences=[("a.c", str(i))] if r.random() < 0.5 else [])
        kind = r.random()
        if kind < 0.1:
            e.flags = ["c-format", "fuzzy"]
        elif kind < 0.15:
            e.obsolete = True
        elif kind < 0.3:
            e.msgid_plural, e.msgstr, e.msgstr_plural = make_text(r), "", {0: t, 1: make_text(r)}
        elif kind < 0.4:
            e.flags = ["python-format"]
        po.append(e)
    path = c.path("polib.po")
    po.save(path)

    def entries(of):
        for e in of:
            if e.obsolete or e.fuzzy:
                continue
            if e.msgid_plural:
                for k, form in sorted(e.msgstr_plural.items()):
                    yield (e.msgid_plural if int(k) else e.msgid), form
            else:
                yield e.msgid, e.msgstr

    c.compare("PO of polib", path, kept(entries(polib.pofile(path))))
    store = pypo.pofile.parsefile(path)
    path = c.path("toolkit.po")
    store.savefile(path)
    c.compare("PO of translate-toolkit, by polib", path, kept(entries(polib.pofile(path))))

    def units(of):
        for u in of.units:
            if u.isheader() or u.isobsolete() or u.isfuzzy():
                continue
            if u.hasplural():
                for k, form in enumerate(u.target.strings):
                    yield u.source.strings[1 if k else 0], form
            else:
                yield u.source, u.target

    c.compare("PO of translate-toolkit", path, kept(units(pypo.pofile.parsefile(path))))


# ---- tables --------------------------------------------------------------------------------


def check_tables(c, r, n):
    for delimiter in ",;":
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
            for header in ([], ["id", "en-GB", "de"], ["Target", "note", "source"]):
                pairs = make_pairs(r, n // 20)
                for encoding in ("utf-8", "utf-8-sig", "utf-16"):
                    path = c.path("t.csv")
                    with open(path, "w", encoding=encoding, newline="") as f:
                        w = csv.writer(f, delimiter=delimiter, quoting=quoting, lineterminator=r.choice(["\n", "\r\n"]))
                        if header:
                            w.writerow(header)
                        for i, (s, t) in enumerate(pairs):
                            w.writerow([s, t] if not header else [i, s, t] if header[0] == "id" else [t, make_text(r), s])
                    with open(path, encoding=encoding, newline="") as f:
                        rows = list(csv.reader(f, delimiter=delimiter))[bool(header):]
                    first, second = (0, 1) if not header else (1, 2) if header[0] == "id" else (2, 0)
                    name = f"CSV by {delimiter} {encoding}"
                    if not header:
                        c.compare(name + ", two columns", path, kept((x[0], x[1]) for x in rows if x), "--pair-columns", "1,2")
                    else:
                        c.compare(name + ", header", path, kept((x[first], x[second]) for x in rows if x))
    path = c.path("t.tsv")
    pairs = [(squeeze(s), squeeze(t)) for s, t in make_pairs(r, n)]
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.writelines(f"{s}\t{t}\n" for s, t in pairs)
    with open(path, encoding="utf-8", newline="") as f:
        c.compare("TSV", path, kept(line.rstrip("\n").split("\t") for line in f))


# ---- speed -----------------------------------------------------------------------------------


def measure(program, en, de, n, folder):
    path = os.path.join(folder, "large.tmx")
    with open(en, encoding="utf-8") as a, open(de, encoding="utf-8") as b:
        pairs = [(s.rstrip("\n"), t.rstrip("\n")) for s, t in zip(a, b)]
    with open(path, "w", encoding="utf-8") as f:
        f.write('<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header/><body>\n')
        for i in range(n):
            s, t = pairs[i % len(pairs)]
            f.write(f'<tu><tuv xml:lang="en"><seg>{escape(s)}</seg></tuv>\n<tuv xml:lang="de"><seg>{escape(t)}</seg></tuv></tu>\n')
        f.write("</body></tmx>\n")
    print(f"{n:,} pairs, {os.path.getsize(path) / 1e6:.1f} MB")
    code = {
        "translate-toolkit": f"from translate.storage import tmx\nn = sum(1 for u in tmx.tmxfile.parsefile({path!r}).units if u.source and u.target)",
        "lxml iterparse": f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                          f"from bilingual_compare import read_tmx_with_lxml\nn = len(read_tmx_with_lxml({path!r}))",
    }
    for _ in range(3):
        for name, command in [("werkbank pairs", [program, "pairs", path])] + [(k, [sys.executable, "-c", v]) for k, v in code.items()]:
            began = time.monotonic()
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = status
            print(f"  {name:18} {used.ru_utime + used.ru_stime:6.2f} s of processor, {time.monotonic() - began:6.2f} s, "
                  f"status {status}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("-n", type=int, default=2000)
    p.add_argument("-s", type=int, default=1)
    p.add_argument("--time", nargs="+")
    o = p.parse_args()
    r = random.Random(o.s)
    with tempfile.TemporaryDirectory() as folder:
        if o.time:
            measure(o.program, o.time[0], o.time[1], int(o.time[2]) if len(o.time) > 2 else 200000, folder)
            return 0
        c = Checker(o.program, folder)
        for check in (check_tmx, check_xliff, check_po, check_tables):
            check(c, r, o.n)
        for name, n in c.compared.items():
            print(f"{n:8,} pairs  {name}")
        print(f"{sum(c.compared.values()):,} pairs compared, {c.failed} of {len(c.compared)} comparisons differ")
        return c.failed > 0


if __name__ == "__main__":
    sys.exit(main())
