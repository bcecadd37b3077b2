#!/usr/bin/env bash
# nightly.sh [PART...] - tests that take too long for each change: all parts, or the named ones. Hours on two cores.
# Last line: "N passed, N failed, N skipped"; logs and builds stay in build-nightly/.
#
#	long		the long tests ("make check-long"): ranks, live runs, hosts, terminals, the simulated GPU
#	sanitizers	all tests, short and long, of the minimal build with sanitizers and assertions
#	threads		the C tests under the thread sanitizer
#	clang		all short tests of clang's build with assertions
#	cuda		with CUDA for every chip that nvcc knows: the short tests, the machine code of kernels, the simulated GPU linked
#	cudasim		the simulated GPU under sanitizers
#	hosts		hosts of a laboratory, with all of its cases, and verdicts about 21 networks; needs root
#	signals		early stops at all times from 0 to 5 s
#	elastic		a host that is lost and returns, four times
#	faults		faults of hosts, all of them, and random ones; needs root
#	injected	calls and allocations that fail, one at each place of nine commands (PLACES, FULL, SAMPLE: which,
#			tests/faults/injected.sh); memory that is left then
#	slurm		jobs on a real Slurm with two nodes; needs root
#	distcheck	make distcheck: builds, installs, leaves nothing behind
#	package		the Debian package
#	reproducible	make dist and the Debian package, twice each, byte for byte
#	tutorial	the tutorial at its full size, outputs compared
#	kills		preparation killed at 60 random moments
#	mutants		small mistakes in GPU code must be noticed
#	fuzz		libFuzzer on every reader, FUZZ_SECONDS (60) each
#	readers		our readers against those of other programs, 10,000 mutants each; needs python3
#	serve		the server under load with killed decoders and reloads, SERVE_MINUTES (15); needs python3
#	coverage	lines that the C tests run, by room
#	valgrind	the C tests under memcheck
set -u
cd "$(dirname "$0")/.." || exit 1
here=$PWD
logs=$here/build-nightly
# shellcheck source=tests/parts.sh
. tests/parts.sh
export FUZZ_SECONDS=${FUZZ_SECONDS:-60}
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
minimal="--without-cuda --without-mpi --without-nccl --without-seccomp --without-expat --without-curses
	--disable-vector-variants --enable-sanitizers --enable-werror"

# full_tree : one build with all libraries found here except CUDA, for all parts that need it
full_tree() {
	[ -x "$logs/full/werkbank" ] || part full part_tree full --without-cuda --enable-asserts
}
as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo env "$@"; fi
}

night_long() {
	full_tree || return 0
	part long part_make full check-long
	part_tally "$(sh tests/tally.sh "$logs/full")"
}
night_sanitizers() {
	# shellcheck disable=SC2086 # a list of words
	part sanitizers-build part_tree sanitizers $minimal CFLAGS="-O1 -g" || return 0
	part sanitizers part_make sanitizers check-all
	part_tally "$(sh tests/tally.sh "$logs/sanitizers")"
}
night_threads() {
	part threads-build part_tree threads --without-cuda --without-mpi --without-nccl --without-curses \
		--disable-vector-variants --enable-asserts --enable-sanitizers=thread CFLAGS="-O1 -g" || return 0
	part threads env TSAN_OPTIONS=allocator_may_return_null=1 make -C "$logs/threads" -j"$jobs" check TESTS=tests/run
	part_tally "$(sh tests/tally.sh "$logs/threads")"
}
night_clang() {
	part_install clang clang || { part_skip clang "it cannot be installed here"; return 0; }
	part clang-build part_tree clang CC=clang --without-cuda --enable-werror --enable-asserts || return 0
	part clang part_make clang check
	part_tally "$(sh tests/tally.sh "$logs/clang")"
}
night_cuda() {
	if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
		part cuda-build part_tree cuda --with-cuda || return 0
		part cuda-links part_make cuda tests/cuda_run tests/gpu_run
		part cuda part_make cuda check
		part_tally "$(sh tests/tally.sh "$logs/cuda")"
		part cuda-code part_make cuda check TESTS=tests/gpu/sass.sh
	else
		part_skip cuda "no nvcc"
	fi
}
night_cudasim() {
	# shellcheck disable=SC2086 # a list of words
	part cudasim-build part_tree cudasim $minimal CFLAGS="-O1 -g" || return 0
	part cudasim part_make cudasim check-cudasim
}
night_hosts() {
	full_tree || return 0
	part hosts as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/hosts.sh long"
	part ipv6 as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/ipv6.sh"
	part latency as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/latency.sh"
	part verdicts as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/verdicts.sh"
}
night_signals() {
	full_tree || return 0
	part signals sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/launch/signals.sh long"
}
night_elastic() {
	full_tree || return 0
	part elastic sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/launch/elastic.sh long"
}
night_faults() {
	full_tree || return 0
	part faults as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/faults.sh long"
	part random-faults as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/random_faults.sh"
	part rescue-long sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/launch/rescue.sh long"
	part rescue-faults as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/random_faults.sh 60 \$(date +%s) rescue"
}
night_injected() {
	full_tree || return 0
	part injected-build part_make full tests/fault_run tests/fault_shim.so tests/http_server || return 0
	part injected sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share KEEP='$logs/injected.findings' sh $here/tests/faults/injected.sh long"
	grep ' calls ' "$logs/injected.log"
	part_tally "$(tail -n 1 "$logs/injected.log")"
	# shellcheck disable=SC2086 # a list of words
	part leaks-build part_tree leaks $minimal CFLAGS="-O1 -g" || return 0
	part leaks-tools part_make leaks tests/fault_run tests/fault_shim.so tests/http_server || return 0
	part leaks sh -c "cd '$logs/leaks' && srcdir=$here WERKBANK_SHARE=$here/share KEEP='$logs/leaks.findings' CALLS=malloc \
		PLACES=${PLACES:-no} FULL=${FULL:-40} SAMPLE=${SAMPLE:-40} sh $here/tests/faults/injected.sh long"
	part_tally "$(tail -n 1 "$logs/leaks.log")"
}
night_slurm() {
	part_install slurmctld munge slurmctld slurmd slurm-client || { part_skip slurm "it cannot be installed here"; return 0; }
	full_tree || return 0
	part slurm as_root sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/lab/slurm.sh"
}
night_distcheck() {
	full_tree || return 0
	part distcheck part_make full distcheck TESTS="tests/run tests/program/cli.sh tests/program/install.sh"
}
night_package() {
	command -v dpkg-buildpackage >/dev/null || { part_skip package "no dpkg-buildpackage"; return 0; }
	part package env DEB_BUILD_OPTIONS=nocheck DEBFULLNAME=Nightly DEBEMAIL=nightly@example.org sh share/packaging/deb.sh "$logs/deb"
}
night_reproducible() {
	part reproducible env DEB=yes sh tests/reproducible.sh
	part_tally "$(tail -n 1 "$logs/reproducible.log")"
}
night_tutorial() {
	full_tree || return 0
	part tutorial sh -c "cd '$logs/full' && srcdir=$here sh $here/tests/program/tutorial.sh full"
}
night_kills() {
	full_tree || return 0
	part kills sh -c "cd '$logs/full' && srcdir=$here WERKBANK_SHARE=$here/share sh $here/tests/data/prep_kill.sh 60"
}
night_mutants() {
	full_tree || return 0
	part mutants part_make full check-mutants
}
night_fuzz() {
	part_install clang clang || { part_skip fuzz "it needs clang"; return 0; }
	# Debian has libFuzzer in a package of its own, of the version of clang
	if command -v dpkg >/dev/null && ! clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" | grep -q /; then
		part_install libclang-rt libclang-rt-dev || true
	fi
	full_tree || return 0
	part fuzz part_make full fuzz
}
night_serve() {
	local work=$logs/serve
	command -v python3 >/dev/null || { part_skip serve "it needs python3"; return 0; }
	full_tree || return 0
	mkdir -p "$work"
	part serve-model sh -c "cd '$work' && printf '[recipe]\ninclude = demo\n[train]\nsteps = 300\n' >serve.ini && '$logs/full/werkbank' prep serve.ini && '$logs/full/werkbank' train serve.ini --run serve" || return 0
	part serve sh -c "cd '$work' && python3 $here/tests/peers/serve_load.py \"\$(ls -d werkbank.d/runs/serve/checkpoints/[0-9]* | sort -V | tail -n 1)\" werkbank.d/corpora/serve/test.en '$logs/full' --minutes ${SERVE_MINUTES:-15}"
}
night_readers() {
	local python=$logs/python
	command -v python3 >/dev/null || { part_skip readers "it needs python3"; return 0; }
	# without the two packages their readers are skipped, with a line in the log
	[ -x "$python/bin/pip" ] || python3 -m venv "$python" && "$python/bin/pip" -q install safetensors protobuf >/dev/null 2>&1
	[ -x "$python/bin/python" ] || python=/usr
	full_tree || return 0
	part readers sh -c "cd '$logs/full' && make tests/read_back && srcdir=$here '$python/bin/python3' $here/tests/peers/readers.py"
}
night_coverage() {
	part coverage env BUILD="$logs/coverage" UNDER="train/launch=60" sh tests/coverage.sh && cat "$logs/coverage.log"
}
night_valgrind() {
	command -v valgrind >/dev/null || { part_skip valgrind "no valgrind"; return 0; }
	full_tree || return 0
	part valgrind sh -c "cd '$logs/full' && make tests/run && srcdir=$here WERKBANK_SHARE=$here/share valgrind -q --trace-children=no \
		--suppressions=$here/tests/valgrind.supp --leak-check=full --error-exitcode=99 tests/run"
}

all='long sanitizers threads clang cuda cudasim hosts signals elastic faults injected slurm distcheck package reproducible tutorial kills mutants fuzz readers serve coverage valgrind'
[ $# -gt 0 ] || eval "set -- $all"
[ -x configure ] || ./autogen.sh >/dev/null
for name; do
	case " $all " in
	*" $name "*) "night_$name" ;;
	*) echo "nightly.sh: '$name' is no part; parts: $all" >&2; exit 64 ;;
	esac
done
part_finish
