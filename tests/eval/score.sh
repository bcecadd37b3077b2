#!/bin/sh
# score.sh - werkbank score: log-probabilities of given translations against those of transformers 5.24 and Marian 1.12
# (tests/golden/import/scores.tsv, written by tests/peers/score_compare.py --write), against translate --scores, the forms of
# its input and output, and n-best lists. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
golden=$(cd "${srcdir:-.}" && pwd)/tests/golden/import
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-score-XXXXXX")
wb=$top/werkbank
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
. "$(dirname "$0")/../helpers.sh"

# near NAME FILE FILE ALLOWED : the same number of numbers on each line, within ALLOWED of each other
near_numbers() {
	same "$1" "$(paste "$2" "$3" | awk -F '\t' -v allowed="$4" '
		{ n = split($1, a, " "); if (split($2, b, " ") != n || !n) bad++
		  for (i = 1; i <= n; i++) { d = a[i] - b[i]; if (d < 0) d = -d; if (!(d <= allowed) || a[i] == "nan") bad++; all++ } }
		END { print bad + 0, "of", all }')" "0 of $(wc -w <"$3" | tr -d ' ')"
}

mkdir "$tmp/npz" && cp "$golden/marian/"* "$golden/marianmt/"*.spm "$tmp/npz"
says "import a MarianMT folder" 0 '' "$wb" import "$golden/marianmt" -o "$tmp/marianmt"
says "import an .npz of Marian" 0 '' "$wb" import "$tmp/npz" --protect '>>deu<<' --protect '>>nld<<' -o "$tmp/marian"
cd "$tmp" || exit 1

# ---- the log-probabilities of the other programs ----
for model in marianmt marian; do
	awk -F '\t' -v m=$model '$1 == m { print $2 > m ".src"; print $3 > m ".tgt"; print $4 > m ".want" }' "$golden/scores.tsv"
	for backend in cpu ref; do
		says "$model, $backend" 0 '' "$wb" score -m $model --precision fp32 --backend $backend --word-scores $model.src $model.tgt
		sed 's/.*WordScores= *//' out >words
		near_numbers "$model, $backend: log-probabilities of tokens" words $model.want 1e-4
		sed 's/ |||.*//' out >sums
		awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i; print s }' $model.want >want
		near_numbers "$model, $backend: sums" sums want 1e-3
	done
	awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i; print s / NF }' $model.want >want
	says "$model: means" 0 '' "$wb" score -m $model --precision fp32 --normalization tokens $model.src $model.tgt
	near_numbers "$model: means by token" out want 1e-4
	says "$model: int8" 0 '^-[0-9.]+$' "$wb" score -m $model --precision int8 $model.src $model.tgt
done

# ---- translate --scores ----
# by our rules, and by those of the model's program, which cut off more hypotheses of a model that has not learnt to end
for rules in werkbank transformers; do
	if [ $rules = werkbank ]; then least=0.6; else least=0.3; fi
	for alpha in 0 0.6; do
		beam=4
		"$wb" translate -m marianmt -b $beam --alpha $alpha --beam-rules $rules --one-a-line --scores --precision fp32 -q marianmt.src >told
		cut -f 1 told >want
		cut -f 2 told >hyp
		says "score of translations, $rules, alpha $alpha" 0 '' "$wb" score -m marianmt --precision fp32 --normalization alpha --alpha $alpha --beam-rules $rules \
			marianmt.src hyp
		# a translation whose text has other pieces, or that was cut off, has another score
		paste out want | awk '{ d = $1 - $2; if (d < 0) d = -d; n += d <= 2e-5 } END { print (n >= NR * '$least') ? "most" : n " of " NR }' >told
		same "those of translate --scores, $rules, alpha $alpha" "$(cat told)" most
	done
done
mkdir relu && cp "$golden/marianmt/"* relu && chmod u+w relu/*
sed -i 's/"activation_function": "[a-z]*"/"activation_function": "relu"/' relu/config.json
says "another model of the same vocabulary" 0 '' "$wb" import relu -o second
"$wb" translate -m marianmt --ensemble second --alpha 0 -b 2 --beam-rules werkbank --one-a-line --scores --precision fp32 -q marianmt.src >told
cut -f 1 told >want
cut -f 2 told >hyp
says "an ensemble" 0 '' "$wb" score -m marianmt --ensemble second --precision fp32 marianmt.src hyp
paste out want | awk '{ d = $1 - $2; if (d < 0) d = -d; n += d <= 2e-5 } END { print (n >= NR * 0.6) ? "most" : n " of " NR }' >told
same "an ensemble averages probabilities as translate does" "$(cat told)" most
says "two models with weights" 0 '' "$wb" score -m marianmt --ensemble second --weights 0.5,2 --precision fp32 marianmt.src hyp
cp out weighted
"$wb" score -m marianmt --precision fp32 marianmt.src hyp >a
"$wb" score -m second --precision fp32 marianmt.src hyp >b
paste a b | awk '{ print 0.5 * $1 + 2 * $2 }' >want
near_numbers "weighted sums of log-probabilities" weighted want 1e-3
same "two models differ" "$(cmp -s a b; echo $?)" 1

# ---- forms ----
paste marian.src marian.tgt >pairs
"$wb" score -m marian marian.src marian.tgt >want
says "a file with tabs" 0 '' "$wb" score -m marian pairs
equal "a file with tabs: the same scores" out want
says "batches of 1024 tokens" 0 '' "$wb" score -m marian --decode-tokens 16 pairs
near_numbers "other batches: the same scores" out want 1e-4
"$wb" score -m marian <pairs >out
equal "standard input: the same scores" out want
says "JSON" 0 '^\{"line":1,"score":-[0-9.]+,"log_prob":-[0-9.]+,"n_tokens":[0-9]+,"tokens":\[.*"</s>"\],"token_log_probs":\[-' "$wb" score -m marian --json pairs
says "a summary" 0 '^24 pairs, 538 target tokens, 0 without score$' "$wb" score -m marian --summary pairs
says "a summary: perplexity" 0 '^NLL [0-9.]+ nats per target token, perplexity' "$wb" score -m marian --summary pairs
says "an output file" 0 '' "$wb" score -m marian -o scores pairs
equal "an output file: the same scores" scores want

# ---- pairs without score keep their place ----
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "a "; print "" }' >long
{ printf 'rtosr\n\n>>deu<<\n'; cat long; printf 'eas\neas\n'; } >s
{ printf 'ato\nato\nato\nato\n'; cat long; printf '\n'; } >t
says "empty and long lines" 0 'warning: 3 pairs have no score, the first is of line 2: the source is empty' "$wb" score -m marian --decode-tokens 2000 s t
same "their places" "$(sed 's/^-[0-9.]*$/number/' out | tr '\n' ' ')" "number nan number nan nan number "
says "in JSON" 0 '^\{"line":4,"score":null,"log_prob":null,.*"error":"a side has [0-9]+ tokens, but at most 2000 are read"\}' \
	"$wb" score -m marian --decode-tokens 2000 --json -q s t
says "other numbers of lines" 65 't has 6 lines, but marian.src has 24' "$wb" score -m marian -o scores marian.src t
equal "no half output" scores want
says "no tab" 65 's, line 1 has no tab' "$wb" score -m marian s
printf 'a\tb\n\377\tb\n' >bad
says "invalid UTF-8" 65 'bad:2: byte 1 is not valid' "$wb" score -m marian bad
same "the lines before it are scored" "$(wc -l <out | tr -d ' ')" 1
says "too many files" 64 'does not take the argument' "$wb" score -m marian a b c
says "standard input twice" 64 'cannot read 2 texts' "$wb" score -m marian - -

{ printf '\357\273\277'; cat marian.src; } >mark.src
{ printf '\357\273\277'; cat marian.tgt; } >mark.tgt
"$wb" score -m marian marian.src marian.tgt >want
says "byte order marks" 0 '' "$wb" score -m marian mark.src mark.tgt
equal "are no text" out want

# ---- n-best lists ----
"$wb" translate -m marian -b 4 --n-best 4 --one-a-line --scores -q marian.src >list
awk -F '\t' '{ print $1 - 1 " ||| " $3 " ||| F0= " $2 " ||| " $2 }' list >moses
says "a list of translate --n-best" 0 '' "$wb" score -m marian --n-best-list list marian.src
cp out want
same "a score for each candidate" "$(wc -l <want)" "$(wc -l <list)"
says "a list as Moses and Marian write it" 0 '' "$wb" score -m marian --n-best-list moses marian.src
equal "the same scores" out want
awk -F '\t' '{ print $1 }' list | paste - want | awk '!($1 in best) || $2 > best[$1] { best[$1] = $2; at[$1] = NR } END { for (i in at) print i, at[i] }' | sort -n |
	while read -r _ at; do sed -n "${at}p" list | cut -f 3; done >best
says "--rerank" 0 '' "$wb" score -m marian --n-best-list moses --rerank marian.src
equal "the best of each list" out best
sed '/^[02] |||/d' moses >some
says "lines without candidates" 0 'no candidate for 2 source lines, the first is line 1: ' "$wb" score -m marian --n-best-list some --rerank marian.src
sed '1s/.*//;3s/.*//' best >want
equal "keep an empty line" out want
says "a length weight" 0 '' "$wb" score -m marian --n-best-list moses --rerank --length-weight 1000 marian.src
awk -F '\t' '{ print $3 }' list | "$wb" score -m marian --n-best-list moses --length-weight 1000 marian.src >lengths
same "long candidates win" "$(awk '{ s += length($0) } END { print s }' out)" \
	"$(awk -F '\t' '{ print $1 }' list | paste - lengths | awk '!($1 in b) || $2 > b[$1] { b[$1] = $2; at[$1] = NR } END { for (i in at) print at[i] }' |
		while read -r at; do sed -n "${at}p" list | cut -f 3; done | awk '{ s += length($0) } END { print s }')"
cp -r marian reverse
sed -i 's/^source_language .*/source_language = de/; s/^target_language .*/target_language = en/' reverse/recipe.ini
(cd reverse && sha256sum recipe.ini >sum && sed -i "s/^[0-9a-f]*  recipe.ini/$(cat sum)/" SHA256SUMS && rm sum)
says "a reverse model" 0 '' "$wb" score -m marian --reverse-model reverse --weights 1,3 --precision fp32 pairs
cp out both
"$wb" score -m marian --precision fp32 pairs >a
"$wb" score -m reverse --precision fp32 marian.tgt marian.src >b
paste a b | awk '{ print $1 + 3 * $2 }' >want
near_numbers "a reverse model scores the source" both want 1e-3
says "a reverse model of the same direction" 64 'reverse-model marian translates' "$wb" score -m marian --reverse-model marian pairs
says "weights that are no numbers" 64 'is not a list of numbers' "$wb" score -m marian --weights 1,x pairs
says "too many weights" 64 'has 2 numbers for 1 model' "$wb" score -m marian --weights 1,2 pairs
says "--rerank without a list" 64 'needs --n-best-list' "$wb" score -m marian --rerank pairs
says "--rerank with JSON" 64 'it excludes --json' "$wb" score -m marian --rerank --json --n-best-list moses marian.src
tac moses >unsorted
says "falling numbers" 65 'unsorted, line 5: the number is below' "$wb" score -m marian --n-best-list unsorted marian.src
for line in 'x ||| y' '-1 ||| y' '24 ||| y' '99999999999999999999999 ||| y' '0 y'; do
	echo "$line" >bad
	says "a list with '$line'" 65 'bad, line 1' "$wb" score -m marian --n-best-list bad marian.src
done
tally
