#!/bin/sh
# serve.sh - translate --serve with requests that a stranger may send: large ids, long lines, long lists, maps.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-serve-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
model=$srcdir/tests/golden/release/run/checkpoints/12

{
	printf '{"id":9007199254740993,"text":"a"}\n{"id":-123456789012345678901234567890,"text":"a"}\n'
	printf '{"id":1.50,"text":"a"}\n{"id":[1],"text":"a"}\n'
	head -c 67108900 /dev/zero | tr '\0' x
	printf '\n{"id":"after","text":"a"}\n{"id":"terms","text":"a","terms":{'
	awk 'BEGIN { for (i = 0; i < 100000; i++) printf "%s\"zz%d\":\"a\"", i ? "," : "", i }'
	printf '}}\n{"id":7,"text":"a","forbid":['
	awk 'BEGIN { for (i = 0; i < 2000; i++) printf "%s\"zz%d\"", i ? "," : "", i }'
	printf ']}\n'
	printf '{"id":"map","text":"a b","n_best":2,"attention":{"layer":1,"head":2}}\n'
	printf '{"id":"none","text":"a","attention":{"layer":2}}\n{"id":"none","text":"a","attention":{"head":0}}\n'
	printf '{"id":"none","text":"a","attention":[]}\n'
} >"$tmp/in"
begin=$(date +%s)
timeout 120 ./werkbank translate -q -m "$model" --threads 1 --serve <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
same "it serves to the end" "$?" 0
seconds=$(($(date +%s) - begin))
same "ids come back as they were" "$(sed -n '2,9s/^{"id":\([^,]*\),.*/\1/p' "$tmp/out" | tr '\n' ' ')" \
	'9007199254740993 -123456789012345678901234567890 1.50 null null "after" "terms" 7 '
same "a line that is too long" "$(sed -n 6p "$tmp/out")" '{"id":null,"error":"a request may have at most 67108864 bytes"}'
same "all others are answered" "$(grep -c '"text":' "$tmp/out")" 8
same "the model describes itself" "$(sed -n '1s/.*\("decoder_layers".*\)/\1/p' "$tmp/out")" '"decoder_layers":1,"heads":2}'
same "the model splits lines" "$(sed -n '1s/.*\("keeps_lines":[a-z]*\).*/\1/p' "$tmp/out")" '"keeps_lines":false'
same "a layer and heads that are not there" "$(sed -n 's/^{"id":"none","error":"\(.*\)"}/\1/p' "$tmp/out" | sed 's/\\//g')" \
	'the layer of attention is 2, but must be from 1 to 1
the head of attention is 0, but must be from 1 to 2
attention must be an object: {"layer":1,"head":1}'
# heads are those of the decoder, where the encoder has others
cp -R "$model" "$tmp/heads" && chmod -R u+w "$tmp/heads"
sed -i 's/"heads":2/"heads":2,"decoder_heads":1/' "$tmp/heads/state.json"
(cd "$tmp/heads" && sha256sum state.json | sed 's/ .*//') >"$tmp/sum"
sed -i "s/^[0-9a-f]*\\(  state.json\\)/$(cat "$tmp/sum")\\1/" "$tmp/heads/SHA256SUMS"
printf '{"text":"a","attention":{"layer":1,"head":2}}\n' |
    ./werkbank translate -q -m "$tmp/heads" --threads 1 --serve 2>"$tmp/err" | sed -n '1s/.*\("heads":[0-9]*\).*/\1/p;2s/.*"error":"\(.*\)"}/\1/p' >"$tmp/heads.out"
same "heads of the decoder" "$(cat "$tmp/heads.out")" '"heads":1
the head of attention is 2, but must be from 1 to 1'
# texts that are decoded together get what each of them gets alone
printf '{"text":"The old man reads. A dog runs."}\n{"text":"A cat"}\n{"text":""}\n' |
	./werkbank translate -q -m "$model" --threads 1 --serve 2>"$tmp/err" | sed -n 's/^{"id":null,"text":"\([^"]*\)".*/\1/p' >"$tmp/alone"
printf '{"id":1,"join":true,"text":"The old man reads. A dog runs."}\n{"id":2,"join":true,"text":"A cat"}\n{"id":3,"join":true,"text":""}\n{"id":4,"join":true}\n{"id":5,"join":true,"text":"a","x":1}\n{"cancel":9}\n' |
	./werkbank translate -q -m "$model" --threads 1 --serve 2>"$tmp/err" >"$tmp/joined"
same "texts that join get the same translations" "$(grep '"texts"' "$tmp/joined" | sort | sed 's/.*"texts":\["\([^"]*\)".*/\1/')" "$(cat "$tmp/alone")"
same "wrong ones" "$(sed -n 's/.*"error":"\(.*\)"}/\1/p' "$tmp/joined" | sed 's/\\//g')" 'text must be a string
a request has no member "x"'
# requests of other kinds wait for the open ones; a cancelled one gets no translation
printf '{"id":1,"join":true,"text":"The old man reads."}\n{"text":"A dog runs.","id":"alone"}\n{"id":2,"join":true,"text":"A cat","n_best":6}\n{"id":3,"join":true,"text":"A cat"}\n{"cancel":3}\n' |
	./werkbank translate -q -m "$model" --threads 1 --serve 2>"$tmp/err" | sed 1d | sed 's/^{"id":\([^,]*\),"\([a-z]*\)".*/\1 \2/' >"$tmp/kinds"
same "kinds of requests" "$(cat "$tmp/kinds")" '1 texts
"alone" text
2 texts
3 cancelled'
# each row of a map has a weight for each source token and for the end, with the sum 1
same "maps of attention" "$(sed -n '/^{"id":"map"/p' "$tmp/out" | awk '{
	n = gsub(/"attention":/, "&")
	tokens = $0; sub(/.*"source_tokens":\[/, "", tokens); sub(/\].*/, "", tokens); cols = split(tokens, x, ",") + 1
	map = $0; sub(/.*"attention":\[\[/, "", map); sub(/\]\].*/, "", map); rows = split(map, row, /\],\[/)
	for (i = 1; i <= rows; i++) {
		sum = 0
		wrong += split(row[i], x, ",") != cols
		for (j = 1; j <= cols; j++) sum += x[j]
		wrong += sum < 0.998 || sum > 1.002
	}
	print n, (rows > 0), wrong + 0
}')" "3 1 0"
# ---- several sentences: each is translated by itself, and nothing of the text between them is lost ----
ask() { ./werkbank translate -q -m "$model" --threads 1 --serve "$@" <"$tmp/in" 2>"$tmp/err" | sed 1d >"$tmp/out"; }
member() { sed -n "$1p" "$tmp/out" | grep -o "\"$2\":[^\",}]*\(\"[^\"]*\"\)\?" | sed -n "1s/\"$2\"://p" | tr -d '"'; }
{
	printf '{"id":1,"text":"The boy sleeps."}\n{"id":2,"text":"A dog."}\n'
	printf '{"id":3,"text":" The boy sleeps.  A dog.\\n\\nA dog. "}\n{"id":4,"text":"The boy sleeps. A dog.","whole":true}\n'
	printf '{"id":5,"text":"The boy sleeps. A dog.","beem":3}\n{"id":6,"text":"\377"}\n'
	printf '{"id":7,"text":"The boy sleeps. A dog.","attention":{"layer":1}}\n'
} >"$tmp/in"
ask
boy=$(member 1 text) dog=$(member 2 text)
same "sentences of a request" "$(member 3 text)" " $boy  $dog\\n\\n$dog "
same "their number" "$(member 1 sentences),$(member 3 sentences),$(member 4 sentences)" ",3,"
same "... their texts in the source" "$(sed -n '3s/.*"source_parts":\[\([^]]*\)\].*/\1/p' "$tmp/out" | grep -o '"text":"[^"]*"' | tr '\n' ' ')" '"text":"The boy sleeps." "text":"A dog." "text":"A dog." '
same "... and in the translation" "$(sed -n '3s/.*"parts":\[\([^]]*\)\],"source_tokens.*/\1/p' "$tmp/out" | grep -o '"text":"[^"]*"' | tr '\n' ' ')" "\"text\":\"$boy\" \"text\":\"$dog\" \"text\":\"$dog\" "
same "... with all tokens" "$(sed -n '3s/.*"parts":\[\([^]]*\)\],"source_tokens.*/\1/p' "$tmp/out" | grep -o '"tokens":[0-9]*' | awk -F: '{ n += $2 } END { print n }')" \
	"$(sed -n '3s/.*"tokens":\[\([^]]*\)\],"token_log_probs.*/\1/p' "$tmp/out" | awk -F'","' '{ print NF }')"
same "a sentence has no parts" "$(sed -n 1,2p "$tmp/out" | grep -c parts)" 0
same "tokens of all of them" "$(sed -n 's/.*"source_tokens":\[\([^]]*\)\].*/\1/p' "$tmp/out" | sed -n 3p | tr ',' '\n' | grep -c '"\."')" 3
same "a member that is not known" "$(member 5 error)" 'a request has no member \'
same "invalid UTF-8" "$(member 6 error)" 'a request must be valid UTF-8'
same "no map over several sentences" "$(member 7 attention)" null
same "a line each" "$(wc -l <"$tmp/out" | tr -d ' ')" 7
ask --one-a-line
same "--one-a-line: a text is one sentence" "$(member 3 sentences)" ''
# SIGTERM: the open request is answered, then the service ends
mkfifo "$tmp/requests"
./werkbank translate -q -m "$model" --threads 1 --serve --max-length-factor 50 <"$tmp/requests" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 3>"$tmp/requests"
while ! grep -q ready "$tmp/out"; do sleep 0.05; done
ticks() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
idle=$(ticks)
{
	printf '{"id":"last","text":"'
	awk 'BEGIN { for (i = 0; i < 3000; i++) printf "The boy sleeps. " }'
	printf '"}\n'
} >&3
while [ "$(ticks)" -lt $((idle + 4)) ]; do sleep 0.01; done	# it computes
kill -TERM "$pid"
wait "$pid"
same "SIGTERM: how it ends" "$?" 143
same "SIGTERM: the open request is answered" "$(sed -n '2s/^{"id":"\(last\)","text".*}$/\1/p' "$tmp/out")" last
exec 3>&-

# ---- translate: a line stays a line; what the model learned from decides whether lines are split ----
lines() { printf 'The boy sleeps. A dog.\n\n  A dog.  The boy sleeps.\nA dog.\n' | ./werkbank translate --threads 1 "$@" 2>"$tmp/err" >"$tmp/out"; }
lines -m "$model"
same "lines of several sentences" "$(cat "$tmp/out")" "$(printf '%s %s\n\n  %s  %s\n%s' "$boy" "$dog" "$dog" "$boy" "$dog")"
lines -m "$model" --n-best 2 --scores --alignments
same "n best, scores and alignments of a line" "$(cut -f 1 "$tmp/out" | sort | uniq -c | tr -s ' \n' ' ')" ' 2 1 1 2 2 3 2 4 '
lines -m "$model" --one-a-line
whole=$(sed -n 1p "$tmp/out")
if [ "$whole" != "$boy $dog" ]; then ok "--one-a-line differs"; else not_ok "--one-a-line differs" "$whole"; fi
cp -r "$model" "$tmp/of paragraphs"
chmod -R u+w "$tmp/of paragraphs"
# learned VALUE LONGEST : a model whose training lines had several sentences in this share
learned() {
	(cd "$tmp/of paragraphs" && cp "$model/state.json" . &&
		sed -i "s/,\"vocabulary_sha256\"/,\"several_sentences\":$1,\"longest_source\":$2&/" state.json &&
		sed 's/^.*  //' "$model/SHA256SUMS" | xargs sha256sum >SHA256SUMS)
}
learned 0.5 100
lines -m "$tmp/of paragraphs"
same "a model of paragraphs keeps lines whole" "$(sed -n 1p "$tmp/out")" "$whole"
./werkbank translate -q -m "$tmp/of paragraphs" --threads 1 --serve </dev/null >"$tmp/ready" 2>"$tmp/err"
holds "... and tells the workbench so" '"keeps_lines":true' "$tmp/ready"
lines -m "$tmp/of paragraphs" --no-one-a-line
same "... unless it is told" "$(sed -n 1p "$tmp/out")" "$boy $dog"
learned 0.1 2
lines -m "$tmp/of paragraphs"
same "a model of sentences splits" "$(sed -n 1p "$tmp/out")" "$boy $dog"
same "longer than the training text" "$(grep -c 'warning: 3 lines with a sentence that is longer than all of the training text .* the first is line 1' "$tmp/err")" 1
lines -m "$tmp/of paragraphs" --quiet
same "... not with --quiet" "$(wc -c <"$tmp/err" | tr -d ' ')" 0

if [ $seconds -lt 60 ]; then ok "long lists: $seconds s"; else not_ok "long lists" "$seconds s"; fi
tally
