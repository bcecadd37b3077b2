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
same "a layer and heads that are not there" "$(sed -n 's/^{"id":"none","error":"\(.*\)"}/\1/p' "$tmp/out" | sed 's/\\//g')" \
	'the layer of attention is 2, but must be from 1 to 1
the head of attention is 0, but must be from 1 to 2
attention must be an object: {"layer":1,"head":1}'
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
if [ $seconds -lt 60 ]; then ok "long lists: $seconds s"; else not_ok "long lists" "$seconds s"; fi
tally
