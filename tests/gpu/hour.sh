#!/bin/bash
# hour.sh - tests and measurements on a real GPU, run from the folder that pack.sh made. It needs bash, a driver, cuBLASLt, and
# Python with PyTorch for the comparisons; no network, no compiler. share/doc/gpu/first-hour.md explains how to use it.
#
#	bash hour.sh first | second | third | fourth	calls of less than nine minutes each, the most telling first
#	bash hour.sh PART...			only these parts
#	bash hour.sh table FILE.jsonl...	results.md from the results of several calls
#	bash hour.sh compare [FILE.jsonl...]	predicted and measured times of ops, on standard output; without FILE those in $OUT
#
#	first   probe     the GPU, missing libraries, cuBLASLt, PyTorch, a few steps of training
#	        agree     every op against its definition; training and translations beside the CPU's; the same bits again
#	        base      training base, 25,000 tokens a batch: with and without graphs, PyTorch eager and compiled, ours again
#	        kernels   every op at the shapes of training and of decoding: time, rates, share of the roof
#	second  decode    translation with base: beams, batches, number formats, without graphs; its products by both kernels
#	        resume    40 steps at once and in two halves: the same weights and moments, to the bit
#	        text      training base on real text for some minutes, and its BLEU
#	third   sizes     training with 4,096 and 65,536 tokens, and big; PyTorch beside
#	        sanitize  compute-sanitizer, op by op, if the machine has it
#	fourth  variants  training base by each variant of "bench_train --variants", twice in turns; ops of the last one that has all
#
# It works in a temporary folder and leaves three files in $OUT (default: results/ beside this script): gpu.jsonl, a line for each
# measurement; hour.log; results.md. What is there already is continued. Each measurement has a time limit of its own, and the
# others go on when one fails. A signal (TERM, INT) stops the running measurement; results so far are kept. Exit status 1: something
# failed, or the results could not be written. What may be set:
#
#	PYTHON	a Python with PyTorch (python3)		SECONDS_EACH	of each training (10)
#	BACKEND	cpu: a rehearsal without a GPU (cuda)	SCALE=small	tiny sizes, for a rehearsal
#	SLOWER	N: all time limits times N, for a rehearsal on the simulated GPU (1)
#	TMPDIR	for the temporary folder (/tmp): up to 7 GB of checkpoints
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OUT=${OUT:-$here/results}
PYTHON=${PYTHON:-python3}
BACKEND=${BACKEND:-cuda}
SLOWER=${SLOWER:-1}
export WERKBANK_SHARE=$here/share
failed=0
threads=0
running=	# the process of the measurement that runs
measurement=
exec 3>&2	# what a person must see also while the output of a part goes to the log

fail() { echo "hour.sh: $2" >&3; exit "$1"; }

case $SLOWER in *[!0-9]* | 0*) fail 64 "SLOWER is \"$SLOWER\"; a whole number from 1 on was expected" ;; esac
case ${SECONDS_EACH:-1} in *[!0-9]* | 0*) fail 64 "SECONDS_EACH is \"$SECONDS_EACH\"; a whole number from 1 on was expected" ;; esac
case $BACKEND in cuda | cpu | ref) ;; *) fail 64 "BACKEND is \"$BACKEND\"; cuda or cpu was expected" ;; esac
[ "$BACKEND" = cuda ] || threads=1	# a rehearsal, perhaps on a busy machine
part=none
deadline=0

# Seconds that each part may take; each call stays below 540.
declare -A limit=([probe]=50 [agree]=120 [base]=230 [kernels]=130 [decode]=165 [resume]=70 [text]=300 [sizes]=300 [sanitize]=230 [variants]=530)
declare -A call=([first]="probe agree base kernels" [second]="decode resume text" [third]="sizes sanitize" [fourth]="variants")

if [ "${SCALE:-}" = small ]; then
	size=tiny big=tiny tokens=128 other_tokens="128 256" seconds=${SECONDS_EACH:-1} roof=64 batches="1 2" text_minutes=0.2
	length=5 repeats=2 vocabulary=512 model="d_model = 16
d_ff = 32
heads = 2
encoder_layers = 1
decoder_layers = 1" text_tokens=512
else
	size=base big=big tokens=25000 other_tokens="4096 65536" seconds=${SECONDS_EACH:-10} roof=8192 batches="1 32 256"
	text_minutes=3.5 length=25 repeats=15 vocabulary=32768 model="size = base" text_tokens=25000
fi

# ---- results ---------------------------------------------------------------------------------

# text as a JSON string, without its quotes
json_text() { printf '%s' "$*" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g' | head -c 500; }

# note MEMBERS : a line of the results
note() { printf '{"part":"%s",%s}\n' "$part" "$1" >>"$tmp/gpu.jsonl" || not_written "$tmp"; }

# not_written FOLDER : say it once a call
not_written() {
	[ -n "${is_said:-}" ] || echo "hour.sh: cannot write to $1: results are lost. Free some space, or set OUT or TMPDIR to another folder" >&3
	is_said=1 failed=1
}

# Everything so far, also when this script is killed soon.
publish() {
	for file in gpu.jsonl hour.log results.md; do
		[ ! -f "$tmp/$file" ] || { cp "$tmp/$file" "$OUT/.$file" && mv "$OUT/.$file" "$OUT/$file"; } || not_written "$OUT"
	done
}

# The lines of JSON of the measurement become results; the rest goes to the log.
take_output() {
	cat "$tmp/err" "$tmp/out"
	sed -n "s/^{/{\"part\":\"$part\",\"name\":\"$measurement\",/p" "$tmp/out" >>"$tmp/gpu.jsonl" || not_written "$tmp"
}

# stop STATUS : a signal came. The running measurement ends, too, because it would disturb the next ones.
stop() {
	trap '' TERM INT HUP
	if [ -n "$running" ]; then
		kill "$running" 2>/dev/null
		wait "$running"
		take_output >>"$tmp/hour.log"
		note "\"name\":\"$measurement\",\"failed\":\"stopped by a signal\""
	fi
	results >"$tmp/results.md"
	publish
	exit "$1"
}

# try SECONDS NAME COMMAND... : one measurement. "ours PROGRAM" is a command with the libraries of this folder, which PyTorch must
# not see. Bash runs a trap only when no command is in the foreground, so the measurement is in the background.
try() {
	local most=$(($1 * SLOWER)) name=$2 status=0 left=$((deadline - SECONDS)) began=$SECONDS
	shift 2
	measurement=$name
	printf '\n== %s, %s: %s\n' "$part" "$name" "$*"
	[ "$1" != ours ] || set -- env LD_LIBRARY_PATH="$libraries" "$here/bin/$2" "${@:3}"
	if [ "$left" -lt 3 ]; then
		note "\"name\":\"$name\",\"failed\":\"no time was left\""
		failed=1 part_failed=1
		return 1
	fi
	"${with_us[@]}" timeout -k 5 "$((most < left ? most : left))" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null 3>&- &
	running=$!
	wait "$running" || status=$?
	running=
	take_output
	[ "$status" != 124 ] || echo "stopped after $((SECONDS - began)) s" >>"$tmp/err"
	if [ "$status" != 0 ]; then
		note "\"name\":\"$name\",\"failed\":\"status $status: $(json_text "$(tail -n 1 "$tmp/err")")\""
		failed=1 part_failed=1
	fi
	publish
	return "$status"
}

# table PART HEADING COLUMN... : of the lines of this part that have the first column; a column is "key:heading".
table() {
	local wanted=$1 heading=$2
	shift 2
	awk -v part="$wanted" -v title="$heading" -v columns="$*" '
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
	(part != "" && index($0, "{\"part\":\"" part "\"") != 1) || get(first[1]) == "-" { next }
	{
		if (!head++) {
			line = rule = "|"
			for (i = 1; i <= n; i++) { split(column[i], c, ":"); gsub("_", " ", c[2]); line = line " " c[2] " |"; rule = rule "---|" }
			print "\n## " title "\n\n" line "\n" rule
		}
		line = "|"
		for (i = 1; i <= n; i++) { split(column[i], c, ":"); line = line " " get(c[1]) " |" }
		print line
	}' "$tmp/gpu.jsonl"
}

# Calculated times of ops (tests/bench/predicted.c) beside those measured here; each op with its most expensive shapes first.
compare() {
	if grep -q '"predicted_us":' "$tmp/gpu.jsonl"; then
		table "" "Predicted and measured times of ops" predicted_us:predicted_us measured_us:measured_us ratio:measured/predicted phase:phase \
			name:measurement op:op shapes:shapes calls:calls
	else
		printf '\n## Predicted and measured times of ops\n\nNothing is measured on a GPU that tests/bench/predicted.c knows.\n'
	fi
}

results() {
	echo "# Measured on a GPU"
	echo
	echo "Made by tests/gpu/hour.sh, which explains the parts; gpu.jsonl has all figures. $(cat "$here/about" 2>/dev/null)"
	table probe "The machine" gpu:GPU,_driver,_memory cores:cores cublaslt:cuBLASLt torch:PyTorch
	table "" "Parts" word:part_went part:part seconds:seconds
	table "" "What failed" failed:why part:part name:measurement
	table agree "Tests" result:result test:test
	for p in base sizes variants; do
		table $p "Training: $p" target_tokens_per_second:target_tokens/s name:measurement batch_tokens:tokens step_s:s_a_step gflops:GFLOP/s \
			roof_share:share_of_roof slow_products:slow_products device_gib:GiB_of_the_GPU
	done
	table decode "Decoding" ms:ms_a_batch name:measurement precision:format beam:beam batch:sentences graphs:graphs \
		target_tokens_per_second:target_tokens/s slow_products:slow_products
	table decode "Products of a decoding step" own_us:own_us rows:rows product:product cublaslt_us:cuBLASLt_us
	table text "Real text" bleu:BLEU set:set step:step sentences:sentences signature:signature
	table resume "Resumed" same_bits:same_bits
	table kernels "Roofs" fp32_gflops:fp32_GFLOP/s bf16_gflops:bf16_GFLOP/s memory_gbs:GB/s
	table kernels "Ops" best_ms:ms phase:phase name:measurement op:op shapes:shapes calls:calls all_ms:ms_of_all gflops:GFLOP/s gbs:GB/s \
		roof_share:share_of_roof
	compare
	table kernels "Sums of ops" sum_ms:ms phase:phase name:measurement slow_products:slow_products
	table sanitize "compute-sanitizer" tool:tool ops:op outcome:outcome
}

# ---- programs ----------------------------------------------------------------------------------

# Folders with the CUDA libraries of PyTorch's wheel, if the dynamic linker does not know cuBLASLt itself.
wheel_libraries() {
	timeout -k 5 20 "$PYTHON" - "$(cat "$here/cublaslt" 2>/dev/null)" 2>/dev/null 3>&- <<-'END'
		import glob, os, sys
		found = {os.path.dirname(f) for p in sys.path for f in glob.glob(os.path.join(p, "nvidia", "*", "lib", sys.argv[1] or "libcublasLt.so.*"))}
		print(":".join(sorted(found)))
	END
}

# The version of PyTorch in $torch. False: it cannot be imported, $torch says why. A first import may be slow, so the next call tries again.
find_torch() {
	local status=0
	[ -z "$has_torch" ] || return 0
	timeout -k 5 30 "$PYTHON" -c 'import torch; print(torch.__version__)' >"$tmp/torch" 2>&1 </dev/null 3>&- || status=$?
	torch=$(tail -n 1 "$tmp/torch")
	case $status in
	0) has_torch=1 ;;
	124 | 137) torch="$PYTHON did not import it within 30 s" ;;
	*) torch=${torch:-"$PYTHON fails with status $status"} ;;
	esac
	return "$status"
}

# a driver that hangs must not stop everything
smi() { timeout -k 5 10 nvidia-smi "$@" </dev/null 3>&-; }

do_probe() {
	local gpu missing
	gpu=$(smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1)
	find_torch || true
	note "\"gpu\":\"$(json_text "${gpu:-none}")\",\"cublaslt\":\"$(json_text "${found:-not in a wheel of $PYTHON}")\",\"torch\":\"$(json_text \
		"$torch")\",\"cores\":\"$(nproc)\""
	smi
	missing=$(for program in "$here"/bin/*; do env LD_LIBRARY_PATH="$libraries" ldd "$program"; done 2>&1 | grep 'not found' | sort -u)
	if [ -n "$missing" ]; then
		note "\"name\":\"libraries\",\"failed\":\"$(json_text "$missing")\""
		failed=1 part_failed=1
	fi
	try 20 doctor ours werkbank-train doctor -C "$work"
	try 40 "a few steps" ours bench_train --backend "$BACKEND" --threads "$threads" --size tiny --vocabulary "$vocabulary" --tokens 128 --seconds 1 --roof 256 --json
}

do_agree() {
	try 110 tests ours gpu_run
	sed -n 's/^\(ok\|FAILED\|skipped\)  *\([a-z0-9_]*\).*/"test":"\2","result":"\1"/p' "$tmp/out" | while read -r line; do note "$line"; done
	# A test that is skipped shows nothing, but one needs the simulator: cuBLASLt rounds otherwise for other numbers of rows.
	if [ "$BACKEND" = cuda ] && grep '^skipped ' "$tmp/out" | grep -qv cuda_graphs_decode_by_library; then
		note '"name":"tests","failed":"tests were skipped"'
		failed=1 part_failed=1
	fi
}

# training NAME SIZE TOKENS ... : ours
training() {
	try 60 "$1" ours bench_train --backend "$BACKEND" --threads "$threads" --precision bf16 --roof "$roof" --seconds "$seconds" --json --size "$2" --vocabulary "$vocabulary" \
		--tokens "$3" "${@:4}"
}

# peer SECONDS NAME SIZE TOKENS ... : PyTorch
peer() {
	find_torch || { note "\"name\":\"$2\",\"failed\":\"there is no PyTorch, set PYTHON: $(json_text "$torch")\""; part_failed=1 failed=1; return; }
	try "$1" "$2" "$PYTHON" "$here/peers/pytorch_train.py" --device "$peer_device" --precision bf16 --seconds "$seconds" --size "$3" \
		--vocabulary "$vocabulary" --tokens "$4" "${@:5}"
}

# the ways to compute a training step, each twice in turns, so that a drift of the clock shows
do_variants() {
	local round variant variants
	variants=$(env LD_LIBRARY_PATH="$libraries" "$here/bin/bench_train" --variants)
	for round in 1 2; do
		for variant in $variants; do training "$variant, round $round" "$size" "$tokens" --variant "$variant"; done
	done
	try 40 "ops of all-of-these" ours bench_ops --backend "$BACKEND" --threads "$threads" --roof "$roof" --repeats "$repeats" --json --size "$size" \
		--vocabulary "$vocabulary" --only training --tokens "$tokens" --variant all-of-these attention_grad matmul
}

do_base() {
	training "ours" "$size" "$tokens"
	training "ours, no graphs" "$size" "$tokens" --no-graphs
	peer 60 "PyTorch" "$size" "$tokens"
	peer 120 "PyTorch compiled" "$size" "$tokens" --compile layers
	training "ours again" "$size" "$tokens"
}

do_kernels() {
	local common=(--backend "$BACKEND" --threads "$threads" --roof "$roof" --repeats "$repeats" --json --size "$size" --vocabulary "$vocabulary")
	try 60 training ours bench_ops "${common[@]}" --only training --tokens "$tokens"
	try 40 "decoding, ${batches##* } sentences" ours bench_ops "${common[@]}" --only decoding --length "$length" --batch "${batches##* }"
	try 30 "decoding, 1 sentence" ours bench_ops "${common[@]}" --only decoding --length "$length" --batch 1
}

# decoding NAME FORMAT BEAM SENTENCES ...
decoding() {
	try 40 "$1" ours bench_decode --backend "$BACKEND" --threads "$threads" --size "$size" --vocabulary "$vocabulary" --length "$length" --json \
		--precision "$2" --beam "$3" --batch "$4" "${@:5}"
}

do_decode() {
	for batch in $batches; do decoding "beam 4" bf16 4 "$batch"; done
	decoding "int8" int8 4 "${batches##* }"
	decoding "fp32" fp32 4 "${batches##* }"
	decoding "no graphs" bf16 4 "${batches%% *}" --no-graphs
	for batch in $batches; do decoding "dependent launches" bf16 4 "$batch" --dependent-launch; done
	mixed=(bf16 4 "$((${batches##* } * 4))" --mixed --decode-tokens "$((${batches##* } * length * 4))")
	decoding "mixed lengths" "${mixed[@]}"
	decoding "mixed lengths, whole batches" "${mixed[@]}" --whole-batches
	decoding "beam 1" bf16 1 "${batches##* }"
	[ "$BACKEND" != cuda ] || try 40 "products of a step" ours bench_decode --backend cuda --size "$size" --vocabulary "$vocabulary" --products --json
}

# recipe RUN LINE... : a run of the workspace
recipe() {
	mkdir -p "$work/runs/$1" && printf '%s\n' "[data]" "corpus = text" "[model]" "$model" "[train]" "backend = $BACKEND" "threads = $threads" "precision = bf16" \
		"eval_every = 1000000" "samples = 0" "${@:2}" >"$work/runs/$1/recipe.ini"
}

# hashes of a run's weights and moments
arrays() { grep safetensors "$work/runs/$1/checkpoints/$2/SHA256SUMS"; }

do_resume() {
	local n=40 half=20 same=no common=("batch_tokens = $text_tokens" "warmup = 10")
	[ "${SCALE:-}" != small ] || n=4 half=2
	recipe whole "${common[@]}" "steps = $n"
	try 40 whole ours werkbank-train _rank -q -C "$work" --run whole
	recipe halves "${common[@]}" "steps = $half"
	cp "$work"/runs/whole/products.*.txt "$work/runs/halves/" 2>/dev/null	# measured algorithms: other ones have other bits
	try 40 "first half" ours werkbank-train _rank -q -C "$work" --run halves
	recipe halves "${common[@]}" "steps = $n"
	try 40 "second half" ours werkbank-train _rank -q -C "$work" --run halves
	[ -z "$(arrays whole "$n")" ] || [ "$(arrays whole "$n")" != "$(arrays halves "$n")" ] || same=yes
	note "\"name\":\"compare\",\"same_bits\":\"$same\""
	[ $same = yes ] || failed=1 part_failed=1
}

do_text() {
	recipe text "batch_tokens = $text_tokens" "steps = 1000000" "warmup = 2000" "save_every = 1000" "max_minutes = $text_minutes"
	try 240 train ours werkbank-train _rank -C "$work" --run text
	try 60 score ours werkbank-eval eval -q -C "$work" --run text --set test --backend "$BACKEND" --threads "$threads" --json
}

do_sizes() {
	for n in $other_tokens; do
		training "ours" "$size" "$n"
		peer 50 "PyTorch" "$size" "$n"
	done
	training "ours, big" "$big" "$tokens"
	peer 60 "PyTorch, big" "$big" "$tokens"
	peer 100 "PyTorch compiled, big" "$big" "$tokens" --compile layers
}

do_sanitize() {
	local sanitizer outcome
	sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
	[ -n "$sanitizer" ] || { note '"tool":"-","ops":"-","outcome":"this machine has no compute-sanitizer"'; return; }
	for op in $(cat "$here/ops"); do
		for tool in racecheck memcheck; do
			outcome=clean
			OPS=$op try 30 "$tool $op" env LD_LIBRARY_PATH="$libraries" "$sanitizer" --tool $tool --error-exitcode 1 "$here/bin/gpu_run" \
				--no-fork ops_cuda || outcome=faults
			note "\"tool\":\"$tool\",\"ops\":\"$op\",\"outcome\":\"$outcome\""
		done
	done
}

# ---- the parts of this call ----------------------------------------------------------------------

tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-hour-XXXXXX") || exit 73
trap 'rm -rf "$tmp"' EXIT
trap 'stop 143' TERM HUP
trap 'stop 130' INT
[ "${OUT#/}" != "$OUT" ] || OUT=$PWD/$OUT
{ mkdir -p "$OUT" && : >"$OUT/.hour.log"; } 2>/dev/null || fail 73 "cannot write to $OUT: set OUT to a folder where results can be written"
for file in gpu.jsonl hour.log; do	# not cp: results that came back from another machine may be read-only
	: >"$tmp/$file"
	[ ! -f "$OUT/$file" ] || cat "$OUT/$file" >>"$tmp/$file" || fail 66 "cannot read $OUT/$file"
done

if [ "${1:-}" = compare ]; then
	shift
	[ $# -eq 0 ] || cat "$@" >"$tmp/gpu.jsonl" || exit 66
	compare
	exit
fi
if [ "${1:-}" = table ]; then
	shift
	[ $# -gt 0 ] || fail 64 "table needs the files of the results: gpu.jsonl ..."
	cat "$@" >"$tmp/gpu.jsonl" || exit 66
	results >"$OUT/.results.md" && mv "$OUT/.results.md" "$OUT/results.md"
	exit
fi
parts=
for word in "${@:-first}"; do
	parts="$parts ${call[$word]:-$word}"
done
for word in $parts; do
	[ -n "${limit[$word]:-}" ] || fail 64 "no part is called $word; first, second, third, fourth, or: ${call[*]}"
done

work=$tmp/work
{ mkdir -p "$work/runs" && cp -r "$here/corpora" "$work/" && chmod -R u+w "$work"; } || fail 73 "cannot copy the text to $tmp: set TMPDIR"
libraries=$here/lib
found=$(wheel_libraries)
torch='' has_torch=
# a measurement must not go on when this script is killed; setpriv is part of util-linux
with_us=()
setpriv --pdeathsig TERM true 2>/dev/null && with_us=(setpriv --pdeathsig TERM)
[ -z "$found" ] || libraries=$libraries:$found
peer_device=cuda
[ "$BACKEND" = cuda ] || peer_device=cpu

for part in $parts; do
	began=$SECONDS part_failed=0 deadline=$((SECONDS + limit[$part] * SLOWER))
	"do_$part" >>"$tmp/hour.log" 2>&1
	word=ok
	[ "$part_failed" = 0 ] || word=FAILED
	note "\"word\":\"$word\",\"seconds\":$((SECONDS - began))"
	echo "$word  $part  $((SECONDS - began)) s"
	results >"$tmp/results.md"
	publish
done
exit $failed
