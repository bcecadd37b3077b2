#!/bin/sh
# release.sh - what an earlier release wrote still opens: a recipe with former option names, a corpus, a journal, a checkpoint.
# tests/golden/release holds one of each. Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-release-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
old=$(cd "$srcdir/tests/golden/release" && pwd)
w=$tmp/w
mkdir -p "$w/corpora" "$w/runs"
cp -r "$old/corpus" "$w/corpora/old"
cp -r "$old/run" "$w/runs/old"
chmod -R u+w "$w"
ln -s 12 "$w/runs/old/checkpoints/last"
ln -s 12 "$w/runs/old/checkpoints/best"
wb() { command=$1; shift; "$top/werkbank" "$command" -C "$w" "$@"; }

says "status of the run" 0 'step 12 of 12' wb status old
says "report on the run" 0 'Which learning-rate schedule' wb report old
says "... knows the schedule" 0 'warm-up' wb report old --json
says "its options beside another run's" 0 'old' wb runs old --json
says "samples" 0 '' wb samples old
says "scores of the checkpoint" 0 '^BLEU ' wb eval --run old --set test
says "translation by the checkpoint" 0 '' sh -c "echo 'The old woman reads.' | '$top/werkbank' translate -C '$w' --run old"
says "a pair of the corpus" 0 'source' wb data show old 3
says "the corpus need not be prepared again" 0 '' wb prep "$old/old.ini" --dry-run
if grep -q "define HAVE_CURSES 1" config.h; then
	says "a screen of the run" 0 'old' wb watch old --dump 24x80 --color never
else
	skip "a screen of the run" "no curses"
fi
says "the run is finished" 0 '' wb train "$old/old.ini" --quiet
says "six steps more from its checkpoint" 0 '' wb train "$old/old.ini" --steps 18 --quiet
says "... are done" 0 'step 18 of 18' wb status old
says "former names on the command line" 0 '' wb train "$old/old.ini" --run other --learning-rate 1 --accumulate 1 --steps 3 --quiet
says "... are the new options" 0 '^noam_factor = 1 ' grep -E '^(noam_factor|micro_batches) = 1 ' "$w/runs/other/recipe.ini"
export WERKBANK_LEARNING_RATE=1.5
says "a former name in the environment" 0 '' wb train "$old/old.ini" --run third --steps 3 --quiet
says "... is the new option" 0 'noam_factor = 1.5 ' cat "$w/runs/third/recipe.ini"
tally
