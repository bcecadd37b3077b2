#!/bin/sh
# damage.sh - damaged checkpoints, held-out sets and models: what is said, what is kept, what verify finds.
# Last line: the tally, which tests/tally.sh counts.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-damage-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
wb=$top/werkbank
w="$tmp/w one"
# shellcheck source=/dev/null
. "$here/helpers.sh"

cat >"$tmp/tiny.ini" <<'TINY'
[data]
demo_pairs = 400
merges = 100
[model]
d_model = 32
d_ff = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 4
batch_tokens = 512
eval_every = 2
save_every = 2
threads = 1
TINY
if ! "$wb" prep -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1 ||
    ! "$wb" train -C "$w" --run r "$tmp/tiny.ini" >>"$tmp/log" 2>&1; then
	not_ok "prepare and train" "$(tail -n 3 "$tmp/log")"
	tally
	exit
fi
corpus=$w/corpora/tiny
run=$w/runs/r

# damage FILE : change one byte in its middle.
damage() {
	[ -f "$1" ] || not_ok "damage $1" "there is no such file"
	at=$(($(stat -c %s "$1") / 2))
	byte=$(od -An -tu1 -j "$at" -N 1 "$1")
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
count() { grep -c -- "$1" "$2"; }

# ---- why a run ended ----
same "all steps: the journal" "$(count '"reason":"finished","why":"steps","text":"step 4 of 4"' "$run/journal.jsonl")" 1
says "max_minutes" 0 '' "$wb" train -C "$w" --run m "$tmp/tiny.ini" --max-minutes 0.0000001
same "max_minutes: the journal" "$(count '"why":"minutes","text":"1e-07 minutes are over"' "$w/runs/m/journal.jsonl")" 1

# ---- the newest checkpoint ----
damage "$run/checkpoints/4/model.safetensors"
says "a damaged newest checkpoint is named" 0 'training resumes from step 2: .*checkpoints/4/model.safetensors is damaged' \
	"$wb" train -C "$w" --run r "$tmp/tiny.ini" --steps 6
same "its warning in the journal" \
	"$(count '"level":"warning","text":"a checkpoint is damaged; it is kept under the name STEP.damaged' "$run/journal.jsonl")" 1
present "it is kept" "$run/checkpoints/4.damaged/model.safetensors"
present "the run went on" "$run/checkpoints/6/model.safetensors"

# ---- the development set ----
cp "$corpus/dev.shard" "$tmp/dev.shard"
damage "$corpus/dev.shard"
says "a damaged development set" 65 'saved it at step 4, but its last evaluation failed: .*status 65' \
	"$wb" train -C "$w" --run n "$tmp/tiny.ini"
says "the state of such a run" 0 '"state": *"failed"' cat "$w/runs/n/state.json"
present "its weights are saved" "$w/runs/n/checkpoints/4/model.safetensors"
cp "$tmp/dev.shard" "$corpus/dev.shard"
says "the same run, with the set repaired" 0 '' "$wb" train -C "$w" --run n "$tmp/tiny.ini"
same "only the evaluation was repeated" "$(count '"kind":"train".*"step":4,' "$w/runs/n/journal.jsonl")" 1
same "it has a score" "$(count '"kind":"eval".*"step":4,' "$w/runs/n/journal.jsonl")" 1

# ---- verify ----
# faults NAME N WORDS FOLDER-OR-NAME : verify finds N faults and says WORDS.
faults() {
	says "verify: $1" 65 "$3" "$wb" verify -C "$w" "$4"
	same "verify: $1: faults" "$(tail -n 1 "$tmp/out" | sed 's/.* checked, //; s/ fault.*//')" "$2"
}
says "verify: an intact run" 0 'files checked, all intact' "$wb" verify -C "$w" n
says "verify: an intact corpus" 0 'corpus .*tiny: [0-9]+ files checked, all intact' "$wb" verify -C "$w" tiny
says "verify: an intact model" 0 'model .*: [0-9]+ files checked, all intact' "$wb" verify "$w/runs/n/checkpoints/last"
says "verify: nothing there" 66 'is not a run or a corpus' "$wb" verify -C "$w" nosuch
find "$w" -type f -print0 | sort -z | xargs -0 sha256sum >"$tmp/sums"
damage "$w/runs/n/checkpoints/4/optimizer.safetensors"
rm "$w/runs/n/checkpoints/4/vocab.tsv"
damage "$w/runs/n/checkpoints/2/model.safetensors"
faults "checkpoints" 3 'checkpoints/2/model.safetensors is damaged' n
says "verify: what cures the newest" 65 'Train the run again' "$wb" verify -C "$w" n
faults "a model" 2 'vocab.tsv: cannot be read' "$w/runs/n/checkpoints/4"
says "verify --json" 65 '^\{"kind":"model",.*"intact":false,"faults":\[\{"text":".*","cure":"' \
	"$wb" verify --json "$w/runs/n/checkpoints/4"
sed -i '2s/.*/{"v":1,"kind":/' "$w/runs/m/journal.jsonl"
printf '{"ste' >"$w/runs/m/checkpoints/evaluated.json"
ln -sfn 77 "$w/runs/m/checkpoints/best"
echo '{' >"$w/runs/m/state.json"
faults "journal, state, evaluations, link" 4 'has 1 damaged line|best leads to step 77' m
damage "$corpus/train.shard"
rm "$corpus/bpe.codes"
echo x >>"$corpus/stats.json"
faults "a corpus" 3 'train.shard is damaged: its SHA-256' tiny
cure=$(sed -n 's/.*: werkbank \(prep .*\)/\1/p' "$tmp/out" | head -n 1)
(cd "$tmp" && eval "\"$wb\" $cure") >"$tmp/out" 2>"$tmp/err"	# as the shell reads it, in any folder
same "verify: its cure" $? 0
says "verify: the corpus is cured" 0 'all intact' "$wb" verify -C "$w" tiny
same "verify: the cure gave the same bytes" "$(sha256sum <"$corpus/train.shard")" \
	"$(sed -n "s|  $corpus/train.shard|  -|p" "$tmp/sums")"
tally
