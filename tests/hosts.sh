#!/bin/sh
# hosts.sh [long] - several hosts of a laboratory (lab.sh): they are checked, healthy and broken, copied to, measured, and
# train together over ssh from one command. Skipped without root, Open MPI and sshd. Last line: the tally, which
# tests/tally.sh counts.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbhosts-XXXXXX")
export ws="$tmp/ws"
build=$PWD
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

case ${1:-} in
'') long=false ;;
long) long=true ;;
*) echo "hosts.sh: '$1' is not \"long\"" >&2; exit 64 ;;
esac

recipe "$tmp/tiny.ini"
lab_up 4 || exit 1
wb prep "$tmp/tiny.ini" -q || not_ok "the corpus" "it cannot be prepared"

# ---- hosts that are well, and hosts that are not -----------------------------------
corpus="--corpus tiny"
# shellcheck disable=SC2086 # two words or none
check() { wb hosts check "$@" $corpus; }
says "check: all is well" 0 'verdict: a training can start: 3 of 3 hosts answer, 0 errors' check h1,h2,h3
says "check: the network is found" 0 'network between the hosts: 10\.98\.0\.0/24' check h1,h2,h3

# broken NAME WORDS : h2 is named with these words in exactly one line of trouble
broken() {
	got=0
	check h1,h2 --deadline 5 >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
	trouble=$(grep -E '^error ' "$tmp/out")
	if [ "$got" -ne 1 ]; then
		not_ok "$1" "exit status $got, not 1: $(tail -n 3 "$tmp/out" "$tmp/err" | head -c 600)"
	elif [ "$(echo "$trouble" | wc -l)" -ne 1 ]; then
		not_ok "$1" "not one line: $trouble"
	elif ! echo "$trouble" | grep -E -- "$2" | grep -q h2; then
		not_ok "$1" "nothing like '$2' in: $trouble"
	else
		ok "$1: $(echo "$trouble" | sed 's/^error *//' | cut -c 1-100)"
	fi
}

home=$LAB/h1/home
lab_sshd h2 off
broken "no sshd" 'ssh: .*no sshd listens.*: start sshd'
lab_sshd h2 "Port 2222"
broken "sshd on another port" 'ssh: .*no sshd listens.*hostfile'
printf 'h1 slots=1\nh2:2222 slots=1\n' >"$tmp/hostfile"
sed 's/^h2,[^ ]*/[h2]:2222/' "$LAB/known_hosts" >"$home/.ssh/known_hosts"
says "the port is in a hostfile" 0 'verdict: a training can start' check "$tmp/hostfile"
lab_sshd h2
grep -v '^h2' "$LAB/known_hosts" >"$home/.ssh/known_hosts"
broken "its host key is not known" 'ssh: .*host key.*ssh-keyscan'
{ grep -v '^h2' "$LAB/known_hosts"; sed -n 's/^h1,[^ ]*/h2/p' "$LAB/known_hosts"; } >"$home/.ssh/known_hosts"
broken "its host key has changed" 'ssh: .*has changed.*ssh-keygen -R'
cp "$LAB/known_hosts" "$home/.ssh/known_hosts"
mv "$LAB/h2/home/.ssh/authorized_keys" "$LAB/h2/home/.ssh/not"
broken "it does not know our key" 'ssh: .*ssh-copy-id'
mv "$LAB/h2/home/.ssh/not" "$LAB/h2/home/.ssh/authorized_keys"
lab_cut h2
broken "its cable is out" 'ssh: .*(does not answer|no way leads).*: is it switched on'
lab_heal h2
lab_private h2 "$build"
broken "no Werkbank" '.*hosts sync'
lab_undo h2 "$build"
cp "$build/werkbank-train" "$tmp/other"
echo "another build" >>"$tmp/other"
lab_replace h2 "$build/werkbank-train" "$tmp/other"
broken "another build" 'build: .*another build.*hosts sync'
lab_undo h2 "$build/werkbank-train"
printf '#!/bin/sh\necho "mpirun (Open MPI) 5.0.3"\n' >"$tmp/mpirun"
chmod +x "$tmp/mpirun"
mpirun=$(readlink -f "$(command -v mpirun)")
lab_replace h2 "$mpirun" "$tmp/mpirun"
broken "another Open MPI" 'mpi: .*5\.0\.3.*install the same'
lab_undo h2 "$mpirun"
lab_private h2 "$ws/corpora"
broken "no corpus" 'corpus: .*hosts sync'
cp -r "$ws/corpora/tiny" "$LAB/h2/private$ws/corpora/"
printf X | dd of="$LAB/h2/private$ws/corpora/tiny/train.shard" bs=1 seek=5000 conv=notrunc 2>/dev/null
broken "another corpus" 'corpus: .*hosts sync'
lab_undo h2 "$ws/corpora"
if lab_firewall h2; then
	broken "a firewall" '(network|ports?): .*firewall'
	lab_firewall h2 off
else
	skip "a firewall" "$(tail -n 1 "$LAB/firewall.log")"
fi
lab_small h2 "$ws" 512k
corpus=
broken "full disk" 'disk: .*remove'
corpus="--corpus tiny"
lab_undo h2 "$ws"
if lab_skew h2 100; then
	broken "its clock is ahead" 'clock: .*100.* s ahead.*chrony'
	rm "$LAB/h2/environment"
	lab_sshd h2
else
	skip "its clock is ahead" "no compiler"
fi
says "a name without address" 1 'no address is known for nosuch' check h1,nosuch
says "check: all is well again" 0 'verdict: a training can start: 2 of 2 hosts answer, 0 errors' check h1,h2

# ---- training -------------------------------------------------------------
train() { wb train "$tmp/tiny.ini" --quiet "$@"; }
# trained NAME RUN RANKS : over all of these ranks, with the losses of one rank
trained() {
	same "$1: ranks" "$(records "$2" start ranks)" "$3"
	same "$1: state" "$(run_state "$2")" finished
	agree "$1" one "$2" 1e-4 100
}
says "one rank" 0 '' train --run one
before=$(lab_bytes h2 | cut -d ' ' -f 1)
says "two hosts" 0 '' train --run two --hosts h1,h2
bytes=$(($(lab_bytes h2 | cut -d ' ' -f 1) - before))
if [ $bytes -gt 1000000 ]; then ok "two hosts: over the network"; else not_ok "two hosts: over the network" "only $bytes bytes came"; fi
trained "two hosts" two 2
says "three hosts" 0 '' train --run three --hosts h1,h2,h3
trained "three hosts" three 3
if $long; then
	says "four hosts" 0 '' train --run four --hosts h1,h2,h3,h4
	trained "four hosts" four 4
	says "other slots" 0 '' train --run slots --hosts h2:2,h3:1
	trained "other slots, not from one of them" slots 3
fi
nobody_left "after training"
tally
