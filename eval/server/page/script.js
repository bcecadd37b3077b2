/* script.js - the page of "werkbank serve": it speaks LibreTranslate's interface like any other client */
"use strict";

const PAUSE_MS = 400; /* without a key, before a request */
const RETRY_MS = 1500;
const N_ALTERNATIVES = 4;

const at = (id) => document.getElementById(id);
const source = at("source"), target = at("target");
let languages = [], settings = {};
let timer = 0;
const running = {}; /* AbortController of the open request for "text" and for "alternatives" */

/* ---- requests ---- */

/* The JSON of an answer. An Error has the sentence to show; its field "later" says that the same request may succeed. */
async function ask(path, body, signal) {
	const options = { signal };
	let answer;

	if (body) {
		options.method = "POST";
		if (!(body instanceof FormData))
			options.headers = { "Content-Type": "application/json" };
		options.body = body instanceof FormData ? body : JSON.stringify(body);
	}
	try {
		answer = await fetch(path, options);
	} catch (e) {
		throw e.name === "AbortError" ? e : new Error("The server cannot be reached.");
	}
	const json = await answer.json().catch(() => null);
	if (answer.ok && json)
		return json;
	const fault = new Error((json && json.error) || `The server answered with status ${answer.status}.`);
	fault.later = answer.status === 429 || answer.status === 503;
	throw fault;
}

function makeRequest(text, more) {
	const body = { q: text, source: at("source-language").value, target: at("target-language").value, ...more };

	if (at("glossary").value)
		body.glossary = at("glossary").value;
	if (at("key").value)
		body.api_key = at("key").value;
	return body;
}

function cancel(purpose) {
	if (running[purpose])
		running[purpose].abort();
	running[purpose] = null;
}

/*
 * Sends a request in place of the open one for the same purpose. Returns null after a failure, which is shown, or if
 * a later request replaced this one.
 */
async function translate(purpose, text, more) {
	cancel(purpose);
	const mine = running[purpose] = new AbortController();
	showStatus("Translating …");
	try {
		return await ask("translate", makeRequest(text, more), mine.signal);
	} catch (e) {
		if (mine !== running[purpose])
			return null;
		showError(e.message);
		if (e.later && purpose === "text")
			schedule(RETRY_MS);
		return null;
	} finally {
		if (mine === running[purpose])
			running[purpose] = null;
	}
}

/* ---- what the page shows ---- */

function showStatus(text) {
	at("status").textContent = text;
	at("error").textContent = "";
}

function showError(text) {
	at("status").textContent = "";
	at("error").textContent = text;
}

function showTranslation(text) {
	target.value = text;
	at("copy").disabled = !text;
}

function languageName(code) {
	const known = languages.find((l) => l.code === code);

	try {
		return known && known.name !== code ? known.name : new Intl.DisplayNames("en", { type: "language" }).of(code);
	} catch (e) {
		return code;
	}
}

function fillSelect(select, options) {
	const was = select.value;

	select.replaceChildren(...options.map(([value, name]) => new Option(name, value)));
	if (options.some(([value]) => value === was))
		select.value = was;
}

/* The glossaries for these languages. */
function updateGlossaries(from, to) {
	const known = (settings.glossaries || []).filter((g) => g.target === to && (from === "auto" || g.source === from));

	fillSelect(at("glossary"), [["", "none"], ...known.map((g) => [g.name, g.name])]);
	at("glossary-field").hidden = !known.length;
}

/* The target languages of the chosen source; does the other direction exist too? */
function updateLanguages() {
	const code = at("source-language").value;
	const codes = new Set(languages.filter((l) => code === "auto" || l.code === code).flatMap((l) => l.targets));

	fillSelect(at("target-language"), [...codes].map((c) => [c, languageName(c)]));
	const other = languages.find((l) => l.code === at("target-language").value);
	at("swap").disabled = !other || !other.targets.includes(code);
	source.lang = code === "auto" ? "" : code;
	target.lang = at("target-language").value;
	at("detected").textContent = "";
	updateGlossaries(code, at("target-language").value);
}

/* ---- the translation of the text ---- */

async function translateText() {
	const text = source.value;

	clearTimeout(timer);
	at("alternatives").hidden = true;
	at("alternatives-button").disabled = !text.trim();
	cancel("alternatives");
	if (!text.trim()) {
		cancel("text");
		showTranslation("");
		showStatus("");
		return;
	}
	const answer = await translate("text", text);
	if (!answer)
		return;
	showTranslation(answer.translatedText);
	at("detected").textContent = answer.detectedLanguage ? `detected: ${languageName(answer.detectedLanguage.language)}` : "";
	showStatus("Translated.");
}

function schedule(ms) {
	clearTimeout(timer);
	timer = setTimeout(translateText, ms);
}

/* ---- alternatives of a sentence ---- */

/* The sentence of the source text that has the cursor. */
function sentenceAtCursor() {
	const text = source.value, cursor = source.selectionStart;
	const first = text.lastIndexOf("\n", cursor - 1) + 1;
	const line = text.slice(first).split("\n", 1)[0];
	const language = at("source-language").value;
	let found = line;

	if (window.Intl && Intl.Segmenter)
		for (const s of new Intl.Segmenter(language === "auto" ? undefined : language, { granularity: "sentence" }).segment(line))
			if (s.index === 0 || first + s.index <= cursor)
				found = s.segment;
	return found.trim();
}

/* A list entry; a version that can replace the present one is a button. */
function alternativeEntry(text, present) {
	const entry = document.createElement("li");
	const button = document.createElement("button");

	button.type = "button";
	button.dir = "auto";
	button.textContent = text;
	button.disabled = !target.value.includes(present);
	button.addEventListener("click", () => {
		showTranslation(target.value.replace(present, () => text));
		at("alternatives").hidden = true;
		showStatus("The sentence was replaced.");
		target.focus();
	});
	entry.append(button);
	return entry;
}

async function showAlternatives() {
	const sentence = sentenceAtCursor();

	if (!sentence) {
		showError("There is no sentence at the cursor.");
		return;
	}
	const answer = await translate("alternatives", sentence, { alternatives: N_ALTERNATIVES });
	if (!answer)
		return;
	at("sentence").textContent = sentence;
	at("list").replaceChildren(...answer.alternatives.map((text) => alternativeEntry(text, answer.translatedText)));
	at("alternatives").hidden = false;
	showStatus(answer.alternatives.length ? `${answer.alternatives.length} alternatives.` : "The model has no alternative.");
	at("alternatives").scrollIntoView({ block: "nearest" });
}

/* ---- files, copies, languages ---- */

/* Sends a document; its translation is a link. */
async function translateFile(file) {
	const form = new FormData();

	cancel("file");
	at("file-result").hidden = true;
	if (file.size > settings.fileBytes) {
		showError(`${file.name} has more than ${settings.fileBytes} bytes.`);
		return;
	}
	for (const [name, value] of Object.entries(makeRequest(null, {})))
		if (value)
			form.set(name, value);
	form.set("file", file);
	const mine = running.file = new AbortController();
	showStatus(`Translating ${file.name} …`);
	at("status").scrollIntoView({ block: "nearest" }); /* on a phone it is below the screen */
	try {
		const answer = await ask("translate_file", form, mine.signal);
		const name = decodeURIComponent(answer.translatedFileUrl.split("/").pop());

		at("download").href = "download_file/" + name;
		at("download").textContent = "Download " + name.replace(/^[^.]*\./, "");
		at("file-result").hidden = false;
		showStatus(`${file.name} is translated.`);
		at("file-result").scrollIntoView({ block: "nearest" });
	} catch (e) {
		if (mine === running.file)
			showError(e.message);
	}
}

async function openFile(file) {
	const ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
	let text;

	if (settings.supportedFilesFormat.includes(ending) && !/^\.te?xt$/.test(ending)) {
		translateFile(file);
		return;
	}

	try {
		text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
	} catch (e) {
		showError(`${file.name} is not a text file in UTF-8.`);
		return;
	}
	if (text.includes("\0") || [...text].length > settings.charLimit) {
		showError(text.includes("\0") ? `${file.name} is not a text file.` : `${file.name} has more than ${settings.charLimit} characters.`);
		return;
	}
	source.value = text;
	translateText();
}

async function copyTranslation() {
	try {
		await navigator.clipboard.writeText(target.value);
	} catch (e) { /* pages without TLS have no clipboard */
		target.select();
		document.execCommand("copy");
	}
	showStatus("Copied.");
}

function swapLanguages() {
	const from = at("source-language").value, to = at("target-language").value;

	at("source-language").value = to;
	updateLanguages();
	at("target-language").value = from;
	updateLanguages();
	if (target.value)
		source.value = target.value;
	translateText();
}

async function start() {
	try {
		[settings, languages] = await Promise.all([ask("frontend/settings"), ask("languages")]);
	} catch (e) {
		showError(e.message);
	}
	if (!languages.length) {
		setTimeout(start, RETRY_MS);
		return;
	}
	showError("");
	at("key-field").hidden = !settings.keyRequired;
	at("file").accept = [".txt", ...settings.supportedFilesFormat].join();
	fillSelect(at("source-language"), [...languages.map((l) => [l.code, l.name]), ["auto", "Detect the language"]]);
	updateLanguages();
	if (source.value)
		translateText();
}

source.addEventListener("input", () => schedule(PAUSE_MS));
at("key").addEventListener("input", () => schedule(PAUSE_MS));
at("glossary").addEventListener("change", translateText);
for (const id of ["source-language", "target-language"])
	at(id).addEventListener("change", () => { updateLanguages(); translateText(); });
at("swap").addEventListener("click", swapLanguages);
at("copy").addEventListener("click", copyTranslation);
at("alternatives-button").addEventListener("click", showAlternatives);
at("file").addEventListener("click", (e) => { e.target.value = ""; }); /* the same file may be chosen again */
at("file").addEventListener("change", (e) => { if (e.target.files.length) openFile(e.target.files[0]); });
source.addEventListener("dragover", (e) => { e.preventDefault(); source.classList.add("dropping"); });
source.addEventListener("dragleave", () => source.classList.remove("dropping"));
source.addEventListener("drop", (e) => {
	source.classList.remove("dropping");
	if (!e.dataTransfer.files.length)
		return; /* selected text: the browser inserts it */
	e.preventDefault();
	openFile(e.dataTransfer.files[0]);
});
start();
