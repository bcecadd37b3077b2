#!/usr/bin/env python3
"""serve_load.py - "werkbank serve" under load: speed of several builds in turn, or hours with faults. Each answer is compared.

	python3 tests/peers/serve_load.py MODEL TEXT BUILD... [--clients 1,8,64] [--seconds 20] [--lines N] [--options "..."]
	python3 tests/peers/serve_load.py MODEL TEXT BUILD --minutes 15 [--pause 0.5]

A BUILD "ct2:FOLDER" is CTranslate2 with the exported model, behind a minimal server (serve_ct2.py).
MODEL is a model folder from en to de, TEXT a file of sentences. The first form prints, for each number of clients and each build,
requests and target tokens a second and the percentiles of their times. Each client sends a sentence as soon as it has the answer to the one before;
with --lines N one more client sends documents of N lines all the time, whose requests do not count. The second form has 16 such clients, with
a pause before each request, and others that send HTML files, name a glossary, or leave; it kills decoders and reloads models at
random times, prints the memory of listener and decoder each minute, and fails if memory grows. At last it sends SIGTERM while 16 clients ask.
"""
import argparse
import asyncio
import collections
import functools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("text")
parser.add_argument("builds", nargs="+")
parser.add_argument("--clients", default="1,8,64")
parser.add_argument("--seconds", type=float, default=20)
parser.add_argument("--lines", type=int, default=0)
parser.add_argument("--minutes", type=float, default=0)
parser.add_argument("--pause", type=float, default=0)
parser.add_argument("--ct2-type", default="float32")
parser.add_argument("--options", default="--threads 1")
args = parser.parse_args()
with open(args.text, encoding="utf-8") as file:
	lines = [line.strip() for line in file if line.strip()]
options = args.options.split()
expected = {}
failed = []


@functools.cache
def tokens():
	"""What the service says of itself; tokens of each text; numbers of tokens of each translation."""
	asked = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(lines))
	told = translate(args.builds[0], asked, "--serve").splitlines()
	answers = [json.loads(a) for a in told[1:]]
	return json.loads(told[0]), {t: a["source_tokens"] for t, a in zip(lines, answers)}, {t: len(a["tokens"]) for t, a in zip(lines, answers)}


def peer_command(folder):
	"""CTranslate2 with the tokens, the beam and the length penalty of the model: serve_ct2.py."""
	ready, source, _ = tokens()
	table = folder + "/tokens.json"
	with open(table, "w", encoding="utf-8") as out:
		json.dump(source, out)
	return [sys.executable, os.path.join(os.path.dirname(__file__), "serve_ct2.py"), folder, table, args.ct2_type, str(ready["beam"]),
		str(ready["alpha"]), "1"]


def start(build, *more):
	command = [build + "/werkbank", "serve", "--listen", "127.0.0.1:0", "--model", "en-de=" + args.model, *options, *more]
	if build.startswith("ct2:"):
		command = peer_command(build[4:])
	server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
	for line in server.stderr:
		found = re.search(r"ready on http://127\.0\.0\.1:(\d+)", line)
		if found:
			os.set_blocking(server.stderr.fileno(), False)
			return server, int(found.group(1))
	sys.exit("the server did not start")


def translate(build, text, *more):
	return subprocess.run([build + "/werkbank", "translate", "--quiet", "--model", args.model, *options, *more], input=text, text=True,
			      capture_output=True, check=True).stdout


def batch(build, *more):
	return dict(zip(lines, translate(build, "\n".join(lines) + "\n", *more).split("\n")))


async def exchange(connection, line, kind="", body=b""):
	"""The status of an answer and its body."""
	read, write = connection
	kind = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n" if kind else ""
	write.write(f"{line} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n".encode() + body)
	head = (await read.readuntil(b"\r\n\r\n")).decode()
	length = int(re.search(r"Content-Length: (\d+)", head).group(1))
	return int(head.split(" ", 2)[1]), await read.readexactly(length)


async def ask(connection, text, **more):
	body = json.dumps({"q": text, "source": "en", "target": "de", **more}).encode()
	status, answer = await exchange(connection, "POST /translate", "application/json", body)
	return status, json.loads(answer)


def check(text, status, answer):
	want = "\n".join(expected[line] for line in text.split("\n"))
	if status != 200 or answer["translatedText"] != want:
		failed.append(f"{status} {answer} instead of {want}"[:300])


async def run_client(port, until, times, n_lines, seed, is_peer=False):
	draw = random.Random(seed)
	connection = await asyncio.open_connection("127.0.0.1", port)
	while time.monotonic() < until:
		await asyncio.sleep(draw.uniform(0, 2 * args.pause))
		text = "\n".join(draw.choice(lines) for _ in range(n_lines))
		began = time.monotonic()
		status, answer = await ask(connection, text)
		if is_peer:
			failed.extend([] if status == 200 and answer["translatedText"] else [f"the peer: {status} {answer}"])
		else:
			check(text, status, answer)
		times.append((time.monotonic() - began, text))
	connection[1].close()


async def run_load(port, n, seconds, more=(), is_peer=False):
	times, others = [], []
	until = time.monotonic() + seconds
	clients = [run_client(port, until, times, 1, i, is_peer) for i in range(n)]
	if args.lines:
		clients.append(run_client(port, until, others, args.lines, -1))
	await asyncio.gather(*clients, *more)
	return sorted(times), len(others), time.monotonic() - (until - seconds)


def tree_seconds(pid):
	"""Processor time of the server's processes."""
	ticks = 0
	for p in [pid, *children(pid)]:
		with open(f"/proc/{p}/stat") as f:
			fields = f.read().rsplit(")", 1)[1].split()
		ticks += int(fields[11]) + int(fields[12])
	return ticks / os.sysconf("SC_CLK_TCK")


def measure():
	print("clients  build  requests/s  tokens/s  p50 ms  p95 ms  p99 ms  documents  CPU ms a request")
	for n in [int(x) for x in args.clients.split(",")]:
		for i, build in enumerate(args.builds):
			server, port = start(build)
			used = tree_seconds(server.pid)
			times, others, seconds = asyncio.run(run_load(port, n, args.seconds, is_peer=build.startswith("ct2:")))
			at = [1000 * times[int(q * (len(times) - 1))][0] for q in (0.5, 0.95, 0.99)]
			used = 1000 * (tree_seconds(server.pid) - used) / len(times)
			n_tokens = sum(tokens()[2][text] for _, text in times)
			print(f"{n:7}  {i + 1:5}  {len(times) / seconds:10.1f}  {n_tokens / seconds:8.0f}  {at[0]:6.1f}  {at[1]:6.1f}  {at[2]:6.1f}  {others:9}  {used:16.1f}", flush=True)
			server.terminate()
			server.wait()


def children(pid):
	with open(f"/proc/{pid}/task/{pid}/children") as f:
		return [int(x) for x in f.read().split()]


def is_decoder(pid):
	with open(f"/proc/{pid}/cmdline", "rb") as f:
		return b"translate" in f.read()


def memory(pid):
	"""Resident KB of the process, without mapped files."""
	with open(f"/proc/{pid}/status") as f:
		return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))


async def strike(server, until, kills):
	"""Kills decoders and reloads models."""
	draw = random.Random(7)
	while time.monotonic() < until - 20:
		await asyncio.sleep(draw.uniform(2, 20))
		decoders = [p for p in children(server.pid) if is_decoder(p)]
		if draw.random() < 0.5 and decoders:
			os.kill(draw.choice(decoders), signal.SIGKILL)
			kills.append(1)
		else:
			server.send_signal(signal.SIGHUP)
			kills.append(0)


async def leave(port, until):
	"""A client that leaves in the middle of requests."""
	draw = random.Random(11)
	while time.monotonic() < until:
		connection = await asyncio.open_connection("127.0.0.1", port)
		try:
			await asyncio.wait_for(ask(connection, "\n".join(draw.choice(lines) for _ in range(100))), draw.uniform(0.001, 0.2))
		except (asyncio.TimeoutError, asyncio.IncompleteReadError):
			pass
		connection[1].transport.abort()
		await asyncio.sleep(0.1 + 4 * args.pause)


async def send_files(port, until, pages, answers):
	"""HTML files one after the other; the page that comes back is that of the batch tool."""
	connection = await asyncio.open_connection("127.0.0.1", port)
	for i in range(10**9):
		if time.monotonic() > until:
			break
		page, want = pages[i % len(pages)]
		form = "".join(f'--X\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in (("source", "en"), ("target", "de")))
		form += f'--X\r\nContent-Disposition: form-data; name="file"; filename="a.html"\r\n\r\n{page}\r\n--X--\r\n'
		status, answer = await exchange(connection, "POST /translate_file", "multipart/form-data; boundary=X", form.encode())
		url = json.loads(answer).get("translatedFileUrl", "//none/none")
		status, got = await exchange(connection, "GET /" + url.split("/", 3)[3])
		failed.extend([] if got.decode() == want else [f"a file: {status} {answer}"])
		answers.append(1)
		await asyncio.sleep(10 * args.pause)


async def use_glossary(port, until, terms, answers):
	connection = await asyncio.open_connection("127.0.0.1", port)
	draw = random.Random(3)
	while time.monotonic() < until:
		text = draw.choice(lines)
		status, answer = await ask(connection, text, glossary="g")
		failed.extend([] if answer.get("translatedText") == terms[text] else [f"a glossary: {status} {answer} instead of {terms[text]}"])
		answers.append(1)
		await asyncio.sleep(2 * args.pause)


async def ask_until_end(port, ends, answers):
	"""A client of a server that is going to end: each request that was sent before the signal must get its answer."""
	draw = random.Random(id(answers) + len(answers))
	try:
		connection = await asyncio.open_connection("127.0.0.1", port)
		while True:
			sent, text = time.monotonic(), draw.choice(lines)
			check(text, *await ask(connection, text))
			answers.append(1)
	except (asyncio.IncompleteReadError, ConnectionError):
		if not ends or sent < ends[0] - 0.05:
			failed.append("a request without an answer")


async def end_under_load(server, port, answers):
	ends = []
	clients = [asyncio.create_task(ask_until_end(port, ends, answers)) for _ in range(16)]
	await asyncio.sleep(5)
	ends.append(time.monotonic())
	server.terminate()
	await asyncio.gather(*clients)


async def watch(server, until, figures):
	while time.monotonic() < until - 1:
		await asyncio.sleep(min(60, max(1, until - 1 - time.monotonic())))
		found = {"listener": 0, "decoder": 0}
		for pid in children(server.pid):
			try:
				found["decoder" if is_decoder(pid) else "listener"] += memory(pid)
			except (OSError, AttributeError):
				pass  # it has ended
		figures.append(found["listener"])
		print(f"listener {found['listener']} KB, decoders {found['decoder']} KB, {len(failed)} wrong answers", flush=True)


def endure():
	with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as glossary:
		glossary.write(f"{lines[0].split()[0]}\tDingsbums\n")
	terms = batch(args.builds[0], "--terms", glossary.name)
	pages = ["".join(f"<p>{line} <b>{line}</b></p>\n" for line in lines[i:i + 20]) for i in range(0, 100, 20)]
	pages = [(page, translate(args.builds[0], page, "--document", "html")) for page in pages]
	server, port = start(args.builds[0], "--glossary", "g=" + glossary.name)
	until = time.monotonic() + 60 * args.minutes
	figures, kills, files, with_terms = [], [], [], []
	more = [strike(server, until, kills), leave(port, until), watch(server, until, figures), send_files(port, until, pages, files),
		use_glossary(port, until, terms, with_terms)]
	args.lines = args.lines or 50
	times, _, _ = asyncio.run(run_load(port, 16, 60 * args.minutes, more))
	asyncio.run(end_under_load(server, port, last := []))
	status = server.wait()
	os.unlink(glossary.name)
	print(f"{len(last)} answers around SIGTERM; {len(times)} answers, {len(files)} files, {len(with_terms)} with a glossary, {sum(kills)} decoders killed, {len(kills) - sum(kills)} reloads, status {status}")
	third = max(1, len(figures) // 3)
	grown = max(figures[-third:]) - max(figures[:third])
	if status or grown > 2000:
		failed.append(f"status {status}, memory of the listener grew by {grown} KB")


expected = batch(args.builds[0])
if args.minutes:
	endure()
else:
	measure()
for line, n in collections.Counter(line.split(" instead of ")[0] for line in failed).most_common(5):
	print(f"FAILED {n} times: {line}")
sys.exit(len(failed) > 0)
