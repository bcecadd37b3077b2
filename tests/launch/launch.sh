#!/bin/sh
# launch.sh - a live run on this host: it survives its terminal, other processes follow, save and stop it, it
# restarts after a crash, and it leaves no process behind. Two "hosts" are this host, reached by a script in
# the place of ssh. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-launch-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"

# ---- a run that goes on by itself ------------------------------------------
says "--detach" 0 'a is being trained by process [0-9]+' train a --detach
holds "it trains" is_at a 10
same "state" "$(state a)" running
if [ "$(ps -o sid= -p "$(field a pid)" | tr -d ' ')" != "$(ps -o sid= -p $$ | tr -d ' ')" ]; then
	ok "in a session of its own"
else
	not_ok "in a session of its own" "it is in ours"
fi
says "one at a time" 75 'being trained already, by process' train a --detach
says "status" 0 '^a: running \(pid [0-9]+\)' "$wb" status -C "$w" a
says "status --json" 0 '"state":"running".*"ranks":1' "$wb" status -C "$w" --json a
says "save" 0 'a is saved at step [0-9]+' "$wb" save -C "$w"
says "save --json" 0 '^\{"v":1,"run":"a","done":"saved","step":[0-9]+\}$' "$wb" save -q -C "$w" --json
says "evaluate --json" 0 '^\{"v":1,"run":"a","done":"evaluated","step":[0-9]+,"bleu":[0-9.]+,"precision":"[a-z0-9]+"\}$' "$wb" evaluate -q -C "$w" --json
says "evaluate" 0 'a is evaluated at step [0-9]+: BLEU [0-9]' "$wb" evaluate -C "$w"
says "attach leaves it running" 0 'a continues; to follow it again: .*werkbank attach a' timeout --preserve-status -s INT 1 "$wb" attach -C "$w"
says "no such run" 66 "has no run 'b'" "$wb" stop -C "$w" b
says "stop" 0 'a is stopped' "$wb" stop -C "$w"
same "a is stopped" "$(state a)" stopped
says "logs" 0 'asked the training to save and stop' "$wb" logs -C "$w" a
says "logs of the last run" 0 'saved at step' "$wb" logs -C "$w" -f
says "logs: how to resume" 0 'to resume later, type: werkbank train -C .*/runs/a/recipe.ini --run a$' "$wb" logs -C "$w" a
says "nothing to stop" 66 'no run in .* is being trained' "$wb" stop -C "$w"
says "nothing to stop by name" 66 'the run a is not being trained; its state is: stopped' "$wb" stop -C "$w" a
nobody_left stop
says "a second start" 0 '' train a --detach
holds "it goes on" says_journal a 'resumed from the checkpoint'
says "stop --now" 0 '^\{"v":1,"run":"a","state":"stopped","exit":[0-9]+\}$' "$wb" stop -q -C "$w" --json --now a
holds "its state tells" says_state a '"event":"the training was ended at once on request"'
nobody_left "stop --now"

# ---- crashes ------------------------------------------------------------------
says "one rank" 0 '' train k --detach
holds "a checkpoint" test -d "$w/runs/k/checkpoints/50"
end "$ranks"
holds "kill -9 of the rank: it starts again" says_journal k 'resumed from the checkpoint'
holds "the journal says why" says_journal k '"kind":"event".*"level":"warning".*was ended by signal 9'
same "attempts in the state" "$(field k attempt) $(field k restarts)" "2 1"
says "status tells of it" 0 'attempt 2, 1 restart' "$wb" status -C "$w" k
says "the restart is the last event, not the present" 0 '^  last event: the training was ended by signal 9' "$wb" status -C "$w" k
kill_process "$(field k pid)"
holds "kill -9 of the supervisor: the rank ends" is_over k
says "status: lost" 0 '^k: lost' "$wb" status -C "$w" k
nobody_left "a lost supervisor"

says "no restarts" 0 '' train n --detach --restarts 0
holds "it trains" is_at n 5
end "$ranks"
holds "it ends" is_over n
same "it failed" "$(state n) $(field n exit)" "failed 137"

# a trainer that crashes before any checkpoint
mkdir -p "$tmp/bin"
cp "$top/werkbank-launch" "$tmp/bin/"
cat >"$tmp/bin/werkbank-train" <<-'END'
	#!/bin/sh
	while [ $# -gt 0 ]; do case $1 in -C) w=$2 ;; --run) run=$2 ;; esac; shift; done
	echo '{"v":1,"kind":"start","t":1,"step":0}' >>"$w/runs/$run/journal.jsonl"
	exit "${STATUS:-1}"
END
chmod +x "$tmp/bin/werkbank-train"
fake() { "$tmp/bin/werkbank-launch" train -C "$w" --run "$1" "$tmp/tiny.ini" --restarts 2; }
says "given up" 1 'giving up after 2 restarts without a new checkpoint' fake g
same "its starts" "$(starts g)" 3
for status in 64 65 66 78; do
	STATUS=$status
	export STATUS
	says "status $status" $status '' fake "g$status"
	same "never again after $status" "$(starts "g$status")" 1
done
STATUS=75
says "75 without a stop in the journal is a hang" 68 'hung and its watchdog ended it' fake h
unset STATUS

is_asking() { [ -n "$(ours '^sleep 60 ')" ]; }

# ---- several ranks ----------------------------------------------------------
if command -v mpirun >/dev/null 2>&1 && "$top/werkbank-train" --version | grep -q 'with MPI'; then
	says "two ranks" 0 '' train m --ranks 2 --detach
	holds "a checkpoint" test -d "$w/runs/m/checkpoints/50"
	same "two ranks run" "$(ours "$ranks" | wc -l)" 2
	end "$ranks" 1
	holds "kill -9 of one: they start again" started m 2
	end '^(mpirun|prterun) '
	holds "kill -9 of mpirun: they start again" started m 3
	says "save" 0 'm is saved' "$wb" save -C "$w"
	same "two ranks, not more" "$(ours "$ranks" | wc -l)" 2
	says "stop of two ranks" 0 'm is stopped' "$wb" stop -C "$w" m
	nobody_left "two ranks"
	says "two ranks again" 0 '' train m --ranks 2 --detach
	holds "they run" started m 4
	kill_process "$(field m pid)"
	holds "kill -9 of their supervisor" is_over m
	nobody_left "two ranks without their supervisor"

	# the first of our cores plays a NUMA node, the others another one
	first=$(sed -n 's/^Cpus_allowed_list:[[:blank:]]*\([0-9]*\).*/\1/p' /proc/self/status)
	mkdir -p "$tmp/sys/devices/system/node/node0" "$tmp/sys/devices/system/node/node1"
	echo 0-1 >"$tmp/sys/devices/system/node/has_cpu"
	echo "$first" >"$tmp/sys/devices/system/node/node0/cpulist"
	echo "$((first + 1))-4000" >"$tmp/sys/devices/system/node/node1/cpulist"
	if [ "$(nproc)" -ge 2 ]; then
		WERKBANK_SYS_ROOT=$tmp/sys
		export WERKBANK_SYS_ROOT
		says "a rank for each node" 0 '' train nodes --ranks 0 --detach
		unset WERKBANK_SYS_ROOT
		holds "they train" is_at nodes 5
		same "two nodes, two ranks, each in its own" "$(ours "$ranks" | while read -r p; do
			sed -n "s/^Cpus_allowed_list:[[:blank:]]*$first\$/first/p; s/^Cpus_allowed_list:.*/a node/p" "/proc/$p/status"
		done | sort | tr '\n' ' ')" "a node first "
		says "they stop" 0 '' "$wb" stop -C "$w" nodes
	else
		skip "a rank for each node" "one core"
	fi

	fake_hosts
	says "--show" 0 "^mpirun -n 2 .*--hostfile '?$w/runs/s/hosts'? .*plm_(rsh|ssh)_agent '[^']*werkbank-launch _ssh --ssh=ssh%20-i%20k [^ ]*/runs/s/hosts'.*werkbank-train _rank -C '?$w'? --run s\$" \
		train s --hosts nodea,nodeb --ssh 'ssh -i k' --show
	says "a remote shell by its path from here" 0 "_ssh --ssh=$PWD/\\./tests/no-shell%20-v " \
		train s --hosts nodea,nodeb --ssh './tests/no-shell -v' --show
	absent "--show does nothing" "$w/runs/s"
	says "more ranks than micro-batches" 78 '3 ranks share the micro-batches of a step, but micro_batches is 2' train s --hosts a,b:2 --no-preflight
	says "more ranks than slots" 78 '3 ranks do not fit on hosts with 2 slots: lower --ranks, or give --hosts more slots, as in localhost:3$' \
		train s --hosts localhost:2 --ranks 3 --micro-batches 6 --show
	# without the check, mpirun would wait for such hosts and name none of them
	touch "$tmp/gone-nodeb"
	says "--no-preflight: a silent host" 69 '^nodeb: error: ssh: nodeb cannot be reached' \
		train n1 --hosts nodea,nodeb --ssh "$fake_ssh" --no-preflight
	says "--no-preflight --network: a silent host" 68 'the training cannot begin: nodeb cannot be reached' \
		train n1 --hosts nodea,nodeb --ssh "$fake_ssh" --no-preflight --network 127.0.0.0/8
	same "its state" "$(state n1) $(field n1 exit)" "failed 68"
	rm "$tmp/gone-nodeb"
	# ... and a stop does not wait for one that hangs
	printf '#!/bin/sh\nexec sleep 60\n' >"$tmp/silent"
	chmod +x "$tmp/silent"
	"$wb" train -C "$w" --run n2 "$tmp/tiny.ini" --hosts nodea,nodeb --ssh "'$tmp/silent'" --no-preflight --network 127.0.0.0/8 >"$tmp/out" 2>&1 &
	pid=$!
	holds "it asks the hosts" is_asking
	kill -TERM $pid
	began=$(date +%s)
	wait $pid
	same "a stop while hosts are asked" "$? $(state n2) $(($(date +%s) - began < 5))" "75 stopped 1"
	if [ -n "$no_fake_ranks" ]; then
		skip "two hosts" "$no_fake_ranks"
	else
		says "two hosts" 0 '' train s --hosts nodea,nodeb --ssh "$fake_ssh" --no-preflight --steps 60 --quiet
		same "two hosts: finished" "$(state s)" finished
		same "both were reached" "$(sort -u "$tmp/reached" | paste -sd ' ')" "nodea nodeb"
		holds "the state names them" says_state s '"ranks":2,.*"hosts":\[\{"host":"nodea","slots":1\},\{"host":"nodeb","slots":1\}\]'
		nobody_left "two hosts"
		# an ssh that hangs the first time
		printf '#!/bin/sh\ncase $* in *orted*) [ -e "$0-again" ] || { : >"$0-again"; exec sleep 60; } ;; esac\nexec "%s" "$@"\n' "$tmp/ssh" >"$tmp/hang"
		chmod +x "$tmp/hang"
		WERKBANK_BEGIN=2
		export WERKBANK_BEGIN
		says "ranks that do not begin" 0 'the training did not begin; restart from its beginning' \
			train u --hosts nodea,nodeb --ssh "'$tmp/hang'" --no-preflight $local_network --steps 20
		unset WERKBANK_BEGIN
		nobody_left "ranks that do not begin"
		says "hosts that go" 0 '' train e --hosts nodea,nodeb --ssh "$fake_ssh" --no-preflight --detach --elastic
		holds "a checkpoint" test -d "$w/runs/e/checkpoints/50"
		touch "$tmp/gone-nodeb"
		end "$ranks"
		holds "--elastic goes on without" says_journal e '"level":"warning","text":"going on without nodeb: 1 of 2 hosts"'
		holds "one rank" says_state e '"state":"running".*"ranks":1,.*"hosts":\[\{"host":"nodea","slots":1\}\]'
		rm "$tmp/gone-nodeb"
		holds "a later checkpoint" test -d "$w/runs/e/checkpoints/$(($(step e) / 50 * 50 + 50))"
		end "$ranks"
		holds "and with it again" says_journal e 'all 2 hosts answer again'
		holds "two ranks" says_state e '"state":"running".*"ranks":2,'
		says "stop on two hosts" 0 'e is stopped' "$wb" stop -C "$w" e
		says "hosts that are waited for" 0 '' train e --hosts nodea,nodeb --ssh "$fake_ssh" --no-preflight --detach
		holds "they run" started e 4
		touch "$tmp/gone-nodea"
		end "$ranks"
		holds "waiting" says_state e '"state":"restarting".*waiting for nodea to answer \(--elastic goes on without\)'
		rm "$tmp/gone-nodea"
		holds "there again" started e 5
		touch "$tmp/gone-nodea"
		end "$ranks"
		holds "waiting again" is_state e restarting
		says "stop while waiting" 0 'e is stopped' "$wb" stop -C "$w" e
		nobody_left "hosts that come and go"
	fi
else
	skip "several ranks" "no Open MPI"
fi

# ---- a terminal that goes away ---------------------------------------------------
if command -v script >/dev/null 2>&1 && script --version 2>/dev/null | grep -q util-linux; then
	script -qec "'$wb' train -C '$w' --run t '$tmp/tiny.ini'" /dev/null >"$tmp/terminal" 2>&1 </dev/null &
	pid=$!
	holds "on a terminal" is_at t 10
	holds "progress on the terminal" grep -q 'step [0-9]*/100000' "$tmp/terminal"
	kill -9 $pid
	wait $pid 2>/dev/null
	holds "a hang-up does not end it" is_at t $(($(step t) + 20))
	says "stop from elsewhere" 0 't is stopped' "$wb" stop -C "$w" t
	nobody_left "a terminal"
	script -qec "'$wb' train -C '$w' --run t --steps $(($(step t) + 20)) '$tmp/tiny.ini'" /dev/null >"$tmp/terminal" 2>&1 </dev/null
	same "its exit status comes to the terminal" "$? $(state t)" "0 finished"
	mkfifo "$tmp/keys"
	script -qec "'$wb' train -C '$w' --run t --steps 100000 '$tmp/tiny.ini'" /dev/null <"$tmp/keys" >"$tmp/terminal" 2>&1 &
	pid=$!
	exec 8>"$tmp/keys"
	holds "on a terminal again" started t 3
	printf '\003' >&8
	wait $pid
	same "Ctrl-C saves and stops" "$? $(state t)" "75 stopped"
	exec 8>&-
	nobody_left "Ctrl-C"
else
	skip "a terminal" "no script(1)"
fi

# ---- time that is given ------------------------------------------------------------
says "--walltime" 75 'walltime of 0.05 minutes ends' train v --walltime 0.05
holds "asked by the time" says_state v '"state":"stopped".*"exit":75.*"asked_by":"walltime"'

# ---- job scripts ---------------------------------------------------------------------
for kind in pbs slurm; do
	says "job $kind" 0 '' "$wb" job $kind "$tmp/tiny.ini" -C "$w" --run j --hosts 'a:2,b:2' --walltime 90 --steps 70 -o "$tmp/$kind.sh"
	if command -v bash >/dev/null 2>&1; then says "$kind: bash reads it" 0 '' bash -n "$tmp/$kind.sh"; fi
	if command -v shellcheck >/dev/null 2>&1; then says "$kind: shellcheck" 0 '' shellcheck "$tmp/$kind.sh"; fi
done
says "pbs: nodes" 0 '^#PBS -l select=2:ncpus=[0-9]+:mpiprocs=2:mem=[0-9]+mb$' cat "$tmp/pbs.sh"
says "pbs: walltime" 0 '^#PBS -l walltime=1:30:00$' cat "$tmp/pbs.sh"
says "slurm: tasks" 0 '^#SBATCH --ntasks-per-node=2$' cat "$tmp/slurm.sh"
says "slurm: memory" 0 '^#SBATCH --mem=[0-9]+M$' cat "$tmp/slurm.sh"
says "slurm: time" 0 '^#SBATCH --time=1:30:00$' cat "$tmp/slurm.sh"
says "options are passed on" 0 "--run j --hosts slurm --walltime 90 --threads [0-9]+ --steps=70 '?$tmp/tiny.ini" cat "$tmp/slurm.sh"
# a batch system that only notes what it was asked
cat >"$tmp/bin/qsub" <<-'END'
	#!/bin/sh
	echo "qsub $*" >>"${0%/*}/asked"
END
sed 's/^echo/[ "$1" != show ] || exec cat "${0%\/*}\/job"\necho/; s/qsub/scontrol/' "$tmp/bin/qsub" >"$tmp/bin/scontrol"
echo 'JobId=18 JobState=RUNNING PreemptTime=None' >"$tmp/bin/job"
chmod +x "$tmp/bin/qsub" "$tmp/bin/scontrol"
echo localhost >"$tmp/nodes"
cat >"$tmp/batch" <<-'END'
	#!/bin/sh
	PATH=${0%/*}/bin:$PATH PBS_JOBID=17.head PBS_NODEFILE=${0%/*}/nodes PBS_O_QUEUE=day PBS_ACCOUNT=me SLURM_JOB_ID=18 SLURM_JOB_NODELIST=localhost
	export PATH PBS_JOBID PBS_NODEFILE PBS_O_QUEUE PBS_ACCOUNT SLURM_JOB_ID SLURM_JOB_NODELIST
	exec bash "$@"
END
chmod +x "$tmp/batch"
if command -v bash >/dev/null 2>&1; then
	for kind in pbs slurm; do
		"$wb" job $kind "$tmp/tiny.ini" -C "$w" --run "j$kind" --walltime 0.05 -o "$tmp/j$kind"
		says "a $kind job whose time is over" 75 'walltime of 0.05 minutes ends' "$tmp/batch" "$tmp/j$kind"
	done
	same "queues itself again" "$(sort "$tmp/bin/asked" | paste -sd ';')" \
		"qsub -q day -A me -W depend=afterany:17.head $tmp/jpbs;scontrol requeue 18"
	"$wb" job pbs "$tmp/tiny.ini" -C "$w" --run jpbs --walltime 9 -o "$tmp/jpbs"
	"$tmp/batch" "$tmp/jpbs" >"$tmp/job" 2>&1 &
	holds "it goes on" started jpbs 2
	says "a job that is stopped" 0 'jpbs is stopped' "$wb" stop -C "$w"
	wait $!
	same "does not" "$? $(wc -l <"$tmp/bin/asked")" "75 2"
	"$tmp/batch" "$tmp/jpbs" >"$tmp/job" 2>&1 &
	pid=$!
	holds "it goes on" started jpbs 3
	kill -TERM $pid
	wait $pid
	same "SIGTERM to a job: it saves" "$? $(wc -l <"$tmp/bin/asked") $(state jpbs)" "75 2 stopped"
	# Slurm preempts: it signals the ranks and waits for GraceTime
	echo 'JobId=18 JobState=RUNNING PreemptTime=2026-11-22T21:22:01' >"$tmp/bin/job"
	"$wb" job slurm "$tmp/tiny.ini" -C "$w" --run jslurm --walltime 9 -o "$tmp/jslurm"
	"$tmp/batch" "$tmp/jslurm" >"$tmp/job" 2>&1 &
	holds "it goes on" started jslurm 2
	pid=$!
	kill -TERM "$(ours "$ranks")"
	wait $pid
	same "a job that is preempted queues itself again" "$? $(tail -n 1 "$tmp/bin/asked")" "75 scontrol requeue 18"
	nobody_left "jobs"
else
	skip "jobs" "no bash"
fi
says "other batch systems" 64 "expected slurm, pbs or k8s, not 'lsf'" "$wb" job lsf "$tmp/tiny.ini" --walltime 9
says "a job needs its time" 64 'job: --walltime MINUTES' "$wb" job pbs "$tmp/tiny.ini"

tally
