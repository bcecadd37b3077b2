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
w=$tmp/w
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
tally
