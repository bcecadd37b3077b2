#!/bin/sh
# serve_http.sh - "werkbank serve": its interfaces by curl, hostile requests, many clients, reload and end.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-serve-http-XXXXXX")
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
WERKBANK_SHARE=$srcdir/share
export WERKBANK_SHARE
unset WERKBANK_HOME WERKBANK_RUN LISTEN_FDS LISTEN_PID NOTIFY_SOCKET
command -v curl >/dev/null || { skip "werkbank serve" "there is no curl"; tally; exit; }
wb=$top/werkbank

"$wb" import "$srcdir/tests/golden/import/marianmt" -o "$tmp/model" >"$tmp/out" 2>&1 || { not_ok "a model" "$(tail -n 1 "$tmp/out")"; tally; exit 1; }
set -- --threads 1 --max-length-factor 0.1 --max-length-extra 12 --beam 2

# serve OPTIONS... : starts a server on a free port, waits until it is ready, sets server and port
serve() {
	: >"$tmp/log"
	"$wb" serve --listen 127.0.0.1:0 --model en-de="$tmp/model" "$@" >"$tmp/log" 2>&1 &
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
# stop NAME : SIGTERM, and the exit status
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
	curl -sS -m 60 -o "$tmp/body" -w '%{http_code}' "http://127.0.0.1:$port$path" "$@" >"$tmp/status" 2>"$tmp/err" || echo " curl $?" >>"$tmp/status"
	printf '%s ' "$(cat "$tmp/status")"
	cat "$tmp/body"
}
json='Content-Type: application/json'

# lines with a translation
cut -f 1 "$srcdir/tests/golden/import/marianmt.tsv" | grep . >"$tmp/all"
"$wb" translate --quiet --model "$tmp/model" "$@" "$tmp/all" 2>"$tmp/err" | paste "$tmp/all" - | grep -E '^[A-Za-z].*	.' >"$tmp/both"
cut -f 1 "$tmp/both" >"$tmp/text"
cut -f 2- "$tmp/both" >"$tmp/batch"
one=$(sed -n 1p "$tmp/batch")
two=$(sed -n 2p "$tmp/batch")
first=$(sed -n 1p "$tmp/text")
second=$(sed -n 2p "$tmp/text")
printf '%s\n' "$first" >"$tmp/one"
printf '%s\tntk\n' "${first%% *}" >"$tmp/terms"
quoted() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g; s/\//\\\//g'; }
# plain JSON, however a slash and CR are written
unslash() { sed 's/\\\//\//g; s/\\u000d/\\r/g'; }
serve "$@"

# ---- LibreTranslate's interface ----
same "health" "$(ask /health)" '200 {"status":"ok"}'
same "languages" "$(ask /languages)" '200 [{"code":"en","name":"English","targets":["de"]}]'
same "GET, as OmegaT's plug-in sends it" "$(ask /translate -G --data-urlencode "q=$first" -d source=en -d target=de | unslash)" "200 {\"translatedText\":\"$(quoted "$one" | unslash)\"}"
same "a form" "$(ask /translate --data-urlencode "q=$first" -d source=en -d target=de | unslash)" "200 {\"translatedText\":\"$(quoted "$one" | unslash)\"}"
printf '{"q":["%s","%s\\n\\n  %s\\r\\n"],"source":"en","target":"de"}' "$(quoted "$first")" "$(quoted "$first")" "$(quoted "$second")" >"$tmp/list"
same "a list of texts with several lines" "$(ask /translate -H "$json" --data-binary @"$tmp/list" | unslash)" \
	"200 {\"translatedText\":[\"$(quoted "$one" | unslash)\",\"$(quoted "$one" | unslash)\\n\\n  $(quoted "$two" | unslash)\\r\\n\"]}"
same "an empty text and an empty list" "$(ask /translate -H "$json" -d '{"q":["",""],"source":"en","target":"de"}')$(ask /translate -H "$json" -d '{"q":[],"source":"en","target":"de"}')" \
	'200 {"translatedText":["",""]}200 {"translatedText":[]}'
says "source auto" 0 '^200 \{"detectedLanguage":\{"confidence":(100|[5-9][0-9]),"language":"en"\},"translatedText":' ask /translate -d "q=The dog is here." -d source=auto -d target=de
says "... a text in no such language" 0 '^200 \{"detectedLanguage":\{"confidence":0,"language":"en"\},' ask /translate -d "q=La maison est dans la rue." -d source=auto -d target=de
says "... a text in the target language stays" 0 '^200 .*"language":"de"\},"translatedText":"Der Hund ist unter dem Tisch\.  Ja\."\}$' ask /translate -d "q=Der Hund ist unter dem Tisch.  Ja." -d source=auto -d target=de -d alternatives=0
says "... with DeepL's interface" 0 '^200 .*"detected_source_language":"DE","text":"Der Hund ist unter dem Tisch\."' ask /v2/translate -d "text=Der Hund ist unter dem Tisch." -d target_lang=DE
# source and target are one language: the text stays, as LibreTranslate answers
for languages in en:en de:de en-GB:EN-gb; do
	same "$languages: the text stays" "$(ask /translate -d "q=The  dog. " -d source="${languages%:*}" -d target="${languages#*:}")" '200 {"translatedText":"The  dog. "}'
done
same "... a list with mark-up and alternatives" "$(ask /translate -H "$json" -d '{"q":["<b>a</b>","b"],"source":"en","target":"en","format":"html","alternatives":2}' | unslash)" '200 {"alternatives":[[],[]],"translatedText":["<b>a</b>","b"]}'
says "... a language of no model" 0 '^400 .*fr to fr is not supported' ask /translate -d q=a -d source=fr -d target=fr
says "alternatives" 0 '^200 \{"alternatives":\[".*\],"translatedText":' ask /translate --data-urlencode "q=$first" -d source=en -d target=de -d alternatives=3
says "detect" 0 '^200 \[\{"confidence":(100|[5-9][0-9]),"language":"en"\},\{"confidence":[0-9],"language":"de"\}\]' ask /detect -d "q=The dog sleeps under the table."
for q in 5 '{"a":1}' '["a",5]'; do
	says "detect: no text: $q" 0 '^400 \{"error":"q must be a ' ask /detect -H "$json" -d "{\"q\":$q}"
done
says "detect: an empty text" 0 '^400 \{"error":"Invalid request: missing q parameter"\}$' ask /detect -d q=
says "detect: a text without letters" 0 '^200 \[\{"confidence":0,"language":"en"\},\{"confidence":0,"language":"de"\}\]$' ask /detect -d 'q= 12 + 3 '
says "detect: the other language" 0 '^200 \[\{"confidence":(100|[5-9][0-9]),"language":"de"\}' ask /detect -d "q=Der Hund ist unter dem Tisch."
says "settings" 0 '"charLimit":20000.*"keyRequired":false' ask /frontend/settings
same "a regional code" "$(ask /translate --data-urlencode "q=$first" -d source=en-GB -d target=DE | unslash)" "200 {\"translatedText\":\"$(quoted "$one" | unslash)\"}"
for request in 'missing q|-d source=en' 'missing source|-d q=a' 'missing target|-d q=a -d source=en' 'en to fr is not supported|-d q=a -d source=en -d target=fr' \
	'pdf format is not supported|-d q=a -d source=en -d target=de -d format=pdf' 'alternatives must be|-d q=a -d source=en -d target=de -d alternatives=99' \
	'alternatives must be|-d q=a -d source=en -d target=de -d alternatives=x' '%-escape|-d q=%' 'NUL|-d q=%00' 'valid UTF-8|-d q=%ff'; do
	# shellcheck disable=SC2086 # words
	says "refused: ${request%%|*}" 0 "^400 .\"error\":\".*${request%%|*}" ask /translate ${request#*|}
done
says "refused: a number as text" 0 '^400 .*q must be' ask /translate -H "$json" -d '{"q":7,"source":"en","target":"de"}'
for name in format source target glossary; do
	says "refused: $name is a number" 0 "^400 .\"error\":\"$name must be a text\"" ask /translate -H "$json" -d "$(printf '{"q":"a","source":"en","target":"de","format":"text"}' | sed "s/\"$name\":\"[a-z]*\"/\"$name\":5/; t; s/}/,\"$name\":5}/")"
done
for name in target_lang source_lang glossary_id; do
	says "DeepL: refused: $name is a number" 0 "^400 .\"message\":\"$name must be a text\"" ask /v2/translate -H "$json" -d "$(printf '{"text":["a"],"target_lang":"DE"}' | sed "s/\"$name\":\"[A-Z]*\"/\"$name\":5/; t; s/}/,\"$name\":5}/")"
done
says "refused: JSON that ends too early" 0 '^400 .*Invalid request' ask /translate -H "$json" -d '{"q":"a"'
says "refused: a list as body" 0 '^400 .*must be an object' ask /translate -H "$json" -d '[]'
printf '{"q":"\377"}' >"$tmp/bad"
says "refused: JSON with invalid UTF-8" 0 '^400 .*valid UTF-8' ask /translate -H "$json" --data-binary @"$tmp/bad"
printf '{"q":"\\u0000","source":"en","target":"de"}' >"$tmp/bad"
says "a NUL character in JSON becomes a mark" 0 '^200 ' ask /translate -H "$json" --data-binary @"$tmp/bad"
{ printf '{"q":'; head -c 100000 /dev/zero | tr '\0' '['; } >"$tmp/bad"
says "refused: deep JSON" 0 '^400 .*Invalid request' ask /translate -H "$json" --data-binary @"$tmp/bad"
says "refused: another type" 0 '^415 ' ask /translate -H 'Content-Type: text/xml' -d '<q/>'
says "refused: too many characters" 0 '^400 .*at most 20000' ask /translate -d "q=$(head -c 30000 /dev/zero | tr '\0' a)" -d source=en -d target=de
says "refused: another method" 0 '^405 ' ask /detect
says "refused: another path" 0 '^404 ' ask /../etc/passwd --path-as-is
says "refused: suggestions" 0 '^403 .*does not offer' ask /suggest -d a=b
says "refused: a name of another server" 0 '^403 .*--host-names' ask /languages -H 'Host: evil.example:80'
says "refused: its page" 0 '^403 ' ask / -H 'Host: evil.example'
says "refused: a host with other characters" 0 '^400 ' ask /languages -H 'Host: 127.0.0.1:1"><x'
for host in "[::1]x" "localhost:1:2"; do
	says "refused: no port: $host" 0 '^403 ' ask /languages -H "Host: $host"
done
says "numbers are no names" 0 '^200 ' ask /languages -H 'Host: [::1]:7'
says "no CORS by default" 0 '' curl -sS -m 20 -D - -o "$tmp/body" -H 'Origin: http://evil' "http://127.0.0.1:$port/languages"
same "... no field" "$(grep -c 'Access-Control' "$tmp/out")" 0

# ---- the page for browsers, HEAD ----
says "the page" 0 '^200 <!DOCTYPE html>' ask /
says "its script" 0 '^200 .. script.js' ask /script.js
says "... and nothing else is allowed to run" 0 "Content-Security-Policy: default-src 'none'; script-src 'self';" curl -sS -m 20 -D - -o "$tmp/body" "http://127.0.0.1:$port/"
curl -sS -m 20 -I "http://127.0.0.1:$port/languages" | tr -d '\r' >"$tmp/head"
holds "HEAD: the status" '^HTTP/1.1 200 OK' "$tmp/head"
holds "... the length of the body" '^Content-Length: [1-9]' "$tmp/head"
same "... no body, and the connection goes on" "$(printf "HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" | timeout 60 "$top/tests/raw_client" "$port" | grep -c ok)" 1
curl -sS -m 20 -D "$tmp/head" -o "$tmp/body" -X DELETE "http://127.0.0.1:$port/v2/usage"
holds "405 lists the methods" '^Allow: GET, HEAD, POST' "$tmp/head"

# ---- DeepL's interface ----
printf '{"text":["%s","%s"],"target_lang":"DE","source_lang":"EN"}' "$(quoted "$first")" "$(quoted "$second")" >"$tmp/list"
same "DeepL: JSON" "$(ask /v2/translate -H "$json" --data-binary @"$tmp/list" | unslash)" \
	"200 {\"translations\":[{\"detected_source_language\":\"EN\",\"text\":\"$(quoted "$one" | unslash)\"},{\"detected_source_language\":\"EN\",\"text\":\"$(quoted "$two" | unslash)\"}]}"
same "DeepL: a form" "$(ask /v2/translate --data-urlencode "text=$first" -d target_lang=DE | unslash)" \
	"200 {\"translations\":[{\"detected_source_language\":\"EN\",\"text\":\"$(quoted "$one" | unslash)\"}]}"
same "DeepL: languages" "$(ask '/v2/languages?type=target')" '200 [{"language":"DE","name":"German","supports_formality":false}]'
same "DeepL: languages, asked by a body" "$(ask /v2/languages -X GET -H "$json" -d '{"type":"target"}')" '200 [{"language":"DE","name":"German","supports_formality":false}]'
says "DeepL: usage" 0 '^200 .*"character_count":[1-9]' ask /v2/usage
says "html: tags stay, without alternatives" 0 '^200 ."alternatives":\[\],"translatedText":"<p>[^"]*<b>[^"]*<(\\/|/)b>[^"]*<(\\/|/)p>"' ask /translate -H "$json" -d '{"q":"<p>The <b>dog</b> is here.</p>","source":"en","target":"de","format":"html","alternatives":1}'
says "DeepL: placeholders as Weblate sends them" 0 '^200 .*"text":"[^"]*<x id=."7."><(\\/|/)x>[^"]*.n[^"]*<x id=."9."><(\\/|/)x>[^"]*"' ask /v2/translate -H "$json" -d '{"text":["The <x id=\"7\"></x> dog.\nA <x id=\"9\"></x> cat."],"source_lang":"EN","target_lang":"DE","formality":"default","tag_handling":"xml","ignore_tags":["x"]}'
says "DeepL: ignored tags with content" 0 '^400 ."message":"Value for .ignore_tags' ask /v2/translate -d 'text=The <x>dog</x>' -d target_lang=DE -d tag_handling=xml -d ignore_tags=x
# xml TEXT OPTIONS... : the translation of a text of XML
xml() {
	text=$1
	shift
	ask /v2/translate --data-urlencode "text=$text" -d source_lang=EN -d target_lang=DE -d tag_handling=xml "$@" | unslash
}
for text in '<code>\nThe dog\nis here.\n</code>' '<t class=notranslate>\nThe dog\n</t>' '<!-- The dog\nis here. -->'; do
	same "xml: nothing to translate on several lines: $text" "$(xml "$(printf '%b' "$text")")" "200 {\"translations\":[{\"detected_source_language\":\"EN\",\"text\":\"$text\"}]}"
done
same "xml: a placeholder is inside its sentence" "$(xml 'The <x id="7"></x> dog is here.' | sed 's/ *<x id[^>]*><.x> */ /; s/ "}/"}/')" "$(ask /v2/translate -d 'text=The dog is here.' -d source_lang=EN -d target_lang=DE | unslash)"
says "DeepL: a list of ignored tags with content" 0 '^400 ."message":"Value for .ignore_tags' xml 'The <x/><y>dog</y>' -d ignore_tags=x,y
says "DeepL: no ignored tags" 0 '^200 ' xml 'The <y>dog</y>' -d ignore_tags=
says "DeepL: too many ignored tags" 0 '^400 .*at most 64' xml 'The dog' -d ignore_tags="$(seq -s , 65)"
says "the words of tags tell no language" 0 '^200 .*"language":"de"\}' ask /translate --data-urlencode 'q=<p class="the" title="is here and"><b class="of">Der Hund ist unter dem Tisch.</b></p>' -d source=auto -d target=de -d format=html
says "DeepL: languages of glossaries" 0 '^200 ."supported_languages":\[\].$' ask /v2/glossary-language-pairs
says "DeepL: refused tags" 0 '^400 ."message":"Value for .tag_handling' ask /v2/translate -d text=a -d target_lang=DE -d tag_handling=md
says "DeepL: refused instructions" 0 '^400 ."message":"Value for .custom_instructions' ask /v2/translate -H "$json" -d '{"text":["a"],"target_lang":"DE","custom_instructions":["Be polite."]}'
says "DeepL: refused style" 0 '^400 ."message":"Value for .style_id' ask /v2/translate -d text=a -d target_lang=DE -d style_id=x
says "DeepL: refused target" 0 '^400 ."message":"Value for .target_lang' ask /v2/translate -d text=a -d target_lang=FR
says "DeepL: refused source" 0 '^400 ."message":"Value for .source_lang' ask /v2/translate -d text=a -d target_lang=DE -d source_lang=FR

# ---- forms of HTTP on which servers differ ----
# raw BYTES : what the server says to these bytes
raw() { printf "$1" | timeout 60 "$top/tests/raw_client" "$port" | sed -n '1s/\r//p'; }
h='Host: localhost\r\n'
body='q=a&source=en&target=de'
n=${#body}
same "two lengths" "$(raw "POST /translate HTTP/1.1\r\n${h}Content-Length: $n\r\nContent-Length: 5\r\n\r\n$body")" 'HTTP/1.1 400 Bad Request'
same "a length and chunks" "$(raw "POST /translate HTTP/1.1\r\n${h}Content-Length: $n\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n$h\r\n")" 'HTTP/1.1 400 Bad Request'
same "chunks" "$(raw "POST /translate HTTP/1.1\r\n${h}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")" 'HTTP/1.1 501 Not Implemented'
same "a line end without CR" "$(raw "GET /health HTTP/1.1\n$h\r\n")" 'HTTP/1.1 400 Bad Request'
same "a blank before the colon" "$(raw "POST /translate HTTP/1.1\r\n${h}Content-Length : $n\r\n\r\n$body")" 'HTTP/1.1 400 Bad Request'
same "NUL in a field" "$(raw "GET /health HTTP/1.1\r\n${h}X: a\\000b\r\n\r\n")" 'HTTP/1.1 400 Bad Request'
same "no Host" "$(raw "GET /health HTTP/1.1\r\n\r\n")" 'HTTP/1.1 400 Bad Request'
same "no length" "$(raw "POST /translate HTTP/1.1\r\n$h\r\n$body")" 'HTTP/1.1 411 Length Required'
same "a body of a gigabyte" "$(raw "POST /translate HTTP/1.1\r\n${h}Content-Length: 1073741824\r\n\r\n$body")" 'HTTP/1.1 413 Content Too Large'
same "TLS" "$(raw '\026\003\001\002\000\001\000\001\374\003\003')" 'HTTP/1.1 400 Bad Request'
same "garbage" "$(raw 'garbage\r\n\r\n')" 'HTTP/1.1 400 Bad Request'
same "endless fields" "$({ printf 'GET / HTTP/1.1\r\n'; yes 'X-Field: 0123456789abcdef' | head -n 100000 | sed 's/$/\r/'; } | "$top/tests/raw_client" "$port" | sed -n '1s/\r//p')" 'HTTP/1.1 431 Request Header Fields Too Large'
same "an endless field" "$({ printf 'GET / HTTP/1.1\r\nX: '; head -c 1000000 /dev/zero | tr '\0' a; } | "$top/tests/raw_client" "$port" | sed -n '1s/\r//p')" 'HTTP/1.1 431 Request Header Fields Too Large'
pipelined="POST /translate HTTP/1.1\r\n${h}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: $n\r\n\r\n${body}GET /health HTTP/1.1\r\n$h\r\nGET /nothing HTTP/1.1\r\n${h}Connection: close\r\n\r\n"
same "requests one after the other" "$(printf "$pipelined" | "$top/tests/raw_client" "$port" | tr -d '\r' | sed -n 's/^.*HTTP\/1.1 \([0-9]*\) .*/\1/p' | tr '\n' ' ')" '200 200 404 '
post="POST /translate HTTP/1.1\r\n${h}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: $n\r\n"
same "two texts one after the other" "$(printf "$post\r\n$body${post}Connection: close\r\n\r\n$body" | timeout 30 "$top/tests/raw_client" "$port" | tr -d '\r' | grep -o 'HTTP/1.1 [0-9]*' | tr '\n' ' ')" 'HTTP/1.1 200 HTTP/1.1 200 '
yes 'the dog runs and' | head -n 600 | tr '\n' ' ' >"$tmp/endless"
says "a sentence that is too long" 0 '^400 .*a sentence of the text is too long' ask /translate --data-urlencode q@"$tmp/endless" -d source=en -d target=de
same "HTTP/1.0" "$(raw 'GET /health HTTP/1.0\r\n\r\n')" 'HTTP/1.1 200 OK'
head -c 1100000 /dev/zero | tr '\0' a >"$tmp/large"
says "a body that is too large" 0 '^413 ' ask /translate --data-binary @"$tmp/large"
begin=$(date +%s)
same "a slow client" "$(printf 'GET /health HTTP/1.1\r\nHost: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' | timeout 60 "$top/tests/raw_client" "$port" 200 | sed -n '1s/\r//p')" 'HTTP/1.1 408 Request Timeout'
seconds=$(($(date +%s) - begin))
if [ "$seconds" -le 25 ]; then ok "... is ended after $seconds s"; else not_ok "... is ended" "after $seconds s"; fi
same "1,500 idle connections leave room" "$(printf "GET /health HTTP/1.1\r\n${h}Connection: close\r\n\r\n" | timeout 60 "$top/tests/raw_client" "$port" 0 1500 | sed -n '1s/\r//p')" 'HTTP/1.1 200 OK'
same "afterwards the server answers" "$(ask /health)" '200 {"status":"ok"}'

# ---- many clients at once: the translations of the batch tool ----
mkdir -p "$tmp/answers"
lines=$(wc -l <"$tmp/text")
# request N TEXT : the answer to TEXT into answers/N
cat >"$tmp/request" <<'END'
curl -sS -m 120 --data-urlencode "q=$2" -d source=en -d target=de "http://127.0.0.1:$port/translate" >"$answers/$1" 2>&1
END
answers=$tmp/answers
export port answers
seq 96 | while read -r i; do printf '%s\0%s\0' "$i" "$(sed -n "$(((i - 1) % lines + 1))p" "$tmp/text")"; done | xargs -0 -P 32 -n 2 sh "$tmp/request"
wrong=0
for i in $(seq 96); do
	want=$(sed -n "$(((i - 1) % lines + 1))p" "$tmp/batch")
	[ "$(unslash <"$tmp/answers/$i")" = "{\"translatedText\":\"$(quoted "$want" | unslash)\"}" ] || wrong=$((wrong + 1))
done
same "32 clients at once: wrong answers" "$wrong" 0
seq 300 | sed "s/.*/$(quoted "$first" | sed 's/[&|]/\\&/g')/" >"$tmp/lines"
ask /translate --data-urlencode q@"$tmp/lines" -d source=en -d target=de >/dev/null
ask /metrics >"$tmp/metrics"
holds "metrics: requests" '^werkbank_http_requests_total\{path="/translate",code="200"\} [1-9]' "$tmp/metrics"
holds "metrics: refused forms" '^werkbank_refused_total\{reason="form"\} [1-9]' "$tmp/metrics"
holds "metrics: slow ones" '^werkbank_refused_total\{reason="slow"\} [1-9]' "$tmp/metrics"
together=$(awk '/^werkbank_text_seconds_total/ { texts = $2 } /^werkbank_decoder_busy_seconds_total/ { busy = $2 } END { printf "%d", 10 * texts / busy }' "$tmp/metrics")
# one after the other: 10
if [ "$together" -gt 13 ]; then ok "texts of clients are decoded together: $together tenths at a time"; else not_ok "texts of clients are decoded together" "$together tenths"; fi

# ---- a decoder that is killed, a reload and the end, under load ----
load() {
	seq "$1" | while read -r i; do printf '%s\0%s\0' "$i" "$first"; done | xargs -0 -P 8 -n 2 sh "$tmp/request" &
	load=$!
}
# answered NAME N : N answers are right
answered() {
	right=0
	for i in $(seq "$2"); do
		[ "$(unslash <"$tmp/answers/$i")" != "{\"translatedText\":\"$(quoted "$one" | unslash)\"}" ] || right=$((right + 1))
	done
	same "$1: right answers" "$right" "$2"
}
decoder() { pgrep -P "$server" -f 'translate --serve' | tail -n 1; }
load 64
sleep 0.1
kill -9 "$(decoder)"
wait "$load"
answered "a killed decoder" 64
load 64
sleep 0.1
old=$(decoder)
kill -HUP "$server"
wait "$load"
answered "a reload" 64
for _ in $(seq 100); do kill -0 "$old" 2>/dev/null || break; sleep 0.1; done
if kill -0 "$old" 2>/dev/null; then not_ok "the old decoder ends" "$old lives"; else ok "the old decoder ends"; fi
seq 300 | sed "s/.*/$(quoted "$first" | sed 's/[&|]/\\&/g')/" >"$tmp/long"
curl -sS -m 120 --data-urlencode q@"$tmp/long" -d source=en -d target=de "http://127.0.0.1:$port/translate" >"$tmp/last" 2>&1 &
last=$!
for _ in $(seq 200); do
	ask /metrics | grep -q '^werkbank_requests_in_flight [1-9]' && break
	kill -0 "$last" 2>/dev/null || break
done
kill -TERM "$server"
refused=
for _ in $(seq 100); do
	curl -sS -m 5 -o "$tmp/body" "http://127.0.0.1:$port/health" 2>/dev/null
	case $? in 7) refused=refused; break ;; esac
	kill -0 "$last" 2>/dev/null || break
done
same "SIGTERM: new clients are refused at once" "$refused" refused
stop "SIGTERM ends it"
wait "$last"
all_lines=$(seq 300 | while read -r _; do printf '%s\\n' "$(quoted "$one" | unslash)"; done)
same "... after the open request" "$(unslash <"$tmp/last")" "{\"translatedText\":\"$all_lines\"}"

# ---- keys, limits, addresses ----
says "another address needs keys" 77 'can be reached from other hosts: give --key-file' "$wb" serve --listen 0.0.0.0:0 --model "$tmp/model"
says "no address" 64 "is not ADDRESS:PORT" "$wb" serve --listen example.org:80 --model "$tmp/model"
says "no such port" 64 "is not ADDRESS:PORT" "$wb" serve --listen 127.0.0.1:99999 --model "$tmp/model"
says "no model" 64 'serve needs a model' "$wb" serve
says "a model that is not there" 66 'cannot be served' "$wb" serve --listen 127.0.0.1:0 --model "$tmp/nothing"
printf 'correct-key\n' >"$tmp/keys"
chmod 644 "$tmp/keys"
says "keys that everybody may read" 77 'chmod o-rw,g-w' "$wb" serve --key-file "$tmp/keys" --model "$tmp/model"
chmod 662 "$tmp/keys"
says "keys that everybody may change" 77 'chmod o-rw,g-w' "$wb" serve --key-file "$tmp/keys" --model "$tmp/model"
says "two models of one direction" 64 'two models from en to de' "$wb" serve --listen 127.0.0.1:0 en-de="$tmp/model" en-de="$tmp/model"
says "too few files" 69 'ulimit -n' sh -c "ulimit -n 20; exec '$wb' serve --listen 127.0.0.1:0 --model '$tmp/model'"
chmod 600 "$tmp/keys"
serve "$@" --key-file "$tmp/keys" --request-chars 50 --cors 'https://example.org'
says "no key" 0 '^400 .*needs a key' ask /translate -d q=a -d source=en -d target=de
says "a wrong key" 0 '^403 .*not valid' ask /translate -d q=a -d source=en -d target=de -d api_key=correct-kez
says "a key" 0 '^200 ' ask /translate -d q=a -d source=en -d target=de -d api_key=correct-key
says "DeepL: no key" 0 '^403 ."message"' ask /v2/translate -d text=a -d target_lang=DE
says "DeepL: a key" 0 '^200 ' ask /v2/translate -d text=a -d target_lang=DE -H 'Authorization: DeepL-Auth-Key correct-key'
says "metrics: no key" 0 '^401 ' ask /metrics
says "metrics: a key" 0 '^200 ' ask /metrics -H 'Authorization: Bearer correct-key'
says "a limit of characters" 0 '^400 .*at most 50' ask /translate -d "q=$(head -c 60 /dev/zero | tr '\0' a)" -d source=en -d target=de -d api_key=correct-key
says "CORS" 0 'Access-Control-Allow-Origin: https://example.org' curl -sS -m 20 -D - -o "$tmp/body" -X OPTIONS "http://127.0.0.1:$port/translate"
stop "SIGTERM ends the second server"

# ---- keys that are read again; characters by key ----
printf 'correct-key\n' >"$tmp/keys"
serve "$@" --key-file "$tmp/keys" --glossary first="$tmp/terms" --glossary fr-de:other="$tmp/nothing"
says "usage of a new key" 0 '^200 ."character_count":0,' ask /v2/usage -H 'Authorization: DeepL-Auth-Key correct-key'
ask /translate --data-urlencode q=abcde -d source=en -d target=de -d api_key=correct-key >/dev/null
same "usage counts characters" "$(ask /v2/usage -H 'Authorization: DeepL-Auth-Key correct-key' | grep -o 'count":[0-9]*')" 'count":5'
printf 'another-key\ncorrect-key\n' >"$tmp/keys"
kill -HUP "$server"
for _ in $(seq 100); do ask /languages >/dev/null; ask /v2/usage -H 'Authorization: DeepL-Auth-Key another-key' | grep -q ^200 && break; sleep 0.1; done
same "SIGHUP reads keys: the count stays" "$(ask /v2/usage -H 'Authorization: DeepL-Auth-Key correct-key' | grep -o 'count":[0-9]*')" 'count":5'
ask /metrics -H 'Authorization: Bearer another-key' >"$tmp/metrics"
holds "metrics count by number of the key" '^werkbank_key_characters_total\{key="2"\} 5' "$tmp/metrics"
same "metrics show no key" "$(grep -c 'correct-key' "$tmp/metrics")" 0
chmod 644 "$tmp/keys"
kill -HUP "$server"
for _ in $(seq 100); do grep -q 'old keys stay' "$tmp/log" && break; sleep 0.1; done
holds "a key file with wrong rights: the old keys stay" 'chmod o-rw,g-w .*the old keys stay' "$tmp/log"

# ---- glossaries ----
key='-d api_key=another-key'
want() { ask /translate --data-urlencode "q=$first" -d source=en -d target=de "$@" $key; }
says "a glossary gives its term" 0 '^200 .*ntk' want -d glossary=first
same "... bit for bit as --terms" "$(want -d glossary=first | sed 's/^200 //' | unslash)" "{\"translatedText\":\"$("$wb" translate --quiet --model "$tmp/model" "$@" --terms "$tmp/terms" "$tmp/one" 2>/dev/null)\"}"
same "without it: the plain translation" "$(want | unslash)" "200 {\"translatedText\":\"$(quoted "$one" | unslash)\"}"
says "a glossary of other languages is not there" 0 '^400 .*no glossary other' want -d glossary=other
says "DeepL: glossaries" 0 '"glossary_id":"first","name":"first","ready":true,"source_lang":"en","target_lang":"de","creation_time":"20.*Z","entry_count":1' ask /v2/glossaries -H 'Authorization: DeepL-Auth-Key another-key'
says "DeepL: a glossary" 0 '^200 .*ntk' ask /v2/translate --data-urlencode "text=$first" -d target_lang=DE -d source_lang=EN -d glossary_id=first -H 'Authorization: DeepL-Auth-Key another-key'
says "DeepL: another glossary" 0 '^404 ' ask /v2/translate -d text=a -d target_lang=DE -d glossary_id=x -H 'Authorization: DeepL-Auth-Key another-key'
# killed again and again before they are ready: that says nothing about the glossary
for _ in 1 2 3; do
	for _ in $(seq 100); do old=$(decoder) && [ -n "$old" ] && break; sleep 0.05; done
	kill -9 "$old"
	for _ in $(seq 100); do kill -0 "$old" 2>/dev/null || break; sleep 0.05; done
done
same "killed decoders lose no glossary" "$(want -d glossary=first >"$tmp/out"; grep -c 'started without glossaries' "$tmp/log")" 0
holds "a glossary for languages without a model is named" 'no model translates fr-de: the glossary other is not used' "$tmp/log"
# a glossary that breaks: the old decoder goes on; when it dies, one without glossaries takes its place
cp "$tmp/terms" "$tmp/terms.good"
printf 'no tab\n' >"$tmp/terms"
old=$(decoder)
kill -HUP "$server"
for _ in $(seq 100); do grep -q 'the old one stays' "$tmp/log" && break; sleep 0.1; done
kill -9 "$old"
for _ in $(seq 300); do grep -q 'started without glossaries' "$tmp/log" && break; sleep 0.1; done
same "a broken glossary does not end a direction" "$(want | unslash)" "200 {\"translatedText\":\"$(quoted "$one" | unslash)\"}"
says "... its glossary is gone" 0 '^400 .*no glossary first' want -d glossary=first
cp "$tmp/terms.good" "$tmp/terms"
kill -HUP "$server"
for _ in $(seq 100); do want -d glossary=first | grep -q '^200' && break; sleep 0.1; done
says "... and comes back with the next SIGHUP" 0 '^200 .*ntk' want -d glossary=first
stop "SIGTERM ends the server with keys"
says "a glossary without a file" 64 'is not NAME=FILE' "$wb" serve --listen 127.0.0.1:0 --model "$tmp/model" --glossary x

# ---- a third language between two models ----
serve "$@" de-fr="$tmp/model"
same "languages by way of a third one" "$(ask /languages)" '200 [{"code":"en","name":"English","targets":["de","fr"]},{"code":"de","name":"German","targets":["fr"]}]'
same "a translation by two models" "$(ask /translate --data-urlencode "q=$first" -d source=en -d target=fr | sed 's/^200 //' | unslash)" "{\"translatedText\":\"$("$wb" translate --quiet --model "$tmp/model" "$@" "$tmp/one" 2>/dev/null | "$wb" translate --quiet --model "$tmp/model" "$@" 2>/dev/null)\"}"
says "DeepL: the same" 0 '^200 .*"detected_source_language":"EN"' ask /v2/translate -d text=a -d target_lang=FR -d source_lang=EN
says "DeepL: the language is detected" 0 '^200 .*"detected_source_language":"DE"' ask /v2/translate -d 'text=Der Hund ist unter dem Tisch.' -d target_lang=FR
says "auto: the language is detected" 0 '^200 ."detectedLanguage":."confidence":(100|[5-9][0-9]),"language":"de"' ask /translate -d 'q=Der Hund ist unter dem Tisch.' -d source=auto -d target=fr
says "... of all texts together" 0 '^200 ."detectedLanguage":\[."confidence":(100|[5-9][0-9]),"language":"de".,."confidence":(100|[5-9][0-9]),"language":"de"' ask /translate -H "$json" -d '{"q":["OK","Der Hund ist unter dem Tisch."],"source":"auto","target":"fr"}'
stop "SIGTERM ends the server of two models"
serve "$@" --no-pivot de-fr="$tmp/model"
says "--no-pivot" 0 '^400 .*en to fr is not supported' ask /translate -d q=a -d source=en -d target=fr
stop "SIGTERM ends the server without pivot"

# ---- a socket of systemd, which replaces --listen ----
: >"$tmp/log" # else "ready" of the server before may be found
"$top/tests/raw_client" listen "$tmp/port" "$top/werkbank-eval" serve --listen 192.0.2.1:1 --model "$tmp/model" "$@" >"$tmp/log" 2>&1 &
server=$!
for _ in $(seq 300); do grep -q ready "$tmp/log" && break; sleep 0.1; done
port=$(cat "$tmp/port")
same "a passed socket, languages of the model" "$(ask /languages)" '200 [{"code":"en","name":"English","targets":["de"]}]'
stop "SIGTERM ends the third server"
tally
