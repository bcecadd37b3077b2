#!/bin/sh
# rescue.sh [long] - two or three ranks on this host train without checkpoints, and one process dies: a rank, the first
# rank, mpirun. A living rank must save the last finished step, so that at most one step is made twice, and the run must
# end with the bits of the undisturbed run. "long" tries more. Last line: the tally.
set -u
top=$PWD
srcdir=${srcdir:-.}
how=${1:-short} calm=
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-rescue-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

if ! command -v mpirun >/dev/null 2>&1 || ! "$top/werkbank-train" --version | grep -q 'with MPI'; then
	skip "a rescue by any rank" "no Open MPI"
	tally
	exit
fi
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
steps=600
says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"

trains() {
	subject=$1 wanted=$2
	shift 2
	train "$subject" --ranks "$wanted" --steps $steps --micro-batches 6 --log-every 1 --save-every 100000 --bpe-dropout 0.1 --quiet "$@"
}
bits() { sha256sum "$w/runs/$1/checkpoints/$steps/model.safetensors" "$w/runs/$1/checkpoints/$steps/optimizer.safetensors" | cut -c 1-64; }
# rank_pid N : the process of rank N
rank_pid() {
	for p in $(ours "$ranks"); do
		if grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$p/environ"; then echo "$p"; fi
	done
}
# made_twice RUN : steps that a later start repeated
made_twice() {
	grep -E '"kind":"train"' "$w/runs/$1/journal.jsonl" | sed 's/.*"step":\([0-9]*\).*/\1/' | sort -n | uniq -d | wc -l
}
# strikes RUN N STEP VICTIM ALONE [OPTION...] : kill a process at a step; ALONE: checkpoints that one rank saves alone. $calm:
# the run without a fault
strikes() {
	struck=$1 number=$2 at=$3 victim=$4 alone=$5
	shift 5
	says "$struck: it starts" 0 '' trains "$struck" "$number" --detach "$@"
	holds "$struck: step $at" is_at "$struck" "$at"
	case $victim in
	rank*) victim_pid=$(rank_pid "${victim#rank}") ;;
	mpirun) victim_pid=$(ours '^[^ ]*(mpirun|prterun) ' | head -n 1) ;;
	esac
	kill -9 "$victim_pid"
	holds "$struck: it finishes" is_state "$struck" finished
	same "$struck: starts" "$(starts "$struck")" 2
	same "$struck: the bits of the undisturbed run" "$(bits "$struck")" "$(bits "${calm:-calm$number}")"
	if [ "$(made_twice "$struck")" -le 1 ]; then ok "$struck: $(made_twice "$struck") steps twice"; else not_ok "$struck: at most one step twice" "$(made_twice "$struck") steps$(run_details "$struck")"; fi
	# mpirun may end the rank that saved before it writes its record
	alone_records=$(grep -c '"alone":true' "$w/runs/$struck/journal.jsonl")
	if [ "$alone_records" -le "$alone" ]; then ok "$struck: $alone_records checkpoints that one rank saved"; else not_ok "$struck: at most $alone checkpoints that one rank saved" "$alone_records"; fi
}
says "two ranks" 0 '' trains calm2 2
strikes first2 2 25 rank0 1
strikes starter2 2 25 mpirun 0
if [ "$how" = long ]; then
	strikes last2 2 25 rank1 1
	# no rank has all of this state, but all live when mpirun dies
	for option in "--shard-optimizer" "--ema 0.99" "--wire 2bit --wire-warmup 5"; do
		calm=calm-${option##*-}
		calm=${calm%% *}
		# shellcheck disable=SC2086 # words
		says "two ranks, $option" 0 '' trains "$calm" 2 $option
		# shellcheck disable=SC2086 # words
		strikes "struck-$calm" 2 25 mpirun 0 $option
	done
	calm=
	says "three ranks" 0 '' trains calm3 3
	strikes first3 3 25 rank0 1
fi
nobody_left "rescues"
tally
