#!/bin/sh
# foreign_text.sh - what files of strangers hold reaches no terminal as a control sequence, and a pipe as it is.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-foreign-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
wb=$top/werkbank w=$tmp/w

# ESC ] 0 ; … BEL, U+009B, a raw 0x9B, U+202E, U+2066, DEL; the same as JSON; and what must not arrive
evil=$(printf 'evil\033]0;own\007\302\2330m\342\200\256end\342\201\246\177')
json_evil='evil\u001b]0;own\u0007\u009b0m\u202eend\u2066\u007f'
controls=$(printf '\001-\010\013\014\016-\037\177')

# clean FILE : no control but the CR of the terminal's line ends, no raw or encoded C1, no direction.
is_clean() {
	! LC_ALL=C grep -q "[$controls]" "$1" &&
		! tr -d '\r' <"$1" | LC_ALL=C grep -qE "$(printf '\302[\200-\237]|\342\200[\252-\256]|\342\201[\246-\251]')" &&
		iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}
command -v script >/dev/null && script --version 2>/dev/null | grep -q util-linux || {
	skip "foreign text on a terminal" "no script(1)"
	tally
	exit
}

# on_terminal NAME COMMAND... : stdout and stderr are a terminal; the foreign text is seen, and harmless.
on_terminal() {
	name=$1
	shift
	line=
	for word; do line="$line '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"; done
	timeout 60 script -qec "$line" /dev/null >"$tmp/terminal" 2>&1 </dev/null
	if ! grep -q evil "$tmp/terminal"; then
		not_ok "$name" "the text is not shown: $(tail -n 3 "$tmp/terminal" | od -c | head -20)"
	elif ! is_clean "$tmp/terminal"; then
		not_ok "$name" "$(grep evil "$tmp/terminal" | od -c | head -8)"
	else
		ok "$name on a terminal"
	fi
}
# error NAME COMMAND... : the same for a message, which is safe in a pipe too, and one line.
error() {
	on_terminal "$@"
	name=$1
	shift
	timeout 60 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	if [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q evil "$tmp/err" && is_clean "$tmp/err"; then
		ok "$name in a pipe"
	else
		not_ok "$name in a pipe" "$(od -c "$tmp/err" | head -12)"
	fi
}

# ---- messages ----
printf '[train]\nsteps = %s\n' "$evil" >"$tmp/value.ini"
error "a recipe's value" "$wb" prep -C "$w" "$tmp/value.ini"
printf '[train]\nsteps = "evil\\nwerkbank: all is well"\n' >"$tmp/lines.ini"
error "a message of two lines" "$wb" prep -C "$w" "$tmp/lines.ini"
printf '#version: 0.2\na b\n%s x y z\n' "$evil" >"$tmp/codes"
error "a line of codes" "$wb" bpe-apply -c "$tmp/codes"
mkdir -p "$tmp/tar" && echo a >"$tmp/tar/$evil"
tar -C "$tmp/tar" -P --transform 's|^|../|' -czf "$tmp/a.tgz" "$evil"
printf '[archive a.tgz]\nurl = file://%s/a.tgz\ntrain.en = a.en\ntrain.de = a.de\n' "$tmp" >"$tmp/manifest"
printf '[data]\nmanifest = %s/manifest\n' "$tmp" >"$tmp/tar.ini"
error "a member's name" "$wb" prep -q -C "$w" "$tmp/tar.ini"
header="{\"$json_evil\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}"
{
	printf "\\$(printf '%03o' ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
	printf '\0\0\0\0'
} >"$tmp/model.safetensors"
error "a tensor's name" "$wb" import "$tmp/model.safetensors" -C "$w" --vocabulary "$srcdir/tests/golden/release/run/vocab.tsv" -o "$tmp/imported"

# ---- data ----
mkdir -p "$w/runs/r"
cp "$srcdir"/tests/golden/run/* "$w/runs/r"
chmod -R u+w "$w"
printf '{"v":1,"kind":"sample","t":1750000026,"step":2000,"id":0,"source":"%s","reference":"b","hypothesis":"c"}\n' \
	"$json_evil" >"$w/runs/r/samples.jsonl"
{
	printf '{"v":1,"kind":"start","t":1750000000,"run":"r","host":"%s","backend":"%s","ranks":1}\n' "$json_evil" "$json_evil"
	sed 1d "$srcdir/tests/golden/run/journal.jsonl"
	printf '{"v":1,"kind":"event","t":1750000150,"level":"error","text":"%s"}\n' "$json_evil"
} >"$w/runs/r/journal.jsonl"
printf '%s and a raw \233\n' "$evil" >"$w/runs/r/console.log"
printf '{"v":1,"state":"failed","host":"%s","exit":1}\n' "$json_evil" >"$w/runs/r/state.json"
on_terminal samples "$wb" samples -C "$w" r
on_terminal status "$wb" status --json -C "$w" r
on_terminal logs "$wb" logs -C "$w" r
"$wb" logs -C "$w" r >"$tmp/out"
equal "logs in a pipe: the bytes of the file" "$tmp/out" "$w/runs/r/console.log"
i=0
while [ $i -lt 40 ]; do
	i=$((i + 1))
	printf 'evil \302\233 \342\200\256 line %d\n' $i
done >"$tmp/a.en"
sed 's/line/Zeile/' "$tmp/a.en" >"$tmp/a.de"
sed "s|FILE|$tmp/a|g" >"$tmp/data.ini" <<'EOF'
[data]
train_source = FILE.en
train_target = FILE.de
dev_source = FILE.en
dev_target = FILE.de
merges = 9
EOF
says "a corpus of foreign text" 0 '' "$wb" prep -q -C "$w" "$tmp/data.ini"
on_terminal "data show" "$wb" data show -C "$w" data 0
"$wb" data show -C "$w" data 0 >"$tmp/out"
if LC_ALL=C grep -q "$(printf 'evil.*\342\200\256')" "$tmp/out"; then
	ok "data show in a pipe: the text as it is"
else
	not_ok "data show in a pipe: the text as it is" "$(od -c "$tmp/out" | head -8)"
fi
cp "$tmp/a.en" "$tmp/$evil.de"
on_terminal compare "$wb" compare -q -r "$tmp/a.en" "$tmp/a.en" "'$tmp/$evil.de'"
tally
