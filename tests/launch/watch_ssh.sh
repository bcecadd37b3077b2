#!/bin/sh
# watch_ssh.sh - "watch ssh://HOST/PATH": copies of the records of a workspace that another host has, played by a
# script in ssh's place. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-watch ssh-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"
XDG_CACHE_HOME=$tmp/cache XDG_STATE_HOME=$tmp/state XDG_CONFIG_HOME=$tmp/config LC_ALL=C.UTF-8
export XDG_CACHE_HOME XDG_STATE_HOME XDG_CONFIG_HOME LC_ALL

# every host is this one; it is away while there is a file gone-HOST; if there is a
# file liar-HOST, it answers to a look with this file and to the next request with the file bytes
cat >"$tmp/ssh" <<-'END'
	#!/bin/sh
	while :; do case $1 in -o | -p | -i) shift 2 ;; -*) shift ;; *) break ;; esac; done
	here=${0%/*} host=$1
	shift
	[ ! -e "$here/gone-$host" ] || { echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255; }
	[ ! -e "$here/liar-$host" ] || { read -r line; cat "$here/liar-$host"; read -r line; cat "$here/bytes"; [ $host = short ] || exec sleep 40; exit; }
	echo $$ >"$here/shell-$host"
	exec sh -c "exec $*"
END
chmod +x "$tmp/ssh"
# as an argument of --ssh: a word in quotes, because the folder has a blank
ssh="'$tmp/ssh'"

watch() { "$wb" watch --ssh "$ssh" "$@"; }
# follow HOST PATH : keep a copy in $tmp/copy, in the background
follow() {
	"$top/werkbank-launch" _follow --ssh "$ssh" "$tmp/copy" 0 '' "ssh://$1$2" >"$tmp/first" 2>"$tmp/follow.err" &
	follower=$!
	holds "a copy of $1" grep -q . "$tmp/first"
}
copied_state() { "$wb" status -C "$tmp/copy" --json "$1" | sed -n 's/.*"state":"\([a-z]*\)".*/\1/p'; }
is_copied_state() { [ "$(copied_state "$1")" = "$2" ]; }
is_copied() { cmp -s "$w/runs/$1/journal.jsonl" "$tmp/copy/runs/$1/journal.jsonl"; }
has_trouble() { grep -q '"trouble":".*no sshd listens' "$tmp/copy/contact-0.json"; }
has_contact() { grep -q '"trouble":""' "$tmp/copy/contact-0.json"; }
is_gone() { [ ! -e "$tmp/copy/runs/$1" ]; }

says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"
says "a finished run" 0 '' train "done" --steps 30 --save-every 10 --quiet
says "a live run" 0 '' train live --detach --quiet
holds "it trains" is_at live 5

# ---- the command ------------------------------------------------------------------------------------------------------

"$wb" watch --plain -C "$w" "done" >"$tmp/there"
says "a run over ssh" 0 'done: finished' watch --plain "ssh://nodea$w/runs/done"
equal "shows what it shows there" "$tmp/there" "$tmp/out"
says "a second time, from the copy" 0 'done: finished' watch --plain "ssh://nodea$w/runs/done/"
says "a live run" 0 'live: running' watch --plain "ssh://user@nodea:2222$w/runs/live"
says "a workspace" 0 'run done: finished' watch --plain "ssh://nodea$w"
says "two workspaces" 0 'run node[ab]\.live: (starting|running)' watch --plain "ssh://nodea$w" "ssh://nodeb$w"
says "the same host twice" 0 'run nodea-2\.done: finished' watch --plain "ssh://nodea$w" "ssh://nodea$w/runs/done"
says "Home names the address, and what cannot be done" 0 'watched over ssh: nothing can be started' \
	watch --dump 30x120 "ssh://nodea$w"
says "a command is for the other host" 0 "werkbank logs -C '$w' done" \
	watch --dump 30x200 --keys ':logs done<Enter>' "ssh://nodea$w"
says "a run is not stopped from here" 0 'watched over ssh: no run is stopped' \
	watch --dump 30x120 --keys X "ssh://nodea$w/runs/live"
says "a run opens its view" 0 'NLL' watch --dump 30x120 "ssh://nodea$w/runs/done"
says "below the home folder" 0 'done: finished' \
	env HOME="$w" sh -c 'cd && exec "$0" watch --plain --ssh "$1" ssh://nodea/~/runs/done' "$wb" "$ssh"
nobody_follows() { [ -z "$(ours 'werkbank-launch _follow')" ]; }
holds "no process is left" nobody_follows
says "no such folder" 66 'nodea has no folder /nowhere' watch --plain ssh://nodea/nowhere
says "no workspace" 66 'is no workspace' watch --plain "ssh://nodea$tmp"
says "no such run" 66 'has no run none' watch --plain "ssh://nodea$w/runs/none"
mkdir "$tmp/few"
for tool in sh cksum grep head ls tail tr cat; do ln -s "$(command -v $tool)" "$tmp/few/$tool"; done
printf '#!/bin/sh\nPATH=%s\nexport PATH\nexec "%s" "$@"\n' "'$tmp/few'" "$tmp/ssh" >"$tmp/ssh-few"
chmod +x "$tmp/ssh-few"
says "no awk there" 69 'nodea has no program awk' "$wb" watch --plain --ssh "'$tmp/ssh-few'" "ssh://nodea$w"
says "a name that is none" 64 'expected ssh://' watch --plain ssh://-oProxyCommand=x/x
says "no path" 64 'expected ssh://' watch --plain ssh://nodea
says "a port that is none" 64 'the port must be' watch --plain ssh://nodea:0/x
says "an address and a run" 64 'is not an address' watch --plain "ssh://nodea$w" "done"
touch "$tmp/gone-nodec"
says "no sshd" 68 'no sshd listens' watch --plain "ssh://nodec$w"
says "one of two hosts is away" 68 'nodec' watch --plain "ssh://nodea$w" "ssh://nodec$w"

# ---- a copy that is kept up to date ---------------------------------------------------------------------------------

follow nodea "$w"
same "a workspace is ready" "$(cat "$tmp/first")" "ready "
holds "the live run" is_copied_state live running
same "the finished run" "$(copied_state "done")" finished
before=$(wc -c <"$tmp/copy/runs/live/journal.jsonl")
grows() { [ "$(wc -c <"$tmp/copy/runs/live/journal.jsonl")" -gt "$before" ]; }
holds "the copy of the journal grows" grows
absent "checkpoints are not copied" "$tmp/copy/runs/done/checkpoints"
touch "$tmp/gone-nodea"
kill "$(cat "$tmp/shell-nodea")"
holds "the connection is lost: the copy says so" has_trouble
same "nobody knows how the run is" "$(copied_state live)" unknown
same "an ended run stays ended" "$(copied_state "done")" finished
says "the workbench says it" 0 'no contact for .* no sshd listens' "$wb" watch -C "$tmp/copy" --readonly --dump 30x120
rm "$tmp/gone-nodea"
holds "the connection is back" has_contact
holds "it still runs" is_copied_state live running
says "it is stopped there" 0 'live is stopped' "$wb" stop -C "$w" live
holds "and here" is_copied_state live stopped
holds "the whole journal is there" is_copied live
cp -r "$w/runs/done" "$w/runs/more"
holds "a new run appears" is_copied more
sed 's/"kind":"train"/"kind":"other"/' "$w/runs/more/journal.jsonl" >"$tmp/other"
mv "$tmp/other" "$w/runs/more/journal.jsonl"
holds "a journal of the same size, but another one" is_copied more
head -n 3 "$w/runs/done/journal.jsonl" >"$tmp/other"
mv "$tmp/other" "$w/runs/more/journal.jsonl"
holds "a shorter journal" is_copied more
printf '{"kind":"event","t":1,"text":"a\000b"}\n' >>"$w/runs/more/journal.jsonl"
with_blank() { tail -n 1 "$tmp/copy/runs/more/journal.jsonl" | grep -q 'a b'; }
holds "a NUL byte is copied as a blank" with_blank
rm -r "$w/runs/more"
holds "a run that is removed there is gone" is_gone more
kill $follower
wait $follower 2>/dev/null
sed 's/"t":1/"t":2/' "$w/runs/live/journal.jsonl" >"$tmp/other"
mv "$tmp/other" "$w/runs/live/journal.jsonl"
follow nodea "$w"
holds "an older copy with another end is made anew" is_copied live
kill $follower
wait $follower 2>/dev/null
rm "$tmp/copy/copied"
printf x >>"$tmp/copy/runs/done/journal.jsonl"
follow nodea "$w"
holds "without notes, the end of a copy is compared" is_copied "done"
kill $follower
wait $follower 2>/dev/null

# a host that begins to talk nonsense is asked anew, and the reason is told
follow nodea "$w"
printf '1 100000 runs/bad/state.json\n.\n' >"$tmp/liar-nodea"
echo nonsense-nonsense-nonsense-nonsense-nonsense-nonsense >"$tmp/bytes"
kill "$(cat "$tmp/shell-nodea")"
breaks_protocol() { grep -q 'breaks the protocol' "$tmp/copy/contact-0.json"; }
holds "nonsense is called nonsense" breaks_protocol
rm "$tmp/liar-nodea"
holds "and asked again" has_contact
open_files() { find "/proc/$follower/fd" -mindepth 1 | wc -l; }
before=$(open_files)
kill "$(cat "$tmp/shell-nodea")"
asked_again() { [ "$(cat "$tmp/shell-nodea")" != "$last" ]; }
last=$(cat "$tmp/shell-nodea")
holds "a new connection" asked_again
holds "contact again" has_contact
same "open files after a new connection" "$(open_files)" "$before"
kill $follower
wait $follower 2>/dev/null

# ---- the other side lies ----------------------------------------------------------------------------------------------

# lies NAME STATUS WORDS : what $tmp/liar-liar holds; nothing is written but below the copy
lies() {
	name=$1 status=$2 words=$3
	says "$name" "$status" "$words" timeout 60 "$wb" watch --plain --ssh "$ssh" "ssh://${4:-liar}/w"
	absent "$name: nothing beside the copy" "$tmp/cache/werkbank/evil"
	find "$tmp/cache" -name 'evil*' | grep -q . && not_ok "$name" "a file of the liar"
}
yes 'no line of ours' | head -c 20000000 >"$tmp/liar-liar"
lies "an endless answer" 76 'too long an answer'
printf '1 2 runs/../../evil/state.json\n1 2 /evil/state.json\n1 2 runs/evil/other\n1 2 runs/..//state.json\n.\n' >"$tmp/liar-liar"
lies "names that lead elsewhere" 0 ''
printf '1 999999999999999 runs/evil/state.json\n7 -rw 1 0 0 99999999999999999 x runs/evil/journal.jsonl\n.\n' >"$tmp/liar-liar"
lies "sizes beyond all bounds" 0 ''
printf '1 100000 runs/bad/state.json\n.\n' >"$tmp/liar-liar"
printf '999999999999\nx' >"$tmp/bytes"
lies "more bytes than were asked for" 76 'unexpected answer'
printf '%050d' 0 | tr 0 x >"$tmp/bytes"
lies "no number" 76 'unexpected answer'
printf '1 9 runs/bad/state.json\n.\n' >"$tmp/liar-liar"
yes | head -c 20000000 >"$tmp/bytes"
lies "an endless answer to a batch" 76 'too long an answer'
printf '\n==> runs/bad/state.json <==\n\n==> runs/evil/state.json <==\nx\n==> . <==\n' >"$tmp/bytes"
lies "a batch with another file" 65 'not valid JSON'
cp "$tmp/liar-liar" "$tmp/liar-short"
printf '4\nab' >"$tmp/bytes"
lies "fewer bytes than it said" 76 'ended with status 0' short
tally
