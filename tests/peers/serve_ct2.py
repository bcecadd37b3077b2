#!/usr/bin/env python3
"""serve_ct2.py - CTranslate2 behind a minimal server with LibreTranslate's /translate, a peer of "werkbank serve" for serve_load.py.

	werkbank export -m MODEL --format ctranslate2 -o FOLDER
	python3 tests/peers/serve_load.py MODEL TEXT BUILD ct2:FOLDER     (with a Python that has ctranslate2)

serve_load.py starts it. Texts that wait while the model works are translated as one batch, at most 64. Tokens of each text are
known before the start, and answers are tokens, so that neither tokenising nor detokenising in Python costs it time.
"""
import asyncio
import json
import sys

import ctranslate2

folder, table, kind, beam, alpha, threads = sys.argv[1:7]
model = ctranslate2.Translator(folder, device="cpu", compute_type=kind, inter_threads=1, intra_threads=int(threads))
with open(table, encoding="utf-8") as file:
	tokens = json.load(file)
waiting = asyncio.Queue()


def translate(texts):
	got = model.translate_batch([tokens[t] for t in texts], beam_size=int(beam), length_penalty=float(alpha), max_batch_size=64)
	return [" ".join(r.hypotheses[0]) for r in got]


async def work():
	while True:
		batch = [await waiting.get()]
		while len(batch) < 64 and not waiting.empty():
			batch.append(waiting.get_nowait())
		answers = await asyncio.get_running_loop().run_in_executor(None, translate, [text for text, _ in batch])
		for (_, future), answer in zip(batch, answers):
			if not future.done():
				future.set_result(answer)


async def serve(read, write):
	try:
		while True:
			head = (await read.readuntil(b"\r\n\r\n")).lower()
			length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
			text = json.loads(await read.readexactly(length))["q"]
			future = asyncio.get_running_loop().create_future()
			waiting.put_nowait((text, future))
			body = json.dumps({"translatedText": await future}).encode()
			write.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
	except (asyncio.IncompleteReadError, ConnectionError):
		write.close()


async def main():
	server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
	print(f"ready on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)
	await work()


asyncio.run(main())
