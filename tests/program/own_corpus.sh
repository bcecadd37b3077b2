#!/bin/sh
# own_corpus.sh - each command of share/doc/your-own-corpus.md succeeds, with the recipe small made tiny; the page's languages; and
# the schedules of the recipes small and medium. Last line: the tally.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-own-XXXXXX")
trap 'cd /; rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
PATH=$top:$PATH; export PATH

# ---- schedules: what werkbank makes of the recipes, not what their text says ----
mkdir "$tmp/w" && cd "$tmp/w" || exit 1
werkbank demo-corpus --demo-pairs 2300 --quiet all.en all.de >/dev/null 2>&1 || not_ok "a text" "demo-corpus failed"
# STEPS: those of the whole time on 2 cores without bf16, as the recipe says; the warm-up is at most a quarter of them
for row in 'small 4000' 'medium 8000'; do
	recipe=${row% *} steps=${row#* }
	says "$recipe without text" 78 'give train_source and train_target' werkbank prep "$recipe"
	sed 's/[[:blank:]]*#.*//' "$WERKBANK_SHARE/recipes/$recipe.ini" >plain
	value() { sed -n "s/^$1 = //p" plain; }
	same "$recipe: the warm-up is a quarter at most" "$(($(value warmup) * 4 <= steps))" 1
	same "$recipe: the steps exceed what two cores do" "$(($(value steps) > steps))" 1
	same "$recipe: evaluations before the end" "$((steps / $(value eval_every) >= 8))" 1
done

# ---- the commands of the page ----
WERKBANK_MERGES=200 WERKBANK_D_MODEL=32 WERKBANK_D_FF=64 WERKBANK_HEADS=2 WERKBANK_ENCODER_LAYERS=1 WERKBANK_DECODER_LAYERS=1
WERKBANK_STEPS=4 WERKBANK_EVAL_EVERY=4 WERKBANK_EVAL_SENTENCES=4 WERKBANK_THREADS=1 WERKBANK_BEAM=1 WERKBANK_MAX_LENGTH_FACTOR=1
WERKBANK_MAX_LENGTH_EXTRA=0
export WERKBANK_MERGES WERKBANK_D_MODEL WERKBANK_D_FF WERKBANK_HEADS WERKBANK_ENCODER_LAYERS WERKBANK_DECODER_LAYERS \
	WERKBANK_STEPS WERKBANK_EVAL_EVERY WERKBANK_EVAL_SENTENCES WERKBANK_THREADS WERKBANK_BEAM WERKBANK_MAX_LENGTH_FACTOR \
	WERKBANK_MAX_LENGTH_EXTRA
awk -v folder="$tmp" '
	/^```console$/ { inside = 1; next }
	/^```$/ { inside = 0; next }
	inside && /^\$ / { n++ }
	inside { print substr($0, 3) >sprintf("%s/%02d.command", folder, n) }' "$WERKBANK_SHARE/doc/your-own-corpus.md"
for file in "$tmp"/[0-9][0-9].command; do
	grep -q 'prep.*chinese' "$file" && for part in train dev; do tr -d ' ' <$part.de >$part.zh; done
	says "$(head -n 1 "$file")" 0 '' sh -e "$file"
done
same "commands on the page" "$(find "$tmp" -name '*.command' | wc -l | awk '{ print ($1 >= 17) }')" 1
same "development pairs" "$(wc -l <dev.en | tr -d ' ')" 1000
same "no pair in two parts" "$(sort train.tsv dev.tsv test.tsv | uniq -d | head -n 1)" ''
present "the run" werkbank.d/runs/mine/checkpoints/best
same "the other direction decodes its source" "$(sed -n '1s/.*"source":"\([^"]*\)".*/\1/p' werkbank.d/runs/reverse/samples.jsonl)" "$(head -n 1 dev.de)"
holds "Chinese is scored by characters" '"kind":"eval".*"tok":"zh"' werkbank.d/runs/chinese/journal.jsonl

# ---- no development set ----
says "a corpus without a development set" 0 'bare is ready' werkbank prep small --corpus bare --train-source train.en --train-target train.de
says "it trains to the end" 0 'The corpus has no development set: .* with dev_source and dev_target' werkbank train small --corpus bare --run bare
same "... and is finished" "$(sed -n 's/.*"state":"\([a-z]*\)".*/\1/p' werkbank.d/runs/bare/state.json)" finished
says "... and translates" 0 '' werkbank translate --run bare --checkpoint last dev.en -q

# ---- swapped files ----
says "swapped training files" 0 'warning: train: .* have source and target the other way round' werkbank prep small --corpus swapped \
	--train-source train.de --train-target train.en --dev-source dev.en --dev-target dev.de
says "swapped files of the test set" 0 'warning: test: .* have source and target the other way round' werkbank prep small --corpus swapped --force \
	--train-source train.en --train-target train.de --dev-source dev.en --dev-target dev.de --test-source test.de --test-target test.en
says "files in the right order" 0 'swapped is ready' werkbank prep small --corpus swapped --force \
	--train-source train.en --train-target train.de --dev-source dev.en --dev-target dev.de --test-source test.en --test-target test.de
same "... without a warning" "$(heard | grep -c 'warning')" 0

# ---- verdicts ----
sed 1d all.de >shifted.de; echo Ende. >>shifted.de
says "shifted targets" 0 'warning: train: Targets stand 1 line before their sources' werkbank prep small --corpus shifted \
	--train-source all.en --train-target shifted.de --dev-source dev.en --dev-target dev.de
holds "the manifest names them" '"verdicts":\[{"rule":"shifted","confidence":"clear","set":"train"' werkbank.d/corpora/shifted/manifest.json
says "data stats shows them" 0 '1 verdict against the corpus' werkbank data stats shifted
says "data list counts them" 0 '^shifted: .*, 1 clear verdict against it$' werkbank data list
same "... and counts none of a healthy corpus" "$(grep -c '^mine: .*verdict' "$tmp/out")" 0
says "... as JSON" 0 '"name":"shifted",.*"clear_verdicts":1' werkbank data list --json
says "a training on it" 0 '' werkbank train small --corpus shifted --run shifted
says "its report names the verdict" 0 'Preparing the corpus found: train: Targets stand 1 line before' werkbank report shifted data-problem
says "they are said again" 0 'warning: train: Targets stand 1 line before' werkbank prep small --corpus shifted \
	--train-source all.en --train-target shifted.de --dev-source dev.en --dev-target dev.de
says "--strict fails" 65 'shifted: 1 verdict against the corpus' werkbank prep small --corpus shifted --strict \
	--train-source all.en --train-target shifted.de --dev-source dev.en --dev-target dev.de
says "--strict leaves a corpus that is not ready" 65 '' werkbank prep small --corpus strict --strict \
	--train-source all.en --train-target shifted.de --dev-source dev.en --dev-target dev.de
says "data list names it" 0 '^strict: not prepared' werkbank data list
says "data stats shows its verdicts" 0 '1 verdict against the corpus' werkbank data stats strict
says "... and that it is not ready" 0 'strict is not ready: its preparation did not end' werkbank data stats strict
says "... as JSON" 0 '"ready":false' werkbank data stats strict --json
says "data show needs a corpus" 66 'there is no prepared corpus' werkbank data show strict 0
says "a training needs a corpus" 66 'the preparation of the corpus strict in .* did not end: type: werkbank prep' \
	werkbank train small --corpus strict
says "--strict accepts a healthy corpus" 0 'swapped is ready' werkbank prep small --corpus swapped --strict \
	--train-source train.en --train-target train.de --dev-source dev.en --dev-target dev.de --test-source test.en --test-target test.de

head -n 20 train.en >inside.en; head -n 20 train.de >inside.de
says "a dev set of training pairs: said at the end" 0 'warning: [0-9]* training pairs equal one of the 20 pairs of the dev set: .* --overlap drop removes them' \
	werkbank prep small --corpus inside --train-source train.en --train-target train.de --dev-source inside.en --dev-target inside.de
says "... --strict fails" 65 'inside: [0-9]* training pairs equal one of the 20 pairs of the dev set: give --overlap drop' \
	werkbank prep small --corpus inside --strict --train-source train.en --train-target train.de --dev-source inside.en --dev-target inside.de
says "... and passes once they are dropped" 0 'inside is ready' werkbank prep small --corpus inside --strict --overlap drop --force \
	--train-source train.en --train-target train.de --dev-source inside.en --dev-target inside.de

# ---- languages ----
says "a language without rules of its own" 0 'no tokenizer rules for the language "es"' \
	werkbank prep small --corpus es --source-language es --train-source train.en --train-target train.de
for part in train dev; do sed "s/^/l'art /" $part.de >$part.apostrophes; done
apostrophes() {
	language=$1
	shift
	werkbank prep small --corpus apostrophes --force --target-language "$language" --train-source train.en --train-target train.apostrophes \
		--dev-source dev.en --dev-target dev.apostrophes --vocabulary-size 400 "$@"
}
says "a language whose apostrophes are lost" 0 'warning: detokenising changes 100 % of the lines of es .* comes back as "l .art .*sentencepiece --no-tok' apostrophes es
holds "the manifest counts the lines" '"round_trip":{"lines":1000,"different":1000}' werkbank.d/corpora/apostrophes/manifest.json
says "a language whose apostrophes come back" 0 'apostrophes is ready' apostrophes it
same "... without a warning" "$(heard | grep -c 'warning: detok')" 0
says "the cure of the warning" 0 'apostrophes is ready' apostrophes es --segmentation sentencepiece --no-tokenize
same "... ends the warning" "$(heard | grep -c 'warning: detok')" 0
# the options of the page's row for languages without blanks
options=$(sed -n 's/^| no blanks between words[^`]*`\([^`]*\)`.*/\1/p' "$WERKBANK_SHARE/doc/your-own-corpus.md")
tr -d ' ' <train.de >train.zh
# shellcheck disable=SC2086 # a list of words
says "text without blanks" 0 'zh is ready' werkbank prep small --corpus zh --target-language zh --train-source train.en \
	--train-target train.zh --vocabulary-size 400 ${options:?}
same "... loses no pair" "$(sed -n 's/.*"pairs":{"read":[0-9]*,"train":\([0-9]*\).*/\1/p' werkbank.d/corpora/zh/manifest.json)" \
	"$(wc -l <train.en | tr -d ' ')"
tally
