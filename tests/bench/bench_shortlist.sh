#!/bin/sh
# bench_shortlist.sh - speed and BLEU with and without a lexical shortlist: sh bench_shortlist.sh MODEL SHORTLIST SOURCE REFERENCE
# [OPTION...], in a build folder. Translates with and without it in turn, three times each (ROUNDS), on one thread;
# prints the least CPU seconds of each, their ratio, and BLEU of both. Options go to translate.
set -eu
[ $# -ge 4 ] || { echo "usage: bench_shortlist.sh MODEL SHORTLIST SOURCE REFERENCE [OPTION...]" >&2; exit 64; }
model=$1 list=$2 source=$3 reference=$4
shift 4
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-shortlist-XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# timed NAME OPTION... : translates into $tmp/NAME, CPU seconds to $tmp/NAME.s.
timed() {
	name=$1
	shift
	sh -c '"$@" || exit; times' sh ./werkbank translate -q -m "$model" --threads 1 --workers 1 "$@" \
		-o "$tmp/$name" "$source" >"$tmp/times"
	sed -n '2s/[ms]/ /gp' "$tmp/times" | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }' >>"$tmp/$name.s"
}
least() { sort -n "$tmp/$1.s" | head -n 1; }
bleu() { ./werkbank bleu -q -r "$reference" "$tmp/$1" | sed -n '1s/^BLEU \([0-9.]*\).*/\1/p'; }

i=0
while [ $i -lt "${ROUNDS:-3}" ]; do
	timed all "$@"
	timed listed --shortlist "$list" "$@"
	i=$((i + 1))
done
awk -v a="$(least all)" -v b="$(least listed)" -v x="$(bleu all)" -v y="$(bleu listed)" 'BEGIN {
	printf "all tokens %.2f CPU s, BLEU %.2f; shortlist %.2f CPU s, BLEU %.2f: %.2f times as fast, %+.2f BLEU\n",
		a, x, b, y, a / b, y - x }'
