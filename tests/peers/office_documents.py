#!/usr/bin/env python3
"""office_documents.py - translated DOCX and ODT documents opened by LibreOffice: their text must be that of "werkbank translate".

	apt install --no-install-recommends libreoffice-writer-nogui
	python3 tests/peers/office_documents.py BUILD MODEL TEXT

TEXT is a file of sentences. LibreOffice makes documents of them, with headings, lists, tables, footnotes and formats; each is translated,
opened by LibreOffice, written as text, and compared line by line with the translation of the original's text.
"""
import os
import re
import subprocess
import sys
import tempfile

build, model, text = sys.argv[1:4]
wb = build + "/werkbank"
options = ["--quiet", "--threads", "1", "-m", model]
lines = [line.strip() for line in open(text, encoding="utf-8") if line.strip()][:12]
failed = 0


def office(folder, kind, *files):
	subprocess.run(["soffice", "-env:UserInstallation=file://" + folder + "/office", "--headless", "--convert-to", kind, "--outdir", folder, *files],
		       check=True, capture_output=True, timeout=300)


def words(path):
	return [re.sub(r"^(\W|[0-9]+\.)\s+", "", line.strip()) for line in open(path, encoding="utf-8-sig") if line.strip()]


page = ("<html><body><h1>%s</h1><p>%s <b>%s</b></p><ul><li>%s</li><li><i>%s</i></li></ul><table border=1><tr><td>%s</td><td>%s</td></tr></table>"
	"<p><u>%s</u> %s</p><ol><li>%s</li></ol><p><font color=red>%s</font></p><p>%s</p></body></html>" % tuple((12 * lines)[:12]))
with tempfile.TemporaryDirectory(prefix="werkbank-office-") as folder:
	with open(folder + "/page.html", "w", encoding="utf-8") as out:
		out.write(page)
	for kind, make in [("docx", "docx:Office Open XML Text"), ("odt", "odt")]:
		office(folder, "odt:writer8" if kind == "odt" else make, folder + "/page.html")
		source, target = folder + "/page." + kind, folder + "/target." + kind
		subprocess.run([wb, "translate", *options, source, "-o", target], check=True)
		office(folder, "txt:Text (encoded):UTF8", source, target)
		before, after = words(folder + "/page.txt"), words(folder + "/target.txt")
		want = subprocess.run([wb, "translate", *options], input="\n".join(before) + "\n", text=True, capture_output=True, check=True).stdout.split("\n")
		same = sum(x.split() == y.split() for x, y in zip(want, after))
		ok = len(before) == len(after) >= 10 and same == len(after)
		failed += not ok
		print("ok      " if ok else "FAILED  ", f"{kind}: {same} of {len(after)} paragraphs as the translation of the text, {len(before)} before", flush=True)
		for x, y in zip(want, after):
			if x.split() != y.split():
				print("   ", x, "|", y)
sys.exit(failed > 0)
