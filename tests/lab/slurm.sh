#!/bin/sh
# slurm.sh [CASE...] - jobs of "werkbank job slurm" on a real Slurm (lab_slurm.sh) with two nodes and without sshd: what Slurm does
# to a job, and whether the run ends with the weights of an undisturbed run. Steps last about five seconds. Skipped without
# root, Open MPI, or Slurm's packages (apt-get install munge slurmctld slurmd slurm-client). Last line: the tally.
# shellcheck disable=SC2154 # variables of the sourced files
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbslurm-XXXXXX")
export ws="$tmp/ws"
# shellcheck disable=SC2317 # the trap calls it
finish() {
	lab_down
	[ -n "${KEEP:-}" ] || rm -rf "$tmp"
}
unset WERKBANK_HOME WERKBANK_RUN
. "$(dirname "$0")/../helpers.sh"
. "$(dirname "$0")/lab.sh"
. "$(dirname "$0")/lab_runs.sh"
. "$(dirname "$0")/lab_slurm.sh"
trap finish EXIT
trap 'exit 1' INT TERM HUP
runs_need || exit 77
slurm_need || exit 77

all="check submit crash rank0 srun batch slurmd stepd isolated mpirun cut daemon limit long cancel requeue preempt now drain node"
chosen=${*:-$all}
steps=10 moment=3 partition='' job_hosts='' micro_batches=240
export WERKBANK_SHARE="$share"

recipe "$tmp/tiny.ini"
lab_up 3 || exit 1
slurm_up || { echo "Slurm does not come up: $(tail -n 3 "$LAB"/*.log)"; exit 1; }
slurm_on "$top/werkbank" prep -C "$ws" "$tmp/tiny.ini" -q || not_ok "the corpus" "it cannot be prepared"

# submit RUN MINUTES OPTION... : write the job, submit it as it is, set $job to its number
submit() {
	run=$1 minutes=$2
	shift 2
	slurm_on "$top/werkbank" job slurm "$tmp/tiny.ini" -C "$ws" --run "$run" --hosts "${job_hosts:-a:1,b:1}" --walltime "$minutes" --steps $steps \
		--micro-batches "${micro:-$micro_batches}" --quiet "$@" -o "$tmp/$run.job" || not_ok "$run" "no job script"
	again
}
again() { job=$(slurm_on sbatch --parsable ${partition:+-p "$partition"} -D "$tmp" -o "$tmp/$run.out" "$tmp/$run.job") || not_ok "$run" "sbatch refuses it"; }

# reach STEP SECONDS : wait until the run has made so many steps
reach() { until_step "$run" "$1" $((2 * $2)) || not_ok "$run: step $1" "it stands at $(last_step "$run"): $(tail -n 3 "$tmp/$run.out" | head -c 600)"; }

# queued_again SECONDS : wait until the job is pending again
queued_again() {
	slurm_until "$job" "$1" PENDING || { not_ok "$run: queued again" "$(tail -n 3 "$tmp/$run.out" | head -c 600)"; return 1; }
	ok "$run: queued again after step $(last_step "$run")"
}
# resumed SECONDS : the same, then start the job, without Slurm's delay of two minutes. Slurm sets that delay when the last
# process of the job is gone, so ask until the job runs.
resumed() {
	queued_again "$1" && start_now
}
start_now() {
	tries=0
	until slurm_until "$job" 1 RUNNING COMPLETED 2>/dev/null; do
		slurm_on scontrol update "JobId=$job" StartTime=now 2>/dev/null
		tries=$((tries + 1))
		[ $tries -lt 90 ] || { not_ok "$run: starts again" "$slurm_state"; return; }
	done
}

# ends SECONDS : the job completes and the run has the weights of the undisturbed run
ends() {
	slurm_until "$job" "$1" COMPLETED || not_ok "$run: completed" "$(slurm_job "$job" JobState): $(tail -n 3 "$tmp/$run.out" | head -c 600)"
	same "$run: finished" "$(run_state "$run")" finished
	calm=calm
	[ -z "$job_hosts" ] || calm=alone
	[ "$run" = $calm ] || same "$run: the weights of an undisturbed run" "$(weights "$run")" "$(weights $calm)"
}
weights() { cat "$ws/runs/$1/checkpoints/last/model.safetensors" "$ws/runs/$1/checkpoints/last/optimizer.safetensors" | sha256sum; }

last_save() { records "$1" save step | tail -n 1; }

# redone : steps that were computed more than once
redone() { records "$run" train step | sort -n | uniq -d | wc -l; }

# no_rank_left NAME : after at most 15 seconds, the nodes run nothing but Slurm's daemons
no_rank_left() {
	tries=0
	while left=$(for node in $slurm_nodes; do lab_left "$node" | sed "s/^/$node: /"; done | grep -vE ' (munged|slurmd)( |$)') && [ $tries -lt 15 ]; do
		tries=$((tries + 1))
		sleep 1
	done
	same "$1: nobody is left" "$left" ""
}

case_check() {
	says "check: by srun" 0 'verdict: a training can start: 2 of 2 hosts answered, 0 errors' \
		slurm_on salloc -Q -N 2 "$top/werkbank" hosts check slurm -C "$ws" --corpus tiny
	says "check: the choice" 0 'launcher srun: Slurm and Open MPI both have pmix' \
		slurm_on salloc -Q -N 2 "$top/werkbank" train "$tmp/tiny.ini" -C "$ws" --hosts slurm --show
	says "check: a node outside the job" 0 'launcher ssh: h2 is not in the Slurm allocation' \
		slurm_on salloc -Q -N 1 -w h1 "$top/werkbank" train "$tmp/tiny.ini" -C "$ws" --hosts h1,h2 --show
	says "check: bandwidth" 0 'slowest link' slurm_on salloc -Q -N 2 "$top/werkbank" hosts bandwidth slurm -C "$ws"
	# shellcheck disable=SC2016 # for that script
	printf '%s\n' '#!/bin/sh' 'while :; do case $1 in -[opi]) shift 2 ;; -*) shift ;; *) break ;; esac; done' 'host=$1' shift \
		'exec srun --overlap -Q -N 1 -n 1 --mpi=none --nodelist="$host" sh -c "$*"' >"$tmp/ssh"
	chmod +x "$tmp/ssh"
	says "check: --launcher ssh in a job" 0 'slowest link' \
		slurm_on salloc -Q -N 2 "$top/werkbank" hosts bandwidth slurm -C "$ws" --launcher ssh --ssh "$tmp/ssh"
	for check_host in $LAB_HOSTS; do
		same "check: no sshd on $check_host" "$(lab_pids "$check_host" sshd)" ""
	done
}

# Steps of a fast machine get more micro-batches, so that they last about five seconds there, too.
case_submit() {
	submit calm 30
	ends 240
	step_seconds=$(records calm train step_s | sort -n | tail -n 1)
	echo "a step of $micro_batches micro-batches lasts $step_seconds s"
	micro_batches=$(awk -v n=$micro_batches -v s="$step_seconds" 'BEGIN { print (s > 0 && s < 4 ? int(n * 5 / s) : n) }')
	if [ "$micro_batches" -gt 240 ]; then
		rm -r "$ws/runs/calm"
		submit calm 30
		ends 240
		echo "a step of $micro_batches micro-batches lasts $(records calm train step_s | sort -n | tail -n 1) s"
	fi
}

# A killed rank: the first rank saves, and the supervisor ends the step then; Slurm would wait for KillWait, 30 s.
case_crash() {
	submit crash 30
	reach $moment 60
	lab_kill h2 KILL werkbank-train
	crashed=$(date +%s)
	tries=0
	until [ "$(records crash start run | wc -l)" -ge 2 ] || [ $tries -ge 120 ]; do
		tries=$((tries + 1))
		sleep 0.5
	done
	gap=$(($(date +%s) - crashed))
	if [ $gap -le 22 ]; then ok "crash: the next attempt begins after $gap s"; else not_ok "crash: the next attempt begins" "after $gap s"; fi
	says "crash: says so" 0 'a rank failed, and another one has saved: ending the other ranks' cat "$ws/runs/crash/console.log"
	ends 240
	same "crash: no step is lost" "$(redone)" 0
}

# saved_all RUN : the run ends, with at most one step made twice although there were no checkpoints
saved_all() {
	ends 240
	twice=$(redone)
	if [ "$twice" -le 1 ]; then ok "$1: $twice steps made twice"; else not_ok "$1: at most one step twice" "$twice"; fi
}

case_rank0() {
	submit rank0 30 --save-every 100000
	reach $moment 60
	lab_kill h1 KILL werkbank-train
	saved_all rank0
}

case_srun() {
	submit srun 30 --save-every 100000
	reach $moment 60
	lab_kill h1 KILL srun
	saved_all srun
}

# The batch node loses its power: the rank on the other node saves, and Slurm queues the job again.
case_batch() {
	submit batch 30 --save-every 100000
	reach $moment 60
	lab_gone h1
	queued_again 120
	lab_boot h1 && lab_sshd h1 off && slurm_node_up h1
	start_now
	saved_all batch
}

# The daemon of a node dies and comes back before Slurm misses it: nothing happens.
case_slurmd() {
	submit slurmd 30 --save-every 100000
	reach $moment 60
	lab_kill h2 KILL slurmd
	sleep 4
	slurm_node_up h2
	saved_all slurmd
	same "slurmd: one start" "$(records slurmd start run | wc -l)" 1
}

# Slurm's own process over the rank of a node: Slurm takes the node for a failed one.
case_stepd() {
	submit stepd 30 --save-every 100000
	reach $moment 60
	lab_kill h2 KILL slurmstepd
	saved_all stepd
}

# A node is cut off from Slurm and from the other rank, which saves; Slurm queues the job again.
case_isolated() {
	submit isolated 30 --save-every 100000
	reach $moment 60
	lab_cut h2
	queued_again 120
	lab_heal h2
	start_now
	saved_all isolated
}

# submit_alone RUN : a job of one node, after an undisturbed one; $node: where it has made some steps. The steps that are left
# take longer than Slurm needs to miss a node.
submit_alone() {
	job_hosts=a:1
	if [ ! -d "$ws/runs/alone" ]; then
		micro=$((micro_batches * 2)) submit alone 30
		ends 300
	fi
	micro=$((micro_batches * 2)) submit "$1" 30 --save-every 100000
	reach $moment 240
	node=$(slurm_job "$job" NodeList)
}

# elsewhere : Slurm has lost $node and queues its job again, on the other one; the training on $node lives on
elsewhere() {
	queued_again 120
	start_now
	ends 240
	says "$run: the first training was asked to stop" 0 'trains this run in the same Slurm job, before it was queued again' cat "$tmp/$run.out"
	if grep -q "\"host\": *\"$node\"" "$ws/runs/$run/state.json"; then not_ok "$run: it ends on the other node" "$node"; else ok "$run: it ends on the other node"; fi
	same "$run: no step is lost" "$(redone)" 0
	job_hosts=
}

# The node cannot reach Slurm, but it reaches the file system.
case_cut() {
	submit_alone cut
	lab_cut "$node"
	elsewhere
	lab_heal "$node"
}

# The daemon of the node is gone, the training is not.
case_daemon() {
	submit_alone daemon
	lab_kill "$node" KILL slurmd
	elsewhere
	slurm_node_up "$node"
}

case_mpirun() {
	submit mpirun 30 --launcher slurm --save-every 2
	reach $moment 60
	slurm_on scancel "$job"
	until_over mpirun 60
	again
	ends 240
	same "mpirun: no step is lost" "$(redone)" 0
}

# The margin is half of the minute.
case_limit() {
	submit limit 1
	while slurm_until "$job" 150 PENDING COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL && [ "$slurm_state" = PENDING ]; do resumed 1; done
	ends 1
	same "limit: no step is lost" "$(redone)" 0
	if [ "$(records limit start run | wc -l)" -gt 1 ]; then ok "limit: $(records limit start run | wc -l) jobs"; else not_ok "limit" "one job was enough"; fi
}

# The first step lasts longer than the minute and KillWait: twice without a checkpoint ends the series.
case_long() {
	micro=$((micro_batches * 17)) submit long 1 --batch-tokens 2048
	resumed 120
	slurm_until "$job" 180 COMPLETED FAILED CANCELLED TIMEOUT || not_ok "long: ends" "$slurm_state"
	says "long: says why it ends" 0 'two jobs ended without a new checkpoint: give a longer --walltime' cat "$tmp/long.out"
}

case_cancel() {
	submit cancel 30
	reach $moment 60
	slurm_on scancel "$job"
	slurm_until "$job" 60 CANCELLED || not_ok "cancel: ends" "$slurm_state"
	until_over cancel 60
	same "cancel: saved" "$(run_state cancel) $(last_save cancel)" "stopped $(last_step cancel)"
	again
	ends 240
	same "cancel: no step is lost" "$(redone)" 0
}

case_requeue() {
	submit requeue 30
	reach $moment 60
	slurm_on scontrol requeue "$job"
	resumed 90
	ends 240
	same "requeue: no step is lost" "$(redone)" 0
}

# A job of another partition takes the nodes. The training ends within the grace time, so Slurm itself does not queue it again.
case_preempt() {
	partition=spare
	submit preempt 30
	reach $moment 60
	other=$(slurm_on sbatch --parsable -p first -N 2 --exclusive -D "$tmp" -o /dev/null --wrap "sleep 1")
	resumed 90
	same "preempt: saved" "$(last_save preempt)" "$(last_step preempt)"
	slurm_until "$other" 60 COMPLETED || not_ok "preempt: the other job ends" "$slurm_state"
	ends 240
	same "preempt: no step is lost" "$(redone)" 0
	partition=
}

# A stop at once ends all ranks within seconds, and the job is not queued again.
case_now() {
	submit now 30
	reach 1 60
	says "now: stop --now" 0 '' slurm_on "$top/werkbank" stop -C "$ws" now --now
	slurm_until "$job" 30 FAILED COMPLETED CANCELLED || not_ok "now: ends" "$slurm_state"
	same "now: the run is stopped" "$(run_state now)" stopped
}

case_drain() {
	submit drain 30
	reach 1 60
	slurm_on scontrol update NodeName=h2 State=drain Reason=test
	ends 240
	again
	sleep 3
	same "drain: the next job waits" "$(slurm_job "$job" JobState)" PENDING
	slurm_on scontrol update NodeName=h2 State=resume
	ends 60
}

case_node() {
	submit node 30 --save-every 100000
	reach $moment 60
	lab_gone h2
	queued_again 90
	lab_boot h2 && lab_sshd h2 off && slurm_node_up h2
	start_now
	saved_all node
}

began=$(date +%s)
case " $chosen " in *" submit "*) ;; *) case_submit ;; esac
for chosen_case in $chosen; do
	case " $all " in
	*" $chosen_case "*) "case_$chosen_case" ;;
	*) echo "slurm.sh: '$chosen_case' is no case; cases: $all" >&2; exit 64 ;;
	esac
	no_rank_left "$chosen_case"
done
echo "$(($(date +%s) - began)) s for: $chosen"
tally
