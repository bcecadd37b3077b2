#!/bin/sh
# serve.sh - translate --serve with requests that a stranger may send: large ids, long lines, long lists.
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
} >"$tmp/in"
begin=$(date +%s)
timeout 120 ./werkbank translate -q -m "$model" --threads 1 --serve <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
same "it serves to the end" "$?" 0
seconds=$(($(date +%s) - begin))
same "ids come back as they were" "$(sed -n '2,9s/^{"id":\([^,]*\),.*/\1/p' "$tmp/out" | tr '\n' ' ')" \
	'9007199254740993 -123456789012345678901234567890 1.50 null null "after" "terms" 7 '
same "a line that is too long" "$(sed -n 6p "$tmp/out")" '{"id":null,"error":"a request may have at most 67108864 bytes"}'
same "all others are answered" "$(grep -c '"text":' "$tmp/out")" 7
if [ $seconds -lt 60 ]; then ok "long lists: $seconds s"; else not_ok "long lists" "$seconds s"; fi
tally
