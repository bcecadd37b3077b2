#!/bin/sh
# hosts.sh [long] - several hosts of a laboratory (lab.sh): they are checked, copied to, measured, and train together
# over ssh from one command. Skipped without root, Open MPI and sshd. Last line: the tally, which tests/tally.sh counts.
set -u
long=
[ "${1:-}" != long ] || long=yes
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbhosts-XXXXXX")
export ws="$tmp/ws"
# shellcheck disable=SC2317 # the trap calls it
finish() {
	lab_down
	rm -rf "$tmp"
}
unset WERKBANK_HOME WERKBANK_RUN
. "$(dirname "$0")/helpers.sh"
. "$(dirname "$0")/lab.sh"
. "$(dirname "$0")/lab_runs.sh"
trap finish EXIT
trap 'exit 1' INT TERM HUP

runs_need || exit 77
recipe "$tmp/tiny.ini"
lab_up 4 || exit 1
wb prep "$tmp/tiny.ini" -q || not_ok "the corpus" "it cannot be prepared"

# ---- training -------------------------------------------------------------
says "one rank" 0 '' wb train "$tmp/tiny.ini" --run one -q
two() { wb train "$tmp/tiny.ini" "$@" -q; }
says "two hosts" 0 '' two --run two --hosts h1,h2
agree "two hosts" one two 1e-4 100
says "three hosts" 0 '' two --run three --hosts h1,h2,h3
agree "three hosts" one three 1e-4 100
nobody_left "after training"
tally
