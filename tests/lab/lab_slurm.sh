# lab_slurm.sh - a real Slurm in a lab (lab.sh): slurmctld on the last host, a slurmd on each other host, a munged on all, and no
# sshd anywhere. Sourced after lab.sh.
# shellcheck shell=sh disable=SC2154 # what lab.sh sets
#
#	slurm_need              return 1 and print what is missing
#	slurm_up                after lab_up: stop every sshd and start Slurm; return 1 if its nodes do not become idle
#	slurm_node_up HOST      start munged and slurmd there, for example after lab_boot
#	slurm_on COMMAND...     run a command of Slurm on the last host
#	slurm_job ID FIELD      a field of scontrol show job: JobState, Reason, Restarts, NodeList
#	slurm_until ID SECONDS STATE...    wait until the job has one of these states; fail if the time is over

slurm_missing() {
	lab_missing
	for slurm_tool in munged:munge mungekey:munge slurmctld:slurmctld slurmd:slurmd srun:slurm-client sbatch:slurm-client; do
		PATH=$PATH:/usr/sbin command -v "${slurm_tool%:*}" >/dev/null 2>&1 || echo "${slurm_tool%:*} (package ${slurm_tool#*:})"
	done
}

slurm_need() {
	slurm_missing=$(slurm_missing | paste -s -d ';' | sed 's/;/, /g')
	[ -z "$slurm_missing" ] || echo "no Slurm here; missing: $slurm_missing"
	[ -z "$slurm_missing" ]
}

# Limits that are short enough for tests; no cgroups, because containers rarely allow them.
slurm_configure() {
	cat >"$LAB/slurm.conf" <<-END
	ClusterName=lab
	SlurmctldHost=$slurm_controller
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	CredType=cred/munge
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SwitchType=switch/none
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core
	SlurmdParameters=config_overrides
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	JobCompType=jobcomp/none
	TmpFS=/run/tmp
	ReturnToService=2
	SlurmdSpoolDir=/run/slurmd
	StateSaveLocation=/run/slurmctld
	SlurmctldPidFile=/run/slurmctld.pid
	SlurmdPidFile=/run/slurmd.pid
	SlurmctldLogFile=$LAB/slurmctld.log
	SlurmdLogFile=$LAB/slurmd-%n.log
	SlurmctldTimeout=30
	SlurmdTimeout=10
	MessageTimeout=10
	KillWait=${SLURM_KILL_WAIT:-30}
	SchedulerParameters=batch_sched_delay=1,sched_interval=5,bf_interval=5
	END
	echo "CgroupPlugin=cgroup/v1" >"$LAB/cgroup.conf"	# never used, but slurmd looks for cgroups otherwise
	for lab_name in $slurm_nodes; do
		echo "NodeName=$lab_name NodeAddr=$lab_prefix.$(lab_of "$lab_name") CPUs=4 RealMemory=8000 State=UNKNOWN"
	done >>"$LAB/slurm.conf"
	# jobs of "first" take the nodes of "spare", which have a minute to save
	cat >>"$LAB/slurm.conf" <<-END
	PreemptType=preempt/partition_prio
	PreemptMode=REQUEUE
	PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PreemptMode=OFF
	PartitionName=spare Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=60
	PartitionName=first Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
	END
}

slurm_munge() {
	# shellcheck disable=SC2016 # for the shell there
	lab_enter "$1" sh -c 'mkdir -p -m 755 /run/munge /run/slurmd /run/slurmctld && exec munged --force --key-file="$1/munge.key" \
		--pid-file=/run/munge/pid --log-file=/run/munge/log --seed-file=/run/munge/seed' sh "$LAB"
}

slurm_node_up() {
	slurm_munge "$1" && lab_enter "$1" env SLURM_CONF="$LAB/slurm.conf" HOME="$LAB/home" TMPDIR=/run/tmp slurmd
}

slurm_up() {
	PATH=$PATH:/usr/sbin
	SLURM_CONF=$LAB/slurm.conf
	export SLURM_CONF
	slurm_controller=${LAB_HOSTS##* } slurm_nodes=${LAB_HOSTS% *}
	chmod 755 "$LAB"
	mungekey --create --keyfile="$LAB/munge.key" || return 1
	slurm_configure
	for lab_name in $LAB_HOSTS; do
		lab_sshd "$lab_name" off
	done
	slurm_munge "$slurm_controller" && lab_enter "$slurm_controller" slurmctld || return 1
	for slurm_node in $slurm_nodes; do
		slurm_node_up "$slurm_node" || return 1
	done
	lab_wait "Slurm" slurm_all_idle
}

slurm_on() { lab_on "$slurm_controller" "$@"; }
slurm_all_idle() {
	# shellcheck disable=SC2086 # words
	[ "$(slurm_on sinfo -h -N -t idle -o '%N' | sort -u | wc -l)" -eq "$(set -- $slurm_nodes; echo $#)" ]
}

slurm_job() { slurm_on scontrol -o show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }

slurm_until() {
	slurm_id=$1 slurm_end=$(($(date +%s) + $2))
	shift 2
	while :; do
		slurm_state=$(slurm_job "$slurm_id" JobState)
		case " $* " in *" $slurm_state "*) return 0 ;; esac
		case $slurm_state in # these are final
		CANCELLED | COMPLETED | FAILED | TIMEOUT) slurm_end=0 ;;
		esac
		[ "$(date +%s)" -lt $slurm_end ] || { echo "job $slurm_id is $slurm_state, not $*" >&2; return 1; }
		sleep 0.3
	done
}
