#!/bin/sh
# lease.sh - two hosts whose locks do not see each other: the second one is a name and a mount namespace of its own, where
# another file lies over the run's lock. The second start is refused while the first one trains, takes over when the first
# one is gone without a word, and a first one that comes back ends without writing. Last line: the tally.
set -u
top=$PWD
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-lease-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"
WERKBANK_LEASE=2
export WERKBANK_LEASE

run=r
# far COMMAND... : on the other host, with a lock of its own for the run
far() {
	: >"$tmp/far-lock"
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m -u sh -c 'hostname farhost && mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$tmp/far-lock" "$w/runs/$run/lock" "$@"
}
far_trains() { far "$wb" train -C "$w" --run "$run" "$tmp/tiny.ini" --quiet "$@"; }
checkpoints() { for c in "$w"/runs/r/checkpoints/[0-9]*; do echo "${c##*/}"; done | grep -v tmp | sort -n; }
# lease FIELD : of the run
lease() { sed -n "s/^$1 //p" "$w/runs/$run/lease"; }

says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"
says "it starts" 0 '' train r --ranks 1 --save-every 50 --steps 1000000 --detach --quiet
holds "a checkpoint" is_at r 55
if ! far true 2>/dev/null; then
	"$wb" stop -C "$w" -q r
	skip "two hosts" "no namespaces: not root"
	tally
	exit
fi
same "the holder" "$(lease host)" "$(hostname | cut -c 1-64)"
says "the second start is refused" 75 "by process $(lease pid) on host $(lease host), which has just renewed its lease" far_trains
same "its state there" "$(far "$wb" status -C "$w" --json r 2>/dev/null | grep -c '"state": *"running"')" 1

# the first host is suspended: to the other one it looks like a host without power
holder=$(lease pid)
for p in $holder $(ours "$ranks"); do suspend_process "$p"; done
before=$(checkpoints | tail -n 1)
# it starts again at the last checkpoint, and trains 60 steps more
says "after the term it takes over" 0 'waiting up to 2 s' far_trains --steps $((before + 60)) --save-every 20
same "its starts" "$(starts r)" 2
after=$(checkpoints | paste -sd ' ')
for p in $holder $(ours "$ranks"); do kill -CONT "$p"; done
holds "the first one ends" process_is_gone "$holder"
same "it has written no checkpoint" "$(checkpoints | paste -sd ' ')" "$after"
holds "and says why" grep -q 'lease' "$w/runs/r/console.log"
nobody_left "both"

# only the supervisor is suspended: its rank sees that another host has the run, and ends
run=s
says "a second run starts" 0 '' train s --ranks 1 --save-every 1000000 --steps 1000000 --detach --quiet
holds "its step 5" is_at s 5
holder=$(lease pid) rank=$(ours "$ranks")
suspend_process "$holder"
says "another host takes it over" 0 'waiting up to 2 s' far_trains --steps 40
holds "the rank of the suspended one ends" process_is_gone "$rank"
kill -CONT "$holder"
holds "the suspended one ends" process_is_gone "$holder"
holds "it names the cause" grep -q 'was ended: another host trains its run now\|lost the lease' "$w/runs/s/console.log"
same "the state is that of the other host" "$(sed -n 's/.*"state":"\([a-z]*\)".*/\1/p' "$w/runs/s/state.json")" finished
nobody_left "the second run"
tally
