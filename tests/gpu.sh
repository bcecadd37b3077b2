#!/bin/sh
# gpu.sh - everything that can only be shown with a GPU, in parts of less than nine minutes each.
#
#	sh tests/gpu.sh [PART]...	without one: all, in this order
#
#	build      configure --with-cuda and make, in gpu-build/; no network; configure may come along
#	checked    the op tests under compute-sanitizer: memcheck, racecheck
#	ops        every op against its definition, and the same bits again
#	agree      100 steps of training and some translations beside the CPU's; the same bits again
#	profile    the time of every op in steps of base and big
#	train      training tiny, base, big; 4K to 64K tokens
#	decode     translation, base, beam 1 and 4
#
# Results: one line of JSON for each measurement in $OUT/gpu.jsonl (default: gpu-results/), logs beside it, how it
# went on stdout. SIZES and TOKENS choose what train measures. Exit status 1: a part failed; the others were run.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/gpu-build}
OUT=${OUT:-$here/gpu-results}
jobs=$(nproc 2>/dev/null || echo 4)
mkdir -p "$build" "$OUT"
failed=0

# part NAME COMMAND... : run, keep the log, say how it went
part() {
	name=$1
	shift
	start=$(date +%s)
	if timeout 530 "$@" >"$OUT/$name.log" 2>&1; then word=ok; else word=FAILED failed=1; fi
	echo "$word  $name  $(($(date +%s) - start)) s"
	[ "$word" = ok ] || tail -n 5 "$OUT/$name.log"
}

# keep PART FILE : the JSON lines of a log join the results, with the part's name in front
keep() { sed -n "s/^{/{\"part\":\"$1\",/p" "$OUT/$2.log" >>"$OUT/gpu.jsonl"; }

do_build() {
	[ -x "$here/configure" ] || (cd "$here" && ./autogen.sh) || return 1
	gencode=${NVCC_GENCODE:--gencode=arch=compute_90,code=sm_90}
	cd "$build" && "$here/configure" -q --with-cuda --without-mpi --without-nccl NVCC_GENCODE="$gencode" &&
		make -j"$jobs" && make -j"$jobs" tests/run tests/bench_train tests/bench_decode
}

do_checked() {
	sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
	[ -x "$sanitizer" ] || { echo "no compute-sanitizer here"; return 1; }
	cd "$build" && "$sanitizer" --tool memcheck --leak-check full --error-exitcode 1 tests/run ops_cuda &&
		"$sanitizer" --tool racecheck --error-exitcode 1 tests/run ops_cuda
}

do_ops() { cd "$build" && tests/run ops_cuda >ops.txt; cat ops.txt; grep -q '^ok  ' ops.txt && ! grep -q '^FAILED' ops.txt; }

# 100 steps of a small model in fp32 and bf16 beside the CPU's, the same bits again, translations
do_agree() { cd "$build" && tests/run cuda_ >agree.txt; cat agree.txt; ! grep -qE '^(FAILED|skipped)' agree.txt; }

# each op of some steps, waited for one by one: its time, its share of what the step takes
do_profile() {
	cd "$build" || return 1
	for size in base big; do
		tests/bench_train --backend cuda --precision bf16 --size $size --tokens 16384 --seconds 12 --profile --json || return 1
	done
}

do_train() {
	cd "$build" || return 1
	for size in ${SIZES:-tiny base big}; do
		for tokens in ${TOKENS:-4096 16384 65536}; do
			tests/bench_train --backend cuda --precision bf16 --size "$size" --tokens "$tokens" --seconds 12 --json || return 1
		done
	done
}

do_decode() {
	cd "$build" || return 1
	for beam in 1 4; do
		for batch in 1 32 128; do
			tests/bench_decode --backend cuda --size base --precision bf16 --beam $beam --batch $batch --json || return 1
		done
	done
}

if [ "${1:-}" = --inside ]; then "do_$2"; exit; fi
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
# shellcheck disable=SC2048 # words
for p in ${*:-build checked ops agree profile train decode}; do
	case $p in
	build|checked|ops|agree|profile|train|decode) part "$p" sh "$0" --inside "$p" ;;
	*) echo "gpu.sh: no part is called $p" >&2; exit 64 ;;
	esac
	keep "$p" "$p"
done
exit $failed
