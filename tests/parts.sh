# parts.sh - functions of .ci/run and tests/nightly.sh: named parts, their times, the tally. Sourced by bash, with
# "here" set to the source folder and "logs" to a folder for logs and builds.
# shellcheck shell=bash disable=SC2154 # here, logs
#
#	part NAME COMMAND...          run one part: it passes or fails; its output goes to $logs/NAME.log
#	part_begin NAME COMMAND...    begin one part in the background: part_end NAME waits for it and reports it
#	part_skip NAME WHY            one part that cannot run here
#	part_tally LINE               add "3 passed, 0 failed, 1 skipped" to the totals
#	part_tree NAME OPTION...      configure and build in $logs/NAME
#	part_make NAME ARGUMENT...    run make in $logs/NAME
#	part_failures BUILD-FOLDER    the tests that failed in it, and the ends of their logs
#	part_install COMMAND PACKAGE...   install the packages when the command is missing (Debian)
#	part_finish                   the last line; fails when a part failed
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
passed=0 failed=0 skipped=0
mkdir -p "$logs"
# out-of-tree and distribution builds find the real data as the source tree does
if [ -z "${WERKBANK_TEST_DATA:-}" ] && [ -d "$here/../shared/data" ]; then
	WERKBANK_TEST_DATA=$(cd "$here/../shared/data" && pwd)
	export WERKBANK_TEST_DATA
fi

# part_report NAME STATUS SECONDS
part_report() {
	if [ "$2" -eq 0 ]; then
		printf '%-16s passed  %4d s\n' "$1" "$3"
		passed=$((passed + 1))
	else
		printf '%-16s FAILED  %4d s   (end of %s)\n' "$1" "$3" "$logs/$1.log"
		tail -n 30 "$logs/$1.log"
		failed=$((failed + 1))
	fi
	return "$2"
}

part() {
	local name=$1 start=$SECONDS status=0
	shift
	"$@" >"$logs/$name.log" 2>&1 || status=$?
	part_report "$name" $status $((SECONDS - start))
}

declare -A part_pids

part_begin() {
	local name=$1
	shift
	(
		start=$SECONDS status=0
		"$@" >"$logs/$name.log" 2>&1 || status=$?
		echo $status $((SECONDS - start)) >"$logs/$name.status"
	) &
	part_pids[$name]=$!
}

part_end() {
	local status seconds
	wait "${part_pids[$1]}"
	read -r status seconds <"$logs/$1.status"
	part_report "$1" "$status" "$seconds"
}

part_skip() {
	printf '%-16s skipped         (%s)\n' "$1" "$2"
	skipped=$((skipped + 1))
}

part_tally() {
	if [[ $1 =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
		skipped=$((skipped + BASH_REMATCH[3]))
		printf '%-16s %s\n' '' "$1"
	fi
}

part_tree() (
	name=$1
	shift
	# a relative path of the sources: builds at one depth compile the same text, which ccache recognises
	mkdir -p "$logs/$name" && cd -P "$logs/$name" && "$(realpath --relative-to=. "$here/configure")" -q "$@" && make -j"$jobs"
)

part_make() {
	local name=$1
	shift
	make -C "$logs/$name" -j"$jobs" "$@" || { part_failures "$logs/$name"; return 1; }
}

# the tests that failed in a build folder, each with the lines of its log before the failure
part_failures() {
	local log
	for log in $(grep -lsE '^:test-result: (FAIL|ERROR)' "$1"/tests/*.trs "$1"/tests/*/*.trs); do
		log=${log%.trs}.log
		echo "== ${log#"$1"/}"
		grep -E -B 12 '^FAILED' "$log" | tail -n 24 || tail -n 12 "$log"
	done
}

part_install() {
	local command=$1
	shift
	command -v "$command" >/dev/null && return 0
	command -v apt-get >/dev/null || return 1
	if [ "$(id -u)" -eq 0 ]; then
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
	fi >/dev/null 2>&1
	command -v "$command" >/dev/null
}

part_finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
