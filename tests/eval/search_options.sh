#!/bin/sh
# search_options.sh - options of the search of translate on the golden model of tests/golden/import: repetition, length, minimum
# Bayes risk against werkbank chrf. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
golden=$(cd "${srcdir:-.}" && pwd)/tests/golden/import
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-search-XXXXXX")
wb=$top/werkbank
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
. "$(dirname "$0")/../helpers.sh"
says "import a MarianMT folder" 0 '' "$wb" import "$golden/marianmt" -o "$tmp/m"
cd "$tmp" || exit 1
cut -f 1 "$golden/marianmt.tsv" | sed -n 1,6p >in

# tokens OPTIONS... : the tokens of each translation, a line each
tokens() {
	awk '{ printf "{\"id\":%d,\"text\":\"%s\",\"whole\":true}\n", NR, $0 }' in | "$wb" translate -m m --serve --one-a-line --precision fp32 "$@" |
		sed -n 's/.*"tokens":\[\([^]]*\)\].*/\1/p' | tr -d '"'
}
tokens -b 1 >plain
tokens -b 1 --no-repeat-ngram 2 >ngrams
same "no repeated pair of tokens" "$(awk -F , '{ split("", seen); for (i = 1; i < NF; i++) if (seen[$i, $(i + 1)]++) n++ } END { print n + 0 }' ngrams)" 0
same "the greedy translations have some" "$(awk -F , '{ split("", seen); for (i = 1; i < NF; i++) if (seen[$i, $(i + 1)]++) n++ } END { print (n > 5) }' plain)" 1
tokens -b 4 --min-length 70 >long
same "at least 70 tokens" "$(awk -F , 'NF < 70' long | wc -l | tr -d ' ')" 0
tokens -b 1 --repetition-penalty 1 >same
equal "the penalty 1 changes nothing" same plain
tokens -b 1 --repetition-penalty 5 >varied
same "a penalty gives more different tokens" "$(for f in plain varied; do awk -F , '{ split("", s); for (i = 1; i <= NF; i++) if (!s[$i]++) n++ } END { print n }' $f; done |
	awk '{ n[NR] = $1 } END { print (n[2] > n[1]) }')" 1

# ---- minimum Bayes risk ----
for way in --sample "-b 8"; do
	# shellcheck disable=SC2086 # two words
	"$wb" translate -m m $way --n-best 8 --one-a-line --seed 5 -q in >candidates
	# shellcheck disable=SC2086
	says "$way: --mbr" 0 '' "$wb" translate -m m $way --mbr 8 --one-a-line --scores --seed 5 -q in
	cp out chosen
	for line in 1 2 3; do
		awk -F '\t' -v n=$line '$1 == n { print $2 }' candidates >texts
		best=-1
		for h in $(seq "$(wc -l <texts)"); do
			sed -n "${h}p" texts | awk -v n="$(wc -l <texts)" '{ for (i = 0; i < n; i++) print }' >repeated
			mean=$("$wb" chrf --sentence -w 6 -b -r texts repeated | awk '{ s += $1 } END { printf "%.4f", s / NR }')
			if awk "BEGIN { exit !($mean > $best + 1e-6) }"; then best=$mean text=$(sed -n "${h}p" texts); fi
		done
		same "$way, line $line: the candidate with the greatest mean chrF" "$(sed -n "${line}p" chosen | cut -f 2)" "$text"
		same "$way, line $line: its mean" "$(sed -n "${line}p" chosen | awk -F '\t' -v b="$best" '{ d = $1 - b; print (d < 0.001 && d > -0.001) }')" 1
	done
done
says "several" 0 '' "$wb" translate -m m --mbr 8 --n-best 3 --scores --one-a-line -q in
same "the best ones in order" "$(awk -F '\t' '$1 == last && $2 > score { n++ } { last = $1; score = $2 } END { print n + 0, NR }' out)" "0 18"
says "one candidate" 0 '' "$wb" translate -m m --mbr 1 --one-a-line -q in
says "more translations than candidates" 64 'needs at least --mbr 5' "$wb" translate -m m --mbr 4 --n-best 5 in
says "not in the service" 64 'cannot be used with --serve' "$wb" translate -m m --mbr 4 --serve

# ---- rules of other programs: a finished translation of n tokens, </s> counted, has the score SUM / PENALTY ----
says "import a model whose translations end" 0 '' "$wb" import "$golden/fairseq" -o f --tokenize=no
cut -f 1 "$golden/fairseq.tsv" | awk '{ print; print $0, $0; print "a" $0 }' >in
# rules RULES PENALTY ALPHA : penalty: of n, in awk
rules() {
	awk '{ printf "{\"id\":%d,\"text\":\"%s\",\"whole\":true}\n", NR, $0 }' in |
		"$wb" translate -m f --serve --one-a-line --precision fp32 --alpha "$3" --beam-rules "$1" --max-length-factor 0.1 --max-length-extra 40 |
		sed -n 's/.*"id":\([0-9]*\),.*"score":\([^,]*\),"log_prob":\([^,]*\),"tokens":\[\([^]]*\)\].*/\1	\2	\3	\4/p' | sort -n >"by.$1"
	same "$1: scores" "$(awk -F '\t' '{ n = split($4, t, ",") + 1; d = $2 * ('"$2"') - $3; if (n < 41 && (d > 1e-4 || d < -1e-4)) bad++; ends += n < 41 }
		END { print (ends > 10), bad + 0 }' "by.$1")" "1 0"
}
rules werkbank '(5 + n) / 6' 1
rules transformers 'n ^ 0.2' 0.2 # with 1, transformers prefers what is cut off
rules fairseq n 1
rules opennmt 'n + 1' 1
same "all lines" "$(wc -l <by.opennmt)" "$(wc -l <in)"
for by in werkbank fairseq opennmt; do cut -f 4 by.$by >tokens.$by; done
same "other rules, other translations" "$(cmp -s tokens.werkbank tokens.fairseq || cmp -s tokens.fairseq tokens.opennmt || echo differ)" differ
# translations that are cut off at the greatest length compete by their scores with transformers, and come last by other rules
for by in transformers werkbank; do
	"$wb" translate -m f -b 8 --n-best 8 --scores --one-a-line --alpha 1 --beam-rules $by --max-length-factor 0.1 --max-length-extra 9 -q in |
		awk -F '\t' '$1 == last && $2 > score { n++ } { last = $1; score = $2 } END { print (n > 0 ? "mixed" : "best first") }' >order.$by
done
same "transformers: the best score first" "$(cat order.transformers)" "best first"
same "ours: what ends comes first" "$(cat order.werkbank)" mixed
says "no such rules" 64 'beam-rules' "$wb" translate -m f --beam-rules marian in
tally
