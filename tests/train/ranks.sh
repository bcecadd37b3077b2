#!/bin/sh
# ranks.sh - two and three MPI ranks train like one, with every wire format; they are stopped, killed and resumed;
# hosts without the run folder, or with another corpus. Last line: the tally.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-ranks-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
wb=$top/werkbank
w=$tmp/here far=$tmp/far
mkdir -p "$w/runs" "$far/runs"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"

if ! command -v mpirun >/dev/null || ! "$wb-train" --version | grep -q 'with MPI'; then
	skip "ranks" "there is no MPI"
	tally
	exit
fi

tiny_recipe "$tmp/tiny.ini" 600 200 steps=60 warmup=400 batch_tokens=256 micro_batches=6 eval_every=100000 \
	eval_sentences=2 samples=1 save_every=20 log_every=1 threads=1 bucket_mb=0.02 wire_warmup=8 telemetry_every=0
if ! "$wb" prep -q -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1; then
	not_ok "prepare" "$(tail -n 3 "$tmp/log")"
	tally
	exit
fi
cp -r "$w/corpora" "$far"

# recipe RUN KEY=VALUE... : the folder of a run, for mpirun without the launcher.
recipe() {
	name=$1
	shift
	mkdir -p "$w/runs/$name"
	cp "$tmp/tiny.ini" "$w/runs/$name/recipe.ini"
	for pair; do
		key=${pair%%=*}
		sed -i "/^$key = /d" "$w/runs/$name/recipe.ini"
		echo "$key = ${pair#*=}" >>"$w/runs/$name/recipe.ini"
	done
	sed -i '1a corpus = tiny' "$w/runs/$name/recipe.ini"
}

# ranks N RUN : train RUN with N ranks; sets $status to the status of mpirun.
ranks() {
	timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$1" \
		"$wb-train" _rank -q -C "$w" --run "$2" >"$tmp/log" 2>&1
	status=$?
}

trains() {
	ranks "$@"
	if [ "$status" -ne 0 ]; then not_ok "train $2 on $1 ranks" "status $status: $(grep -m 3 werkbank "$tmp/log")"; fi
}

weights() { cut -c 1-64 "$w/runs/$1/checkpoints/$2/SHA256SUMS" | head -n 2; }

recipe one
trains 1 one
for n in 2 3; do
	recipe "plain$n"
	trains $n "plain$n"
	near one "plain$n" 1e-4 60
done
recipe shards shard_optimizer=yes
trains 3 shards
same "shards: the weights and moments of the plain optimizer" "$(weights shards 60)" "$(weights plain3 60)"
recipe after overlap_reduce=no
trains 2 after
same "after backward: the same weights" "$(weights after 60)" "$(weights plain2 60)"
recipe bf16 wire=bf16
trains 2 bf16
near one bf16 0.01 60
recipe local local_steps=5
trains 2 local
near_local=$(losses local | tail -n 1 | cut -d ' ' -f 1)
same "local steps: records at common steps" "$near_local $(losses local | wc -l)" "60 12"

# 2bit: error feedback is resumed
recipe whole wire=2bit
trains 2 whole
recipe parts wire=2bit steps=20
trains 2 parts
recipe parts wire=2bit
trains 2 parts
same "2bit: resumed as if never stopped" "$(weights parts 60)" "$(weights whole 60)"

# a rank is killed
recipe killed save_every=10 shard_optimizer=yes wire=2bit
recipe unhurt save_every=10 shard_optimizer=yes wire=2bit
trains 2 unhurt
(ranks 2 killed; echo "$status" >"$tmp/status") &
for _ in $(seq 400); do
	[ -e "$w/runs/killed/checkpoints/20" ] && break
	sleep 0.05
done
victim=$(pgrep -f -- "_rank -q -C $w --run killed" | tail -n 1)
if [ -n "$victim" ]; then kill -9 "$victim"; fi
wait
if [ "$(cat "$tmp/status")" -ne 0 ] || [ -z "$victim" ]; then ok "a killed rank ends the job"; else not_ok "a killed rank ends the job" "status 0"; fi
trains 2 killed
same "killed and resumed: the same weights" "$(weights killed 60)" "$(weights unhurt 60)"

# another host has the corpus, but not the folder of the run
recipe apart
timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
	-n 1 "$wb-train" _rank -q -C "$w" --run apart : \
	-n 1 "$wb-train" _rank -q -C "$far" --run apart >"$tmp/log" 2>&1
same "a rank without the run's folder" "$? $(weights apart 60 | head -n 1)" "0 $(weights plain2 60 | head -n 1)"
absent "it makes none" "$far/runs/apart"
head -c 1000 /dev/urandom >"$far/corpora/tiny/train.shard"
recipe broken
timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
	-n 1 "$wb-train" _rank -q -C "$w" --run broken : \
	-n 1 "$wb-train" _rank -q -C "$far" --run broken >"$tmp/log" 2>&1
same "a damaged shard there: its status" "$? $(grep -c 'rank 1: .*train.shard' "$tmp/log")" "65 1"
ranks 2 nothing
same "no recipe: the status" "$status" 66
tally
