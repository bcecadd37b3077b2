#!/bin/sh
# eval.sh - from a tiny trained model to translations and scores: formats, messages, exit statuses.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-eval-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
wb=$top/werkbank
w=$tmp/w
passed=0 failed=0 skipped=0

ok() { passed=$((passed + 1)); echo "ok       $1"; }
not_ok() { failed=$((failed + 1)); echo "FAILED   $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "skipped  $1: $2"; }

# says STATUS WORDS COMMAND... : the exit status, and the words (an extended regular expression) on
# standard error; standard input is $tmp/in.
says() {
	want=$1 words=$2
	shift 2
	name=$(printf '%s ' "$@" | sed "s|$top/||g; s|$tmp/||g")
	got=0
	"$@" >"$tmp/out" 2>"$tmp/err" <"$tmp/in" || got=$?
	if [ "$got" -ne "$want" ]; then
		not_ok "$name" "exit status $got, not $want; it said: $(head -c 300 "$tmp/err")"
	elif [ -n "$words" ] && ! grep -qE -- "$words" "$tmp/err"; then
		not_ok "$name" "nothing like '$words' in: $(head -c 300 "$tmp/err")"
	else
		ok "$name"
	fi
}

# line N WORDS : line N of the last output is like the extended regular expression.
line() {
	if sed -n "${1}p" "$tmp/out" | grep -qE -- "$2"; then
		ok "line $1: $2"
	else
		not_ok "line $1: $2" "it is: $(sed -n "${1}p" "$tmp/out" | head -c 300)"
	fi
}

# lines N : so many lines came out.
lines() {
	n=$(wc -l <"$tmp/out")
	if [ "$n" -eq "$1" ]; then ok "$1 lines"; else not_ok "$1 lines" "there are $n"; fi
}

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit
}

# ---- scores of files (their digits are tested in t_score.c) -----------------
printf 'the cat is on the mat .\nnothing\nThe quick brown fox jumps over the dog\n' >"$tmp/r1"
printf 'there is a cat on the mat .\n\na quick brown fox leaps over it\n' >"$tmp/r2"
printf 'the cat sat on the mat .\n\na quick brown fox, jumps over it\n' >"$tmp/in"
says 0 '' "$wb" bleu -r "$tmp/r1"
line 1 '^BLEU 30.94 .*\(BP '
line 2 '^werkbank\|bleu\|refs:1\|case:mixed\|tok:13a\|smooth:exp\|v:'
line 3 '^nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:werkbank-[0-9.]+$'
says 0 '' "$wb" bleu -r "$tmp/r1" -r "$tmp/r2" --json "$tmp/in"
line 1 '^\{"name":"BLEU","score":46\.9247006410[0-9]*,"counts":\[.*"signature":"werkbank\|bleu\|refs:2\|'
says 0 '' "$wb" chrf -r "$tmp/r1" --word-order 2 "$tmp/in"
line 1 '^chrF2\+\+ 59.47$'
# sacreBLEU 2.6.0 -sl of the same lines, which effective order and smoothing decide
says 0 '' "$wb" bleu -r "$tmp/r1" --sentence -w 4 -m bleu chrf ter
if [ "$(tr '\t\n' '  ' <"$tmp/out")" = '48.8923 67.1727 14.2857 0.0000 0.0000 100.0000 25.8487 61.8386 50.0000 ' ]; then
	ok "scores of sentences"
else
	not_ok "scores of sentences" "$(cat "$tmp/out")"
fi
says 0 '' "$wb" bleu "$tmp/r1" -i "$tmp/in" -sl -b
lines 3
says 64 '--sentence prints lines of numbers' "$wb" chrf -r "$tmp/r1" --sentence --json
"$wb" demo-corpus --demo-pairs 800 -q "$tmp/demo.en" "$tmp/demo.de" 2>/dev/null || not_ok "a text" "demo-corpus failed"
head -n 400 "$tmp/demo.de" >"$tmp/first.de"
tail -n 400 "$tmp/demo.de" >"$tmp/last.de"
says 0 'warning: the lines share hardly more words with their references .* are both files of the same text' "$wb" bleu -r "$tmp/first.de" "$tmp/last.de"
says 0 '' "$wb" bleu -r "$tmp/first.de" "$tmp/first.de"
if [ -s "$tmp/err" ]; then not_ok "no such warning of the same text" "$(cat "$tmp/err")"; else ok "no such warning of the same text"; fi
says 0 '' "$wb" bleu -r "$tmp/r1" --confidence "$tmp/in"
line 2 '^mean of 1000 resamples 30.29 ± 24.45 \(95 %\)$'
line 3 '\|bs:1000\|seed:12345$'
line 4 '^nrefs:1\|bs:1000\|seed:12345\|case:mixed\|eff:no\|'
says 0 '' "$wb" ter -r "$tmp/r1" --confidence --resamples 50 --resample-seed 7 --json "$tmp/in"
line 1 '"confidence":\{"mean":[0-9.]+,"interval":[0-9.]+\}.*\|bs:50\|seed:7","sacrebleu_signature":"nrefs:1\|bs:50\|seed:7\|case:lc\|tok:tercom\|norm:no\|punct:yes\|asian:no\|version:werkbank-[0-9.]+"\}$'
says 0 '' "$wb" bleu -r "$tmp/r1" --tokenizer multi-bleu --split-compounds --lowercase "$tmp/in"
line 2 '\|case:lc\|tok:multi-bleu\|smooth:none\|compounds:split\|'
lines 2 # sacreBLEU has no such score
says 0 '' "$wb" bleu "$tmp/r1" -i "$tmp/in" -m bleu chrf ter -tok none --ter-normalized
line 2 '\|tok:none\|'
line 4 '^chrF2 '
line 6 '^nrefs:1\|case:mixed\|eff:yes\|nc:6\|nw:0\|space:no\|version:werkbank-'
line 7 '^TER '
line 8 '\|tok:tercom\|norm:yes\|punct:yes\|v:'
# habits of sacreBLEU's command line
says 0 '' "$wb" bleu "$tmp/r1" -i "$tmp/in" -m bleu chrf -b -w 4
line 1 '^30\.9409$'
line 2 '^58\.6543$'
says 0 '' "$wb" bleu "$tmp/r1" -i "$tmp/in" -b -ci -w 1
line 1 '^30\.9 \(μ = 30\.3 ± 24\.4\)$'
says 0 '' "$wb" bleu "$tmp/r1" -i "$tmp/in" -b -w 4 --json
line 1 '^30\.9409$'
says 0 '' "$wb" bleu "$tmp/r1" -i "$tmp/in" -f json -l en-zh
line 1 '"signature":"werkbank\|bleu\|.*\|tok:zh\|'
says 64 'selects --tokenizer ja-mecab: MeCab is not included' "$wb" bleu "$tmp/r1" -i "$tmp/in" -l en-ja
says 64 '--tokenizer ko-mecab: MeCab is not included: .*--tokenize none' "$wb" bleu "$tmp/r1" -i "$tmp/in" -tok ko-mecab
says 64 '--tokenizer flores200: .*sp-apply -m .*dl.fbaipublicfiles' "$wb" bleu "$tmp/r1" -i "$tmp/in" -tok flores200
says 64 '-t: the test sets of sacreBLEU are not included' "$wb" bleu -t wmt14 -l en-de -i "$tmp/in"
says 64 '-pbs: use werkbank compare BASELINE SYSTEM' "$wb" bleu "$tmp/r1" -i "$tmp/in" -pbs
says 64 '--chrf-eps-smoothing: chrF always uses' "$wb" chrf "$tmp/r1" -i "$tmp/in" --chrf-eps-smoothing
says 64 '--format latex: bleu prints text or json' "$wb" bleu "$tmp/r1" -i "$tmp/in" -f latex
i=0
while [ $i -lt 100 ]; do
	echo 'it is so .'
	i=$((i + 1))
done >"$tmp/tokens"
says 0 'warning: 100 lines of the hypothesis end in a separate full stop' "$wb" bleu -r "$tmp/tokens" "$tmp/tokens"
says 0 '' "$wb" bleu -r "$tmp/tokens" "$tmp/tokens" -tok none
says 0 '' "$wb" bleu -r "$tmp/tokens" "$tmp/tokens" --force
says 0 '' "$wb" bleu "$tmp/r1" "$tmp/r2" -i "$tmp/in" --json
line 1 '^\{"name":"BLEU","score":46\.9247006410[0-9]*,'
says 64 'name references with --reference' "$wb" bleu "$tmp/r1" "$tmp/in"
says 0 '' "$wb" compare -r "$tmp/r1" "$tmp/in" "$tmp/r2" "$tmp/r1"
line 3 '/in +30\.94 +30\.29 ± 24\.45$'
line 4 '/r2 +27\.77 +26\.46 ± 19\.13 +0\.1439  no significant difference$'
says 0 '' "$wb" compare -r "$tmp/r1" --test ar --metric ter --json "$tmp/in" "$tmp/r1"
line 1 '"test":"paired approximate randomisation".*"score":0,.*"p":9.999[0-9]*e-05,"verdict":"better"\}\],.*\|ar:10000\|seed:12345","sacrebleu_signature":"nrefs:1\|bs:1000\|ar:10000\|seed:12345\|'
head -n 1 "$tmp/r1" >"$tmp/one"
says 0 '' "$wb" ledger -l en -r "$tmp/r1" "$tmp/in" "$tmp/r2"
line 1 '/in$'
line 3 '^BLEU +30\.94 +30\.29 ± +24\.45  the one to publish'
line 14 'tok:multi-bleu\|.*\|compounds:split\|.*\|text:moses-en\|'
line 22 '/r2$'
says 65 'has 1 line' "$wb" ledger -r "$tmp/r1" "$tmp/one"
says 0 '' "$wb" compare -r "$tmp/r1" "$tmp/in" "$tmp/in"
line 4 ' 0\.0010  no difference$'
says 64 'compare needs BASELINE SYSTEM' "$wb" compare -r "$tmp/r1" "$tmp/in"
says 64 'cannot read 2 texts from standard input' "$wb" compare -r "$tmp/r1" - -
head -n 2 "$tmp/r1" >"$tmp/short"
says 65 'short has 2 lines, but .*in has 3' "$wb" bleu -r "$tmp/short" "$tmp/in"
says 65 'short has 2 lines, but .*r1 has 3' "$wb" chrf -r "$tmp/r1" "$tmp/short"
says 66 'nothing' "$wb" bleu -r "$tmp/nothing" "$tmp/in"
says 64 'needs a reference' "$wb" bleu "$tmp/in"
says 64 "one of auto, 13a, none, intl, char" "$wb" bleu --tokenizer 14a -r "$tmp/r1" "$tmp/in"
: >"$tmp/empty"
says 65 'empty' "$wb" bleu -r "$tmp/empty" "$tmp/empty"

# ---- a model that has hardly learnt, but is one ----------------------------
cat >"$tmp/tiny.ini" <<'END'
[data]
demo_pairs = 800
merges = 200
[model]
d_model = 32
d_ff = 64
heads = 2
encoder_layers = 1
decoder_layers = 2
[train]
steps = 40
warmup = 20
batch_tokens = 512
eval_every = 20
save_every = 20
samples = 3
threads = 1
END
if ! "$wb" prep -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1 ||
    ! "$wb" train -C "$w" --run r "$tmp/tiny.ini" >>"$tmp/log" 2>&1; then
	not_ok "prepare and train" "$(tail -3 "$tmp/log")"
	finish
fi
folder=$w/runs/r/checkpoints/40

# ---- evaluations that the trainer asked for --------------------------------
: >"$tmp/in"
if [ "$(grep -c '"kind":"eval"' "$w/runs/r/journal.jsonl")" -eq 2 ]; then
	ok "two evaluations in the journal"
else
	not_ok "two evaluations in the journal" "$(grep '"kind":"event"' "$w/runs/r/journal.jsonl")"
fi
says 0 '' "$wb-eval" _evaluate -C "$w" --run r --checkpoint 20
lines 4
line 1 '^\{"kind":"eval","step":20,"bleu":[0-9.e-]+,"tok":"13a","signature":"werkbank\|bleu\|refs:1\|case:mixed\|tok:13a\|smooth:exp\|v:'
line 1 '"dev_nll":[0-9.]+,"train_nll":[0-9.]+,"dev_ppl":[0-9.]+'
line 2 '^\{"kind":"sample","id":0,"source":".+","reference":".+","hypothesis":"'
line 4 '^\{"kind":"sample","id":2,'
cp "$tmp/out" "$tmp/first"
says 0 '' "$wb-eval" _evaluate -C "$w" --run r --checkpoint 20
if [ "$(sed 's/"seconds".*//; s/"decoded_target_tps":[^,]*//' "$tmp/out")" = \
     "$(sed 's/"seconds".*//; s/"decoded_target_tps":[^,]*//' "$tmp/first")" ]; then
	ok "the same again"
else
	not_ok "the same again" "two evaluations of one checkpoint differ"
fi

# Shared by several: each its slice, one joins them; what is missing there it does itself.
evaluate() { "$wb-eval" _evaluate -C "$w" --run r --checkpoint 20 "$@"; }
for i in 0 1 2; do
	evaluate --slice $i/3 >"$tmp/slice$i" || not_ok "slice $i" "it failed"
done
cat "$tmp"/slice[012] >"$tmp/parts-all"
cat "$tmp"/slice[02] >"$tmp/parts-two"
head -c 300 "$tmp/slice1" >"$tmp/parts-torn"
: >"$tmp/parts-none"
for parts in all two torn none; do
	evaluate --parts "$tmp/parts-$parts" >"$tmp/out"
	if [ "$(sed 's/"seconds".*//; s/"decoded_target_tps":[^,]*//' "$tmp/out")" = \
	     "$(sed 's/"seconds".*//; s/"decoded_target_tps":[^,]*//' "$tmp/first")" ]; then
		ok "shares of an evaluation: $parts"
	else
		not_ok "shares of an evaluation: $parts" "$(head -n 1 "$tmp/out")"
	fi
done
for slice in 3/3 -1/3 1 a/b 1/ /2; do
	says 64 'write I/N' evaluate --slice "$slice"
done

# ---- patience --------------------------------------------------------------
# A rate of almost nothing: after the first evaluation none is better by more than chance; the same
# resumed has lost its patience already, and more patience goes on.
: >"$tmp/in"
early() {
	"$wb" train -C "$w" --run early --steps 60 --eval-every 2 --save-every 2 --noam-factor 0 "$@" \
		"$tmp/tiny.ini" >"$tmp/out" 2>"$tmp/err" || not_ok "early $*" "$(tail -n 1 "$tmp/err")"
}
steps() {
	n=$(grep -c '"kind":"eval"' "$w/runs/early/journal.jsonl")
	last=$(grep '"kind":"stop"' "$w/runs/early/journal.jsonl" | tail -n 1)
	if [ "$n" -eq "$1" ] && expr "$last" : ".*\"step\":$2,.*finished" >/dev/null; then
		ok "$1 evaluations, $2 steps"
	else
		not_ok "$1 evaluations, $2 steps" "there were $n evaluations; $last"
	fi
}
early --patience 2 --stop-metric loss --best-metric loss
steps 3 6
if grep -q '"kind":"stop".*"why":"patience","text":"no better loss in 2 evaluations (patience)"' \
	"$w/runs/early/journal.jsonl"; then
	ok "the journal says why"
else
	not_ok "the journal says why" "$(grep '"kind":"stop"' "$w/runs/early/journal.jsonl")"
fi
if [ "$(readlink "$w/runs/early/checkpoints/best")" = 2 ]; then ok "the best"; else not_ok "the best" "$(ls -l "$w/runs/early/checkpoints")"; fi
said() { # said WORDS : on standard error of the last training
	if grep -qE -- "$1" "$tmp/err"; then ok "train says $1"; else not_ok "train says $1" "$(tail -n 3 "$tmp/err")"; fi
}
said '^finished: no better loss in 2 evaluations \(patience\)$'
said "^to train on, type: [^ ]*werkbank train -C .*/runs/early/recipe.ini --run early --patience 4\$"
early
steps 3 6
said '^finished: no better loss in 2 evaluations'
early --steps 6
said '^finished: step 6 of 6$'
said 'to train on, type: .* --run early --steps 12$' # nothing was left to do
early --patience 4
steps 5 10

# ---- the tensors of a checkpoint ----
says 0 '' "$wb" model -C "$w" --run r --checkpoint last
grep -E '^total +[0-9,]+$' "$tmp/out" >"$tmp/total"
says 0 '' "$wb" model --model "$w/runs/r"
if [ -s "$tmp/total" ] && grep -E '^total +[0-9,]+$' "$tmp/out" | cmp -s - "$tmp/total"; then ok "model of a folder"; else not_ok "model of a folder" "$(tail -n 1 "$tmp/out")"; fi
says 66 '' "$wb" model -C "$w" --run nosuch
says 64 '--d-model contradicts the model that --run names' "$wb" model -C "$w" --run r --d-model 64
if grep -q '"kind":"eval".*"precision":"fp32"' "$w/runs/r/journal.jsonl"; then ok "precision of BLEU"; else not_ok "precision of BLEU" "none"; fi

# ---- eval ------------------------------------------------------------------
says 0 '' "$wb" eval -C "$w" --run r --set test
line 1 '^test: [0-9]+ sentences, step [0-9]+, beam 4$'
line 2 '^BLEU [0-9.]+ [0-9.]+/[0-9.]+/[0-9.]+/[0-9.]+ \(BP .*\(fp32\)$'
line 4 '^nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:werkbank-'
line 5 '^chrF2 [0-9.]+$'
line 6 '^NLL [0-9.]+ nats per target token, perplexity [0-9.]+$'
says 0 '' cat "$w/runs/r/eval-test.json"
line 1 '^\{"t":[0-9]+,"set":"test",.*"step":[0-9]+,.*"beam":4,.*"bleu":.*"tok":"13a",.*\}$'
says 0 '' "$wb" report -C "$w" r
line 5 'BLEU on the test set is [0-9.]+ \(13a\), at step [0-9]+, .*sentences, beam 4\)'
says 0 '' "$wb" report -C "$w" r all --format text
! grep -q '^Were the GPUs' "$tmp/out" && ok "text leaves out what does not apply" || not_ok "text leaves out what does not apply" "it does not"
says 64 'not one of md, text, html, json .did you mean md.*$' "$wb" report -C "$w" r --format markdown
says 64 'not one of md, text, html, json .did you mean html.*$' "$wb" report -C "$w" r --format htm
says 0 '' "$wb" report -C "$w" r gpus-used --format text
line 3 '^Were the GPUs really used\?$'
says 0 '' "$wb" eval -C "$w" -m "$w/runs/r/checkpoints/last" --set dev --beam 1
[ ! -e "$w/runs/r/eval-dev.json" ] && ok "the score of a folder is not kept" || not_ok "the score of a folder is not kept" "it is"
says 0 '' "$wb" eval -C "$w" --run r --checkpoint last --beam 1 --json
line 1 '^\{"t":[0-9]+,"set":"dev",.*"step":40,.*"beam":1,.*"bleu":.*"chrf2":.*"nll":.*"decoded_target_tps":[0-9.]+\}$'
says 0 '' "$wb" eval -C "$w" --run r --set test --ledger --resamples 20
line 9 '^ +score +mean ± 95 % +compare with$'
line 10 '^BLEU +[0-9.]+ +[0-9.]+ ± +[0-9.]+  the one to publish'
line 11 '^  werkbank\|bleu\|refs:1\|case:mixed\|tok:13a\|smooth:exp\|v:.*\|bs:20\|seed:12345$'
line 15 '^  werkbank\|bleu\|.*\|tok:intl\|'
line 20 '^multi-bleu, compounds split +[0-9.]+ '
line 28 '^pseudo-BLEU, teacher-forced +0\.[0-9]{4} +0\.[0-9]{4} ± .*not with BLEU'
line 29 'tok:multi-bleu\|smooth:none\|v:.*\|text:pieces\|teacher-forced:yes\|bs:20'
says 0 '' "$wb" eval -C "$w" --run r --beam 1 --ledger --json
line 1 '"ledger":\[\{"id":"bleu",.*"id":"bleu-lc".*"id":"bleu-intl".*"id":"multi-bleu".*"id":"compound-split".*"id":"chrf2".*"id":"chrf2\+\+".*"id":"ter".*"id":"pseudo-bleu","name":"[^"]*","score":[0-9][0-9.e-]*,.*\]\}$'
says 66 'no held-out set' "$wb" eval -C "$w" --run r --set nothing
says 64 'held-out set' "$wb" eval -C "$w" --run r --set ../dev
says 66 '' "$wb" eval -C "$w" --run r --checkpoint 30

# ---- translate -------------------------------------------------------------
printf 'the man sees the dog.\n\n  \n<b> & |\nlast without line end' >"$tmp/in"
says 0 '' "$wb" translate -C "$w" --run r --checkpoint last
lines 5
line 2 '^$'
line 3 '^$'
cp "$tmp/out" "$tmp/plain"
{ printf '\357\273\277'; cat "$tmp/in"; } >"$tmp/marked"
says 0 '' "$wb" translate -m "$folder" "$tmp/marked"
if cmp -s "$tmp/out" "$tmp/plain"; then ok "a byte order mark is no text"; else not_ok "a byte order mark is no text" "differs"; fi
says 0 '' "$wb" translate -m "$folder" "$tmp/in"
if cmp -s "$tmp/out" "$tmp/plain"; then ok "--model, a file"; else not_ok "--model, a file" "differs from --run"; fi
says 0 '' "$wb" translate -m "$folder" -o "$tmp/written"
if cmp -s "$tmp/written" "$tmp/plain"; then ok "--output"; else not_ok "--output" "differs"; fi
says 0 '' "$wb" translate -m "$folder" --backend ref
if cmp -s "$tmp/out" "$tmp/plain"; then ok "--backend ref"; else not_ok "--backend ref" "differs from the fast one"; fi
for precision in fp32 bf16 int8; do
	says 0 '' "$wb" translate -m "$folder" --precision $precision
	lines 5
	line 2 '^$'
	cp "$tmp/out" "$tmp/$precision"
	says 0 '' "$wb" translate -m "$folder" --precision $precision --decode-tokens 16 --workers 3
	if cmp -s "$tmp/out" "$tmp/$precision"; then ok "small batches"; else not_ok "small batches" "differ"; fi
done
says 0 '' "$wb" translate -m "$folder" --precision auto
if cmp -s "$tmp/out" "$tmp/fp32" || cmp -s "$tmp/out" "$tmp/bf16"; then ok "--precision auto"; else not_ok "--precision auto" "differs from both"; fi
says 0 '' "$wb" compare -C "$w" --run r --resamples 100 --precision auto :last
if grep -qE '\((fp32|bf16)\)' "$tmp/out" && ! grep -q '(auto)' "$tmp/out"; then ok "compare --precision auto"; else not_ok "compare --precision auto" "$(cat "$tmp/out")"; fi
says 0 '' "$wb" eval -C "$w" --run r --precision int8
line 2 '^BLEU [0-9.]+ '
says 78 'for translation only: train with auto, fp32 or bf16' "$wb" train -C "$w" --run int8 --precision int8 "$tmp/tiny.ini"
if [ -e "$w/runs/int8" ]; then not_ok "no run folder" "it is there"; else ok "no run folder"; fi
says 0 '' "$wb" translate -m "$folder" --n-best 3 --scores --alignments
lines 11
tab=$(printf '\t')
line 1 "^1${tab}-[0-9.]+${tab}[^${tab}]*${tab}([0-9]+-[0-9]+( |\$))*\$"
line 4 "^2${tab}0.000000$tab$tab\$"
line 5 "^3${tab}0.000000$tab$tab\$"
line 6 "^4$tab"
says 64 'needs a beam of at least 5' "$wb" translate -m "$folder" --n-best 5
says 64 'beam' "$wb" translate -m "$folder" --beam 65
printf 'good\nbad \377\ngood\n' >"$tmp/in"
says 65 'standard input:2: byte 5 is not valid UTF-8' "$wb" translate -m "$folder"
lines 1
says 0 'repair replaced invalid UTF-8 in 1 line, the last one in standard input: ' "$wb" translate -m "$folder" --repair
lines 3
printf 'abc abc \377\nb\nc \376\n' >"$tmp/broken"
says 0 'repair replaced invalid UTF-8 in 4 lines, the last one in .*broken: ' "$wb" bleu --repair -r "$tmp/broken" "$tmp/broken"
for tool in tokenize "bpe-learn -s 5" "sp-learn -s 20 -o $tmp/pieces"; do
	# shellcheck disable=SC2086 # a tool and its options
	says 0 'repair replaced invalid UTF-8 in 2 lines, the last one in .*broken: ' "$wb" $tool --repair "$tmp/broken"
	# shellcheck disable=SC2086
	says 0 '' "$wb" $tool --repair --quiet "$tmp/broken"
	if [ -s "$tmp/err" ]; then not_ok "$tool --quiet" "$(cat "$tmp/err")"; else ok "$tool --quiet"; fi
done
says 65 'in:2: ' "$wb" translate -m "$folder" -o "$tmp/none" "$tmp/in"
if [ -e "$tmp/none" ]; then not_ok "no half output" "the file is there"; else ok "no half output"; fi
says 66 'nothing' "$wb" translate -m "$folder" "$tmp/nothing"
: >"$tmp/in"
says 0 '' "$wb" translate -m "$folder"
lines 0
if [ -e /dev/full ]; then
	echo a >"$tmp/in"
	got=0
	"$wb" translate -m "$folder" <"$tmp/in" >/dev/full 2>"$tmp/err" || got=$?
	if [ "$got" -eq 74 ]; then ok "a full disk"; else not_ok "a full disk" "exit status $got: $(cat "$tmp/err")"; fi
fi
i=0
while [ $i -lt 3000 ]; do echo "the dog sees the man."; i=$((i + 1)); done >"$tmp/in"
if "$wb" translate -m "$folder" --beam 1 <"$tmp/in" 2>"$tmp/err" | head -1 >"$tmp/out" && [ ! -s "$tmp/err" ]; then
	ok "a closed pipe is quiet"
else
	not_ok "a closed pipe is quiet" "$(head -c 200 "$tmp/err")"
fi

# ---- average ---------------------------------------------------------------
echo "the man sees the dog." >"$tmp/in"
says 0 'checkpoints/20' "$wb" average -C "$w" --run r -o "$tmp/mean"
says 0 '' "$wb" translate -m "$tmp/mean"
lines 1
says 0 '' "$wb" eval -C "$w" -m "$tmp/mean"
line 2 '^BLEU '
says 0 '' "$wb" average "$folder" "$folder" -o "$tmp/same"
if cmp -s "$folder/model.safetensors" "$tmp/same/model.safetensors"; then
	ok "the mean of one is itself"
else
	not_ok "the mean of one is itself" "the weights differ"
fi
says 0 '' "$wb" average -C "$w" --run r 20 40 -o "$tmp/both"
if cmp -s "$tmp/both/model.safetensors" "$tmp/mean/model.safetensors"; then
	ok "steps"
else
	not_ok "steps" "the weights differ from those of the newest"
fi
says 73 'already exists' "$wb" average -C "$w" --run r --last 1 -o "$tmp/mean"
says 66 'no checkpoint "30"; it has: 40 20' "$wb" average -C "$w" --run r 30 -o "$tmp/none"
says 64 'give --output' "$wb" average -C "$w" --run r
says 64 'average needs models' "$wb" average -o "$tmp/none"
says 64 'both given' "$wb" average -C "$w" --run r --last 2 20 -o "$tmp/none"

# ---- ensembles, samples, prefixes ------------------------------------------
# same NAME A B : two files are alike.
same() {
	if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$2" "$3" | head -n 3)"; fi
}
printf 'the man sees the dog.\n\nthe dog sees a cat.\nthe man is old.\n' >"$tmp/in"
says 0 '' "$wb" translate -m "$folder"
cp "$tmp/out" "$tmp/plain"
says 0 '' "$wb" translate -m "$folder" --ensemble "$folder" --ensemble "$folder"
same "an ensemble of equal models" "$tmp/out" "$tmp/plain"
says 0 '' "$wb" translate -C "$w" --run r --checkpoint 20,40 --scores
lines 4
cp "$tmp/out" "$tmp/pair"
says 0 '' "$wb" translate -m "$w/runs/r/checkpoints/20" --ensemble "$folder" --scores --workers 2
same "two checkpoints" "$tmp/out" "$tmp/pair"
says 0 '' "$wb" eval -C "$w" --run r --checkpoint 20,last
line 1 ', with 1 more model$'
says 66 'no checkpoint "30"' "$wb" translate -C "$w" --run r --checkpoint 20,30
says 0 '' "$wb" translate -m "$folder" --sample --n-best 3 --seed 5 --scores
lines 10
cp "$tmp/out" "$tmp/draws"
says 0 '' "$wb" translate -m "$folder" --sample --n-best 3 --seed 5 --scores --decode-tokens 16 --workers 3
same "samples in other batches" "$tmp/out" "$tmp/draws"
says 0 '' "$wb" translate -m "$folder" --sample --n-best 3 --seed 6 --scores
if cmp -s "$tmp/out" "$tmp/draws"; then not_ok "another seed" "the same samples"; else ok "another seed"; fi
says 0 '' "$wb" translate -m "$folder" --sample --top-k 1 --seed 5
cp "$tmp/out" "$tmp/draws"
says 0 '' "$wb" translate -m "$folder" --beam 1
same "samples of the best alone are greedy" "$tmp/out" "$tmp/draws"
says 64 'temperature' "$wb" translate -m "$folder" --sample --temperature 0
printf 'the man sees the dog.\tDer Hund\nthe man sees the dog.\n' >"$tmp/in"
says 0 '' "$wb" translate -m "$folder" --prefix
line 1 '^Der Hund'
sed -n 2p "$tmp/out" >"$tmp/second"
head -n 1 "$tmp/plain" | cmp -s - "$tmp/second" && ok "no prefix" || not_ok "no prefix" "$(cat "$tmp/second")"

# ---- the console of the workbench, with the real thing ------------------------
console() {
	LC_ALL=C WERKBANK_RUNTIME=$tmp XDG_CONFIG_HOME=$tmp XDG_STATE_HOME=$tmp \
		"$wb" watch -C "$w" r --dump 40x120 --keys "$1" >"$tmp/out" 2>"$tmp/err"
}
echo 'the man sees the dog.' >"$tmp/in"
says 0 '' "$wb" translate -C "$w" --run r --checkpoint best
want=$(cut -c 1-60 "$tmp/out" | LC_ALL=C sed 's/[^ -~]/?/g; s/??*/?*/g; s/[][\\.^$]/./g')
console '7<Wait>the man sees the dog.<Wait>'
if [ -n "$want" ]; then line 7 "^.${want}"; else line 7 '^. *.$'; fi
line 6 '^.- translation, de -'
console '7<Wait>the man sees the dog.<Wait><Esc><Wait>'
if grep -qE '<?[0-9.]+% [#-]+ ' "$tmp/out"; then ok "alternatives"; else
	not_ok "alternatives" "none: $(cat "$tmp/out")"; fi
cp "$tmp/in" "$tmp/console-in"
console "7<Wait><Esc>T$tmp/console-in<Enter><Enter><Wait>"
says 0 '' "$wb" translate -C "$w" --run r --checkpoint best "$tmp/console-in"
if cmp -s "$tmp/out" "$tmp/console-in.de"; then ok "a file"; else not_ok "a file" "differs"; fi

# ---- serve -----------------------------------------------------------------
{
	printf '{"id":1,"text":"the man sees the dog."}\n'
	printf '{"id":"b","text":"the man sees the dog.","n_best":2}\n'
	printf '{bad\n\n[1]\n{"id":2}\n{"id":3,"text":""}\n{"id":4,"text":"x","beam":100}\n'
	printf '{"id":7,"text":"the man sees the dog.","prefix":"Der Hund"}\n'
	printf '{"id":5,"text":"x","n_best":9,"beam":3}\n{"text":"two\\nlines"}\n{"id":6,"text":"\377"}\n'
} >"$tmp/in"
says 0 '' "$wb" translate -m "$folder" --serve
lines 13
line 1 '^\{"ready":true,"source_language":"en","target_language":"de","step":40,'
line 2 '^\{"id":1,"text":"[^"]*","score":-[0-9.]+,"log_prob":-[0-9.]+,"tokens":\[.*\],"token_log_probs":\[-.*\],"alignment":\[.*\],"source_tokens":\['
line 3 '^\{"id":"b",.*"n_best":\[\{"text":.*\},\{"text":.*\}\]\}$'
line 4 '^\{"id":null,"error":"'
line 5 '^\{"id":null,"error":"'
line 6 '^\{"id":null,"error":"'
line 7 '^\{"id":2,"error":"a request is'
line 8 '^\{"id":3,"text":"","score":0,'
line 9 '^\{"id":4,"error":"beam is 100'
line 10 '^\{"id":7,"text":"Der Hund'
line 11 '^\{"id":5,"error":"n_best is 9'
line 12 '^\{"id":null,"text":"'
line 13 '^\{"id":null,"error":"a request must be valid UTF-8"\}'

{
	printf '{"id":1,"text":"the man sees the dog.","force":["Hund Hund"],"forbid":["."],"alternatives":3,"at":0}\n'
	printf '{"id":2,"text":"the man sees the dog.","force":"Hund"}\n{"id":3,"text":"a","forbid":[7]}\n'
	printf '{"id":4,"text":"the man sees the dog.","force":["\346\274\242"]}\n'
	printf '{"id":5,"text":"the man sees the dog.","force":["der Hund"],"forbid":["Hund"]}\n'
	printf '{"id":6,"text":"a","alternatives":3}\n{"id":7,"text":"a","alternatives":21,"at":1}\n'
	printf '{"id":8,"text":"a","alternatives":1,"at":9999}\n{"id":9,"text":"a","forbid":["  "]}\n'
	printf '{"id":10,"text":"","alternatives":1,"at":0,"force":[],"forbid":null,"prefix":""}\n'
	printf '{"id":11,"text":"The man sees the dog. The woman sings.","force":["Hund Hund"]}\n'
	printf '{"id":12,"force":["Hund"],"text":"'
	yes "The man sees the dog." | head -n 2049 | tr '\n' ' '
	printf '"}\n'
} >"$tmp/in"
says 0 '' "$wb" translate -m "$folder" --serve
lines 13
line 2 '^\{"id":1,"text":"[^."]*Hund Hund[^."]*",.*"at":0,"alternatives":\[(\{"piece":"[^"]+","word":"[^"]*","log_prob":-[^,]*,"prefix":"[^"]*"\},?){3}\]'
line 3 '^\{"id":2,"error":"force and forbid must be lists of phrases"'
line 4 '^\{"id":3,"error":"forbid must be a list of phrases'
line 5 '^\{"id":4,"error":"the model cannot write'
line 6 '^\{"id":5,"error":"a forced phrase contains a forbidden phrase"'
line 7 '^\{"id":6,"error":"alternatives must be'
line 8 '^\{"id":7,"error":"alternatives must be from 1 to 20'
line 9 '^\{"id":8,"text":'
line 10 '^\{"id":9,"error":.*has no words'
line 11 '^\{"id":10,"text":"",.*"at":0,"alternatives":\[\]'
line 12 '^\{"id":11,"text":"[^"]*Hund Hund[^"]*",.*"sentences":2,'
line 13 '^\{"id":12,"error":"a text with 1 forced phrase can have at most 2048 sentences, this one has 2049: '

# ---- terms and forbidden words ----------------------------------------------
printf 'dog\tKatze\nthe man\tdie alte Frau\n' >"$tmp/terms"
printf 'the man sees the dog.\nThe man sees a dog and the dog.\nthe woman sees the dogs.\n' >"$tmp/in"
says 0 '' "$wb" translate -m "$folder" --terms "$tmp/terms"
lines 3
line 1 'die alte Frau.*Katze|Katze.*die alte Frau'
line 2 'die alte Frau.*Katze.*Katze|Katze.*die alte Frau.*Katze|Katze.*Katze.*die alte Frau'
"$wb" translate -m "$folder" --workers 2 --terms "$tmp/terms" "$tmp/in" 2>&1 | cmp -s - "$tmp/out" && ok "two workers" || not_ok "two workers" "differ"
tail -n 1 "$tmp/out" >"$tmp/third"
says 0 '' "$wb" translate -m "$folder"
tail -n 1 "$tmp/out" | cmp -s - "$tmp/third" && ok "no term, no change" || not_ok "no term" "$(cat "$tmp/third")"
forbidden=$(head -n 1 "$tmp/out" | tr -d '.' | tr ' ' '\n' | head -n 2)
printf '%s\n\n' "$forbidden" >"$tmp/forbidden"
says 0 '' "$wb" translate -m "$folder" --forbid "@$tmp/forbidden" --forbid sees
lines 3
if printf '%s\n' "$forbidden" | grep -qwF -f - "$tmp/out"; then not_ok "forbidden words" "$(cat "$tmp/out")"; else ok "forbidden words"; fi
says 64 '--terms and --glossary cannot be used with --sample' "$wb" translate -m "$folder" --sample --terms "$tmp/terms"
says 65 'the term "dog" contains a forbidden phrase' "$wb" translate -m "$folder" --terms "$tmp/terms" --forbid Katze
printf 'dog\tHund\nbad\n' >"$tmp/bad"
says 65 'bad:2: no tab: a term is "source TAB target"' "$wb" translate -m "$folder" --terms "$tmp/bad"
printf 'dog\tHund\ncat\t\346\274\242\n' >"$tmp/bad"
says 65 'bad:2: the model cannot write' "$wb" translate -m "$folder" --terms "$tmp/bad"
printf 'dog\tHund\ndog\tKatze\n' >"$tmp/bad"
says 65 'the term "dog" has two translations' "$wb" translate -m "$folder" --terms "$tmp/bad"
printf 'dog\t\n' >"$tmp/bad"
says 65 'bad:1: the phrase "" has no words' "$wb" translate -m "$folder" --terms "$tmp/bad"
says 66 'nofile' "$wb" translate -m "$folder" --forbid @nofile
says 65 'has no words' "$wb" translate -m "$folder" --forbid ' '
printf 'dog %.0s' $(seq 40) >"$tmp/in"
says 0 'line 1 has 40 terms; only the first 32 are used' "$wb" translate -m "$folder" --terms "$tmp/terms"
{
	printf '{"id":1,"text":"the dog.","terms":{"dog":"Frau"}}\n{"id":2,"text":"the dog.","terms":["dog"]}\n'
	printf '{"id":3,"text":"the dog.","terms":{"dog":"Mann"},"forbid":["Mann"]}\n{"id":4,"text":"the man."}\n'
	printf '{"id":5,"text":"a","terms":"text"}\n{"id":6,"text":"a","terms":7}\n{"id":7,"text":"a","force":true}\n'
	printf '{"id":8,"text":"a","terms":null}\n'
} >"$tmp/in"
says 0 '' "$wb" translate -m "$folder" --serve --terms "$tmp/terms" --forbid .
line 2 '^\{"id":1,"text":"[^".]*Frau[^".]*"'
sed -n 2p "$tmp/out" | grep -q '"text":"[^"]*Katze' && not_ok "own terms first" "$(sed -n 2p "$tmp/out")" || ok "own terms first"
line 3 '^\{"id":2,"error":"terms must be an object'
line 4 '^\{"id":3,"error":.*forbidden'
line 5 '^\{"id":4,"text":"[^".]*die alte Frau[^".]*"'
line 6 '^\{"id":5,"error":"terms must be an object'
line 7 '^\{"id":6,"error":"terms must be an object'
line 8 '^\{"id":7,"error":"force and forbid must be lists of phrases"'
line 9 '^\{"id":8,"text":"'

# ---- lexical shortlists -----------------------------------------------------
printf 'the man sees the dog.\nThe man sees a dog and the dog.\nthe woman sees the dogs.\n' >"$tmp/in"
says 66 'has no shortlist: make .*shortlist.bin with' "$wb" translate -m "$folder" --shortlist model
says 0 'the shortlist covers [0-9.]+ % of the target tokens of the development set' "$wb" shortlist -C "$w" tiny --candidates 30 --frequent 40
cp "$w/corpora/tiny/shortlist.bin" "$folder"
says 0 '' "$wb" translate -m "$folder" --shortlist model
lines 3
cp "$tmp/out" "$tmp/listed"
for how in '--workers 2' '--decode-tokens 16' '--threads 1'; do
	# shellcheck disable=SC2086 # words
	"$wb" translate -m "$folder" --shortlist model $how "$tmp/in" 2>/dev/null | cmp -s - "$tmp/listed" && ok "shortlist $how" || not_ok "shortlist $how" "differ"
done
for p in bf16 int8; do says 0 '' "$wb" translate -m "$folder" --shortlist "$folder/shortlist.bin" --precision $p; done
printf 'the man sees the dog.\tDer Hund\n' >"$tmp/in"
says 0 '' "$wb" translate -m "$folder" --shortlist model --prefix --terms "$tmp/terms"
line 1 '^Der Hund.*Katze'
head -c 300 "$folder/shortlist.bin" >"$tmp/bad"
says 65 'its length does not agree with its counts' "$wb" translate -m "$folder" --shortlist "$tmp/bad"
says 64 'needs CORPUS' "$wb" shortlist -C "$w"
says 66 'there is no prepared corpus' "$wb" shortlist -C "$w" nothing

# Make the sums of the folder m anew: what is wrong in it is no longer an accident of the disk.
sign() {
	rm "$tmp/m/SHA256SUMS"
	(cd "$tmp/m" && sha256sum -- *) >"$tmp/sums"
	mv "$tmp/sums" "$tmp/m/SHA256SUMS"
}

# ---- damaged and foreign models --------------------------------------------
echo a >"$tmp/in"
cp -r "$folder" "$tmp/m"
printf 'x' | dd of="$tmp/m/model.safetensors" bs=1 seek=5000 conv=notrunc 2>/dev/null
says 65 'model.safetensors' "$wb" translate -m "$tmp/m"
rm -r "$tmp/m"
cp -r "$folder" "$tmp/m"
head -n 40 "$folder/vocab.tsv" >"$tmp/m/vocab.tsv"
says 65 'vocab.tsv' "$wb" translate -m "$tmp/m"
sign
says 65 'vocab.tsv' "$wb" translate -m "$tmp/m"
rm -r "$tmp/m"
cp -r "$folder" "$tmp/m"
awk -F'\t' 'NR == 20 { $2++ } { print $1 "\t" $2 }' "$folder/vocab.tsv" >"$tmp/m/vocab.tsv"
sign
says 65 'not the vocabulary that the model was trained with' "$wb" translate -m "$tmp/m"
says 66 '' "$wb" translate -C "$w" --run nothing
says 65 '' "$wb" translate -m "$tmp"
says 66 'nosuch does not exist' "$wb" translate -m "$tmp/nosuch"
says 66 'nosuch does not exist' "$wb" average "$tmp/nosuch" -o "$tmp/none"
says 66 'nosuch does not exist' "$wb" export -m "$tmp/nosuch" --format ctranslate2 -o "$tmp/none"
rm "$w/corpora/tiny/train.shard"
says 66 'train.shard' "$wb-eval" _evaluate -C "$w" --run r --checkpoint 40

finish
