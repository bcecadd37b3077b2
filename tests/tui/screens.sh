#!/bin/sh
# screens.sh - the frame, the run view, settings, help and report must look like tests/golden/frame.
# "UPDATE=1 make check TESTS=tests/tui/screens.sh" rewrites the screens; look at the difference before you keep it.
set -eu
srcdir=${srcdir:-.}
golden=$srcdir/tests/golden/frame
recorded=$srcdir/tests/golden/run
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-screens-XXXXXX")
trap 'rm -rf "$here"' EXIT
status=0 passed=0 failed=0 skipped=0
lock=

# run NAME : a copy of the recorded run in a workspace, to be made worse.
run() {
	rm -rf "$here/w"
	mkdir -p "$here/w/runs/$1"
	cp "$recorded"/* "$here/w/runs/$1/"
	chmod u+w "$here/w/runs/$1"/*
}

# screen FILE LOCALE OPTIONS... : draw it and compare.
screen() {
	file=$golden/$1.screen; locale=$2; shift 2
	if ! env -u WERKBANK_GLYPHS LC_ALL="$locale" TERM=xterm WERKBANK_NOW=1750000210 \
	    ${lock:+flock -x "$lock"} ./werkbank watch -C "$here/w" "$@" >"$here/out" 2>"$here/err"; then
		echo "watch $* failed: $(cat "$here/err")"; status=1
	fi
	sed "s|$here|HERE|; s/^  .*: [0-9]* cores*, load .*/  HOST/" "$here/out" >"$here/out.here" && mv "$here/out.here" "$here/out"
	# nothing but text and line ends, whatever the run's files hold
	if LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" "$here/out"; then
		echo "$file: a control character came through"; status=1
	fi
	if test -n "${UPDATE:-}"; then cp "$here/out" "$file"; fi
	diff -u "$file" "$here/out" || status=1
	verdict "$file"
}

# verdict FILE : count what status says.
verdict() {
	name=$(basename "$1" .screen)
	if test $status = 0; then
		echo "ok       $name"; passed=$((passed + 1))
	else
		echo "FAILED   $name"; failed=$((failed + 1))
	fi
	status=0
}

utf8=
for l in C.UTF-8 C.utf8 en_US.UTF-8; do
	if test "$(LC_ALL=$l locale charmap 2>/dev/null)" = UTF-8; then utf8=$l; break; fi
done

run demo
screen run-24x80-ascii C --dump 24x80
screen run-40x120-ascii C --dump 40x120
screen layout-menu-24x80-ascii C --dump 24x80 --keys 'w'
screen help-24x80-ascii C --dump 24x80 --keys '?'
screen palette-24x80-ascii C --dump 24x80 --keys ':eva'
screen settings-24x80-ascii C --dump 24x80 --view settings --keys 'd'
if test -n "$utf8"; then
	screen run-24x80 $utf8 --dump 24x80
	screen run-40x120 $utf8 --dump 40x120
	screen run-50x180 $utf8 --dump 50x180
	screen run-15x60 $utf8 --dump 15x60
	screen zoom-24x80 $utf8 --dump 24x80 --keys 'z<Left><Left><Left>'
	screen run-samples-24x80 $utf8 --dump 24x80 --keys '<Tab><Tab><Tab><Tab><Tab><Tab>zj'
	screen log-24x80 $utf8 --dump 24x80 --keys '<Shift-Tab>kk<Right>'
	screen small-5x40 $utf8 --dump 5x40
	screen settings-24x80 $utf8 --dump 24x80 --view settings
	screen settings-40x120 $utf8 --dump 40x120 --view settings
	screen settings-60x200 $utf8 --dump 60x200 --view settings --keys '<End>'
	screen settings-filter-24x80 $utf8 --dump 24x80 --view settings --keys '/beam<Enter>'
	screen settings-regex-24x80 $utf8 --dump 24x80 --view settings --keys '/~^(beam|heads)$<Enter>'
	screen settings-bad-regex-24x80 $utf8 --dump 24x80 --view settings --keys '/~^(beam<Enter>'
	screen settings-name-24x80 $utf8 --dump 24x80 --view settings --keys '/train-so<Enter>'
	screen settings-nothing-24x80 $utf8 --dump 24x80 --view settings --keys '/zzz<Enter>j<Enter>'
	screen explain-24x80 $utf8 --dump 24x80 --view settings --keys '/warm<Enter><End><Enter>'
	screen report-24x80 $utf8 --dump 24x80 --keys 'R<Wait><PageDown>'
	screen palette-24x80 $utf8 --dump 24x80 --keys ':'
	screen palette-search-24x80 $utf8 --dump 24x80 --keys ':eva'
	screen palette-40x120 $utf8 --dump 40x120 --keys ':stop run<Down>'
	screen palette-60x200 $utf8 --dump 60x200 --keys ':eval --b<Down><Down>'
	screen palette-6x30 $utf8 --dump 6x30 --keys ':stop'
	screen palette-value-24x80 $utf8 --dump 24x80 --keys ':train demo --preci<Tab>'
	screen palette-wrong-24x80 $utf8 --dump 24x80 --keys ":eval 'a<Enter>"
	screen layout-menu-24x80 $utf8 --dump 24x80 --keys 'wlm'
	screen layout-menu-40x120 $utf8 --dump 40x120 --keys 'w'
	screen layout-menu-60x200 $utf8 --dump 60x200 --keys 'w2wb'
	screen layout-two-24x80 $utf8 --dump 24x80 --keys 'w2'
	screen layout-two-40x120 $utf8 --dump 40x120 --keys 'w2'
	screen layout-two-60x200 $utf8 --dump 60x200 --keys 'w2'
	screen layout-three-24x80 $utf8 --dump 24x80 --keys 'w3'
	screen layout-undo-24x80 $utf8 --dump 24x80 --keys 'w2w3uu'
	screen run-60x200 $utf8 --dump 60x200
	screen tour-run-24x80 $utf8 --dump 24x80 --keys '<Alt-t>'
	screen tour-run-40x120 $utf8 --dump 40x120 --keys '<Alt-t>'
	screen tour-run-60x200 $utf8 --dump 60x200 --keys '<Alt-t>'
	screen tour-hidden-24x80 $utf8 --dump 24x80 --keys '<Alt-t>j'
	screen tour-log-24x80 $utf8 --dump 24x80 --keys '<Alt-t>8'
	screen help-24x80 $utf8 --dump 24x80 --keys '?'
	screen help-log-40x120 $utf8 --dump 40x120 --keys '<Shift-Tab>?'
	screen choose-24x80 $utf8 --dump 24x80 --keys 'r'
	screen themes-24x80 $utf8 --dump 24x80 --theme light --keys '9<Enter>s'
fi

# A run in its first minutes, alive: its lock is held.
run demo
sed -n '1,17p' "$recorded/journal.jsonl" >"$here/w/runs/demo/journal.jsonl"
sed -n '1,4p' "$recorded/samples.jsonl" >"$here/w/runs/demo/samples.jsonl"
printf '{"v":1,"state":"running","pid":4711,"attempt":1,"host":"bench"}' >"$here/w/runs/demo/state.json"
: >"$here/w/runs/demo/lock"
if test -n "$utf8"; then
	if command -v flock >/dev/null; then
		lock=$here/w/runs/demo/lock
		screen running-24x80 $utf8 --dump 24x80
		# two limits make the share of the steps longer; the time left is still there
		printf '%s\n' "[train]" "max_minutes = 60" >>"$here/w/runs/demo/recipe.ini"
		screen running-limited-24x80 $utf8 --dump 24x80
		cp "$recorded/recipe.ini" "$here/w/runs/demo/recipe.ini"
		lock=
	fi
	printf '[0 bench] step 425\nterminate called: out of memory\n' >"$here/w/runs/demo/console.log"
	screen lost-24x80 $utf8 --dump 24x80
	printf '{"v":1,"state":"failed","attempt":1,"exit":137}' >"$here/w/runs/demo/state.json"
	sed -n '1,2p' "$recorded/journal.jsonl" >"$here/w/runs/demo/journal.jsonl"
	screen failed-24x80 $utf8 --dump 24x80
	# a warning while it trained, then stop_on = diverged
	sed -n '1,17p' "$recorded/journal.jsonl" >"$here/w/runs/demo/journal.jsonl"
	printf '%s\n' '{"v":1,"kind":"event","t":1750000042,"level":"warning","sign":"diverged","step":425,"text":"Training has diverged: the training NLL is 11.425; it began at 7.204, and a uniform guess has 6.908. Lower noam_factor or lengthen warmup, and start again from an earlier checkpoint."}' \
		'{"v":1,"kind":"stop","t":1750000043,"step":425,"reason":"diverged","why":"diverged","text":"diverged at step 425","exit":79}' \
		>>"$here/w/runs/demo/journal.jsonl"
	printf '{"v":1,"state":"stopped","attempt":1,"exit":79}' >"$here/w/runs/demo/state.json"
	rm -f "$here/w/runs/demo/console.log"
	screen diverged-24x80 $utf8 --dump 24x80
	screen diverged-40x120 $utf8 --dump 40x120
	screen diverged-home $utf8 --dump 24x80 --view home
fi

# A hostile journal: control characters, huge numbers, cut lines.
run hostile
{
	printf '{"v":1,"kind":"start","t":1750000000,"host":"\\u001b]0;gone\\u0007\\u202eevil","backend":"cpu"}\n'
	printf '{"v":1,"kind":"event","t":1750000001,"level":"error","text":"\\u001b[2J\\u001b[31mred\\r\\nand more \\u009b0m"}\n'
	printf '\033[2Jraw escape\n'
	printf '{"v":1,"kind":"train","t":1750000002,"step":10,"loss":1e308,"lr":-1e308,"target_tps":1e300}\n'
	printf '{"v":1,"kind":"train","t":1e300,"step":20,"loss":null,"nonfinite":"loss"}\n'
	printf '{"v":1,"kind":"train","t":1750000003,"step":999999999999,"loss":0.5,"epoch":1e300}\n'
	printf '{"v":1,"kind":"train","t":1750000003,"step":9223372036854775807,"loss":0.5}\n'
	printf '{"v":1,"kind":"eval","t":1750000004,"step":999999999999,"bleu":1e300,"seconds":-1e300}\n'
	printf '{"v":1,"kind":"save","step":999999999999,"path":"\\u001b[H%s","bytes":1e300}\n' \
		"$(printf '%03000d' 0)"
	printf '%010000d\n' 0
	printf '{"v":1,"kind":"train","st'
} >"$here/w/runs/hostile/journal.jsonl"
{
	printf '{"v":1,"kind":"sample","step":1,"id":0,"source":"\\u001b[31m\\u200f\\ufe0f%s","reference":7}\n' \
		"$(printf '%0500d' 0)"
	printf '{"v":1,"kind":"sample","step":1,"id":-3,"hypothesis":"e\\u0301\\u0302\\u0303\\u0304 \\u65e5\\u672c\\ud83d\\ude00"}\n'
} >"$here/w/runs/hostile/samples.jsonl"
rm "$here/w/runs/hostile/recipe.ini"
screen hostile-24x80-ascii C --dump 24x80
if test -n "$utf8"; then screen hostile-24x80 $utf8 --dump 24x80; fi

# Nothing there at all. (The screen names the folder, so it must have the same name everywhere.)
rm -rf "$here/w"
(cd "$here" && LC_ALL=C WERKBANK_NOW=1 "$OLDPWD/werkbank" watch -C w --dump 24x80) >"$here/out"
if test -n "${UPDATE:-}"; then cp "$here/out" "$golden/empty-24x80-ascii.screen"; fi
diff -u "$golden/empty-24x80-ascii.screen" "$here/out" || status=1
verdict "$golden/empty-24x80-ascii.screen"

if test -z "$utf8"; then echo "skipped  the screens in UTF-8: no such locale here"; skipped=1; fi
echo "$passed passed, $failed failed, $skipped skipped"
test $failed = 0
