#!/bin/sh
# hosts_fake.sh - werkbank hosts check|sync|clean on hosts that a script in ssh's place plays: needs
# neither root nor sshd. The answers of hosts are real; a sed script changes an answer to make a fault.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-hosts-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN PBS_NODEFILE SLURM_JOB_NODELIST
WERKBANK_RUNTIME=$tmp/runtime
export WERKBANK_RUNTIME
wb=$top/werkbank
. "$(dirname "$0")/../helpers.sh"

[ -x "$top/werkbank-launch" ] || { echo "werkbank-launch is not here: run this in a build folder"; exit 1; }
"$top/werkbank-train" --version | grep -q 'with MPI' || {
	echo "hosts are not ready for a training without MPI: skipped"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
}

# ---- the fake ssh: hosts a b c at 127.0.1.1, .2, .3; $tmp/HOST.sh runs instead, $tmp/HOST.sed edits its answer ----
cat >"$tmp/ssh" <<'EOS'
#!/bin/sh
while :; do case $1 in -o|-p|-i) shift 2;; -*) shift;; *) break;; esac; done
here=$(dirname "$0") host=$1
shift
command=$*
if [ -f "$here/$host.sh" ]; then . "$here/$host.sh"; fi
case $host in a) n=1;; b) n=2;; c) n=3;; *) echo "ssh: Could not resolve hostname $host: Name or service not known" >&2; exit 255;; esac
case $command in
*_probe*) ;;
*)	# each host has its own folder: two daemons of Open MPI that share one sometimes collide
	TMPDIR=$here/tmp-$host
	mkdir -p "$TMPDIR"
	export TMPDIR
	exec sh -c "$command";;
esac
routes= sep=
for p in a:1 b:2 c:3; do
	routes="$routes$sep{\"name\":\"${p%:*}\",\"addresses\":[\"127.0.1.${p#*:}\"],\"source\":\"127.0.1.$n\"}" sep=,
done
[ -f "$here/$host.sed" ] || : >"$here/$host.sed"
sh -c "$command" | sed -e "s/\"host\":\"[^\"]*\"/\"host\":\"$host\"/" \
	-e "/\"interfaces\":/s/\"boot\":\"/\"boot\":\"$host/" \
	-e "s|\"interfaces\":\[[^]]*\]|\"interfaces\":[{\"name\":\"eth0\",\"address\":\"127.0.1.$n\",\"network\":\"127.0.1.0/24\",\"loopback\":false,\"carrier\":true,\"mbit_s\":1000}]|" \
	-e "s|\"routes\":\[.*\],\"temporary_free\"|\"routes\":[$routes],\"temporary_free\"|" -f "$here/$host.sed"
EOS
chmod 700 "$tmp/ssh"
heal() { rm -f "$tmp"/*.sed "$tmp"/?.sh; }

# hosts STATUS NAME WORDS ARGUMENT... : run werkbank hosts ARGUMENT...: compare the exit status, and find WORDS in a line
hosts() {
	want=$1 name=$2 words=$3
	shift 3
	got=0
	"$wb" hosts "$@" --ssh "'$tmp/ssh'" -C "$tmp/w" >"$tmp/out" 2>&1 </dev/null || got=$?
	if [ "$got" -ne "$want" ]; then
		not_ok "$name" "exit status $got, not $want: $(head -c 600 "$tmp/out")"
	elif [ -n "$words" ] && ! grep -qE -- "$words" "$tmp/out"; then
		not_ok "$name" "nothing like '$words' in: $(head -c 600 "$tmp/out")"
	else
		ok "$name"
	fi
}
# without a remote shell in PATH
mkdir "$tmp/bare"
got=0
PATH=$tmp/bare "$wb-launch" hosts check nodea,nodeb >"$tmp/out" 2>&1 </dev/null || got=$?
if [ "$got" -eq 68 ] && grep -q 'the program ssh is not in PATH: install it (package openssh-client' "$tmp/out"; then
	ok "check: no ssh"
else
	not_ok "check: no ssh" "status $got: $(head -c 400 "$tmp/out")"
fi
# fault NAME WORDS [OPTION...] : the check of a and b reports exactly one error, with these words; then remove the fault
fault() {
	name=$1 words=$2
	shift 2
	hosts 1 "check: $name" "^error  $words" check a:1,b:1 --deadline 8 "$@"
	n=$(grep -c '^error' "$tmp/out")
	[ "$n" -eq 1 ] || not_ok "check: $name in one line" "$n lines: $(cat "$tmp/out")"
	heal
}
# says HOST TEXT : ssh to HOST fails with this text
says() { printf 'cat >&2 <<END\n%s\nEND\nexit 255\n' "$2" >"$tmp/$1.sh"; }

# edit HOST SCRIPT : edit its answers with sed
edit() { printf '%s\n' "$2" >"$tmp/$1.sed"; }

# ---- a minimal corpus ----
mkdir -p "$tmp/w/corpora/demo"
for f in manifest.json train.shard vocab.tsv bpe.codes; do echo "$f" >"$tmp/w/corpora/demo/$f"; done

# ---- check ----
hosts 0 "check: healthy" '^verdict: a training can start: 3 of 3 hosts answered, 0 errors, 0 warnings' check a:1,b:1,c:1 --corpus demo
grep -q '^network between the hosts: 127.0.1.0/24$' "$tmp/out" && ok "check: the network" || not_ok "check: the network" "$(cat "$tmp/out")"
hosts 0 "check: as JSON" '^\{"verdict":"ok","network":"127.0.1.0/24","hosts":\[\{"host":"a","slots":1,"state":"ok"' check a:1,b:1 --json
hosts 68 "check: nobody answers" 'the name x has no address' check x:1,y:1
hosts 64 "check: no hosts" 'some of it is missing' check
hosts 64 "check: a list that is none" 'is not a number of slots' check a:0

says b 'ssh: connect to host b port 22: No route to host'
fault unreachable 'ssh: there is no route to b: is it switched on'
says b 'ssh: connect to host b port 22: Connection refused'
fault "no sshd" 'ssh: b answers, but no sshd listens on the port: start sshd'
says b 'user@b: Permission denied (publickey,password).'
fault "password needed" 'ssh: b asks for a password or another key: .*ssh-copy-id b'
says b 'Host key verification failed.'
fault "unknown host key" 'ssh: ssh does not know the host key of b yet: type ssh b once'
says b '@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Host key verification failed.'
fault "host key changed" "ssh: the host key of b has changed: .*ssh-keygen -R 'b'"
echo 'echo "sh: 1: werkbank-launch: not found" >&2; exit 127' >"$tmp/b.sh"
fault "Werkbank missing" 'build: b has no .*/werkbank-launch: .*werkbank hosts sync'
echo 'echo "werkbank _probe: no such command" >&2; exit 64' >"$tmp/b.sh"
fault "a Werkbank from before" 'build: .* on b gives no answer .*werkbank hosts sync'
echo 'exec sleep 60' >"$tmp/b.sh"
fault "hanging" 'ssh: b did not answer within 1.5 s' --deadline 1.5
edit b 's/"werkbank":"[^"]*"/"werkbank":"0.0.1"/'
fault "other version" 'build: Werkbank on b is version 0.0.1, on this host .*werkbank hosts sync'
edit b 's/"sha256":"\([0-9a-f]\)[0-9a-f]*","text"/"sha256":"\1fff","text"/'
fault "other build" 'build: werkbank-train on b is a different build .*werkbank hosts sync'
if command -v mpirun >/dev/null 2>&1; then
	edit b 's/"text":"mpirun (Open MPI) [^"]*"/"text":"mpirun (Open MPI) 1.2.3"/'
	fault "other MPI" 'mpi: b has mpirun \(Open MPI\) 1.2.3, this host has .*install the same version'
else
	skip "check: other MPI" "no mpirun"
fi
edit b 's/"corpus":\[.*\]/"corpus":[]/'
fault "no corpus" 'corpus: b has no corpora/demo/train.shard in .*werkbank hosts sync --corpus demo' --corpus demo
edit b 's/"name":"vocab.tsv","bytes":[0-9]*/"name":"vocab.tsv","bytes":3/'
fault "other corpus" 'corpus: corpora/demo/vocab.tsv on b differs from the file on this host' --corpus demo
edit b 's/"writable":true,"free":[0-9]*/"writable":true,"free":1000000/'
fault "disk full" 'disk: .* on b has 1 MB free, too little for a checkpoint'
edit b 's/"time":[0-9]*/"time":1000000000/'
fault "clock skew" 'clock: the clock of b is .* s behind the clock of this host: start chronyd'
edit b 's/"name":"eth0"/"name":"ens5"/'
fault "wrong interface" 'network: b has no interface eth0 \(it has ens5 127.0.1.0/24\).*--network' --network eth0
edit b 's/"name":"a","addresses":\["127.0.1.1"\]/"name":"a","addresses":["127.0.0.1"]/'
fault "a name that resolves to the host itself" 'names: b resolves a to itself \(127.0.0.1\): correct its /etc/hosts'
# b listens on another port than the one that a connects to
cat >"$tmp/b.sh" <<'EOS'
asked=$(sed 's/"self":1,"port":[0-9]*/"self":1,"port":64999/')
exec <<END
$asked
END
EOS
fault "firewall between the hosts" 'ports: a cannot connect to b at 127.0.1.2, TCP port [0-9]+ \(Connection refused: b listens there, so a firewall rejects .*\): open all TCP ports' --deadline 6
# the login for the port test never ends: not a fault of the network
cat >"$tmp/b.sh" <<'EOS'
asked=$(cat)
case $asked in *'"ask":"meet"'*) exec sleep 30;; esac
exec <<END
$asked
END
EOS
hosts 0 "check: a login that hangs is no firewall" '^warning  login: the port test failed on b: b did not answer within 4 s' check a:1,b:1 --deadline 4
echo 'sleep 6' >"$tmp/b.sh"
hosts 0 "check: a slow login is no firewall" '^verdict: a training can start: 2 of 2 hosts answered, 0 errors, 0 warnings' check a:1,b:1
heal
tiny_recipe "$tmp/tiny.ini" 200 50 batch_tokens=256 micro_batches=5000
# many names without an address: each ssh asks the name server for two seconds
echo 'case $host in many*) sleep 2;; esac' >"$tmp/any.sh"
sed -i 's|^if \[ -f "\$here/\$host.sh"|[ ! -f "$here/any.sh" ] \|\| . "$here/any.sh"\n&|' "$tmp/ssh"
began=$(date +%s)
hosts 68 "check: 5,000 dead hosts" '^error  hosts: [0-9]+ of 5000 hosts, from many[0-9]+ on, were not asked, because no host answered for 3 s' check 'many[0001-5000]' --deadline 6
took=$(($(date +%s) - began))
[ "$took" -le 20 ] && ok "check: 5,000 dead hosts end near the deadline" || not_ok "check: 5,000 dead hosts end near the deadline" "$took s"
grep -q '^hosts: [0-9]* of 5000 asked, 0 answer; the last one: the name many[0-9]* has no address' "$tmp/out" &&
	ok "check: 5,000 dead hosts show progress" || not_ok "check: 5,000 dead hosts show progress" "$(head -c 300 "$tmp/out")"
# the same list for a training: it asks no more hosts at a time, and leaves no run behind
"$wb" prep -q -C "$tmp/many" "$tmp/tiny.ini" || not_ok "train: the corpus" "it cannot be prepared"
began=$(date +%s)
got=0
(
	# shellcheck disable=SC3045 # dash and bash have it
	ulimit -v 400000 # KiB, of each process
	exec "$wb" train -C "$tmp/many" "$tmp/tiny.ini" --hosts 'many[0001-5000]' --ssh "'$tmp/ssh'" --deadline 6
) >"$tmp/out" 2>&1 || got=$?
took=$(($(date +%s) - began))
[ "$took" -le 20 ] && [ $got = 69 ] && ok "train: 5,000 dead hosts end near the deadline" || not_ok "train: 5,000 dead hosts" "status $got after $took s: $(tail -n 3 "$tmp/out")"
grep -q '^hosts: [0-9]* of 5000 asked, 0 answer' "$tmp/out" && grep -q 'of 5000 hosts, from many[0-9]* on, were not asked' "$tmp/out" &&
	ok "train: 5,000 dead hosts show progress and why" || not_ok "train: 5,000 dead hosts show progress" "$(head -c 300 "$tmp/out")"
[ ! -e "$tmp/many/runs" ] && ok "train: 5,000 dead hosts leave no run" || not_ok "train: 5,000 dead hosts leave no run" "$(ls "$tmp/many/runs")"
# ... and with nothing asked before
began=$(date +%s)
got=0
"$wb" train -C "$tmp/many" "$tmp/tiny.ini" --hosts 'many[0001-5000]' --ssh "'$tmp/ssh'" --deadline 6 --no-preflight --network 10.0.0.0/8 \
	>"$tmp/out" 2>&1 </dev/null || got=$?
took=$(($(date +%s) - began))
[ "$took" -le 20 ] && [ $got = 68 ] && grep -q 'the training cannot begin: the name many[0-9]* has no address' "$tmp/out" &&
	ok "train --no-preflight: 5,000 dead hosts end near the deadline" ||
	not_ok "train --no-preflight: 5,000 dead hosts" "status $got after $took s: $(tail -n 3 "$tmp/out")"
rm -f "$tmp/any.sh"
hosts 0 "check: too few cores" '^warning  cores: b has [0-9]+ cores for 4000 slots.*give it [0-9]+ slots' check a:1,b:4000
edit b 's/^/Welcome!\n/'
hosts 0 "check: a greeting is no answer" '^warning  shell: the start-up files of the shell on b print' check a:1,b:1
heal

# ---- clean ----
# record RUN RANK PID PARENT TAG : write the record of a rank
[ -d "$tmp/runtime" ] || mkdir -m 700 "$tmp/runtime"
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
boot=$(cat /proc/sys/kernel/random/boot_id) space=$(readlink /proc/self/ns/pid)
record() {
	cat >"$tmp/runtime/$1.$2.$3" <<END
{"run":"$1","rank":$2,"folder":"/r","host":"a","tag":"$5","pid":$3,"started":${6:-$(started "$3")},"boot":"$boot",
"pid_space":"$space","parent":$4,"parent_started":$(started "$4" | grep . || echo 5)}
END
}
# victim : start a sleeping process, its pid in $victim
victim() { sleep 300 & victim=$!; }
runs() { [ -n "$(started "$1")" ] && ! grep -q '^State:.Z' "/proc/$1/status"; }
alive() { if runs "$2"; then ok "$1"; else not_ok "$1" "process $2 is gone"; fi; }
dead() { if runs "$2"; then not_ok "$1" "process $2 still runs"; else ok "$1"; fi; }
here=$(hostname)

hosts 0 "clean: nothing there" '^no process of Werkbank is left there' clean a b
victim; orphan=$victim; record lost 0 "$orphan" 2147483000 "$here:$$:x"
victim; used=$victim; record busy 0 "$used" $$ "$here:$$:x"
victim; gone=$victim; record gone 1 "$gone" $$ "$here:2147483001:x"
victim; other=$victim; record other 2 "$other" $$ "elsewhere:77:x"
victim; reused=$victim; record reused 0 "$reused" 2147483000 "$here:1:x" 7
hosts 0 "clean: one run" "^a: rank 0 of run lost, process $orphan: terminated" clean a b --run lost
dead "clean: what lost its parent is ended" "$orphan"
alive "clean: other runs are left alone" "$gone"
hosts 0 "clean: all" "^a: rank 1 of run gone, process $gone: terminated" clean a
dead "clean: what lost its launcher is ended" "$gone"
alive "clean: what is in use stays" "$used"
alive "clean: what has a launcher elsewhere stays" "$other"
alive "clean: who got the number of another one stays" "$reused"
grep -q "^a: rank 0 of run busy, process $used: in use" "$tmp/out" && ok "clean: says what is in use" || not_ok "clean: says what is in use" "$(cat "$tmp/out")"
grep -q "^a: rank 2 of run other, .*left alone: its launcher (elsewhere:77:x)" "$tmp/out" && ok "clean: says what it leaves" || not_ok "clean: says what it leaves" "$(cat "$tmp/out")"
grep -q "^a: rank 0 of run reused, .*only its record was left" "$tmp/out" && ok "clean: stale records" || not_ok "clean: stale records" "$(cat "$tmp/out")"
[ ! -e "$tmp/runtime/reused.0.$reused" ] && ok "clean: their file goes" || not_ok "clean: their file goes" "it is there"
hosts 0 "clean --now" "^a: rank 2 of run other, process $other: terminated" clean a --now --run other
says b 'ssh: connect to host b port 22: No route to host'
hosts 1 "clean: a host is away" 'there is no route to b' clean a b
hosts 68 "clean: all are away" 'there is no route to b' clean b
heal
sh -c 'trap "" TERM; echo $$ >"$0"; while :; do sleep 0.2; done' "$tmp/deaf" &
while ! [ -s "$tmp/deaf" ]; do sleep 0.1; done
deaf=$(cat "$tmp/deaf"); record deaf 0 "$deaf" 2147483000 x
hosts 0 "clean: one that does not hear" "\"pid\":$deaf,.*\"outcome\":\"killed\"" clean a --run deaf --json
dead "clean: it is gone too" "$deaf"
kill "$used" "$reused" 2>/dev/null

# ---- sync: b has a workspace of its own, in a mount namespace; a sees ours ----
# as an installed program finds it, bin/../share/werkbank
WERKBANK_SHARE=${WERKBANK_SHARE:-$(cd "$(dirname "$0")/../../share" && pwd)}
WERKBANK_SHARE=$WERKBANK_SHARE/../$(basename "$WERKBANK_SHARE")
export WERKBANK_SHARE
hosts 0 "sync: a shared workspace is left alone" '^a: same file system, 0.0 MB sent' sync a --corpus demo
hosts 66 "sync: no such corpus" 'vocab.tsv|train.shard' sync a --corpus nothing
hosts 68 "sync: all are away" 'the name x has no address' sync x
if unshare -rm true 2>/dev/null && command -v rsync >/dev/null 2>&1; then
	disk=$tmp/disk-b
	mkdir "$disk"
	cat >"$tmp/b.sh" <<'EOS'
exec unshare -rm sh -c 'mount --bind "$1" "$2" && exec sh -c "$3"' sh "$here/disk-b" "$here/w" "$command"
EOS
	hosts 1 "sync: needed" 'b has no corpora/demo/train.shard' check a b --corpus demo
	hosts 0 "sync: copies" '^b: copied, [0-9.]+ MB sent in [0-9.]+ s, 9 files verified' sync a b --corpus demo
	same=yes
	for f in manifest.json train.shard vocab.tsv bpe.codes; do
		cmp -s "$tmp/w/corpora/demo/$f" "$disk/corpora/demo/$f" || same="$f differs"
	done
	[ "$same" = yes ] && ok "sync: the files are there" || not_ok "sync: the files are there" "$same"
	[ -z "$(find "$disk" "$tmp/w" -name '.seen-from*' -o -name '.werkbank*')" ] && ok "sync: leaves nothing else" ||
		not_ok "sync: leaves nothing else" "$(find "$disk" "$tmp/w" -name '.*')"
	head -c 5 "$tmp/w/corpora/demo/train.shard" >"$disk/corpora/demo/train.shard"	# as broken off
	rm "$disk/corpora/demo/manifest.json"
	hosts 0 "sync: goes on" '"host":"b","state":"copied","sent_bytes":[1-9]' sync a b --corpus demo --json
	cmp -s "$tmp/w/corpora/demo/train.shard" "$disk/corpora/demo/train.shard" && ok "sync: is mended" || not_ok "sync: is mended" "it differs"
	tr a-z A-Z <"$tmp/w/corpora/demo/vocab.tsv" >"$disk/corpora/demo/vocab.tsv"
	touch -r "$tmp/w/corpora/demo/vocab.tsv" "$disk/corpora/demo/vocab.tsv"	# rsync sees no difference
	hosts 1 "sync: verified by hash" '^b: failed: .*/vocab.tsv on b differs from this host after the copy' sync b --corpus demo
	cat >>"$tmp/w/corpora/demo/vocab.tsv" </dev/null
	echo more >>"$tmp/w/corpora/demo/vocab.tsv"
	cat >"$tmp/b.sh" <<'EOS'
case $command in rsync*) echo "sh: 1: rsync: not found" >&2; exit 127;; esac
exec unshare -rm sh -c 'mount --bind "$1" "$2" && exec sh -c "$3"' sh "$here/disk-b" "$here/w" "$command"
EOS
	hosts 1 "sync: rsync fails" '^b: failed: .*rsync' sync b --corpus demo
	heal
else
	skip "sync: copies" "no mount namespaces or no rsync"
fi

tally
