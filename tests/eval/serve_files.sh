#!/bin/sh
# serve_files.sh - files in "werkbank serve": each kind equals "werkbank translate FILE", hostile forms, limits, what is kept how long.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-serve-files-XXXXXX")
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
WERKBANK_SHARE=$srcdir/share
export WERKBANK_SHARE
unset WERKBANK_HOME WERKBANK_RUN LISTEN_FDS LISTEN_PID NOTIFY_SOCKET
command -v curl >/dev/null || { skip "files in werkbank serve" "there is no curl"; tally; exit; }
wb=$top/werkbank
model=$srcdir/tests/golden/release/run/checkpoints/12
corpus=$srcdir/tests/fuzz/corpus/document

# serve OPTIONS... : starts a server on a free port, waits until it is ready, sets server and port
serve() {
	: >"$tmp/log"
	"$wb" serve --listen 127.0.0.1:0 --model en-de="$model" --threads 1 "$@" >"$tmp/log" 2>&1 &
	server=$!
	for _ in $(seq 300); do
		port=$(sed -n 's/.*ready on http:\/\/127\.0\.0\.1:\([0-9]*\).*/\1/p' "$tmp/log")
		[ -z "$port" ] || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	not_ok "the server is ready" "$(tail -n 3 "$tmp/log")"
	tally
	exit 1
}
stop() {
	kill -TERM "$server"
	wait "$server"
	same "$1" "$?" 0
	server=
}
# ask PATH OPTIONS... : status and body of a request
ask() {
	path=$1
	shift
	curl -sS -m 60 -o "$tmp/body" -w '%{http_code} ' "http://127.0.0.1:$port$path" "$@" 2>&1
	cat "$tmp/body"
}
# file_path : the path of the translated file in the last body
file_path() { sed 's/\\//g; s/.*translatedFileUrl":"http:\/\/[^/]*//; s/".*//' "$tmp/body"; }
# upload FILE OPTIONS... : status of a file
upload() {
	file=$1
	shift
	ask /translate_file -F "file=@$file" -F source=en -F target=de "$@"
}

serve
ask /frontend/settings >"$tmp/settings"
holds "settings: files" '"filesTranslation":true,"supportedFilesFormat":\[".txt",.*".html",.*".po",' "$tmp/settings"
for kind in html md po srt xlf tmx docx; do
	case $kind in
	xlf | tmx | docx) grep -q '".xlf"' "$tmp/settings" || continue ;;
	esac
	tail -c +2 "$corpus/$kind" >"$tmp/in.$kind"
	"$wb" translate -q -m "$model" --threads 1 "$tmp/in.$kind" -o "$tmp/want.$kind" 2>"$tmp/err"
	upload "$tmp/in.$kind" >"$tmp/status"
	curl -sS -m 20 -D "$tmp/head" -o "$tmp/got" "http://127.0.0.1:$port$(file_path)"
	if cmp "$tmp/got" "$tmp/want.$kind" >"$tmp/out" 2>&1; then ok "$kind: as werkbank translate"; else not_ok "$kind: as werkbank translate" "$(cat "$tmp/status" "$tmp/out")"; fi
done
holds "the name of the download" '^Content-Disposition: attachment; filename="in_de\.' "$tmp/head"
holds "... which no browser shows as a page" '^Content-Type: application/octet-stream' "$tmp/head"
says "... behind two proxies" 0 '^200 .*:"https:(\\/|/)+127' upload "$tmp/in.html" -H 'X-Forwarded-Proto: https , http' -H 'X-Forwarded-Proto: http'
says "the address has the host and the scheme of the client" 0 '^200 .*:"https:(\\/|/)+127' upload "$tmp/in.html" -H 'X-Forwarded-Proto: https'
upload "$tmp/in.html" -F "more=@$tmp/in.md" >"$tmp/status"
holds "refused: two files" '^400 .*several files' "$tmp/status"
ask /translate_file -H 'Content-Type: multipart/form-data' --data-binary @"$tmp/in.html" >"$tmp/status"
holds "refused: no boundary" '^400 .*boundary' "$tmp/status"
ask /translate_file -F "file=@$tmp/in.html;filename=\"../../etc/a b;c.html\"" -F source=en -F target=de >"$tmp/status"
same "a name with blanks, quotes and folders" "$(file_path | sed 's/.*\/[0-9a-f]*\.//')" 'a_b_c_de.html'
ask /translate_file -F "file=@$tmp/in.html;filename=größe.html" -F source=en -F target=de >"$tmp/status"
same "a name with other letters, in the address" "$(file_path | sed 's/.*\/[0-9a-f]*\.//')" 'gr%C3%B6%C3%9Fe_de.html'
curl -sS -m 20 -D "$tmp/head" -o "$tmp/got" "http://127.0.0.1:$port$(file_path)"
holds "... and of the download" "filename=\"gr_e_de.html\"; filename\*=UTF-8''gr%C3%B6%C3%9Fe_de.html" "$tmp/head"
says "refused: a kind that is not known" 0 '^400 .*file format not supported' ask /translate_file -F "file=@$tmp/in.html;filename=a.pdf" -F source=en -F target=de
says "refused: no file" 0 '^400 .*missing file' ask /translate_file -F source=en -F target=de
says "refused: no target" 0 '^400 .*missing target' ask /translate_file -F "file=@$tmp/in.html" -F source=en
says "refused: no such direction" 0 '^400 .*not supported' ask /translate_file -F "file=@$tmp/in.html" -F source=en -F target=fr
printf 'a\377b' >"$tmp/bad.html"
says "refused: not in UTF-8" 0 '^400 .*"the file is not in UTF-8: convert' upload "$tmp/bad.html"
printf 'PK\003\004' >"$tmp/bad.docx"
says "refused: a damaged archive" 0 '^400 .*damaged' upload "$tmp/bad.docx"
printf '<p>a</p>' >"$tmp/few.html"
for form in '--X\r\nContent-Disposition: form-data; name="file"; filename="a.html"\r\n\r\na' '--X\r\n\r\na\r\n--X--' '--Y\r\n\r\na\r\n--Y--' '--X' '--X\r\nContent-Disposition: form-data; name="q\r\n\r\na\r\n--X--'; do
	printf '%b' "$form" >"$tmp/form"
	says "refused form: $(wc -c <"$tmp/form") bytes" 0 '^400 .*"error"' ask /translate_file -H 'Content-Type: multipart/form-data; boundary=X' --data-binary @"$tmp/form"
done
says "a form with parts for texts, too" 0 '^200 .*translatedText' ask /translate -F q='A dog.' -F source=en -F target=de
printf '' >"$tmp/empty.html"
upload "$tmp/empty.html" >"$tmp/status"
holds "an empty file" '^200 ' "$tmp/status"
same "... stays empty" "$(curl -sS -m 20 "http://127.0.0.1:$port$(file_path)" | wc -c)" 0
says "a name that was never given" 0 '^404 ' ask /download_file/00000000000000000000000000000000.a
says "a path instead of a name" 0 '^404 ' ask /download_file/../../etc/passwd --path-as-is
# more sentences, segments or tags than a decoder has memory for
yes a | head -n 100001 >"$tmp/many.txt"
says "refused: too many lines" 0 '^413 .*more than 100000 segments' upload "$tmp/many.txt"
yes 'a. B' | head -n 100001 | tr '\n' ' ' >"$tmp/many.txt"
says "refused: too many sentences of a line" 0 '^413 .*sentences; at most 100000' upload "$tmp/many.txt"
yes '<b>' | head -n 400001 >"$tmp/many.html"
echo a >>"$tmp/many.html"
says "refused: too many tags" 0 '^413 .*400000 tags' upload "$tmp/many.html"
# texts of others while a long file is translated
yes '<p>A dog runs to the house and sleeps in the garden.</p>' | head -n 3000 >"$tmp/long.html"
upload "$tmp/long.html" >"$tmp/long.status" &
long=$!
sleep 1
says "a text while a long file is translated" 0 '^200 ' ask /translate -d q='A dog.' -d source=en -d target=de
if kill -0 "$long" 2>/dev/null; then ok "... before its end"; else ok "... or after it"; fi
kill "$long" 2>/dev/null
wait "$long" 2>/dev/null
says "afterwards" 0 '^200 ' upload "$tmp/few.html"

# ---- DeepL: three calls ----
ask /v2/document -F "file=@$tmp/in.html" -F target_lang=DE >"$tmp/status"
holds "DeepL: a document" '^200 ."document_id":"[0-9a-f]{32}","document_key":"[0-9a-f]{32}"' "$tmp/status"
id=$(sed 's/.*document_id":"//; s/".*//' "$tmp/body")
key=$(sed 's/.*document_key":"//; s/".*//' "$tmp/body")
for _ in $(seq 100); do ask "/v2/document/$id" -d document_key="$key" | grep -q '"done"' && break; sleep 0.1; done
holds "... its state" '"status":"done","billed_characters":[1-9]' "$tmp/body"
says "... not with another key" 0 '^404 ' ask "/v2/document/$id/result" -d document_key=00000000000000000000000000000000
curl -sS -m 20 -o "$tmp/got" "http://127.0.0.1:$port/v2/document/$id/result" -d document_key="$key"
if cmp "$tmp/got" "$tmp/want.html" >"$tmp/out" 2>&1; then ok "... its bytes"; else not_ok "... its bytes" "$(cat "$tmp/out")"; fi
says "... once" 0 '^404 ' ask "/v2/document/$id/result" -d document_key="$key"
ask /v2/document -F "file=@$tmp/bad.html" -F target_lang=DE >"$tmp/status"
id=$(sed 's/.*document_id":"//; s/".*//' "$tmp/body")
key=$(sed 's/.*document_key":"//; s/".*//' "$tmp/body")
for _ in $(seq 100); do ask "/v2/document/$id" -d document_key="$key" | grep -q '"error"' && break; sleep 0.1; done
holds "DeepL: a document that cannot be read" '"status":"error","error_message":".*UTF-8' "$tmp/body"
says "DeepL: no file" 0 '^400 ."message"' ask /v2/document -F target_lang=DE

# ---- a decoder that is killed or replaced during a document ----
head -n 400 "$tmp/long.html" >"$tmp/part.html"
"$wb" translate -q -m "$model" --threads 1 "$tmp/part.html" -o "$tmp/want.html" 2>"$tmp/err"
decoder() { pgrep -P "$server" -f 'translate --serve' | tail -n 1; }
for event in KILL HUP; do
	ask /v2/document -F "file=@$tmp/part.html" -F target_lang=DE >"$tmp/status"
	id=$(sed 's/.*document_id":"//; s/".*//' "$tmp/body")
	key=$(sed 's/.*document_key":"//; s/".*//' "$tmp/body")
	for _ in $(seq 100); do ask "/v2/document/$id" -d document_key="$key" | grep -q '"translating"\|"done"' && break; sleep 0.05; done
	case $event in
	KILL) kill -KILL "$(decoder)" ;;
	HUP) kill -HUP "$server" ;;
	esac
	says "SIG$event during a document: a text" 0 '^200 ' ask /translate -d q='A dog.' -d source=en -d target=de
	for _ in $(seq 600); do ask "/v2/document/$id" -d document_key="$key" | grep -q '"done"\|"error"' && break; sleep 0.1; done
	curl -sS -m 20 -o "$tmp/got" "http://127.0.0.1:$port/v2/document/$id/result" -d document_key="$key"
	if cmp "$tmp/got" "$tmp/want.html" >"$tmp/out" 2>&1; then ok "... and the document"; else not_ok "... and the document" "$(cat "$tmp/out" "$tmp/body")"; fi
done

# ---- archives that are much larger than they look ----
if command -v python3 >/dev/null && grep -q '"tmx"\|".tmx"' "$tmp/settings"; then
	cat >"$tmp/bombs.py" <<'END'
import sys, zipfile
xml = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>%s</w:body></w:document>'
def write(name, members):
	with zipfile.ZipFile(sys.argv[1] + "/" + name + ".docx", "w", zipfile.ZIP_DEFLATED) as z:
		for member, text in members:
			z.writestr(member, text)
write("large", [("word/document.xml", xml % (" " * (65 << 20)))])
write("many", [("word/document.xml", xml % "")] + [("word/header%d.xml" % i, xml % (" " * (30 << 20))) for i in range(5)])
write("paragraphs", [("word/document.xml", xml % ("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 200000))])
write("deep", [("word/document.xml", xml % ("<w:p>" * 1000000))])
inner = open(sys.argv[1] + "/large.docx", "rb").read()
write("nested", [("word/document.xml", xml % "<w:p><w:r><w:t>A dog.</w:t></w:r></w:p>"), ("word/embeddings/x.docx", inner)])
END
	python3 "$tmp/bombs.py" "$tmp"
	says "an archive with a large member" 0 '^400 .*more than 64 MiB' upload "$tmp/large.docx"
	says "an archive whose members are large together" 0 '^400 .*128 MiB together' upload "$tmp/many.docx"
	says "an archive with many paragraphs" 0 '^413 .*segments' upload "$tmp/paragraphs.docx"
	says "an archive with deep elements" 0 '^(400|413) ' upload "$tmp/deep.docx"
	says "an archive within an archive is copied" 0 '^200 ' upload "$tmp/nested.docx"
	curl -sS -m 20 -o "$tmp/got" "http://127.0.0.1:$port$(file_path)"
	same "... as it is" "$(python3 -c 'import sys, zipfile; a, b = (zipfile.ZipFile(x).read("word/embeddings/x.docx") for x in sys.argv[1:]); print(a == b)' "$tmp/got" "$tmp/nested.docx")" True
	same "the decoder has not ended" "$(ask /metrics | grep -c '^werkbank_decoder_deaths_total.* 1$')" 1
fi

# ---- many uploads that never end ----
printf 'POST /translate_file HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=X\r\nContent-Length: 10000000\r\n\r\n--X\r\n' >"$tmp/slow"
slow=
for _ in $(seq 64); do
	"$top/tests/raw_client" "$port" <"$tmp/slow" 2>&1 | sed -n '1s/\r//p' >>"$tmp/slow.status" &
	slow="$slow $!"
done
sleep 1
says "64 slow uploads: a text" 0 '^200 ' ask /translate -d q='A dog.' -d source=en -d target=de
says "... a file" 0 '^200 ' upload "$tmp/few.html"
# shellcheck disable=SC2086 # a list of numbers
wait $slow
same "... those that have room are ended as slow" "$(grep -c '408 Request Timeout' "$tmp/slow.status")" 3
same "... the others are refused" "$(grep -c '503 Service Unavailable' "$tmp/slow.status")" 61
stop "SIGTERM ends the server"

# ---- a third language ----
serve de-fr="$model"
"$wb" translate -q -m "$model" --threads 1 "$tmp/in.html" -o "$tmp/first.html" 2>"$tmp/err"
"$wb" translate -q -m "$model" --threads 1 "$tmp/first.html" -o "$tmp/want.html" 2>"$tmp/err"
ask /translate_file -F "file=@$tmp/in.html" -F source=en -F target=fr >"$tmp/status"
curl -sS -m 20 -o "$tmp/got" "http://127.0.0.1:$port$(file_path)"
if cmp "$tmp/got" "$tmp/want.html" >"$tmp/out" 2>&1; then ok "a file by way of a third language"; else not_ok "a file by way of a third language" "$(cat "$tmp/out" "$tmp/status")"; fi
same "... its name" "$(file_path | sed 's/.*\.\(.*\.\)/\1/')" 'in_fr.html'
says "a file has no language of its own" 0 '^400 .*not detected' ask /translate_file -F "file=@$tmp/in.html" -F source=auto -F target=fr
stop "SIGTERM ends the server of two models"

# ---- limits ----
printf 'correct-key\n' >"$tmp/keys"
chmod 600 "$tmp/keys"
serve --file-bytes 1000 --key-file "$tmp/keys"
says "no key" 0 '^400 .*needs a key' upload "$tmp/few.html"
says "a key" 0 '^200 ' upload "$tmp/few.html" -F api_key=correct-key
head -c 2000 "$tmp/long.html" >"$tmp/above.html"
says "a file above the limit" 0 '^413 .*at most 1000' upload "$tmp/above.html" -F api_key=correct-key
head -c 200000 "$tmp/long.html" >"$tmp/above.html"
says "a body above the limit" 0 '^413 ' upload "$tmp/above.html" -F api_key=correct-key
stop "SIGTERM ends the server with limits"
serve --file-bytes 0
says "--file-bytes 0: no files" 0 '^403 .*disabled' upload "$tmp/few.html"
says "... and none in the settings" 0 '"filesTranslation":false,"supportedFilesFormat":\[\]' ask /frontend/settings
stop "SIGTERM ends the server without files"
tally
