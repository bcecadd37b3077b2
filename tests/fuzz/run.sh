#!/bin/sh
# run.sh SOURCE [TARGET...] - run libFuzzer on each target for FUZZ_SECONDS (60), with a build in the current folder.
# Inputs that reach new code go to found/TARGET; inputs that fail go to crash-… and timeout-… .
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
bad=0
[ $# -gt 0 ] || set -- "$source"/tests/fuzz/corpus/*
for target; do
	WERKBANK_FUZZ=${target##*/}
	mkdir -p "found/$WERKBANK_FUZZ"
	case $WERKBANK_FUZZ in archive | shard | sp) longest=16384 ;; *) longest=4096 ;; esac
	if ./tests/fuzz_search -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -max_len=$longest \
		-use_value_profile=1 -print_final_stats=1 -artifact_prefix="$WERKBANK_FUZZ-" \
		"found/$WERKBANK_FUZZ" "$source/tests/fuzz/corpus/$WERKBANK_FUZZ" >"$WERKBANK_FUZZ.log" 2>&1; then
		echo "ok       fuzz $WERKBANK_FUZZ: $(sed -n 's/^stat::number_of_executed_units: *//p' "$WERKBANK_FUZZ.log") executions"
	else
		echo "FAILED   fuzz $WERKBANK_FUZZ: see $PWD/$WERKBANK_FUZZ.log"
		bad=1
	fi
done
exit $bad
