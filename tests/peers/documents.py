#!/usr/bin/env python3
"""documents.py WERKBANK MODEL - documents that other programs write, translated, and opened by these programs again.

Needs python-docx, odfpy and polib (pip), and msgfmt and xmllint if they are installed. Any model does. Prints what each program
reads; fails if a program refuses a document, or if the number of paragraphs or formats differs.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import docx
import polib
from odf import opendocument
from odf.style import Style, TextProperties
from odf.text import H, LineBreak, P, Span

failed = 0


def check(name, got, want):
    global failed
    print("ok      " if got == want else "FAILED  ", name, "" if got == want else f"{got!r} is not {want!r}")
    failed += got != want


def make_docx(path):
    d = docx.Document()
    d.add_heading("The old house", 1)
    p = d.add_paragraph("The old man reads ")
    p.add_run("a book").bold = True
    p.add_run(". The child sees the dog.")
    p = d.add_paragraph("", style="List Bullet")
    p.add_run("She will ").italic = True
    p.add_run("bu")
    p.add_run("y the car.")
    table = d.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "The man"
    table.cell(0, 1).text = "12"
    d.sections[0].header.paragraphs[0].text = "The dog & the cat"
    d.save(path)


def facts_docx(path):
    d = docx.Document(path)
    runs = [(bool(r.bold), bool(r.italic)) for p in d.paragraphs for r in p.runs if r.text.strip()]
    return [p.style.name for p in d.paragraphs], sorted(set(runs)), d.tables[0].cell(0, 1).text


def make_odt(path):
    o = opendocument.OpenDocumentText()
    bold = Style(name="Bold", family="text")
    bold.addElement(TextProperties(fontweight="bold"))
    o.automaticstyles.addElement(bold)
    o.text.addElement(H(outlinelevel=1, text="The old house"))
    p = P(text="The old man reads ")
    p.addElement(Span(stylename=bold, text="a book"))
    p.addText(" & sees the dog.")
    p.addElement(LineBreak())
    p.addText("She buys the car.")
    o.text.addElement(p)
    o.save(path)


def facts_odt(path):
    o = opendocument.load(path)
    return [len(o.getElementsByType(t)) for t in (H, P, Span, LineBreak)]


def make_po(path):
    po = polib.POFile()
    po.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Plural-Forms": "nplurals=2; plural=(n != 1);"}
    po.append(polib.POEntry(msgid="The man %s reads \"a book\".\n", msgstr="", flags=["c-format"]))
    po.append(polib.POEntry(msgid="%d dog", msgid_plural="%d dogs", msgstr_plural={0: "", 1: ""}))
    po.append(polib.POEntry(msgid="The old man reads.\nThe child sees the dog.", msgstr=""))
    po.save(path)


def facts_po(path):
    return [(x.msgid, x.msgid_plural, x.flags) for x in polib.pofile(path)]


def main():
    werkbank, model = sys.argv[1:3]
    folder = tempfile.mkdtemp()
    for kind, make, facts in (("docx", make_docx, facts_docx), ("odt", make_odt, facts_odt), ("po", make_po, facts_po)):
        a, b = (os.path.join(folder, f"{x}.{kind}") for x in "ab")
        make(a)
        subprocess.run([werkbank, "translate", "-q", "-m", model, a, "-o", b], check=True)
        check(f"{kind}: read again, of the same form", facts(b), facts(a))
    check("po: every message has a translation", polib.pofile(b).percent_translated(), 100)
    if shutil.which("msgfmt"):
        check("po: msgfmt -c", subprocess.run(["msgfmt", "-c", "-o", "/dev/null", b], check=False, stderr=subprocess.DEVNULL).returncode, 0)
    for kind, member in (("docx", "word/document.xml"), ("odt", "content.xml")):
        xml = subprocess.run(["unzip", "-p", os.path.join(folder, "b." + kind), member], capture_output=True, check=True).stdout
        if shutil.which("xmllint"):
            check(f"{kind}: xmllint", subprocess.run(["xmllint", "--noout", "-"], input=xml, check=False).returncode, 0)
    shutil.rmtree(folder)
    return failed > 0


sys.exit(main())
