#!/bin/sh
# gpu.sh - all tests and measurements that need a real GPU, in parts of less than nine minutes each.
#
#	sh tests/cudasim/gpu.sh [PART]...	default: all parts, in this order
#
#	build      configure --with-cuda and make, in gpu-build/; no network; configure may come along
#	checked    the op tests under compute-sanitizer: memcheck, racecheck
#	ops        every op against its definition, and the same bits again
#	agree      the first steps of training and some translations beside the CPU's; the same bits again
#	resume     40 steps at once and in two halves: the same weights and moments, to the bit
#	bench      each op by itself: time, GB/s, TFLOP/s, share of the roof (tests/bench_ops)
#	profile    the time of every op in steps of base and big
#	tiny base big    training at 4K to 64K tokens a batch, in alternation with PyTorch, compiled and not
#	decode     translation, base, beam 1 and 4, steps as graphs and op by op
#	real       preparing and training base on real text for minutes (in $DATA, ../shared/data unless it says otherwise)
#	score      … going on with it for some more, and its BLEU
#	table      share/doc/gpu/results.md from all results
#
# Results: one line of JSON for each measurement in $OUT/gpu.jsonl (default: gpu-results/), logs beside it, how it
# went on stdout. Exit status 1: a part failed; the others were run. What may be set:
#
#	PYTHON	what has PyTorch (python3)	TOKENS	of the batches (4096 16384 65536)
#	SECONDS_EACH	of each measurement (12)	MINUTES	of real and of score (7 3)
#	BACKEND, ROOF, SIZE	another backend (cuda), side of its largest products (8192), the real model (base): for a rehearsal without a GPU
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$here/gpu-build}
OUT=${OUT:-$here/gpu-results}
DATA=${DATA:-$here/../shared/data}
PYTHON=${PYTHON:-python3}
tokens_list=${TOKENS:-4096 16384 65536}
each=${SECONDS_EACH:-12}
backend=${BACKEND:-cuda}
roof=${ROOF:-8192}
export WERKBANK_SHARE="$here/share"
jobs=$(nproc 2>/dev/null || echo 4)
mkdir -p "$build" "$OUT"
failed=0

# part NAME : run it, keep the log, say how it went; lines of JSON join the results, with the part's name in front
part() {
	start=$(date +%s)
	if timeout 530 sh "$0" --inside "$1" >"$OUT/$1.log" 2>&1; then word=ok; else word=FAILED failed=1; fi
	echo "$word  $1  $(($(date +%s) - start)) s"
	[ "$word" = ok ] || tail -n 5 "$OUT/$1.log"
	sed -n "s/^{/{\"part\":\"$1\",/p" "$OUT/$1.log" >>"$OUT/gpu.jsonl"
}

do_build() {
	[ -x "$here/configure" ] || (cd "$here" && ./autogen.sh) || return 1
	gencode=${NVCC_GENCODE:--gencode=arch=compute_90,code=sm_90}
	cd "$build" && "$here/configure" -q --with-cuda --without-mpi --without-nccl NVCC_GENCODE="$gencode" &&
		make -j"$jobs" && make -j"$jobs" tests/run tests/bench_train tests/bench_decode tests/bench_ops
}

do_checked() {
	sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
	[ -x "$sanitizer" ] || { echo "no compute-sanitizer here"; return 1; }
	cd "$build" && "$sanitizer" --tool memcheck --leak-check full --error-exitcode 1 tests/run --no-fork ops_cuda &&
		"$sanitizer" --tool racecheck --error-exitcode 1 tests/run --no-fork ops_cuda
}

# tests WORD : those of that name; one that is skipped shows nothing and counts as failed
tests() {
	cd "$build" && srcdir=$here tests/run "$1" >tests.txt
	cat tests.txt
	grep -q '^ok  ' tests.txt && ! grep -qE '^(FAILED|skipped)' tests.txt
}

do_ops() { tests ops_cuda; }
do_agree() { tests cuda_; }

# trained RUN STEPS... : up to each of them in a process of its own
trained() {
	name=$1
	shift
	for steps in "$@"; do
		"$build/werkbank" train -q -C resume resume.ini --run "$name" --backend "$backend" --precision bf16 --steps "$steps" || return 1
	done
}

# hashes of a run's weights and moments
arrays() { head -n 2 "resume/runs/$1/checkpoints/40/SHA256SUMS"; }

do_resume() {
	mkdir -p "$OUT" && cd "$OUT" && rm -rf resume || return 1
	printf '[data]\ndemo_pairs = 2000\nmerges = 200\n[train]\nbatch_tokens = 1024\nwarmup = 10\neval_every = 100000\n' >resume.ini
	"$build/werkbank" prep -q -C resume resume.ini && trained whole 40 && trained halves 20 40 &&
		[ "$(arrays whole)" = "$(arrays halves)" ]
}

do_bench() {
	cd "$build" && tests/bench_ops --backend "$backend" --size base --tokens "${tokens_list##* }" --roof "$roof" --json
}

# each op of some steps, waited for one by one: its time, its share of what the step takes
do_profile() {
	for size in ${SIZES:-base big}; do
		ours --size "$size" --tokens 16384 --profile || return 1
	done
}

ours() { (cd "$build" && tests/bench_train --backend "$backend" --precision bf16 --roof "$roof" --seconds "$each" --json "$@"); }
theirs() { "$PYTHON" "$here/tests/peers/pytorch_train.py" --device "$device" --precision bf16 --seconds "$each" "$@"; }

# training SIZE : ours, ours without graphs, PyTorch, PyTorch compiled, ours again
training() {
	device=cuda
	[ "$backend" = cuda ] || device=cpu
	"$PYTHON" -c 'import torch' || device=
	for tokens in $tokens_list; do
		ours --size "$1" --tokens "$tokens" || return 1
		[ "$backend" != cuda ] || ours --size "$1" --tokens "$tokens" --no-graphs || return 1
		if [ -n "$device" ]; then
			theirs --size "$1" --tokens "$tokens" || return 1
			theirs --size "$1" --tokens "$tokens" --compile || return 1
			ours --size "$1" --tokens "$tokens" || return 1
		fi
	done
	[ -n "$device" ] || { echo "no PyTorch here to compare with: set PYTHON"; return 1; }
}

do_tiny() { training tiny; }
do_base() { training base; }
do_big() { training big; }

do_decode() {
	cd "$build" || return 1
	for beam in 1 4; do
		for batch in ${BATCHES:-1 32 128 512}; do
			for graphs in "" --no-graphs; do
				tests/bench_decode --backend "$backend" --size "${SIZE:-base}" --precision bf16 --beam $beam --batch "$batch" \
					$graphs --json || return 1
			done
		done
	done
}

# word NUMBER of MINUTES
minutes() { echo "${MINUTES:-7 3}" | cut -d' ' -f"$1"; }

do_real() {
	[ -f "$DATA/mixed/train.en.xz" ] || { echo "no real text: $DATA/mixed is not there"; return 1; }
	mkdir -p "$OUT/workspace" && cd "$OUT/workspace" || return 1
	for side in en de; do
		[ -f train.$side ] || xz -dc "$DATA/mixed/train.$side.xz" >train.$side || return 1
		cp "$DATA/mixed/valid.$side" "$DATA/mixed/test.$side" . || return 1
	done
	cat >real.ini <<-END
		[data]
		train_source = $PWD/train.en
		train_target = $PWD/train.de
		dev_source = $PWD/valid.en
		dev_target = $PWD/valid.de
		test_source = $PWD/test.en
		test_target = $PWD/test.de
		merges = 32000
		[model]
		size = ${SIZE:-base}
		[train]
		precision = bf16
		batch_tokens = ${tokens_list##* }
		steps = 100000
		warmup = 2000
		save_every = 500
		eval_every = 1000000
	END
	"$build/werkbank" prep real.ini --quiet && train_for "$(minutes 1)"
}

# train_for MINUTES : of the run as a whole
train_for() {
	"$build/werkbank" train real.ini --run gpu --backend "$backend" --max-minutes "$1"
}

do_score() {
	cd "$OUT/workspace" && train_for "$(($(minutes 1) + $(minutes 2)))" || return 1
	"$build/werkbank" eval --run gpu --set test --backend "$backend" --json &&
		"$build/werkbank" report --run gpu --format md >"$OUT/report.md"
}

# table of the lines of one part: its columns are "key:heading", numbers are rounded to three digits
table() {
	part=$1
	shift
	awk -v part="$part" -v columns="$*" '
	function get(key,  at, text) {
		at = index($0, "\"" key "\":")
		if (!at) return "-"
		text = substr($0, at + length(key) + 3)
		if (text ~ /^"/) { text = substr(text, 2); sub(/".*/, "", text) } else sub(/[,}].*/, "", text)
		if (text ~ /^-?[0-9]+\.[0-9]+$/) text = text + 0 >= 100 ? sprintf("%.0f", text) : sprintf("%.3g", text)
		gsub(/[|]/, " ", text)
		return text
	}
	BEGIN { n = split(columns, column, " "); split(column[1], first, ":") }
	get(first[1]) == "-" { next }
	index($0, "{\"part\":\"" part "\"") == 1 {
		if (!head++) {
			line = rule = "|"
			for (i = 1; i <= n; i++) { split(column[i], c, ":"); gsub("_", " ", c[2]); line = line " " c[2] " |"; rule = rule "---|" }
			print "\n## " part "\n\n" line "\n" rule
		}
		line = "|"
		for (i = 1; i <= n; i++) { split(column[i], c, ":"); line = line " " get(c[1]) " |" }
		print line
	}' "$OUT/gpu.jsonl"
}

do_table() {
	what=$({ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo "no GPU"; } 2>/dev/null | head -n 1)
	mkdir -p "$here/share/doc/gpu" && {
		echo "# Measured by tests/cudasim/gpu.sh"
		echo
		echo "On: $what. Parts and columns are explained in tests/cudasim/gpu.sh and in each bench; raw lines of JSON are in gpu.jsonl."
		for size in tiny base big; do
			table $size tool:tool compile:compiled batch_tokens:batch_tokens target_tokens_per_second:target_tokens/s \
				source_tokens_per_second:source_tokens/s step_s:s_a_step gflops:GFLOP/s roof_share:share_of_roof
		done
		table decode beam:beam batch:sentences graphs:graphs target_tokens_per_second:target_tokens/s
		table bench roof:roof_of bf16_gflops:bf16_GFLOP/s fp32_gflops:fp32_GFLOP/s memory_gbs:GB/s
		table bench op:op precision:precision best_ms:ms gflops:GFLOP/s gbs:GB/s roof_share:share_of_roof
		table score set:set step:step sentences:sentences bleu:BLEU signature:signature
	} >"$here/share/doc/gpu/results.md.tmp" && mv "$here/share/doc/gpu/results.md.tmp" "$here/share/doc/gpu/results.md"
}

all="build checked ops agree resume bench profile tiny base big decode real score table"
if [ "${1:-}" = --inside ]; then "do_$2"; exit; fi
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
# shellcheck disable=SC2048,SC2086 # words
for p in ${*:-$all}; do
	case " $all " in
	*" $p "*) part "$p" ;;
	*) echo "gpu.sh: no part is called $p" >&2; exit 64 ;;
	esac
done
exit $failed
