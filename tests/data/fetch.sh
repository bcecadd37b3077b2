#!/bin/sh
# fetch.sh - downloads from a faulty web server: every case ends with the right file or a clear error, never with an
# incomplete file. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-fetch-XXXXXX")
data=$top/werkbank-data
server_pid=
small=
finish() {
	[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null
	[ -z "$small" ] || umount "$small" 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY NO_PROXY no_proxy
. "$(dirname "$0")/../helpers.sh"
# only standard error is checked
# shellcheck disable=SC2034 # by helpers.sh
said=$tmp/err

# ---- an archive, and another one of the same name and size ------------------
mkdir "$tmp/www" "$tmp/raw"
head -c 300000 /dev/urandom | base64 >"$tmp/raw/a.en"
head -c 300000 /dev/urandom | base64 >"$tmp/raw/a.de"
tar cf - -C "$tmp/raw" a.en a.de | gzip -1 >"$tmp/www/a.tgz"
size=$(wc -c <"$tmp/www/a.tgz")
sum=$(sha256sum "$tmp/www/a.tgz" | cut -d ' ' -f 1)
md5=$(md5sum "$tmp/www/a.tgz" | cut -d ' ' -f 1)
tar cf - -C "$tmp/raw" a.de a.en | gzip -1 >"$tmp/www/b.tgz"
cp "$tmp/www/a.tgz" "$tmp/a.tgz"

"$top/tests/http_server" "$tmp/www" "$tmp/port" "$tmp/log" &
server_pid=$!
tries=0
while [ ! -s "$tmp/port" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
web=http://127.0.0.1:$(cat "$tmp/port")

# manifest NAME LINE... : one archive a.tgz
manifest() {
	m=$tmp/$1.manifest ws=$tmp/ws-$1
	shift
	{ echo "[archive a.tgz]"; printf '%s\n' "$@" "train.en = a.en" "train.de = a.de"; } >"$m"
	here=$ws/archives/$(basename "$m" .manifest)
}
fetch() { "$data" fetch "$m" -C "$ws" --retry-wait 0.02 --stall 1 "$@"; }
right() { equal "$1: the right file" "$tmp/a.tgz" "$here/a.tgz"; absent "$1: no part is left" "$here/a.tgz.part"; }
nothing() { absent "$1: no file" "$here/a.tgz"; }
# requests PATTERN : how many lines of the server's log
requests() { sed 's/\\//g' "$tmp/log" | grep -cE -- "$1"; }

# ---- good downloads --------------------------------------------------------
manifest plain "url = $web/a.tgz" "sha256 = $sum" "md5 = $md5" "bytes = $size"
says "a good server" 0 "a.tgz: $size bytes from $web/a.tgz" fetch
right "a good server"
same "what is printed" "$(cat "$tmp/out")" "$(printf 'a.tgz\t%s\t%s\t%s' "$size" "$sum" "$here/a.tgz")"
says "it is here" 0 '' fetch --json
same "it is here: as JSON" "$(cat "$tmp/out")" \
	"[{\"corpus\":\"plain\",\"archives\":[{\"name\":\"a.tgz\",\"url\":\"$web/a.tgz\",\"bytes\":$size,\"sha256\":\"$sum\",\"path\":\"$here/a.tgz\"}]}]"
same "it is here: nobody is asked" "$(requests '^/a.tgz ')" 1
same "quiet says nothing" "$(fetch --force --quiet 2>&1 >/dev/null | wc -c)" 0
same "--force fetches again" "$(requests '^/a.tgz ')" 2
touch "$here/a.tgz"
says "touched, but the same" 0 '' fetch
same "touched, but the same: nobody is asked" "$(requests '^/a.tgz ')" 2
printf x | dd of="$here/a.tgz" bs=1 seek=5000 conv=notrunc 2>/dev/null
says "changed on the disk" 0 'was changed since it was fetched; fetching it again' fetch
right "changed on the disk"
rm "$here/a.tgz.json"
says "without its receipt" 0 'was here without a receipt; it equals the published archive' fetch
present "without its receipt: it has one again" "$here/a.tgz.json"
cp "$tmp/www/b.tgz" "$here/a.tgz"
rm "$here/a.tgz.json"
says "another file in its place" 0 'should (have|be) .*; fetching it again' fetch
right "another file in its place"
same "another file in its place: said once" "$(grep -c 'fetching it again' "$tmp/err")" 1

# ---- passwords in URLs ----------------------------------------------------
login=http://someone:s3cret@${web#http://}
unsaid() {
	find "$ws" -type f ! -name '*.tgz' -exec cat {} + | cat - "$tmp/out" "$tmp/err" >"$tmp/all"
	same "$1: the password is nowhere" "$(grep -c s3cret "$tmp/all")" 0
}
manifest query "url = $web/a.tgz?token=s3cret&part=s3cret" "sha256 = $sum"
says "a token in the manifest" 0 "bytes from $web/a.tgz\\?token=\\*\\*\\*&part=\\*\\*\\*#" fetch
right "a token in the manifest"
unsaid "a token in the manifest"
says "a token in the manifest: as JSON" 0 '' fetch --json
unsaid "a token in the manifest: as JSON"
says "a token in --url" 0 "bytes from $web/moved/a.tgz" fetch --url "a.tgz=$web/moved/a.tgz?t=s3cret"
unsaid "a token in --url"
says "a token in a URL that fails" 69 "$web/gone/a.tgz.*: the server answers 404" fetch --url "a.tgz=$web/gone/a.tgz?t=s3cret"
unsaid "a token in a URL that fails"
manifest login "url = $login/a.tgz" "sha256 = $sum"
says "a login in the manifest" 0 "bytes from $web/a.tgz" fetch
right "a login in the manifest"
unsaid "a login in the manifest"
says "a login in the manifest: as JSON" 0 '' fetch --json
unsaid "a login in the manifest: as JSON"
says "a login in --url" 0 "bytes from $web/moved/a.tgz" fetch --url "a.tgz=$login/moved/a.tgz"
unsaid "a login in --url"
says "a login in --url: it is here" 0 '' fetch --url "a.tgz=$login/moved/a.tgz"
same "a login in --url: nobody is asked again" "$(requests '^/moved/a.tgz ')" 1
says "a login in a URL that fails" 69 "$web/gone/a.tgz: the server answers 404" fetch --url "a.tgz=$login/gone/a.tgz"
unsaid "a login in a URL that fails"
says "a login in a URL that is cut" 76 'cannot be fetched' fetch --tries 1 --url "a.tgz=$login/slam/a.tgz"
unsaid "a login in a URL that is cut"
says "a URL without a name" 64 'expected NAME=URL' fetch --url "$login/a.tgz?x=y"
unsaid "a URL without a name"

# ---- temporary faults -----------------------------------------------------
# recovers NAME PATH WORDS [REQUESTS]: the right file, after a message with WORDS
n=0
recovers() {
	n=$((n + 1))
	manifest "r$n" "url = $web/$2a.tgz" "sha256 = $sum" "bytes = $size"
	says "$1" 0 "$3" fetch
	right "$1"
}
recovers "redirected" moved/moved/ ''
recovers "cut again and again" cut-70000/ 'cannot be fetched: .*; try 2 of 6'
same "cut again and again: each went on where it was" \
	"$(sed -n 's,^/cut-70000/a.tgz 20[06] \([0-9]*\) .*,\1,p' "$tmp/log" | tr '\n' ' ' | cut -d ' ' -f 1-4)" "0 70000 140000 210000"
same "cut again and again: no byte twice" \
	"$(awk '$1 == "/cut-70000/a.tgz" { s += $4 } END { print s }' "$tmp/log")" "$size"
recovers "cut once by a server that ignores Range" norange/once/cut-70000/ 'try 2 of 6'
recovers "500 twice" fail-500-2/ 'the server answers 500; try 3 of 6'
recovers "408" fail-408-1/ 'the server answers 408; try 2 of 6'
began=$(date +%s%N)
recovers "429 with Retry-After" wait-1/fail-429-1/ 'the server answers 429; try 2 of 6 in 1\.0 s'
if [ $(($(date +%s%N) - began)) -ge 1000000000 ]; then
	ok "429 with Retry-After: that long it waited"
else
	not_ok "429 with Retry-After: that long it waited" "it came back too early"
fi
recovers "closed without a byte, once" once/slam/ 'try 2 of 6'
recovers "chunks" chunked/ ''
recovers "no Content-Length" nolength/ ''
recovers "no Content-Length, cut once" nolength/once/cut-70000/ 'received 70000 of [0-9]* bytes; try 2 of 6'
recovers "416 to every Range" no416/once/cut-70000/ 'cannot continue at byte 70000 .416.; downloading it again from its start'
recovers "another Range than asked for" shift/once/cut-70000/ 'continues with another version'
recovers "no ETag: continued, for its hash is published" noetag/once/cut-70000/ 'try 2 of 6'
same "no ETag: it was continued" "$(requests '^/noetag/once/cut-70000/a.tgz 206 70000 ')" 1
recovers "stalled once" once/drip/ 'try 2 of 6'

# ---- permanent faults ------------------------------------------------------
# fails NAME PATH STATUS WORDS [LINE...]: further lines of the manifest may follow
fails() {
	n=$((n + 1))
	fault=$1 path=$2 status=$3 expected=$4
	shift 4
	manifest "f$n" "url = $web/${path}a.tgz" "$@"
	says "$fault" "$status" "$expected" fetch --tries 2
	nothing "$fault"
}
fails "not found" none/ 69 'none/a.tgz: the server answers 404; try a mirror with --url a.tgz=URL, or --from DIR$'
absent "not found: no empty part" "$here/a.tgz.part"
same "not found: asked once" "$(requests '^/none/a.tgz ')" 1
fails "busy for good" busy/ 69 'the server answers 503; try a mirror'
same "busy for good: asked as often as --tries says" "$(requests '^/busy/a.tgz ')" 2
fails "busy for an hour" wait-3600/busy/ 69 'the server answers 503; try'
same "busy for an hour: not waited for" "$(requests '^/wait-3600/busy/a.tgz ')" 1
fails "redirected in circles" loop/ 76 'cannot be fetched: .*redirects'
fails "redirected to a file" file/ 76 'cannot be fetched: .*[Pp]rotocol .?file'
fails "an endless line in the header" line/ 76 'cannot be fetched: .*(a line that is too long|[Tt]oo large)'
fails "an endless line in the trailers" trailer/ 76 'cannot be fetched: .*a line that is too long'
fails "a server that speaks HTTP/0.9" http09/ 76 'cannot be fetched: .*HTTP/0.9'
fails "a web page" page/ 65 'page/a.tgz: is a web page, not an archive'
fails "a web page that is called something else" disguised/ 65 'disguised/a.tgz: is a web page, not an archive'
fails "the wrong hash" '' 65 "a.tgz: is damaged or another file: SHA-256 is $sum, should be 0123" \
	"sha256 = 0123456789012345678901234567890123456789012345678901234567890123"
absent "the wrong hash: nothing is kept" "$here/a.tgz.part"
fails "the wrong MD5" '' 65 "MD5 is $md5, should be 0123" "md5 = 01234567890123456789012345678901"
fails "the wrong size" '' 65 "a.tgz: has $size bytes, should have 70000" "bytes = 70000"
absent "the wrong size: known before anything is written" "$here/a.tgz.part"
fails "longer than it should be, and does not say how long" nolength/ 65 'is longer than the 70000 bytes' "bytes = 70000"
fails "cut at the end of no Content-Length, and nothing is published" nolength/cut-70000/ 65 'damaged or cut short'
fails "cut at the same place by a server that ignores Range" norange/cut-70000/ 76 'cannot be fetched: .*; 70000 bytes are kept'
fails "closed at once" slam/ 76 'cannot be fetched: .*'
fails "always 206" always206/ 76 'sends a part .206., but the whole file was requested'
fails "an endless slow drip" drip/ 75 'Less than 1024 bytes/sec|cannot be fetched'
manifest nobody "url = http://127.0.0.1:1/a.tgz"
says "nobody is there" 68 'cannot be fetched: .*; try a mirror' fetch --tries 2
nothing "nobody is there"
manifest unknown "url = http://no-such-host.invalid/a.tgz"
says "no such host" 68 'Could not resolve host' fetch --tries 1
manifest text "url = file://$tmp/raw/a.en"
says "text" 65 'is not an archive' fetch
mkfifo "$tmp/pipe"
for special in /dev/zero "$tmp/pipe" "$tmp/raw" /%64ev/zero; do
	manifest special "url = file://$special"
	says "file://$special" 65 'is not a regular file' timeout 20 "$data" fetch "$m" -C "$ws"
	nothing "file://$special"
done
manifest nourl
says "no address at all" 78 'has no url for this archive: use --url a.tgz=URL or --from DIR' fetch

# ---- encrypted or not ---------------------------------------------------------
# nobody listens on port 1: who blocks an https:// address must not choose the bytes
manifest blocked "url = https://127.0.0.1:1/a.tgz" "url = $web/a.tgz"
says "https is blocked, no hash" 68 "$web/a.tgz: not used: it is not encrypted, and no hash" fetch --tries 1
nothing "https is blocked, no hash"
manifest blocked2 "sha256 = $sum" "url = https://127.0.0.1:1/a.tgz" "url = $web/a.tgz"
says "https is blocked, the hash is published" 0 'trying the next address' fetch --tries 1
right "https is blocked, the hash is published"
same "no shipped archive has an unencrypted address" \
	"$(cat "$(dirname "$0")"/../../share/corpora/*.manifest | grep -c '^url = http:')" 0

same "one shipped archive has no published hash: its first download is recorded" \
	"$(cat "$(dirname "$0")"/../../share/corpora/*.manifest |
		awk '/^\[archive/ { if (name && !hash) print name; name = $2; hash = 0 } /^(sha256|md5) = / { hash = 1 }
			END { if (name && !hash) print name }')" 'de-en.tgz]'

# ---- mirrors ----------------------------------------------------------------
manifest mirrors "sha256 = $sum" "url = $web/none/a.tgz" "url = $web/page/a.tgz" "url = $web/b.tgz" "url = $web/cut-50000/a.tgz" "url = $web/a.tgz"
says "one mirror after the other" 0 'trying the next address' fetch --tries 1
right "one mirror after the other"
same "another mirror goes on with the part" "$(requests '^/a.tgz 206 50000 ')" 1
manifest packed "sha256 = 0123456789012345678901234567890123456789012345678901234567890123" \
	"url = $web/none/a.tgz" "url = $web/a.tgz bytes:$size md5:$md5"
says "a mirror with sums of its own" 0 '' fetch
right "a mirror with sums of its own"
manifest own "sha256 = 0123456789012345678901234567890123456789012345678901234567890123" "url = $web/none/a.tgz"
says "an address of one's own" 0 'note: .*should be 0123.*; used all the same, because of --url' fetch --url "a.tgz=$web/a.tgz"
right "an address of one's own"
says "afterwards without it" 0 'from your own address .*; remove it' fetch
says "an address for something else" 64 'no archive called c.tgz' fetch --url "c.tgz=$web/a.tgz"

# ---- parts of another run ---------------------------------------------------
# part NAME LINE... : a first run that leaves a part of 70000 bytes
part() {
	manifest "$@"
	fetch --tries 1 >/dev/null 2>&1
	same "$1: a part is left" "$(wc -c <"$here/a.tgz.part")" 70000
	sed -i "s,/cut-70000,," "$m" "$here/a.tgz.part.json"
}
part goon "url = $web/cut-70000/a.tgz"
before=$(requests '^/a.tgz 206 70000 ')
says "the next run goes on" 0 '' fetch
right "the next run goes on"
same "the next run goes on: with the rest" "$(requests '^/a.tgz 206 70000 ')" $((before + 1))
part changed "url = $web/cut-70000/a.tgz"
cp "$tmp/www/a.tgz" "$tmp/www/same" && mv "$tmp/www/same" "$tmp/www/a.tgz"
before=$(requests '^/a.tgz 200 0 ')
says "the ETag has changed" 0 '' fetch
right "the ETag has changed"
same "the ETag has changed: all of it again" "$(requests '^/a.tgz 200 0 ')" $((before + 1))
part glued "url = $web/glue/cut-70000/a.tgz"
cp "$tmp/www/a.tgz" "$tmp/www/same" && mv "$tmp/www/same" "$tmp/www/a.tgz"
says "the ETag has changed, but the server goes on" 0 'another version of the file than the part; downloading it again from its start' fetch
right "the ETag has changed, but the server goes on"
part noetag "url = $web/noetag/cut-70000/a.tgz"
says "nothing says what the part is of" 0 '' fetch
right "nothing says what the part is of"
same "nothing says what the part is of: all of it again" "$(requests '^/noetag/a.tgz 200 0 ')" 1
part weak "url = $web/weak/cut-70000/a.tgz"
says "a weak ETag" 0 '' fetch
same "a weak ETag: all of it again" "$(requests '^/weak/a.tgz 200 0 ')" 1
part damaged "url = $web/cut-70000/a.tgz" "sha256 = $sum"
printf x | dd of="$here/a.tgz.part" bs=1 seek=5000 conv=notrunc 2>/dev/null
says "a part that was damaged" 0 'should be .*; downloading it again from its start' fetch
right "a part that was damaged"
part page "url = $web/cut-70000/a.tgz"
sed -i "s,$web/,$web/disguised/," "$m" "$here/a.tgz.part.json"
says "a web page instead of the rest" 65 'is a web page' fetch
same "a web page instead of the rest: the part is kept" "$(wc -c <"$here/a.tgz.part")" 70000
part whole "url = $web/cut-70000/a.tgz" "sha256 = $sum"
cp "$tmp/a.tgz" "$here/a.tgz.part"
before=$(requests '^/a.tgz ')
says "a part that is complete" 0 '' fetch
right "a part that is complete"
same "a part that is complete: nobody is asked" "$(requests '^/a.tgz ')" "$before"
part complete "url = $web/cut-70000/a.tgz"
cp "$tmp/www/a.tgz" "$here/a.tgz.part"
says "a part that is complete, nothing published" 0 '' fetch
right "a part that is complete, nothing published"
same "a part that is complete, nothing published: 416 says so" "$(requests '^/a.tgz 416 ')" 1
part toolong "url = $web/cut-70000/a.tgz"
{ cat "$tmp/www/a.tgz"; echo more; } >"$here/a.tgz.part"
says "a part that is too long" 0 '' fetch
right "a part that is too long"

# ---- pinned on first use ----------------------------------------------------
manifest pin "url = $web/pin.tgz"
cp "$tmp/www/a.tgz" "$tmp/www/pin.tgz"
says "on first use" 0 "a.tgz: no hash of this archive is published, and the address is not encrypted; its SHA-256 $sum is recorded" fetch
same "on first use: pinned" "$(grep -o '"trust":"[a-z]*"' "$here/a.tgz.json")" '"trust":"pinned"'
rm "$here/a.tgz"
cp "$tmp/www/b.tgz" "$tmp/www/pin.tgz"
says "other bytes than the first time" 65 "the archive differs from the first download of a.tgz: SHA-256 is [0-9a-f]*, was $sum; .*--force" fetch
nothing "other bytes than the first time"
says "accepted with --force" 0 '' fetch --force
equal "accepted with --force: the new file" "$tmp/www/b.tgz" "$here/a.tgz"

# ---- killed -----------------------------------------------------------------
# killed SIGNAL STATUS
killed() {
	manifest "killed$1" "url = $web/slow-2000/a.tgz"
	"$data" fetch "$m" -C "$ws" >/dev/null 2>&1 &
	pid=$!
	tries=0
	while [ "$(stat -c %s "$here/a.tgz.part" 2>/dev/null || echo 0)" -lt 100000 ] && [ $tries -lt 200 ]; do
		tries=$((tries + 1))
		sleep 0.02
	done
	kill -s "$1" $pid
	got=0
	wait $pid 2>/dev/null || got=$?
	same "killed by $1" "$got" "$2"
	nothing "killed by $1"
	kept=$(stat -c %s "$here/a.tgz.part")
	sed -i 's,/slow-2000,,' "$m" "$here/a.tgz.part.json"
	before=$(requests "^/a.tgz 206 $kept ")
	says "killed by $1: the next run" 0 '' fetch
	right "killed by $1: the next run"
	same "killed by $1: the next run asks for the rest only" "$(requests "^/a.tgz 206 $kept $((size - kept)) ")" $((before + 1))
}
killed KILL 137
killed TERM 143

# ---- a part that another program replaces while it grows ---------------------------------
manifest replaced "url = $web/slow-2000/a.tgz"
"$data" fetch "$m" -C "$ws" >"$tmp/out" 2>"$tmp/err" &
pid=$!
tries=0
until [ "$(stat -c %s "$here/a.tgz.part" 2>/dev/null || echo 0)" -ge 10000 ] || [ $tries -ge 500 ]; do
	tries=$((tries + 1))
	sleep 0.02
done
mv "$here/a.tgz.part" "$here/taken"
cp "$tmp/www/b.tgz" "$here/a.tgz.part"
got=0
wait $pid || got=$?
same "a part that was replaced" "$got" 73
same "a part that was replaced: said" "$(grep -c 'a.tgz.part: another user or program has replaced the file' "$tmp/err")" 1
nothing "a part that was replaced"

# ---- several at once ----------------------------------------------------------
for i in 1 2 3 4 5 6; do cp "$tmp/www/a.tgz" "$tmp/www/p$i.tgz"; done
# many PATH COUNT
many() {
	m=$tmp/many$1.manifest ws=$tmp/ws-many$1 here=$tmp/ws-many$1/archives/many$1
	i=0
	while [ $i -lt "$3" ]; do
		i=$((i + 1))
		printf '[archive p%d.tgz]\nurl = %s/%sp%d.tgz\nsha256 = %s\n' $i "$web" "$2" $i "$sum"
	done >"$m"
}
many 1 gate-2/ 2
says "two at once" 0 '' fetch
equal "two at once: the right file" "$tmp/a.tgz" "$here/p2.tgz"
many 2 slow-30000/ 6
says "six" 0 '' fetch --transfers 6
same "six: two of one host at a time" "$(awk '/slow-30000/ && $5 > m { m = $5 } END { print m }' "$tmp/log")" 2
many 3 slow-60000/ 3
says "one after the other" 0 '' fetch --transfers 1
same "one after the other: so they were" "$(awk '/slow-60000/ && $5 > m { m = $5 } END { print m }' "$tmp/log")" 1
many 4 '' 3
sed -i 's,/p2.tgz,/none/p2.tgz,' "$m"
says "one that is not there" 69 'none/p2.tgz: the server answers 404' fetch
same "one that is not there: the others are" "$(cut -f 1 "$tmp/out" | tr '\n' ' ')" "p1.tgz p3.tgz "
many 5 slow-10000/ 2
fetch >/dev/null 2>"$tmp/first" &
pid=$!
n=0	# until the first one holds the folder's lock
until [ -e "$here/lock" ] && ! flock -n "$here/lock" true; do
	n=$((n + 1))
	[ $n -lt 1000 ] || { not_ok "a first fetch" "it takes no lock"; break; }
	sleep 0.02
done
says "a second fetch of the same waits" 0 'waiting for another fetch that is running here' fetch
same "a second fetch of the same: each was fetched once" "$(awk '/slow-10000.p[12].tgz 200/' "$tmp/log" | wc -l | tr -d ' ')" 2
wait $pid

# ---- from a folder --------------------------------------------------------------
mkdir "$tmp/dir"
requests . >"$tmp/before"
manifest from "url = $web/somewhere/b.tgz" "sha256 = $sum"
says "from a folder that has not got it" 66 "a.tgz: no such archive in $tmp/dir .--from." fetch --from "$tmp/dir"
cp "$tmp/www/a.tgz" "$tmp/dir/b.tgz"
says "from a folder, under the name of its address" 0 '' fetch --from "$tmp/dir"
same "from a folder: used where it lies" "$(cut -f 4 "$tmp/out")" "$tmp/dir/b.tgz"
cp "$tmp/www/b.tgz" "$tmp/dir/a.tgz"
says "from a folder: other bytes are said" 0 "should be $sum; used all the same, because of --from" fetch --from "$tmp/dir"
cp "$tmp/raw/a.en" "$tmp/dir/a.tgz"
says "from a folder: no archive" 65 'dir/a.tgz: is not an archive' fetch --from "$tmp/dir"
same "from a folder: nobody is asked" "$(requests .)" "$(cat "$tmp/before")"
absent "from a folder: nothing is written" "$ws"

# ---- the machine -----------------------------------------------------------------
manifest huge "url = $web/a.tgz" "bytes = 900000000000000"
says "not enough space, known before" 74 'not enough space: archives need 900000000.0 MB more and [0-9.]* MB are free; make room' fetch
same "not enough space: nobody is asked" "$(requests .)" "$(cat "$tmp/before")"
says "full disk (file size limit)" 74 'a.tgz.part: cannot be written: File too large' sh -c \
	"trap '' XFSZ; ulimit -f 100; exec '$data' fetch '$tmp/plain.manifest' -C '$tmp/limit'"
absent "full disk: no file" "$tmp/limit/archives/plain/a.tgz"
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=200k none "$tmp/small" 2>/dev/null; then
	small=$tmp/small
	manifest tight "url = $web/a.tgz"
	ws=$tmp/small
	says "not enough space, said by the server" 74 'not enough space: archives need' fetch
	umount "$small"
	mount -t tmpfs -o size=60m none "$small"
	truncate -s 80M "$tmp/www/long.tgz"
	printf '\037\213' | dd of="$tmp/www/long.tgz" conv=notrunc status=none
	manifest endless "url = $web/chunked/long.tgz"
	ws=$tmp/small
	says "a length that nobody announced does not fill the disk" 74 'not enough space: archives need' fetch
	if [ "$(df -m --output=avail "$small" | tail -n 1)" -gt 5 ]; then ok "room remains"; else not_ok "room remains" "$(df -m "$small")"; fi
	rm "$tmp/www/long.tgz"
	umount "$small" && small=
else
	skip "not enough space, said by the server" "it takes root to mount one"
	skip "a length that nobody announced does not fill the disk" "it takes root to mount one"
fi
manifest proxy "url = http://somewhere.invalid/a.tgz"
says "a proxy of the environment" 0 '' env "http_proxy=$web" "$data" fetch "$m" -C "$ws" --tries 1
right "a proxy of the environment"

# ---- the command -------------------------------------------------------------------
says "no corpus" 64 'MANIFEST' "$data" fetch
says "an unknown corpus" 66 "no corpus is called 'wmt16-en-fr' .did you mean wmt16-en-de.*wmt13, wmt14, wmt14-full, wmt15, wmt16, wmt16-en-de;" "$data" fetch wmt16-en-fr
says "two corpora, one address" 64 'works with one CORPUS only' "$data" fetch wmt13 wmt14 --url a=b
for corpus in wmt13 wmt14 wmt14-full wmt15 wmt16 wmt16-en-de; do
	says "$corpus: its manifest is read" 66 'no such archive' "$data" fetch "$corpus" --from "$tmp/raw"
done

tally
