#!/bin/sh
# hour_pack.sh - hour.sh keeps its results: signals, a full disk, a Python that hangs, folders that cannot be written, wrong words; and
# pack.sh makes a pack again that was cut off.
# The programs of the pack are stubs, so nothing is computed. Last line: the tally.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-pack-XXXXXX")
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
top=$(cd "${srcdir:-.}" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$top/tests/helpers.sh"

if ! command -v bash >/dev/null; then
	skip "the first hour" "there is no bash"
	tally
	exit
fi
pack="$tmp/päck of stubs"
out="$tmp/Aus gäbe"
mkdir -p "$pack/bin" "$pack/lib" "$pack/corpora/text" "$pack/share" "$pack/peers"
cp "$top/tests/gpu/hour.sh" "$pack/"
echo text >"$pack/corpora/text/train.en"
# a measurement: two lines of results, the second one after $STUB_SECONDS
for program in werkbank-train werkbank-eval bench_ops bench_train bench_decode gpu_run; do
	cat >"$pack/bin/$program" <<'END'
#!/bin/sh
echo '{"tool":"stub","target_tokens_per_second":1}'
echo $$ >>"$STUB_PIDS"
exec sleep "${STUB_SECONDS:-0}"
END
	chmod +x "$pack/bin/$program"
done
STUB_PIDS=$tmp/pids TMPDIR=$tmp BACKEND=cpu SCALE=small PYTHON=/nonexistent/python OUT=$out
export STUB_PIDS TMPDIR BACKEND SCALE PYTHON OUT
: >"$STUB_PIDS"

says "folders with spaces and umlauts" 0 'ok  probe' bash "$pack/hour.sh" probe
says "results of a part" 0 '"part":"probe","name":"a few steps","tool":"stub"' cat "$out/gpu.jsonl"
says "a Python that is missing: said" 0 '"torch":".*/nonexistent/python' cat "$out/gpu.jsonl"
says "unknown part" 64 'no part is called probee; first, second' bash "$pack/hour.sh" probee
says "table without files" 64 'table needs the files' bash "$pack/hour.sh" table
SLOWER=x says "SLOWER that is no number" 64 'SLOWER is "x"' bash "$pack/hour.sh" probe
SECONDS_EACH=0 says "SECONDS_EACH 0" 64 'SECONDS_EACH is "0"' bash "$pack/hour.sh" probe
BACKEND=gpu says "unknown backend" 64 'BACKEND is "gpu"' bash "$pack/hour.sh" probe
touch "$tmp/file"
OUT=$tmp/file/out says "OUT cannot be made" 73 'cannot write to .*/file/out: set OUT' bash "$pack/hour.sh" probe

# a disk that is full: results of all files are lost, so exit status 1 and a sentence, not "ok" alone
mkdir "$tmp/full"
ln -s /dev/full "$tmp/full/.gpu.jsonl"
OUT=$tmp/full says "a full disk" 1 'cannot write to .*/full: results are lost' bash "$pack/hour.sh" probe

# ends_by SIGNAL STATUS : the second of two measurements runs when the signal comes
ends_by() {
	: >"$STUB_PIDS"
	rm -rf "$out"
	STUB_SECONDS=1000 SLOWER=10 bash "$pack/hour.sh" base >"$tmp/out" 2>"$tmp/err" </dev/null &
	hour=$!
	for _ in $(seq 100); do
		[ ! -s "$STUB_PIDS" ] || break
		sleep 0.1
	done
	sleep 0.3
	began=$(date +%s)
	kill "-$1" "$hour"
	wait "$hour" 2>/dev/null
	same "$1: exit status" $? "$2"
	if [ $(($(date +%s) - began)) -le 8 ]; then ok "$1: at once"; else not_ok "$1: at once" "$(($(date +%s) - began)) s"; fi
	sleep 0.5
	same "$1: no measurement goes on" "$(xargs ps -o pid= -p <"$STUB_PIDS")" ""
}
ends_by TERM 143
says "TERM: lines so far are results" 0 '"name":"ours","tool":"stub"' cat "$out/gpu.jsonl"
says "TERM: the measurement is marked" 0 '"name":"ours","failed":"stopped by a signal"' cat "$out/gpu.jsonl"
says "TERM: tables so far" 0 'stopped by a signal' cat "$out/results.md"
if setpriv --pdeathsig TERM true 2>/dev/null; then ends_by KILL 137; else skip "KILL" "there is no setpriv"; fi

printf '#!/bin/sh\nexec sleep 1000\n' >"$tmp/slow"
chmod +x "$tmp/slow"
# shorter limits: the test need not wait as long as a person
sed 's/timeout -k 5 [23]0 "\$PYTHON"/timeout -k 5 1 "$PYTHON"/' "$top/tests/gpu/hour.sh" >"$pack/hour.sh"
PYTHON=$tmp/slow says "a Python that hangs" 0 'ok  probe' timeout 60 bash "$pack/hour.sh" probe
says "a Python that hangs: said" 0 'did not import it within' cat "$out/gpu.jsonl"

# results that came back from another machine, and the pack, may be read-only; root may write to them all the same
chmod -R a-w "$pack" "$out"/*
as=
[ "$(id -u)" -ne 0 ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [ -z "$as" ] || $as true 2>/dev/null; then
	chmod -R a+rX "$tmp"
	chmod 777 "$tmp" "$out" "$STUB_PIDS"
	before=$(wc -l <"$out/gpu.jsonl")
	# shellcheck disable=SC2086 # words
	says "a pack and results that are read-only" 0 'ok  probe' $as bash "$pack/hour.sh" probe
	same "… and what was there is continued" "$(($(wc -l <"$out/gpu.jsonl") > before))" 1
else
	skip "a pack that is read-only" "root cannot become another user"
fi
# pack.sh: a pack that was cut off is made again, a folder of somebody else is not touched; a stub of make stops it early
mkdir -p "$tmp/build" "$tmp/stubs" "$tmp/cut off/bin" "$tmp/other"
touch "$tmp/build/config.status" "$tmp/cut off/about" "$tmp/other/letter"
echo '#define HAVE_CUDA 1' >"$tmp/build/config.h"
printf '#!/bin/sh\nexit 1\n' >"$tmp/stubs/make"
chmod +x "$tmp/stubs/make"
packs() { BUILD=$tmp/build PATH=$tmp/stubs:$PATH sh "$top/tests/gpu/pack.sh" --simulated "$1"; }
says "a pack that was cut off" 1 'make failed' packs "$tmp/cut off"
says "a folder of other files" 1 'holds other files' packs "$tmp/other"
# a tree that was configured in place: configure refuses it, so pack.sh builds from a copy
mkdir -p "$tmp/tree/tests/gpu" "$tmp/tree/kernels" "$tmp/tree/build-ci"
cp "$top/tests/gpu/pack.sh" "$tmp/tree/tests/gpu/"
cat >"$tmp/tree/configure" <<'END'
#!/bin/sh
here=$(dirname "$0")
[ ! -e "$here/config.status" ] || { echo "source directory already configured" >&2; exit 1; }
[ -e "$here/kernels/a.c" ] && [ ! -e "$here/kernels/a.o" ] || exit 1
echo '#define HAVE_CUDA 1' >config.h
END
chmod +x "$tmp/tree/configure"
touch "$tmp/tree/config.status" "$tmp/tree/kernels/a.c" "$tmp/tree/kernels/a.o" "$tmp/tree/Makefile" "$tmp/tree/build-ci/log"
BUILD=$tmp/build2 PATH=$tmp/stubs:$PATH says "a tree that was configured in place" 1 'make failed' sh "$tmp/tree/tests/gpu/pack.sh" --simulated "$tmp/pack2"

same "no temporary folder is left, but that of KILL" "$(find "$tmp" -maxdepth 1 -name 'werkbank-hour-*' | wc -l)" "$(command -v setpriv >/dev/null && echo 1 || echo 0)"
tally
