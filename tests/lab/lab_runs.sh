# lab_runs.sh - trainings in a lab: a tiny recipe, and numbers from journals. Sourced after helpers.sh and lab.sh.
# shellcheck shell=sh disable=SC2034,SC2154 # what the script sets or uses
#
# The calling script sets tmp (its own folder) and ws (the workspace) and runs in the build folder.
#
#	runs_need               return 1 and print why trainings over hosts are impossible; else set mpi_starter and mpi_daemon,
#	                        the names of the processes of Open MPI 4 or 5
#	recipe FILE             write a recipe of a tiny model on a tiny corpus; command lines override it
#	wb COMMAND...           run werkbank on h1 with the workspace
#	records RUN KIND FIELD...   print fields of all records of a kind, one record a line ("-": absent)
#	agree NAME RUN RUN TOLERANCE MAX      two runs have the same losses at all steps up to MAX
#	last_step RUN           last step in its journal; 0: none
#	until_step RUN STEP SECONDS           wait for a step; fail if the time or the run is over
#	until_over RUN SECONDS  wait until nobody holds its lock
#	run_state RUN           running, finished, stopped, failed, ...
#	nobody_left NAME        test: after at most 15 seconds, no host has a process of a training

top=$PWD
share=${WERKBANK_SHARE:-$(cd "$(dirname "$0")/../../share" && pwd)}
# ranks share cores here: a pause of a second before a restart is enough
OMPI_MCA_mpi_yield_when_idle=1 WERKBANK_BACKOFF=1
export OMPI_MCA_mpi_yield_when_idle WERKBANK_BACKOFF

runs_need() {
	lab_need || return 1
	command -v mpirun >/dev/null 2>&1 || { echo "no training over hosts here; missing: mpirun (package openmpi-bin)"; return 1; }
	case $top in
	*[[:blank:]:]*) echo "no training over hosts: mpirun runs no program with a blank or a colon in its path: $top"; return 1 ;;
	esac
	"$top/werkbank-train" --version | grep -q "with MPI" || { echo "no training over hosts: this build is without MPI"; return 1; }
	mpi_starter=mpirun mpi_daemon=orted
	case $(mpirun --version 2>/dev/null | sed -n '1s/.* //p') in [5-9]*) mpi_starter=prterun mpi_daemon=prted ;; esac
}

recipe() {
	tiny_recipe "$1" 2000 300 steps=100 batch_tokens=256 micro_batches=4 noam_factor=0.2 warmup=400 eval_every=1000000 \
		save_every=1000000 eval_sentences=8 samples=2 threads=1 log_every=1
}

wb() {
	wb_command=$1
	shift
	lab_on h1 env WERKBANK_SHARE="$share" "$top/werkbank" "$wb_command" -C "$ws" "$@"
}

records() {
	[ -f "$ws/runs/$1/journal.jsonl" ] || return 0
	records_run=$1 records_kind=$2
	shift 2
	grep "\"kind\":\"$records_kind\"" "$ws/runs/$records_run/journal.jsonl" | awk -v names="$*" '
		BEGIN { n = split(names, name, " ") }
		{
			for (i = 1; i <= n; i++) {
				at = index($0, "\"" name[i] "\":")
				value = "-"
				if (at) {
					value = substr($0, at + length(name[i]) + 3)
					if (substr(value, 1, 1) == "\"") {
						value = substr(value, 2)
						sub(/".*/, "", value)
						gsub(/ /, "_", value)
					} else
						sub(/[,}].*/, "", value)
				}
				printf "%s%s", value, i < n ? " " : "\n"
			}
		}'
}

# Of a repeated step, the last record counts.
losses() { records "$1" train step loss | awk '{ loss[$1] = $2 } END { for (step in loss) print step, loss[step] }' | sort -n; }

agree() {
	losses "$2" >"$tmp/a"
	losses "$3" >"$tmp/b"
	agree_says=$(awk -v max="$5" -v tolerance="$4" '
		NR == FNR { a[$1] = $2; next }
		$1 <= max && $1 in a { n++; d = a[$1] > $2 ? a[$1] - $2 : $2 - a[$1]; if (d > worst) { worst = d; where = $1 } }
		END { printf "%d steps, at most %.1e apart (at step %d)\n", n, worst, where; exit !(n == max && worst <= tolerance) }' "$tmp/a" "$tmp/b")
	# shellcheck disable=SC2181 # of the assignment
	if [ $? -eq 0 ]; then ok "$1: $agree_says"; else not_ok "$1" "$agree_says"; fi
}

last_step() { records "$1" train step | tail -n 1 | grep . || echo 0; }

run_state() { sed -n 's/.*"state":"\([a-z]*\)".*/\1/p' "$ws/runs/$1/state.json" 2>/dev/null; }
is_over() { [ -e "$ws/runs/$1/lock" ] && flock -n "$ws/runs/$1/lock" true; }

until_step() {
	runs_end=$(($(date +%s) + $3))
	until [ "$(last_step "$1")" -ge "$2" ]; do
		[ "$(date +%s)" -lt $runs_end ] || return 1
		sleep 0.1
	done
}

until_over() {
	runs_end=$(($(date +%s) + $2))
	until is_over "$1"; do
		[ "$(date +%s)" -lt $runs_end ] || return 1
		sleep 0.1
	done
}

nobody_left() {
	runs_end=$(($(date +%s) + 15))
	while :; do
		runs_left=
		for runs_host in $LAB_HOSTS; do
			[ ! -s "$LAB/$runs_host/pid" ] || runs_left=$runs_left$(lab_left "$runs_host" | sed "s/^/$runs_host: /")
		done
		[ -n "$runs_left" ] && [ "$(date +%s)" -lt $runs_end ] || break
		sleep 0.2
	done
	if [ -z "$runs_left" ]; then ok "$1: nobody is left"; else not_ok "$1: nobody is left" "$(echo "$runs_left" | head -c 600)"; fi
}
