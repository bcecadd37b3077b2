#!/bin/sh
# faults.sh [long|NAME...] - faults while hosts of a lab (lab.sh) train together. After each fault the run must end with the
# result of a run without faults, losing at most the steps since its last checkpoint, or report the fault; and no process may
# be left on any host. Without an argument it tries a few faults, with "long" all. Skipped without root, Open MPI and sshd.
# A table has for each fault: outcome, seconds until it was noticed, steps lost. Last line: the tally.
# shellcheck disable=SC2154 # variables of the sourced files
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbfaults-XXXXXX")
export ws="$tmp/ws"
trainer=$PWD/werkbank-train
launcher=$PWD/werkbank
# shellcheck disable=SC2317 # the trap calls it
finish() {
	lab_down
	[ -n "${KEEP:-}" ] || rm -rf "$tmp"
}
unset WERKBANK_HOME WERKBANK_RUN
. "$(dirname "$0")/../helpers.sh"
. "$(dirname "$0")/lab.sh"
. "$(dirname "$0")/lab_runs.sh"
trap finish EXIT
trap 'exit 1' INT TERM HUP
runs_need || exit 77

all="rank mpirun terminal stopped link cable gone returns disk corrupt version twice"
case ${1:-} in
'') chosen="rank stopped twice" ;;
long) chosen=$all ;;
*) chosen=$* ;;
esac
steps=400 save=50 moment=120
late=2 hang=6
table=$tmp/table

# train RUN OPTION... : start a detached run, by default on two hosts
train() {
	train_run=$1
	shift
	wb train "$tmp/tiny.ini" --run "$train_run" --hosts h1,h2 --steps $steps --save-every $save --late-after $late --hang-after $hang \
		--telemetry-every 1 --quiet "$@"
}

# journal_after TIME EXPRESSION : seconds from TIME to the first later record that matches EXPRESSION
journal_after() {
	grep -E "$2" "$ws/runs/$run/journal.jsonl" | awk -v since="$1" '
		{ t = substr($0, index($0, "\"t\":") + 4); sub(/[,}].*/, "", t) }
		t > since { printf "%.1f\n", t - since; found = 1; exit }
		END { if (!found) print "-" }'
}

# lost : number of steps that were repeated after the last start
lost() {
	grep -E '"kind":"(start|train)"' "$ws/runs/$run/journal.jsonl" | awk '
		/"kind":"start"/ { starts++; if (highest > before) before = highest; first = 0; next }
		{ step = substr($0, index($0, "\"step\":") + 7) + 0; if (!first) first = last_first = step; if (step > highest) highest = step }
		END { if (starts < 2) print 0; else print (before >= last_first ? before - last_first + 1 : 0) }'
}

now() { date +%s.%N; }
row() { printf '%-10s %-44s %9s %6s\n' "$@" | tee -a "$table"; }

# ends NAME WHAT [NOTICED [MAX]] : the run has finished, and its losses (up to step MAX) equal those of the run without faults
ends() {
	until_over "$run" 120 || not_ok "$1" "it does not end"
	attempts=$(records "$run" start run | wc -l)
	same "$1: finished" "$(run_state "$run")" finished
	agree "$1: as if nothing had happened" calm "$run" 1e-4 "${4:-$steps}"
	nobody_left "$1"
	row "$1" "$2; finished after $attempts starts" "${3:-$(journal_after "$since" '"kind":"(event|stop|start)"')}" "$(lost)"
}

# begin NAME OPTION... : start a run and wait until the step at which the fault happens
begin() {
	run=$1
	train "$@" --detach >"$tmp/$run.out" 2>&1 || { not_ok "$run" "it does not start: $(tail -n 3 "$tmp/$run.out")"; return 1; }
	until_step "$run" $moment 60 || { not_ok "$run" "it does not come to step $moment: $(tail -n 3 "$ws/runs/$run/console.log")"; return 1; }
}

fault_rank() {
	begin rank || return
	since=$(now)
	lab_kill h2 KILL werkbank-train
	ends rank "kill -9 of a rank: started again"
}

fault_mpirun() {
	begin mpirun || return
	since=$(now)
	lab_kill h1 KILL $mpi_starter
	ends mpirun "kill -9 of mpirun: started again"
}

# The terminal goes away: its emulator is killed, so its processes get SIGHUP.
fault_terminal() {
	run=terminal
	command -v script >/dev/null || { skip terminal "no script (package bsdutils)"; return; }
	# shellcheck disable=SC2154 # share: lab_runs.sh
	lab_on h1 env WERKBANK_SHARE="$share" script -qc "'$launcher' train '$tmp/tiny.ini' -C '$ws' --run terminal --hosts h1,h2 \
		--steps $steps --save-every $save" /dev/null >"$tmp/terminal.out" 2>&1 </dev/null &
	until_step terminal $moment 60 || { not_ok terminal "it does not come to step $moment: $(tail -n 3 "$tmp/terminal.out")"; return; }
	since=$(now)
	lab_kill h1 KILL script
	ends terminal "its terminal hung up: went on" -
	same "terminal: no step is lost" "$(records terminal start run | wc -l) $(lost)" "1 0"
}

fault_stopped() {
	begin stopped || return
	since=$(now)
	lab_kill h2 STOP werkbank-train
	ends stopped "SIGSTOP of a rank: named, ended, started again"
	named=$(grep '"kind":"event"' "$ws/runs/stopped/journal.jsonl" | grep -c 'h2')
	if [ "$named" -gt 0 ]; then ok "stopped: the late host is named"; else not_ok "stopped: the late host is named" "no event names h2"; fi
}

fault_link() {
	begin link || return
	since=$(now)
	lab_link h2 down
	until [ "$(journal_after "$since" '"kind":"(event|stop)"')" != - ] || is_over link; do sleep 0.2; done
	sleep $hang
	lab_link h2 up
	ends link "ip link set down there, up again: started again"
}

fault_cable() {
	begin cable || return
	since=$(now)
	lab_cut h2
	sleep $((hang * 3))
	left=$(lab_pids h2 werkbank-train)
	same "cable: the rank that was cut off ended itself" "$left" ""
	lab_heal h2
	ends cable "cable out, in again: started again"
}

fault_gone() {
	run=gone
	train gone --hosts h1,h2,h3 --elastic --detach >"$tmp/gone.out" 2>&1 || { not_ok gone "$(tail -n 3 "$tmp/gone.out")"; return; }
	until_step gone $moment 60 || { not_ok gone "it does not come to step $moment"; return; }
	since=$(now)
	lab_gone h3
	noticed=$(until_over gone 120; journal_after "$since" '"kind":"(event|stop|start)"')
	# sums over three ranks and over two are rounded differently, and training amplifies the difference
	ends gone "a host of three is gone, --elastic: went on with two" "$noticed" $((moment + save + 30))
	same "gone: ranks of the last start" "$(records gone start ranks | tail -n 1)" 2
	lab_boot h3
}

# wait_starts NUMBER : until the run has started so often, at most 90 s
wait_starts() {
	runs_end=$(($(date +%s) + 90))
	until [ "$(records "$run" start run | wc -l)" -ge "$1" ]; do
		[ "$(date +%s)" -lt $runs_end ] || return 1
		sleep 0.2
	done
}

# A cable is pulled and plugged in again, twice. tests/launch/elastic.sh compares the bits of such a run.
fault_returns() {
	run=returns
	export WERKBANK_RETURN=2
	train returns --hosts h1,h2,h3 --elastic --steps 100000 --detach >"$tmp/returns.out" 2>&1 || { not_ok returns "$(tail -n 3 "$tmp/returns.out")"; return; }
	unset WERKBANK_RETURN
	noticed=
	for starts in 2 4; do
		until_step returns $(($(last_step returns) + save + 10)) 60 || { not_ok returns "it does not train: $(tail -n 3 "$ws/runs/returns/console.log")"; break; }
		since=$(now)
		lab_cut h3
		wait_starts $starts || { not_ok returns "it does not go on without h3: $(tail -n 3 "$ws/runs/returns/console.log")"; break; }
		noticed="$noticed$(journal_after "$since" '"kind":"(event|stop)"') "
		lab_heal h3
		wait_starts $((starts + 1)) || { not_ok returns "h3 is not taken back: $(tail -n 3 "$ws/runs/returns/console.log")"; break; }
	done
	until_step returns $(($(last_step returns) + 10)) 60
	wb stop returns >"$tmp/stop.out" 2>&1 || not_ok "returns: stop" "$(tail -n 3 "$tmp/stop.out")"
	same "returns: stopped" "$(run_state returns)" stopped
	same "returns: ranks of its starts" "$(records returns start ranks | paste -sd ' ')" "3 2 3 2 3"
	agree "returns: as if nothing had happened" calm returns 1e-4 $save
	nobody_left returns
	# of each restart: seconds without a new step, steps that were repeated
	lost=$(grep -E '"kind":"(start|train)"' "$ws/runs/returns/journal.jsonl" | awk '
		function number(name) { return substr($0, index($0, "\"" name "\":") + length(name) + 3) + 0 }
		/"kind":"start"/ { new = 1; next }
		new && highest { printf "%.1f s %d, ", number("t") - last, highest + 1 - number("step") }
		{ new = 0; last = number("t"); highest = number("step") }')
	echo "returns: without a new step, steps repeated: ${lost%, }"
	same "returns: no step is repeated" "$(echo "$lost" | grep -c ' s 0, [0-9.]* s 0, [0-9.]* s 0, [0-9.]* s 0, ')" 1
	row returns "cable out, in again, twice; --elastic" "${noticed%% *}" 0
}

fault_disk() {
	mkdir -p "$ws/runs/disk/checkpoints"
	run=disk
	lab_small h1 "$ws/runs/disk/checkpoints" 400k
	train disk --restarts 1 >"$tmp/disk.out" 2>&1
	status=$?
	if grep -qiE "no space|disk (is )?full|room" "$tmp/disk.out"; then ok "disk: it says so"; else not_ok "disk: it says so" "$(tail -n 3 "$tmp/disk.out")"; fi
	nobody_left disk
	row disk "full disk at a checkpoint: status $status, $(run_state disk) at step $(last_step disk)" - -
	lab_on h1 mount -o remount,size=64m "$ws/runs/disk/checkpoints"
	since=$(now)
	train disk >"$tmp/disk.out" 2>&1
	ends disk "room again, train again: went on"
	lab_undo h1 "$ws/runs/disk/checkpoints"
}

fault_corrupt() {
	begin corrupt || return
	wb stop corrupt >"$tmp/stop.out" 2>&1 || not_ok "corrupt: stop" "$(tail -n 3 "$tmp/stop.out")"
	newest=$(find "$ws/runs/corrupt/checkpoints" -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' | sort -V | tail -n 1)
	for file in "$newest"/*.safetensors; do
		printf 'XXXXXXXX' | dd of="$file" bs=1 seek=20000 conv=notrunc 2>/dev/null
	done
	since=$(now)
	train corrupt >"$tmp/corrupt.out" 2>&1
	ends corrupt "newest checkpoint corrupt: the one before"
}

fault_version() {
	run=version
	cp "$trainer" "$tmp/other"
	echo "another build" >>"$tmp/other"
	lab_replace h2 "$trainer" "$tmp/other"
	since=$(now)
	train version >"$tmp/version.out" 2>&1
	status=$?
	if [ $status -ne 0 ] && grep -q 'h2.*' "$tmp/version.out"; then ok "version: refused"; else not_ok "version: refused" "status $status: $(tail -n 3 "$tmp/version.out")"; fi
	nobody_left version
	row version "another build on a host: refused with status $status" - 0
	lab_undo h2 "$trainer"
}

fault_twice() {
	begin twice || return
	since=$(now)
	train twice >"$tmp/twice.out" 2>&1
	status=$?
	if [ $status -ne 0 ] && grep -qE "twice|already|is being trained" "$tmp/twice.out"; then
		ok "twice: the second is refused"
	else
		not_ok "twice: the second is refused" "status $status: $(tail -n 3 "$tmp/twice.out")"
	fi
	ends twice "second start of one name: status $status; the first" -
	same "twice: no step is lost" "$(records twice start run | wc -l) $(lost)" "1 0"
}

recipe "$tmp/tiny.ini"
lab_up 3 || exit 1
wb prep "$tmp/tiny.ini" -q || not_ok "the corpus" "it cannot be prepared"
run=calm
says "undisturbed" 0 '' train calm
nobody_left "undisturbed"
row FAULT OUTCOME NOTICED LOST
for fault in $chosen; do
	case " $all " in
	*" $fault "*) "fault_$fault" ;;
	*) not_ok "$fault" "no such fault: $all" ;;
	esac
done
echo
cat "$table"
tally
