#!/bin/sh
# run.sh SOURCE [TARGET...] - run libFuzzer on each target for FUZZ_SECONDS (60), with a build in the current folder;
# FUZZ_JOBS (1) targets at a time. Inputs that reach new code go to found/TARGET; inputs that fail go to TARGET-crash-…
# and TARGET-timeout-… . A line for each target: executions, edges and features that its inputs reach, seconds.
set -eu
source=$(cd "$1" && pwd)
shift
: "${FUZZ_SECONDS:=60}" "${FUZZ_CC:=clang}"
flags=fuzzer-no-link,address,undefined
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n > 9 && d[0] == 1; }' >probe.c
if ! $FUZZ_CC -fsanitize=fuzzer,address,undefined probe.c -o probe 2>probe.log; then
	echo "fuzzing needs a clang with libFuzzer (FUZZ_CC=$FUZZ_CC): see probe.log"
	exit 77
fi
[ -f Makefile ] || "$source/configure" -q CC="$FUZZ_CC" CFLAGS="-O1 -g" --enable-sanitizers=$flags --without-cuda \
	--without-mpi --without-nccl --without-curses --disable-vector-variants
make -s tests/fuzz_search
WERKBANK_SHARE=$source/share srcdir=$source ASAN_OPTIONS=allocator_may_return_null=1
export WERKBANK_FUZZ WERKBANK_SHARE srcdir ASAN_OPTIONS
[ $# -gt 0 ] || set -- "$source"/tests/fuzz/corpus/*
# value FILE NAME : the last count that libFuzzer printed under this name
value() { grep -o " $2: [0-9]*" "$1" | tail -n 1 | grep -o '[0-9]*$'; }
# golden_folders : the small models of tests/golden/import as inputs of the target import (import_folder.c)
golden_folders() {
	for folder in "$source"/tests/golden/import/*/; do
		for file in "$folder"*; do
			printf '\n== %s\n' "${file##*/}"
			cat "$file"
		done >"golden/$(basename "$folder")"
	done
	# the texts of the model of Marian are split by the files of the other one
	for file in source.spm target.spm; do
		printf '\n== %s\n' "$file"
		cat "$source/tests/golden/import/marianmt/$file"
	done >>golden/marian
}
search() {
	WERKBANK_FUZZ=$1
	mkdir -p "found/$1" dict golden
	sh "$source/tests/fuzz/dictionary.sh" "$source" "$1" >"dict/$1"
	dictionary='' more=''
	[ "$1" != import ] || { golden_folders && more=golden; }
	[ ! -s "dict/$1" ] || dictionary=-dict=dict/$1
	case $1 in archive | bundle | checkpoint | fairseq | import | shard | sp) longest=65536 ;; *) longest=4096 ;; esac
	# shellcheck disable=SC2086 # none, or one word
	if ./tests/fuzz_search -max_total_time="$FUZZ_SECONDS" -timeout=25 -rss_limit_mb=2048 -max_len=$longest $dictionary \
		-use_value_profile=1 -len_control=100 -print_final_stats=1 -artifact_prefix="$1-" \
		"found/$1" "$source/tests/fuzz/corpus/$1" $more >"$1.log" 2>&1; then
		echo "ok       fuzz $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$1.log") executions," \
			"$(value "$1.log" cov) edges, $(value "$1.log" ft) features, $FUZZ_SECONDS s"
	else
		echo "FAILED   fuzz $1: see $PWD/$1.log"
		: >failed
	fi
}
rm -f failed
n=0
for target; do
	search "${target##*/}" &
	n=$((n + 1))
	[ $((n % ${FUZZ_JOBS:-1})) -ne 0 ] || wait
done
wait
[ ! -e failed ]
