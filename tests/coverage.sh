#!/bin/sh
# coverage.sh [WORD...] - which lines of each room the C tests run: "make coverage", or from the source folder
# "sh tests/coverage.sh". With words: only tests with one of them in their name. Prints a line a room, and the total.
#
#	BUILD=FOLDER	where to build (build-coverage); it is configured without CUDA, without optimisation
#	UNDER=ROOM=SHARE	fail when this room is below this share, such as train/launch=60; several, separated by blanks
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build-coverage}
command -v gcov >/dev/null || { echo "coverage.sh: gcov is missing; it comes with gcc" >&2; exit 69; }
mkdir -p "$build"
cd "$build"
[ -f config.status ] || "$here/configure" -q --without-cuda --disable-vector-variants CFLAGS="-O0 -g --coverage" LDFLAGS=--coverage
make -s -j"$(nproc)" check TESTS= >make.log 2>&1 || { tail -n 20 make.log >&2; exit 1; }
find . -name '*.gcda' -exec rm -f {} +
# counters are written at the end of a process, next to its object files: no sandbox
srcdir=$here WERKBANK_SANDBOX=off WERKBANK_SHARE=$here/share ./tests/run "$@" >run.log 2>&1 || echo "coverage.sh: some tests failed; see $build/run.log" >&2
find . -name '*.gcda' | sort | while read -r data; do
	gcov -n -o "$(dirname "$data")" "$data" 2>/dev/null
done | awk -v top="$here/" -v under="${UNDER:-}" '
	/^File / {
		file = $0
		sub(/^File ./, "", file)
		sub(/.$/, "", file)
		sub(top, "", file)
		while (sub(/^\.\.\//, "", file)) { }
	}
	/^Lines executed:/ && file ~ /^(share|kernels|data|train|eval|tui)\/.*\.c$/ {
		split($0, part, /[:% ]+/)	# Lines executed SHARE of N
		if (!(file in lines) || part[3] * part[5] / 100 > ran[file]) {
			lines[file] = part[5]
			ran[file] = part[3] * part[5] / 100
		}
	}
	END {
		for (file in lines) {
			room = file
			sub(/\/[^\/]*$/, "", room)
			n[room] += lines[file]
			hit[room] += ran[file]
			total += lines[file]
			total_hit += ran[file]
		}
		for (room in n)
			printf "%-20s %6d lines %5.1f %%\n", room, n[room], 100 * hit[room] / n[room] | "sort"
		close("sort")
		if (!total) { print "coverage.sh: gcov found nothing" > "/dev/stderr"; exit 1 }
		printf "%-20s %6d lines %5.1f %%\n", "all", total, 100 * total_hit / total
		count = split(under, limit, " ")
		for (i = 1; i <= count; i++) {
			split(limit[i], pair, "=")
			for (room in n)
				if (room == pair[1] || index(room, pair[1] "/") == 1) { sum[i] += hit[room]; of[i] += n[room] }
			share = of[i] ? 100 * sum[i] / of[i] : 0
			printf "%-20s %6d lines %5.1f %% (at least %s)\n", pair[1] "/...", of[i], share, pair[2]
			if (share < pair[2]) bad = 1
		}
		exit bad
	}'
