#!/bin/sh
# processor_level.sh - ranks with other vector units: all compute with the common level, the run records it, and the weights are
# those of a training on equal processors. WERKBANK_CPU takes the place of an older processor. Last line: the tally.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-level-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_CPU
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
wb=$top/werkbank
w=$tmp/here
mkdir -p "$w/runs"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"

own=$("$wb-train" _level)
same "plain: always there" "$(WERKBANK_CPU=plain "$wb-train" _level)" "0 plain"
same "a value that is no level" "$(WERKBANK_CPU=i486 "$wb-train" _level)" "$own"
same "no level above the machine's" "$(WERKBANK_CPU=AMX "$wb-train" _level)" "$own"
if ! command -v mpirun >/dev/null || ! "$wb-train" --version | grep -q 'with MPI'; then
	skip "ranks" "there is no MPI"
	tally
	exit
fi
if [ "$own" = "0 plain" ]; then
	skip "ranks" "this processor has one level only"
	tally
	exit
fi

tiny_recipe "$tmp/tiny.ini" 600 200 steps=20 warmup=400 batch_tokens=256 micro_batches=2 eval_every=100000 \
	eval_sentences=2 samples=1 save_every=100000 log_every=1 threads=1 telemetry_every=0
"$wb" prep -q -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1 || not_ok "prepare" "$(tail -n 3 "$tmp/log")"

# two RUN LEVEL LEVEL : train RUN with two ranks of these levels
two() {
	mkdir -p "$w/runs/$1"
	cp "$tmp/tiny.ini" "$w/runs/$1/recipe.ini"
	timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
		-n 1 env WERKBANK_CPU="$2" "$wb-train" _rank -q -C "$w" --run "$1" : \
		-n 1 env WERKBANK_CPU="$3" "$wb-train" _rank -q -C "$w" --run "$1" >"$tmp/log" 2>&1 ||
		not_ok "train $1" "$(grep -m 3 werkbank "$tmp/log")"
}
weights() { cut -c 1-64 "$w/runs/$1/checkpoints/20/SHA256SUMS" | head -n 2; }
level() { sed -n 's/.*"kind":"start".*"processor":"\([^"]*\)".*/\1/p' "$w/runs/$1/journal.jsonl"; }
told() { grep -c 'processors of the hosts differ: all ranks compute with plain' "$w/runs/$1/journal.jsonl"; }

two plain plain plain
two first plain AMX
two second AMX plain
two full AMX AMX
same "equal processors: recorded" "$(level full)" "${own#* }"
same "equal processors: no event" "$(told full)" 0
if [ "$(weights full)" != "$(weights plain)" ]; then ok "the levels differ in last bits"; else skip "the levels differ in last bits" "they are equal here"; fi
for run in first second; do
	same "$run: the common level" "$(level $run) $(told $run)" "plain 1"
	same "$run: the weights of equal processors" "$(weights $run)" "$(weights plain)"
done
tally
