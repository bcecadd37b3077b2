#!/bin/sh
# tune.sh - werkbank tune: the derived recipe, held-out sets, general text, freezing, a tuning that was stopped; and every
# command of share/doc/tune.md, with the small MarianMT folder of tests/golden/import. Last line: the tally.
set -u
top=$PWD
srcdir=${srcdir:-.}
golden=$(cd "$srcdir/tests/golden/import" && pwd)
page=$(cd "$srcdir/share/doc" && pwd)/tune.md
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-tune-XXXXXX")
trap 'cd /; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_RUN WERKBANK_STEPS WERKBANK_BEAM
WERKBANK_HOME=$tmp/w
export WERKBANK_HOME
wb=$top/werkbank
. "$(dirname "$0")/../helpers.sh"
c=$tmp/w/corpora r=$tmp/w/runs

# ---- a general model, a text of the user, a general text ----------------------------
tiny_recipe "$tmp/general.ini" 900 150 steps=12 batch_tokens=512 warmup=8 eval_every=6 save_every=6 \
	eval_sentences=8 samples=0 threads=1 precision=fp32
cd "$tmp" || exit 1
"$wb" demo-corpus --demo-pairs 2400 --seed 7 my.en my.de || not_ok "texts" "not made"
"$wb" demo-corpus --demo-pairs 3000 --seed 8 news.en news.de || not_ok "texts" "not made"
says "a general model" 0 '' "$wb" prep -q general.ini
says "is trained" 0 '' "$wb" train -q general.ini

# ---- the plan --------------------------------------------------------------------------
tune() { "$wb" tune "$@" --train-source my.en --train-target my.de --threads 1 --steps 30 --eval-every 15 --max-length-extra 3; }
says "the plan" 0 'pieces_from = general: its vocabulary' tune general --dry-run
holds "which says what it cannot know yet" 'follow from the number of pairs' "$tmp/out"
absent "nothing is written" "$r/general-tuned"
says "another form of text" 78 'the model general has tokenize = yes, but the command line says no' tune general --no-tokenize
says "no such model" 66 'none: there is no such run' tune none
says "no text" 78 'names no training text' "$wb" tune general --run textless

# ---- a tuning with general text -----------------------------------------------------------
says "tuned" 0 'Did tuning help' tune general --general-source news.en --general-target news.de
holds "every proposal has a reason" '^  peak_rate = 0.0008: far below' "$tmp/err"
holds "what is given stays" '^  steps = 30 \(command line\)' "$tmp/err"
holds "the score before" '^before: BLEU [0-9.]+ on the set general \(300 pairs\)' "$tmp/err"
holds "the sets are parts of the texts" '"pairs":{"read":4800,"train":[0-9]+,"dev":240,"test":240,"general":300}' "$c/general-tuned/manifest.json"
holds "records of both sets" '"kind":"tune".*"set":"test","role":"own","sentences":240,' "$r/general-tuned/journal.jsonl"
holds "with a test" '"set":"general","role":"general","sentences":300,"tok":"13a","before":[0-9.]+,.*"p":[0-9.]+' "$r/general-tuned/journal.jsonl"
holds "it began with the model's weights" 'started with the weights of .*general/checkpoints/best' "$r/general-tuned/journal.jsonl"
says "general is a held-out set of the corpus" 0 'BLEU' "$wb" eval --run general-tuned --set general
says "the same again is done" 0 'is tuned already' tune general --general-source news.en --general-target news.de
"$wb" prep -q --force --keep-text "$r/general-tuned/tune/tune.ini" || not_ok "prepared again" "no"
text=$c/general-tuned/text
for l in en de; do cat "$text/dev.tok.$l" "$text/test.tok.$l" "$text/general.tok.$l" >"held.$l"; done
paste held.en held.de | sort -u >held
paste "$text/train.tok.clean.en" "$text/train.tok.clean.de" | sort -u >trained
same "no held-out pair is trained" "$(comm -12 held trained | wc -l | tr -d ' ')" 0
same "there are training pairs" "$([ "$(wc -l <trained)" -gt 1000 ] && echo yes)" yes
cp "$c/general-tuned/test.en" first.en
rm -rf "$c/general-tuned"
says "prepared once more" 0 '' "$wb" prep -q "$r/general-tuned/tune/tune.ini"
equal "with the same choice" first.en "$c/general-tuned/test.en"

# ---- stopped and continued --------------------------------------------------------------------
says "a tuning of few steps" 0 '' tune general --run whole --corpus two
rm "$r/whole/tune/test.after"
grep -v '"kind":"tune"' "$r/whole/journal.jsonl" >journal && cp journal "$r/whole/journal.jsonl"
cp -R "$r/whole" "$r/parts"
rm -rf "$r/parts/checkpoints" "$r/parts/journal.jsonl" "$r/parts/state.json" "$r/parts/samples.jsonl" "$r/parts/recipe.ini"
says "after the training" 0 'Did tuning help' tune general --run whole --corpus two
holds "only what was missing" '"kind":"tune"' "$r/whole/journal.jsonl"
says "before the training" 0 'Did tuning help' tune general --run parts --corpus two
equal "the same translations" "$r/whole/tune/test.after" "$r/parts/tune/test.after"

says "a tuning that ends early" 0 'to train on, type the same werkbank tune command again, with --max-minutes' \
	tune general --run early --corpus two --max-minutes 0.001
says "with other options" 78 'the tuning whole began with warmup = .*, which is warmup = 7 now: give the same options, or' \
	tune general --run whole --corpus two --warmup 7
grep -v '"kind":"tune"' "$r/whole/journal.jsonl" >journal && cp journal "$r/whole/journal.jsonl"
echo another >>"$r/whole/tune/test.en"
says "with another text" 78 'the text has changed since this tuning began' tune general --run whole --corpus two
says "a model of another program" 66 'import the model of another program first' "$wb" tune "$golden/marianmt" --run other --train-source my.en --train-target my.de

# ---- freezing ------------------------------------------------------------------------------------
says "the encoder stays" 0 'freeze: [0-9]+ tensors stay as they are' tune general --run frozen --corpus two --freeze encoder,embeddings
says "an unknown part" 78 'the model has no part "encodr"' tune general --run bad --corpus two --freeze encodr
holds "what to do now" 'bad is not tuned yet: correct the option, and give another --run NAME' "$tmp/err"

# ---- the page ----------------------------------------------------------------------------------------
unset WERKBANK_HOME
mkdir page && cd page || exit 1
cp -R "$golden/marianmt" opus-mt-en-de
cp ../my.en ../my.de ../news.en ../news.de .
head -n 5 my.en >new.en
PATH=$top:$PATH; export PATH
WERKBANK_STEPS=20 WERKBANK_EVAL_EVERY=10 WERKBANK_THREADS=1 WERKBANK_MAX_LENGTH_FACTOR=0.2 WERKBANK_MAX_LENGTH_EXTRA=2
export WERKBANK_STEPS WERKBANK_EVAL_EVERY WERKBANK_THREADS WERKBANK_MAX_LENGTH_FACTOR WERKBANK_MAX_LENGTH_EXTRA
awk '/^```console$/ { inside = 1; next } /^```$/ { inside = 0 } inside && /^\$ / { print substr($0, 3) }' "$page" >commands
while read -r command; do
	says "$command" 0 '' sh -ec "$command"
done <commands
present "the page ends with translations" new.de
holds "the tuned model searches as the imported one" '^beam_rules *= transformers' werkbank.d/runs/model-tuned/checkpoints/last/recipe.ini
present "and with a second run" werkbank.d/runs/german/tune/test.after

tally
