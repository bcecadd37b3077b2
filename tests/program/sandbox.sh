#!/bin/sh
# sandbox.sh - what archives, models and texts of strangers could do if they took over their reader: tried from inside
# the real programs by sandbox_probe.c. Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-sandbox-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_SANDBOX
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
TMPDIR=$tmp/temporary; export TMPDIR
mkdir -p "$TMPDIR" "$tmp/elsewhere" "$tmp/to"
probe=$top/tests/sandbox_probe.so
old=$(cd "$srcdir/tests/golden/release" && pwd)
w=$tmp/w
mkdir -p "$w/corpora" "$w/runs"
cp -r "$old/corpus" "$w/corpora/old"
cp -r "$old/run" "$w/runs/old"
chmod -R u+w "$w"
ln -s 12 "$w/runs/old/checkpoints/last"
ln -s 12 "$w/runs/old/checkpoints/best"
model=$w/runs/old/checkpoints/12

"$top/werkbank" doctor --json >"$tmp/doctor" 2>/dev/null
files=''
calls=''
grep -q 'Landlock [0-9]* limits files' "$tmp/doctor" && files=yes
grep -q 'seccomp limits system calls' "$tmp/doctor" && calls=yes
[ -n "$files" ] || skip "rules for files" "this kernel has no Landlock"
[ -n "$calls" ] || skip "limits of system calls" "no seccomp in this build or kernel"

# probed COMMAND... : with the probe inside; what it prints goes to $tmp/probed, results to $tmp/result
probed() {
	SANDBOX_PROBE=$tmp/elsewhere/file LD_PRELOAD=$probe "$@" >"$tmp/result" 2>"$tmp/probed" </dev/null
}
# refused NAME PROCESS WHAT... : each WHAT was tried in PROCESS and refused
refused() {
	refused_name=$1 process=$2
	shift 2
	for what; do
		if grep -qF "probe: $process: $what: refused" "$tmp/probed" &&
			! grep -qF "probe: $process: $what: ALLOWED" "$tmp/probed"; then
			ok "$refused_name: $what is refused"
		else
			not_ok "$refused_name: $what is refused" "$(grep -F "$what" "$tmp/probed" || tail -n 2 "$tmp/probed")"
		fi
	done
}
# closed NAME PROCESS : all that this kernel and this build can refuse
closed() {
	[ -z "$files" ] || refused "$1" "$2" "read /etc/passwd" "create a file" "remove a file" "start a program"
	[ -z "$calls" ] || refused "$1" "$2" "internet socket" "local socket" "start a program" chmod fchmodat fchmod chown setxattr utimes \
		truncate kill "kill all" tgkill prlimit setpriority sched_setaffinity ptrace "type into a terminal" "console of Linux" \
		"owner of signals" "signal of input" "owner by ioctl" "flags of a file" "shared memory" "message queue" \
		"open for ioctl" "truncate by open for ioctl" openat2
}
echo victim >"$tmp/elsewhere/file.victim"
victim() { stat -c '%a %u %g %s' "$tmp/elsewhere/file.victim"; }
victim=$(victim)

# ---- the probe itself: without a sandbox all of this is possible ----------------------------
echo "The old woman reads a long book." >"$tmp/in"
WERKBANK_SANDBOX=off probed "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet "$tmp/in"
if grep -q 'read /etc/passwd: ALLOWED' "$tmp/probed" && grep -q 'internet socket: ALLOWED' "$tmp/probed"; then
	ok "the probe works: with the sandbox off it reads and connects"
	for what in chmod fchmodat chown utimes truncate kill tgkill prlimit setpriority sched_setaffinity "console of Linux" \
		"owner of signals" "signal of input" "owner by ioctl" "flags of a file" "shared memory" "message queue" \
		"open for ioctl" "truncate by open for ioctl" openat2; do
		holds "the probe works: $what" "program: $what: ALLOWED" "$tmp/probed"
	done
	printf 'victim\n' >"$tmp/elsewhere/file.victim"
	chmod 644 "$tmp/elsewhere/file.victim"
	victim=$(victim)
elif ! grep -q 'probe:' "$tmp/probed"; then
	skip "the sandbox" "nothing can be preloaded into this build"
	tally
	exit
else
	not_ok "the probe works" "$(cat "$tmp/probed")"
fi
cp "$tmp/result" "$tmp/without"

# ---- models ------------------------------------------------------------------------------------
probed "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet "$tmp/in"
closed "translate" program
equal "translate: the same translation" "$tmp/without" "$tmp/result"
probed "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -o "$tmp/to/out.txt" "$tmp/in"
equal "translate -o: the same translation" "$tmp/without" "$tmp/to/out.txt"
echo '{"id":1,"text":"The man reads."}' >"$tmp/request"
SANDBOX_PROBE=$tmp/elsewhere/file LD_PRELOAD=$probe "$top/werkbank-eval" translate --model "$model" --backend cpu --serve \
	<"$tmp/request" >"$tmp/result" 2>"$tmp/probed"
closed "translate --serve" program
says "translate --serve answers" 0 '"id":1' cat "$tmp/result"
probed "$top/werkbank-eval" eval -C "$w" --run old --set test --backend cpu
closed "eval" program
says "eval: the scores" 0 '^BLEU ' cat "$tmp/result"
probed "$top/werkbank-eval" export -C "$w" --run old --format ctranslate2 -o "$tmp/to/exported"
closed "export" program
present "export: the model" "$tmp/to/exported/model.bin"
probed "$top/werkbank-eval" import -C "$w" "$tmp/to/exported" -o "$tmp/to/imported"
closed "import" program
present "import: the model" "$tmp/to/imported/model.safetensors"
probed "$top/werkbank-eval" import -C "$w" "$tmp/to/exported" --run imported
present "import --run: the model" "$w/runs/imported"

# the listener of a server is probed when a client comes, its decoder at the end; the supervisor has no sandbox
if command -v curl >/dev/null; then
	SANDBOX_PROBE=$tmp/elsewhere/file LD_PRELOAD=$probe "$top/werkbank-eval" serve --listen 127.0.0.1:0 --model en-de="$model" --backend cpu 2>"$tmp/probed" &
	server=$!
	for _ in $(seq 100); do
		port=$(sed -n 's/.*ready on http:\/\/127\.0\.0\.1:\([0-9]*\).*/\1/p' "$tmp/probed")
		[ -z "$port" ] || break
		sleep 0.1
	done
	says "serve answers" 0 'translatedText' curl -sS -m 60 -d q=a -d source=en -d target=de "http://127.0.0.1:$port/translate"
	kill -TERM "$server"
	wait "$server"
	closed "the listener of serve" listener
	closed "the decoder of serve" program
else
	skip "serve" "there is no curl"
fi

# ---- an output in the home folder: the program that reads the model has no right there ----
home=$tmp/home
mkdir -p "$home/.ssh"
echo secret >"$home/.ssh/id_rsa"
echo '# mine' >"$home/.bashrc"
# at_home COMMAND... : with probes that read, append and create in the home folder
at_home() {
	(cd "$home" && SANDBOX_HOME=$home probed "$@")
	[ -z "$files" ] || refused "${1##*-} $2 -o in the home folder" program "read ~/.ssh/id_rsa" "append to ~/.bashrc" "create a file at home" "list the home folder" "remove ~/.bashrc"
}
(cd "$home" && SANDBOX_HOME=$home WERKBANK_SANDBOX=off probed "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -o o "$tmp/in")
for what in "read ~/.ssh/id_rsa" "append to ~/.bashrc" "create a file at home" "list the home folder"; do
	holds "the probe works: $what" "program: $what: ALLOWED" "$tmp/probed"
done
printf '# mine\n' >"$home/.bashrc"
printf 'victim\n' >"$tmp/elsewhere/file.victim"
chmod 644 "$tmp/elsewhere/file.victim"
rm -f "$home/new" "$home/o"
at_home "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -o out.txt "$tmp/in"
equal "... the translation" "$tmp/without" "$home/out.txt"
at_home "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -o out.txt "$tmp/in"
equal "... again, over the first one" "$tmp/without" "$home/out.txt"
at_home "$top/werkbank-eval" export -C "$w" --run old --format ctranslate2 -o exported
present "... the exported model" "$home/exported/model.bin"
at_home "$top/werkbank-eval" export -C "$w" --run old --format jsonl -o records.jsonl
present "... the exported records" "$home/records.jsonl"
at_home "$top/werkbank-eval" import -C "$w" exported/ -o imported/
present "... the imported model" "$home/imported/model.safetensors"
same "nothing else is at home" "$(cd "$home" && find . -type f ! -path './exported/*' ! -path './imported/*' | sort | tr '\n' ' ')" \
	'./.bashrc ./.ssh/id_rsa ./out.txt ./records.jsonl '
same "... and nothing is changed" "$(cat "$home/.bashrc")" '# mine'
# compare --run: a folder of its own in $TMPDIR, not all of it
mkdir -p "$TMPDIR/.ssh"
cp "$home/.ssh/id_rsa" "$TMPDIR/.ssh/"
cp "$home/.bashrc" "$TMPDIR/.bashrc"
SANDBOX_HOME=$TMPDIR probed "$top/werkbank-eval" compare -C "$w" --run old --set test --backend cpu --quiet --resamples 100 :last
closed "compare --run" program
[ -z "$files" ] || refused "compare --run in \$TMPDIR" program "read ~/.ssh/id_rsa" "append to ~/.bashrc" "create a file at home" "list the home folder" "remove ~/.bashrc"
says "... the scores" 0 '^old:last|no difference' cat "$tmp/result"
rm -r "$TMPDIR/.ssh" "$TMPDIR/.bashrc"
same "... and leaves nothing there" "$(ls -A "$TMPDIR")" ''
# failures and signals: no output, no temporary, the status of the command
says "a failure leaves no output" 65 'is not valid UTF-8' sh -c "printf '\\377\\n' | '$top/werkbank-eval' translate --model '$model' --backend cpu -o '$home/fails'"
absent "... none" "$home/fails"
mkfifo "$tmp/slow"
"$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -o "$home/killed" "$tmp/slow" 2>/dev/null &
pid=$!
exec 3>"$tmp/slow"
for _ in $(seq 100); do [ -z "$(find "$home" -name 'killed.*tmp')" ] || break; sleep 0.05; done
kill -TERM "$pid"
wait "$pid"
same "SIGTERM ends both processes" "$?" 143
exec 3>&-
same "... and leaves nothing" "$(find "$home" -name '*killed*')" ''

# ---- a model of links, as in download caches, and links that lead to a stranger's files ------------
mkdir -p "$tmp/cache/files" "$tmp/cache/model"
for file in "$model"/*; do
	cp "$file" "$tmp/cache/files/"
	ln -s "../files/${file##*/}" "$tmp/cache/model/${file##*/}"
done
says "a model of links to files of the same owner" 0 '' \
	"$top/werkbank-eval" translate --model "$tmp/cache/model" --backend cpu --quiet "$tmp/in"
if [ -n "$files" ] && [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$tmp/cache/files/"*
	says "a model of links to files of another owner" 77 'note: this command runs in a sandbox.*WERKBANK_SANDBOX=off' \
		"$top/werkbank-eval" translate --model "$tmp/cache/model" --backend cpu --quiet "$tmp/in"
else
	skip "a model of links to files of another owner" "only root can make one"
fi

# ---- archives and texts ------------------------------------------------------------------------
mkdir "$tmp/from"
for i in 1 2 3 4 5 6 7 8; do echo "the man reads book number $i ."; done >"$tmp/a.en"
sed 's/the man reads book number/der Mann liest Buch Nummer/' "$tmp/a.en" >"$tmp/a.de"
for language in en de; do
	{ echo '<srcset setid="x" srclang="any"><doc docid="d">'; sed 's/.*/<seg id="1">&<\/seg>/' "$tmp/a.$language"; echo '</doc></srcset>'; } >"$tmp/dev.$language.sgm"
done
tar -cf - -C "$tmp" a.en a.de dev.en.sgm dev.de.sgm | gzip >"$tmp/from/a.tgz"
cat >"$tmp/small.manifest" <<'END'
[archive a.tgz]
train.en = a.en
train.de = a.de
dev.en = dev.en.sgm
dev.de = dev.de.sgm
test.en = dev.en.sgm
test.de = dev.de.sgm
END
sed -i '/^test/d' "$tmp/small.manifest"
cat >"$tmp/small.ini" <<END
[data]
corpus = small
manifest = $tmp/small.manifest
merges = 20
min_frequency = 1
END
probed "$top/werkbank-data" prep "$tmp/small.ini" -C "$w" --from "$tmp/from"
closed "unpacking in prep" unpacker
closed "the manifest in prep" "reader of the manifest"
closed "texts and SGM files in prep" program
present "prep: the corpus" "$w/corpora/small/manifest.json"
equal "prep: the SGM file is read" "$tmp/a.en" "$w/corpora/small/dev.en"
mkdir -p "$w/archives/small"
cp "$tmp/from/a.tgz" "$w/archives/small/"
probed "$top/werkbank-data" fetch "$tmp/small.manifest" -C "$w"
closed "unpacking in fetch" unpacker
closed "the manifest in fetch" "reader of the manifest"
says "fetch: the archive is accepted" 0 'a\.tgz' cat "$tmp/result"

# ---- kernels with an earlier Landlock: seccomp refuses what their Landlock cannot ----------------------
latest=$(sed -n 's/.*Landlock \([0-9]*\) limits files.*/\1/p' "$tmp/doctor" | head -n 1)
[ -n "$calls" ] || latest=0
readable=$w/runs/old/readable
version=2
while [ "$version" -le "${latest:-0}" ]; do
	SANDBOX_LANDLOCK=$version SANDBOX_READABLE=$readable
	export SANDBOX_LANDLOCK SANDBOX_READABLE
	echo kept >"$readable"
	probed "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -C "$w" "$tmp/in"
	closed "Landlock $version: translate" program
	refused "Landlock $version: translate" program "truncate what may be read"
	same "Landlock $version: the file is as it was" "$(cat "$readable")" kept
	equal "Landlock $version: the same translation" "$tmp/without" "$tmp/result"
	unset SANDBOX_READABLE
	rm -f "$home/out.txt"
	at_home "$top/werkbank-eval" translate --model "$model" --backend cpu --quiet -o out.txt "$tmp/in"
	closed "Landlock $version: translate -o" program
	equal "Landlock $version: translate -o: the same translation" "$tmp/without" "$home/out.txt"
	rm -rf "$w/corpora/small"
	probed "$top/werkbank-data" prep "$tmp/small.ini" -C "$w" --from "$tmp/from"
	closed "Landlock $version: unpacking" unpacker
	closed "Landlock $version: the manifest" "reader of the manifest"
	closed "Landlock $version: prep" program
	present "Landlock $version: the corpus" "$w/corpora/small/manifest.json"
	version=$((version + 1))
done
unset SANDBOX_LANDLOCK
same "the victim's mode, owner and length: all of these had a sandbox" "$(victim)" "$victim"
absent "nothing was created elsewhere" "$tmp/elsewhere/file"
tally
