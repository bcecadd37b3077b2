#!/bin/sh
# many_hosts.sh [COUNT] - the check of COUNT hosts (24), and the start of a training on them up to mpirun. A script in ssh's place
# plays the hosts: it waits 0.1 s, as a login does, and answers with the facts of this host under another name. mpirun is a
# script that notes when it was called and with how many ranks. Prints the seconds. Last line: the tally.
set -u
count=${1:-24}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-many-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN PBS_NODEFILE SLURM_JOB_NODELIST
WERKBANK_RUNTIME=$tmp/runtime
export WERKBANK_RUNTIME
wb=$top/werkbank
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
if ! command -v mpirun >/dev/null || ! "$wb-train" --version | grep -q 'with MPI'; then
	skip "many hosts" "there is no MPI"
	tally
	exit
fi

# ---- hosts n001, n002, ... at 127.1.A.B ----
cat >"$tmp/ssh" <<'END'
#!/bin/sh
while :; do case $1 in -o|-p|-i) shift 2 ;; -*) shift ;; *) break ;; esac; done
here=${0%/*} host=$1 number=${1#n}
shift
while [ "${number#0}" != "$number" ]; do number=${number#0}; done
address() { echo "127.1.$(($1 / 200)).$(($1 % 200 + 1))"; }
sleep 0.1
case $* in *_probe*) ;; *) exit 0 ;; esac
read -r request
case $request in
*'"ask":"facts"'*)
	mine=$(address "$number")
	sed -e "s/\"host\":\"[^\"]*\"/\"host\":\"$host\"/" -e "s/\"boot\":\"/\"boot\":\"$host/" \
		-e "s|\"interfaces\":\[[^]]*\]|\"interfaces\":[{\"name\":\"eth0\",\"address\":\"$mine\",\"network\":\"127.1.0.0/16\",\"loopback\":false,\"carrier\":true,\"mbit_s\":1000}]|" \
		-e "s|\"source\":\"SOURCE\"|\"source\":\"$mine\"|g" -e "s/\"free_port\":[0-9]*/\"free_port\":$((20000 + number))/" -e "s|\"time\":[0-9.]*|\"time\":$(date +%s.%N)|" "$here/facts"
	;;
*) echo "$request" | sh -c "$*" ;;
esac
END
chmod 700 "$tmp/ssh"

tiny_recipe "$tmp/tiny.ini" 600 200 batch_tokens=256 micro_batches=5000
"$wb" prep -q -C "$tmp/w" "$tmp/tiny.ini" || not_ok "the corpus" "it cannot be prepared"

# facts : what a host answers when it is asked for facts, with routes to the first hosts of the list
facts() {
	routes='' sep=''
	for i in $(seq 1 "$(if [ "$count" -gt 128 ]; then echo 16; else echo "$count"; fi)"); do
		name=$(printf 'n%03d' "$i")
		routes="$routes$sep{\"name\":\"$name\",\"addresses\":[\"127.1.$((i / 200)).$((i % 200 + 1))\"],\"source\":\"SOURCE\"}" sep=,
	done
	echo "{\"ask\":\"facts\",\"workspace\":\"$tmp/w\",\"corpus\":\"tiny\",\"peers\":[]}" | "$wb-launch" _probe |
		sed "s|\"routes\":\[[^]]*\]|\"routes\":[$routes]|" >"$tmp/facts"
}
facts
hosts=$(printf 'n[%03d-%03d]:1' 1 "$count")

# seconds MOST COMMAND... : run it, set $took
took=0
seconds() {
	began=$(date +%s.%N)
	"$@" >"$tmp/out" 2>&1 </dev/null
	status=$?
	took=$(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
}
seconds "$wb" hosts check "$hosts" --ssh "'$tmp/ssh'" -C "$tmp/w" --corpus tiny
if [ $status -eq 0 ] && grep -q "$count of $count hosts answered, 0 errors" "$tmp/out"; then
	ok "check: $count hosts in $took s"
else
	not_ok "check: $count hosts in $took s" "status $status: $(grep -v '^n[0-9]' "$tmp/out" | head -c 600)"
fi

# mpirun in PATH: the real one for questions, a note for the start
mkdir "$tmp/bin"
cat >"$tmp/bin/mpirun" <<END
#!/bin/sh
case \$* in *_rank*) date +%s.%N >"$tmp/started"; echo "\$*" >"$tmp/line"; exit 1 ;; esac
exec "$(command -v mpirun)" "\$@"
END
chmod 700 "$tmp/bin/mpirun"
PATH=$tmp/bin:$PATH
seconds "$wb" train "$tmp/tiny.ini" -C "$tmp/w" --hosts "$hosts" --ssh "'$tmp/ssh'" --restarts 0 --quiet
took=$(awk -v a="$began" -v b="$(cat "$tmp/started" 2>/dev/null)" 'BEGIN { printf "%.1f", b - a }')
if [ -s "$tmp/started" ] && grep -q -- "-n $count " "$tmp/line"; then
	ok "train: $count hosts, mpirun begins after $took s"
else
	not_ok "train: $count hosts" "status $status: $(tail -n 3 "$tmp/out" | head -c 600)"
fi
tally
