#!/bin/sh
# identity.sh - processes, locks and folders of runs are known by descriptors, not by names and texts that others can write.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-identity-XXXXXX")
pids=''
# shellcheck disable=SC2086 # a list of pids
trap 'kill $pids 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
wb=$top/werkbank
w=$tmp/w
cat >"$tmp/tiny.ini" <<'END'
[data]
demo_pairs = 400
merges = 100
[model]
d_model = 32
d_ff = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 1000000
max_minutes = 5
batch_tokens = 512
eval_every = 1000000
save_every = 200
keep = 2
threads = 1
END
says "a corpus" 0 '' "$wb" prep -C "$w" "$tmp/tiny.ini" --quiet

# wait_until COMMAND... : at most 20 s
wait_until() { for _ in $(seq 200); do ! "$@" || return 0; sleep 0.1; done; return 1; }
saved() { [ -e "$w/runs/$1/checkpoints/last" ]; }

# ---- stop signals the launcher of the run, nobody else -------------------------------------------
sleep 1000 &
victim=$!
pids="$pids $victim"
start=$(awk '{ print $22 }' "/proc/$victim/stat")
# forged FOLDER : a run whose state names the victim as its launcher, and whose lock is held
forged() {
	mkdir -p "$1"
	printf '{"v":1,"state":"running","pid":%d,"pid_start":%s,"host":"%s","boot_id":"%s","started":1,"attempt":1}\n' \
		"$victim" "$start" "$(uname -n)" "$(cat /proc/sys/kernel/random/boot_id)" >"$1/state.json"
	echo '{"v":1,"kind":"start","t":1}' >"$1/journal.jsonl"
	: >"$1/lock"
}
forged "$w/runs/forged"
sleep 1000 9<"$w/runs/forged/lock" &
holder=$!
pids="$pids $holder"
flock -x "$w/runs/forged/lock" sleep 1000 &
pids="$pids $!"
wait_until sh -c "! flock -n '$w/runs/forged/lock' true"
for how in '' --now; do
	timeout 2 "$wb" stop -C "$w" forged $how >/dev/null 2>&1
	if kill -0 "$victim" 2>/dev/null; then ok "stop $how leaves a process alone that only state.json names"; else not_ok "stop $how" "it was killed"; fi
done
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	forged "$tmp/theirs/runs/forged"
	chown -R 65534:65534 "$tmp/theirs"
	setpriv --reuid=65534 --regid=65534 --clear-groups flock -x "$tmp/theirs/runs/forged/lock" sleep 1000 &
	pids="$pids $!"
	wait_until sh -c "! flock -n '$tmp/theirs/runs/forged/lock' true"
	timeout 2 "$wb" stop -C "$tmp/theirs" forged >/dev/null 2>&1
	if kill -0 "$victim" 2>/dev/null; then ok "root leaves a process alone that another user names"; else not_ok "root" "it was killed"; fi
else
	skip "a run of another user" "only root can make one"
fi

# ---- who may only read cannot hold a lock ------------------------------------------------------
"$wb" train -C "$w" "$tmp/tiny.ini" --run a --detach --quiet >/dev/null 2>&1
wait_until saved a
same "the lock of a run" "$(stat -c %a "$w/runs/a/lock")" 600
same "the lock of a corpus" "$(stat -c %a "$w/corpora/tiny/lock")" 600
says "stop signals a real launcher" 0 '' timeout 60 "$wb" stop -C "$w" a --quiet
chmod 644 "$w/runs/a/lock"
before=$(readlink "$w/runs/a/checkpoints/last")
"$wb" train -C "$w" "$tmp/tiny.ini" --run a --detach --quiet >/dev/null 2>&1
same "a lock of an earlier release is closed to others" "$(stat -c %a "$w/runs/a/lock")" 600

# ---- a corpus in use is not replaced -----------------------------------------------------------------
says "prep of a corpus in use" 75 'the run a is being trained on the corpus tiny: wait until it ends' "$wb" prep -C "$w" "$tmp/tiny.ini" --force --quiet
says "... under another name" 0 '' "$wb" prep -C "$w" "$tmp/tiny.ini" --corpus other --quiet

# ---- another user, who may not open the lock, sees whether a process holds it ---------------------------
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$tmp/nobody" XDG_CACHE_HOME="$tmp/nobody/cache" "$@"; }
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && as_nobody test -x "$wb"; then
	mkdir -p "$tmp/nobody" "$tmp/shared/runs/other"
	chown -R 65534 "$tmp/nobody" "$tmp/shared"
	printf '#!/bin/sh\nwhile [ "$1" != nodea ]; do shift; done\nshift\nexec sh -c "$*"\n' >"$tmp/ssh"
	chmod 755 "$tmp/ssh"
	# state_for_nobody WANTED : what status and a copy of the records say of the run a, at once or after a while
	state_for_nobody() {
		says "status of another user: $1" 0 "\"state\":\"$1\"" as_nobody "$wb" status -C "$w" a --json
		rm -rf "$tmp/nobody/cache"
		says "watch ssh:// of another user: $1" 0 "a: $1" as_nobody "$wb" watch --plain --ssh "$tmp/ssh" "ssh://nodea$w/runs/a"
	}
	is_running() { "$wb" status -C "$w" a --json | grep -q '"state":"running"'; }
	wait_until is_running
	state_for_nobody running
	says "the corpus of another user" 0 '' as_nobody "$wb" prep -C "$tmp/shared" "$tmp/tiny.ini" --quiet
	cp "$w/runs/a/recipe.ini" "$w/runs/a/state.json" "$tmp/shared/runs/other/"
	(umask 077 && : >"$tmp/shared/runs/other/lock")
	chown -R 0 "$tmp/shared/runs/other"
	flock -x "$tmp/shared/runs/other/lock" sleep 1000 &
	pids="$pids $!"
	wait_until sh -c "! flock -n '$tmp/shared/runs/other/lock' true"
	says "prep of a corpus on which another user trains" 75 'the run other is being trained on the corpus tiny' \
		as_nobody "$wb" prep -C "$tmp/shared" "$tmp/tiny.ini" --force --quiet
	find /proc/[0-9]*/fd -lname "$w/runs/a/lock" 2>/dev/null | cut -d / -f 3 | sort -u | while read -r pid; do kill -9 "$pid"; done
	wait_until flock -n "$w/runs/a/lock" true
	state_for_nobody lost
	"$wb" train -C "$w" "$tmp/tiny.ini" --run a --detach --quiet >/dev/null 2>&1
	before=$(readlink "$w/runs/a/checkpoints/last")
else
	skip "locks of another user" "needs root, setpriv and programs that others may run"
fi

# ---- a live training whose folder is exchanged writes nothing into the new one ---------------------
saved_more() { [ "$(readlink "$w/runs/a/checkpoints/last")" != "$before" ]; }
wait_until saved_more
mv "$w/runs/a" "$tmp/moved"
mkdir -p "$w/runs/a/checkpoints"
: >"$w/runs/a/lock"
echo foreign >"$w/runs/a/state.json"
launcher=$(head -n 1 "$tmp/moved/lock")
ended() { ! kill -0 "$launcher" 2>/dev/null; }
if wait_until ended; then ok "the training ends"; else not_ok "the training ends" "process $launcher runs"; kill "$launcher"; fi
same "the new folder is as it was" "$(cd "$w/runs/a" && find . -type f | sort | tr '\n' ' ')$(cat "$w/runs/a/state.json")" './lock ./state.json foreign'
says "... and the console says why" 0 'is not the folder any more in which this training began' cat "$tmp/moved/console.log"
tally
