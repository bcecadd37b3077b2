#!/usr/bin/env python3
"""serve_clients.py - "werkbank serve" with the official clients: libretranslatepy, and DeepL's library for Python.

	pip install libretranslatepy deepl
	python3 tests/peers/serve_clients.py BUILD MODEL TEXT

BUILD has the programs, MODEL is a model folder from en to de, TEXT a file of sentences. Each client must give the
translations of "werkbank translate", and its exceptions for errors.
"""
import io
import subprocess
import sys
import re
import tempfile
import os

import deepl
import libretranslatepy

build, model, text = sys.argv[1:4]
wb = build + "/werkbank"
lines = [line for line in open(text, encoding="utf-8").read().split("\n") if line.strip()][:40]
batch = subprocess.run([wb, "translate", "--quiet", "--model", model], input="\n".join(lines), text=True,
		       capture_output=True, check=True).stdout.split("\n")[:len(lines)]
lines, batch = zip(*[(line, its) for line, its in zip(lines, batch) if its])  # those with a translation
lines, batch = list(lines), list(batch)
failed = 0


def check(name, ok, what=""):
	global failed
	print("ok      " if ok else "FAILED  ", name, "" if ok else what)
	failed += not ok


def start(*options):
	server = subprocess.Popen([wb, "serve", "--listen", "127.0.0.1:0", "--model", "en-de=" + model, *options],
				  stderr=subprocess.PIPE, text=True)
	for line in server.stderr:
		found = re.search(r"ready on (http://\S+)", line)
		if found:
			return server, found.group(1)
	sys.exit("the server did not start")


def raises(kind, call):
	try:
		call()
	except kind as e:
		return True
	return False


server, url = start()
libre = libretranslatepy.LibreTranslateAPI(url + "/")
check("libretranslatepy: languages", libre.languages() == [{"code": "en", "name": "English", "targets": ["de"]}])
check("libretranslatepy: detect", libre.detect("The dog is under the table.")[0]["language"] == "en")
check("libretranslatepy: translate", [libre.translate(line, "en", "de") for line in lines] == batch)

translator = deepl.Translator("any", server_url=url)
results = translator.translate_text(lines, target_lang="DE")
check("deepl: a list", [r.text for r in results] == batch)
check("deepl: the source language", {r.detected_source_lang for r in results} == {"EN"})
check("deepl: one text", translator.translate_text(lines[0], source_lang="EN", target_lang="DE").text == batch[0])
check("deepl: target languages", [(x.code, x.name) for x in translator.get_target_languages()] == [("DE", "German")],
      [(x.code, x.name) for x in translator.get_target_languages()])
check("deepl: source languages", [x.code for x in translator.get_source_languages()] == ["EN"])
check("deepl: usage", translator.get_usage().character.count > 0)
check("deepl: a language that is not there",
      raises(deepl.DeepLException, lambda: translator.translate_text("a", target_lang="FR")))
tagged = translator.translate_text(f'<b>{lines[0]}</b> <x id="7"></x>', target_lang="DE", tag_handling="xml", ignore_tags="x").text
check("deepl: tags", sorted(re.findall("<[^<>]*>", tagged)) == ["</b>", "</x>", "<b>", '<x id="7">'], tagged)
check("deepl: ignored tags with content", raises(deepl.DeepLException, lambda: translator.translate_text(
	"<x>a</x>", target_lang="DE", tag_handling="xml", ignore_tags="x")))
check("deepl: languages of glossaries", translator.get_glossary_languages() == [])
check("deepl: no splitting", translator.translate_text(lines[0], target_lang="DE", split_sentences="0").text != "")
with tempfile.TemporaryDirectory() as folder:
	page = folder + "/page.html"
	with open(page, "w", encoding="utf-8") as f:
		f.write("<h1>" + lines[0] + "</h1><p>" + lines[1] + " <b>" + lines[2] + "</b></p>")
	want = subprocess.run([wb, "translate", "--quiet", "--model", model, "--document", "html", page], capture_output=True, check=True).stdout
	status = translator.translate_document_from_filepath(page, folder + "/out.html", target_lang="DE")
	check("deepl: a document", status.done and open(folder + "/out.html", "rb").read() == want)
	check("deepl: its characters", status.billed_characters > 0, status.billed_characters)
	check("deepl: a document that is damaged", raises(deepl.DocumentTranslationException, lambda: translator.translate_document(
		b"PK", io.BytesIO(), target_lang="DE", filename="a.docx")))
server.terminate()
check("the end", server.wait() == 0)

with tempfile.NamedTemporaryFile("w", delete=False) as keys:
	keys.write("a-secret-key\n")
os.chmod(keys.name, 0o600)
server, url = start("--key-file", keys.name)
check("libretranslatepy: no key", raises(Exception, lambda: libretranslatepy.LibreTranslateAPI(url + "/").translate("a", "en", "de")))
check("libretranslatepy: a key", libretranslatepy.LibreTranslateAPI(url + "/", "a-secret-key").translate(lines[0], "en", "de") == batch[0])
check("deepl: a wrong key", raises(deepl.AuthorizationException,
				   lambda: deepl.Translator("wrong-key", server_url=url).translate_text("a", target_lang="DE")))
check("deepl: a key", deepl.Translator("a-secret-key", server_url=url).translate_text(lines[0], target_lang="DE").text == batch[0])
server.terminate()
server.wait()
os.unlink(keys.name)
sys.exit(failed > 0)
