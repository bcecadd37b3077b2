#!/usr/bin/env python3
"""serve_page.py - the page of "werkbank serve" in a real Chromium, which a pipe drives (DevTools protocol; no package is needed).

	apt install chromium
	python3 tests/peers/serve_page.py BUILD MODEL TEXT

BUILD has the programs, MODEL is a model folder from en to de, TEXT a file of sentences. The page must give the translations of
"werkbank translate", show errors, fit 360 pixels, have names and contrasts as WCAG AA asks, and load nothing from elsewhere.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

build, model, sentences = sys.argv[1:4]
wb = build + "/werkbank"
options = ["--threads", "1"]
folder = tempfile.mkdtemp(prefix="werkbank-page-")
failed = 0


def check(name, ok, what=""):
	global failed
	print("ok      " if ok else "FAILED  ", name, "" if ok else what, flush=True)
	failed += not ok


class Browser:
	"""Chromium with one page."""

	def __init__(self):
		read, self.write_end = os.pipe()
		self.read_end, write = os.pipe()

		def wire():
			# 3 and 4 are those of the protocol; go by way of high numbers
			os.dup2(read, 103), os.dup2(write, 104)
			os.dup2(103, 3), os.dup2(104, 4)

		self.process = subprocess.Popen(
			["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			 "--user-data-dir=" + folder + "/browser", "--remote-debugging-pipe", "about:blank"],
			pass_fds=(3, 4, read, write), preexec_fn=wire, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
		os.close(read), os.close(write)
		self.buffer, self.number, self.events, self.session = b"", 0, [], None
		target = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"][0]["targetId"]
		self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
		for domain in ["Page", "Runtime", "Network", "Log", "DOM", "Accessibility"]:
			self.call(domain + ".enable")

	def read_message(self):
		while b"\0" not in self.buffer:
			part = os.read(self.read_end, 65536)
			if not part:
				sys.exit("the browser ended")
			self.buffer += part
		line, self.buffer = self.buffer.split(b"\0", 1)
		return json.loads(line)

	def call(self, method, **params):
		self.number += 1
		message = {"id": self.number, "method": method, "params": params}
		if self.session:
			message["sessionId"] = self.session
		os.write(self.write_end, json.dumps(message).encode() + b"\0")
		while True:
			got = self.read_message()
			if got.get("id") == self.number:
				if "error" in got:
					raise RuntimeError(method + ": " + str(got["error"]))
				return got["result"]
			self.events.append(got)

	def run(self, script):
		got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
		if "exceptionDetails" in got:
			raise RuntimeError(str(got["exceptionDetails"]))
		return got["result"].get("value")

	def wait(self, script, seconds=15):
		"""Waits until the script is true; its last value."""
		end = time.time() + seconds
		while True:
			value = self.run(script)
			if value or time.time() > end:
				return value
			time.sleep(0.05)

	def open(self, url):
		self.call("Page.navigate", url=url)
		return self.wait("document.readyState === 'complete' && document.querySelectorAll('#source-language option').length > 0")

	def key(self, key, code, number, **more):
		for kind in ["keyDown", "keyUp"]:
			self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number, **more)

	def type(self, text, pause=0.0):
		for c in text:
			self.call("Input.insertText", text=c)
			time.sleep(pause)

	def clear(self):
		self.run("document.getElementById('source').focus(); document.getElementById('source').select()")
		self.key("Backspace", "Backspace", 8)

	def messages(self):
		"""What the console has, refusals of the policy too."""
		return [str(e["params"]) for e in self.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]


def start(*more):
	server = subprocess.Popen([wb, "serve", "--listen", "127.0.0.1:0", "--model", "en-de=" + model, *options, *more],
				  stderr=subprocess.PIPE, text=True)
	for line in server.stderr:
		found = re.search(r"ready on (http://\S+)", line)
		if found:
			return server, found.group(1)
	sys.exit("the server did not start")


def batch(text):
	return subprocess.run([wb, "translate", "--quiet", "--model", model, *options], input=text + "\n", text=True,
			      capture_output=True, check=True).stdout.rstrip("\n")


def document(text, kind):
	return subprocess.run([wb, "translate", "--quiet", "--model", model, "--document", kind, *options], input=text, text=True,
			      capture_output=True, check=True).stdout


TARGET = "document.getElementById('target').value"
ERROR = "document.getElementById('error').textContent"


def test_typing(b, lines):
	for text in [lines[0], "\n".join(lines[:3])]:
		b.clear()
		b.type(text)
		want = batch(text)
		got = b.wait(f"{TARGET} === {json.dumps(want)}")
		check(f"typing {len(text)} characters gives the translation of the batch tool", got, b.run(TARGET) + " | " + want)
	b.clear()
	b.events.clear()
	b.type(lines[1], 0.02)
	time.sleep(0.5)
	b.type(" ")
	b.type(lines[2], 0.02)
	text = lines[1] + " " + lines[2]
	check("typing on gives the translation of the last text", b.wait(f"{TARGET} === {json.dumps(batch(text))}"), b.run(TARGET))
	n = sum(1 for e in b.events if e.get("method") == "Network.requestWillBeSent")
	check("requests are few while one types", 1 <= n <= 6, f"{n} requests")
	b.clear()
	check("an empty text has an empty translation", b.wait(f"{TARGET} === ''"))


def test_cancel(b, text):
	b.clear()
	b.events.clear()
	b.run(f"source.value = {json.dumps(text)}; translateText(); translateText(); translateText(); 1")
	check("the last request is answered", b.wait(f"{TARGET} === {json.dumps(batch(text))}"))
	b.run("1")
	n = sum(1 for e in b.events if e.get("method") == "Network.loadingFailed" and e["params"].get("canceled"))
	check("older requests are cancelled", n == 2, f"{n} cancelled")


def test_alternatives(b, lines):
	b.clear()
	b.type("\n".join(lines[:2]))
	b.wait(f"{TARGET} === {json.dumps(batch(chr(10).join(lines[:2])))}")
	b.run("document.getElementById('source').setSelectionRange(1, 1); document.getElementById('alternatives-button').click()")
	check("alternatives are shown", b.wait("document.querySelectorAll('#list button:enabled').length > 0"), b.run(ERROR))
	check("... of the sentence at the cursor", b.run("document.getElementById('sentence').textContent") in lines[0])
	chosen = b.run("document.querySelector('#list button').textContent")
	b.run("document.querySelector('#list button').click()")
	check("a chosen one replaces the sentence", b.run(TARGET).split("\n")[0] == chosen and b.run(TARGET).split("\n")[1] == batch(lines[1]),
	      b.run(TARGET))


def test_copy(b):
	b.session, session = None, b.session
	b.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
	b.session = session
	b.run("document.getElementById('copy').click()")
	b.wait("document.getElementById('status').textContent === 'Copied.'")
	check("the copy button", b.run("navigator.clipboard.readText()") == b.run(TARGET))


def test_files(b, lines):
	path = folder + "/text.txt"
	with open(path, "w", encoding="utf-8") as f:
		f.write(lines[2])
	root = b.call("DOM.getDocument")["root"]["nodeId"]
	field = b.call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
	b.clear()
	b.call("DOM.setFileInputFiles", nodeId=field, files=[path])
	check("a chosen file is translated", b.wait(f"{TARGET} === {json.dumps(batch(lines[2]))}"), b.run(TARGET))
	drop = """(() => { const d = new DataTransfer(); d.items.add(new File([%s], 'a.txt'));
		document.getElementById('source').dispatchEvent(new DragEvent('drop', { dataTransfer: d, bubbles: true, cancelable: true })); })()"""
	b.clear()
	page = "<p>" + lines[0] + "</p>\n<pre>code</pre>\n"
	b.run((drop % json.dumps(page)).replace("a.txt", "a page.HTML"))
	check("a dropped document becomes a link", b.wait("document.getElementById('download').getClientRects().length > 0"), b.run(ERROR))
	check("... with its name", b.run("document.getElementById('download').textContent") == "Download a_page_de.HTML")
	got = b.run("fetch(document.getElementById('download').href).then((a) => a.text())")
	check("... to the same kind of document", got == document(page, "html"), got)
	b.run((drop % "new Uint8Array([80, 75, 3, 4])").replace("a.txt", "a.docx"))
	check("a damaged document is refused", b.wait(f"{ERROR}.includes('damaged')"), b.run(ERROR))
	b.events = [e for e in b.events if "translate_file" not in str(e)]  # the browser reports the status 400
	b.run(drop % json.dumps(lines[0]))
	check("a dropped file is translated", b.wait(f"{TARGET} === {json.dumps(batch(lines[0]))}"), b.run(TARGET))
	b.run(drop % "new Uint8Array([255, 254, 0, 1])")
	check("a file that is no text is refused", b.wait(f"{ERROR}.includes('not a text file')"))
	b.run(drop % "'a'.repeat(30000)")
	check("a file that is too long is refused", b.wait(f"{ERROR}.includes('more than 20000 characters')"))


def test_directions(b):
	for text, want in [("שלום עולם", "rtl"), ("A dog.", "ltr")]:
		b.clear()
		b.type(text)
		got = b.run("getComputedStyle(document.getElementById('source')).direction")
		check(f"the direction of {text!r}", got == want, got)


CONTRASTS = """(() => {
	const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] === 1) return c; }
		return [255, 255, 255]; };
	const found = [];
	document.getElementById('error').textContent = 'An error.';
	for (const e of document.querySelectorAll('body *')) {
		if (!e.getClientRects().length) continue;
		const has_text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || ['TEXTAREA', 'SELECT', 'INPUT'].includes(e.tagName);
		const s = getComputedStyle(e);
		if (has_text) found.push([e.tagName + '#' + e.id, ratio(rgb(s.color), ground(e)), 4.5]);
		if (['TEXTAREA', 'SELECT', 'INPUT', 'BUTTON'].includes(e.tagName)) found.push([e.tagName + '#' + e.id + ' border', ratio(rgb(s.borderTopColor), ground(e.parentElement)), 3]);
	}
	return found;
})()"""


def test_access(b):
	for scheme in ["light", "dark"]:
		b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
		found = b.run(CONTRASTS)
		bad = [x for x in found if x[1] < x[2]]
		check(f"contrast, {scheme}: {len(found)} places, least {min(x[1] for x in found):.2f}", len(found) > 15 and not bad, str(bad))
	nodes = b.call("Accessibility.getFullAXTree")["nodes"]
	controls = [n for n in nodes if n.get("role", {}).get("value") in ("button", "textbox", "combobox", "link", "textField", "Button")]
	nameless = [n for n in controls if not n.get("name", {}).get("value")]
	check(f"{len(controls)} controls have names", len(controls) >= 8 and not nameless, str(nameless)[:500])
	roles = {n.get("role", {}).get("value") for n in nodes}
	check("landmarks and live regions", {"main", "heading", "status", "alert"} <= roles, str(roles))
	check("identifiers are unique", b.run("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size === document.querySelectorAll('[id]').length"))
	check("the language of the page", b.run("document.documentElement.lang") == "en")
	b.run("document.body.focus(); document.activeElement.blur()")
	seen = set()
	for _ in range(20):
		b.key("Tab", "Tab", 9)
		seen.add(b.run("document.activeElement.id"))
	want = set(b.run("[...document.querySelectorAll('textarea, select, input, button')].filter((e) => !e.disabled && e.getClientRects().length).map((e) => e.id)"))
	check("the keyboard reaches all controls", want <= seen, str(want - seen))


def test_width(b):
	b.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
	wide = b.run("[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 360.5).map((e) => e.tagName + '#' + e.id)")
	check("360 pixels: no horizontal scrolling", b.run("document.documentElement.scrollWidth") <= 360 and not wide, str(wide))
	small = b.run("[...document.querySelectorAll('textarea, select, input, button')].filter((e) => e.getClientRects().length && e.getBoundingClientRect().height < 44)"
		      ".map((e) => e.id)")
	check("controls are 44 pixels high", not small, str(small))
	if os.environ.get("SCREENSHOT"):
		import base64
		with open(os.environ["SCREENSHOT"], "wb") as f:
			f.write(base64.b64decode(b.call("Page.captureScreenshot")["data"]))
	b.call("Emulation.clearDeviceMetricsOverride")


def test_glossary(b):
	path = folder + "/terms"
	with open(path, "w") as f:
		f.write("schools\tBesen\n")
	server, url = start("--glossary", "brooms=" + path)
	b.open(url + "/")
	b.clear()
	text = "The schools are too expensive."
	b.type(text)
	b.wait(f"{TARGET} === {json.dumps(batch(text))}")
	check("the field for the glossary", b.run("document.getElementById('glossary-field').getClientRects().length > 0"))
	b.run("document.getElementById('glossary').value = 'brooms'; document.getElementById('glossary').dispatchEvent(new Event('change'))")
	check("a glossary", b.wait(f"{TARGET}.includes('Besen')"), b.run(TARGET))
	server.terminate()
	server.wait()


def test_policy(b, url):
	requests = {e["params"]["request"]["url"] for e in b.events if e.get("method") == "Network.requestWillBeSent"}
	others = [u for u in requests if not u.startswith((url, "data:", "about:"))]
	check("nothing is loaded from elsewhere", not others, str(others))
	check("no message on the console", not b.messages(), str(b.messages())[:800])
	b.run("const e = document.createElement('script'); e.textContent = 'window.foreign = 1'; document.body.append(e)")
	check("the policy lets no other script run", b.run("window.foreign") is None)


def test_keys(b, line):
	path = folder + "/keys"
	with open(path, "w") as f:
		f.write("a-secret-key\n")
	os.chmod(path, 0o600)
	server, url = start("--key-file", path)
	b.open(url + "/")
	check("the field for the key", b.run("document.getElementById('key-field').getClientRects().length > 0"))
	b.clear()
	b.type(line)
	check("without a key: an error", b.wait(f"{ERROR}.includes('needs a key')"))
	b.run("document.getElementById('key').focus()")
	b.type("a-wrong-key")
	check("a wrong key: an error", b.wait(f"{ERROR}.includes('not valid')"))
	b.run("document.getElementById('key').select()")
	b.type("a-secret-key")
	check("the key: a translation", b.wait(f"{TARGET} === {json.dumps(batch(line))}"), b.run(ERROR))
	server.terminate()
	server.wait()
	b.run("document.getElementById('source').focus()")
	b.type(" and")
	check("a server that has ended: an error", b.wait(f"{ERROR}.includes('cannot be reached')"))


with open(sentences, encoding="utf-8") as table:
	all_lines = list(dict.fromkeys(line.strip() for line in table if line.strip()))[:6]
server, url = start()
browser = Browser()
try:
	check("the page opens", browser.open(url + "/"))
	test_typing(browser, all_lines)
	test_cancel(browser, all_lines[3])
	test_alternatives(browser, all_lines)
	test_copy(browser)
	test_files(browser, all_lines)
	test_directions(browser)
	test_access(browser)
	test_width(browser)
	test_policy(browser, url)
	test_glossary(browser)
	test_keys(browser, all_lines[0])
finally:
	browser.process.kill()
	browser.process.wait()
	server.terminate()
	check("the server ends", server.wait() == 0)
	shutil.rmtree(folder, ignore_errors=True)
sys.exit(failed > 0)
