#!/bin/sh
# hosts.sh [long] - hosts of a lab (lab.sh): checks of healthy and broken hosts, copies, network measurements, and trainings
# over ssh from one command. Skipped without root, Open MPI and sshd. Last line: the tally, which
# tests/tally.sh counts.
# shellcheck disable=SC2154 # variables of the sourced files
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
. "$(dirname "$0")/../helpers.sh"
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

# ---- healthy and broken hosts -----------------------------------
corpus="--corpus tiny"
# shellcheck disable=SC2086 # two words or none
check() { wb hosts check "$@" $corpus; }
says "check: all is well" 0 'verdict: a training can start: 3 of 3 hosts answered, 0 errors' check h1,h2,h3
says "check: the network is found" 0 'network between the hosts: 10\.98\.0\.0/24' check h1,h2,h3

# broken NAME WORDS : exactly one line reports a fault: of h2, with these words
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
if $long; then
	lab_sshd h2 "Port 2222"
	broken "sshd on another port" 'ssh: .*no sshd listens.*hostfile'
	printf 'h1 slots=1\nh2:2222 slots=1\n' >"$tmp/hostfile"
	sed 's/^h2,[^ ]*/[h2]:2222/' "$LAB/known_hosts" >"$home/.ssh/known_hosts"
	says "the port is in a hostfile" 0 'verdict: a training can start' check "$tmp/hostfile"
fi
lab_sshd h2
grep -v '^h2' "$LAB/known_hosts" >"$home/.ssh/known_hosts"
broken "its host key is not known" 'ssh: .*host key.*ssh-keyscan'
if $long; then
	{ grep -v '^h2' "$LAB/known_hosts"; sed -n 's/^h1,[^ ]*/h2/p' "$LAB/known_hosts"; } >"$home/.ssh/known_hosts"
	broken "its host key has changed" 'ssh: .*has changed.*ssh-keygen -R'
fi
cp "$LAB/known_hosts" "$home/.ssh/known_hosts"
mv "$LAB/h2/home/.ssh/authorized_keys" "$LAB/h2/home/.ssh/not"
broken "it does not know our key" 'ssh: .*ssh-copy-id'
mv "$LAB/h2/home/.ssh/not" "$LAB/h2/home/.ssh/authorized_keys"
lab_cut h2
broken "its cable is out" 'ssh: .*(does not answer|no route).*: is it switched on'
lab_heal h2
lab_private h2 "$build"
broken "no Werkbank" '.*hosts sync'
lab_undo h2 "$build"
cp "$build/werkbank-train" "$tmp/other"
echo "another build" >>"$tmp/other"
lab_replace h2 "$build/werkbank-train" "$tmp/other"
broken "another build" 'build: .*different build.*hosts sync'
lab_undo h2 "$build/werkbank-train"
if $long; then
	printf '#!/bin/sh\necho "mpirun (Open MPI) 5.0.3"\n' >"$tmp/mpirun"
	chmod +x "$tmp/mpirun"
	mpirun=$(readlink -f "$(command -v mpirun)")
	lab_replace h2 "$mpirun" "$tmp/mpirun"
	broken "another Open MPI" 'mpi: .*5\.0\.3.*install the same'
	lab_undo h2 "$mpirun"
fi
lab_private h2 "$ws/corpora"
broken "no corpus" 'corpus: .*hosts sync'
if $long; then
	cp -r "$ws/corpora/tiny" "$LAB/h2/private$ws/corpora/"
	printf X | dd of="$LAB/h2/private$ws/corpora/tiny/train.shard" bs=1 seek=5000 conv=notrunc 2>/dev/null
	broken "another corpus" 'corpus: .*hosts sync'
fi
lab_undo h2 "$ws/corpora"
if $long; then
	if lab_firewall h2; then
		broken "a firewall" '(network|ports?): .*firewall'
		lab_firewall h2 off
	else
		skip "a firewall" "$(tail -n 1 "$LAB/firewall.log")"
	fi
fi
lab_small h2 "$ws" 512k
corpus=
broken "full disk" 'disk: .*remove'
corpus="--corpus tiny"
lab_undo h2 "$ws"
lab_enter h2 sh -c 'mount --bind /run/tmp /run/tmp && mount -o remount,bind,ro /run/tmp'
broken "a read-only folder for temporary files" 'disk: no file can be written in /run/tmp on h2 .Read-only file system'
lab_undo h2 /run/tmp
if lab_skew h2 100; then
	broken "its clock is ahead" 'clock: .*100.* s ahead.*chrony'
	rm "$LAB/h2/environment"
	lab_sshd h2
else
	skip "its clock is ahead" "no compiler"
fi
lab_sshd h2 "ForceCommand sleep 6; eval \"\$SSH_ORIGINAL_COMMAND\""
says "a slow login is no firewall" 0 'verdict: a training can start: 2 of 2 hosts answered, 0 errors' check h1,h2
lab_sshd h2
says "a name without address" 1 'the name nosuch has no address' check h1,nosuch
says "check: all is well again" 0 'verdict: a training can start: 2 of 2 hosts answered, 0 errors' check h1,h2

# ---- training -------------------------------------------------------------
train() { wb train "$tmp/tiny.ini" --quiet "$@"; }
# trained NAME RUN RANKS : the run used so many ranks and has the losses of one rank
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
evaluation() { records "$1" eval step bleu dev_nll | awk '{ printf "%d %.4f %.5f\n", $1, $2, $3 }'; }
same "the same evaluation" "$(evaluation three)" "$(evaluation one)"
nobody_left "after training"

# ---- the command line, ssh's options, other ports -----------------------------------------------
says "the line is shown" 0 'mpirun .*werkbank-train _rank' train --run none --hosts h1,h2 --show
absent "showing makes no run" "$ws/runs/none"
lab_sshd h3 "Port 2222"
printf 'h2 slots=1\nh3:2222 slots=1\n' >"$tmp/hostfile"
cp "$LAB/key" "$LAB/h1/home/other_key"
rm "$home/.ssh/id_ed25519" "$home/.ssh/known_hosts"
says "a key and options of ssh, a port in a hostfile, no rank here" 0 '' train --run ssh --steps 20 --hosts "$tmp/hostfile" \
	--ssh "ssh -i '$LAB/home/other_key' -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
same "... ranks" "$(records ssh start ranks) $(last_step ssh)" "2 20"
cp "$LAB/key" "$home/.ssh/id_ed25519"
cp "$LAB/known_hosts" "$home/.ssh/known_hosts"
lab_sshd h3

# ---- detached: status, save, attach, stop, resume ----------------------------------------
long_run="--run alone --steps 100000 --hosts h1,h2"
# shellcheck disable=SC2086 # words
says "detach" 0 '' train $long_run --detach
until_step alone 50 60 || not_ok "detach" "it does not come to step 50"
says "status" 0 'alone: (starting|running)' wb status alone
says "save" 0 '' wb save alone
# shellcheck disable=SC2154 # share: lab_runs.sh
says "attach, and leave it again" 124 'leaves it running' lab_on h1 env WERKBANK_SHARE="$share" timeout -s INT 3 "$build/werkbank" attach -C "$ws" alone
same "... still running" "$(run_state alone)" running
says "stop" 0 '' wb stop alone
same "... saved and stopped" "$(run_state alone)" stopped
saved=$(records alone save step | tail -n 1)
same "... at its last step" "$saved" "$(last_step alone)"
nobody_left "after stop"
says "logs" 0 'step' wb logs alone
# shellcheck disable=SC2086 # words
says "it goes on" 0 '' train $long_run --steps $((saved + 10))
same "... where it was" "$(records alone train step | awk -v s="$saved" '$1 > s { print $1 }' | head -n 1) $(last_step alone)" "$((saved + 1)) $((saved + 10))"

# ---- hosts without a shared file system, and the network between hosts ------------------------------------
lab_private h4 "$build"
lab_private h4 "$ws"
says "sync" 0 '' wb hosts sync h1,h4 --corpus tiny
says "check after sync" 0 'a training can start: 2 of 2' check h1,h4
says "train where nothing is shared" 0 '' train --run synced --steps 20 --hosts h1,h4
same "... ranks, steps" "$(records synced start ranks) $(last_step synced)" "2 20"
if $long; then
	lab_rate h4 100mbit
	says "bandwidth" 0 '' wb hosts bandwidth h1,h4 --json
	cat "$tmp/out" >"$tmp/bandwidth"
	lab_rate h4 none
	link=$(sed -n 's/.*"link_bytes_s":\([0-9.e+]*\).*/\1/p' "$tmp/bandwidth" | head -n 1)
	if awk -v l="${link:-0}" 'BEGIN { exit !(l > 5e6 && l < 14e6) }'; then
		ok "bandwidth: 100 Mbit/s"
	else
		not_ok "bandwidth: 100 Mbit/s" "it says '$link' bytes/s: $(head -c 300 "$tmp/bandwidth")"
	fi
fi

# ---- leftover processes ----------------------------------------------------------------------------
says "nothing to clean" 0 '' wb hosts clean h1,h2,h3
says "a run" 0 '' train --run left --steps 100000 --hosts h1,h2 --detach --restarts 0
until_step left 20 60 || not_ok "a run" "it does not come to step 20"
cp /bin/sleep "$tmp/werkbank-train"
lab_on h2 sh -c "'$tmp/werkbank-train' 1000 >/dev/null 2>&1 &"
bystander=$(lab_pids h2 werkbank-train | sort -n | tail -n 1)
orphan=$(lab_pids h2 werkbank-train | sort -n | head -n 1)
# stopped ranks do not notice that the others end; killing the daemon would continue them and send SIGHUP
lab_kill h2 STOP $mpi_daemon
lab_enter h2 kill -STOP "$orphan"
lab_kill h1 KILL werkbank-launch
lab_kill h1 KILL $mpi_starter
n=0	# until the ranks that are not stopped have ended
while [ -n "$(lab_pids h1 werkbank-train)$(lab_pids h3 werkbank-train)" ]; do
	n=$((n + 1))
	[ $n -lt 600 ] || { not_ok "ranks without mpirun" "they are still there after 30 s"; break; }
	sleep 0.05
done
same "a rank is left behind" "$(lab_pids h2 werkbank-train | sort -n | head -n 1)" "$orphan"
says "clean ends it" 0 'h2.*left|left.*h2' wb hosts clean h1,h2,h3
same "... and not who has but its name" "$(lab_pids h2 werkbank-train)" "$bystander"
lab_enter h2 kill "$bystander"
lab_kill h2 CONT $mpi_daemon
nobody_left "after clean"
tally
