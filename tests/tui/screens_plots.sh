#!/bin/sh
# screens_plots.sh - the run, hosts and log views on small and large terminals, in both charsets,
# must be what tests/golden/plots holds; no journal may reach the terminal raw or end the program.
# "UPDATE=1 make check TESTS=tests/tui/screens_plots.sh" rewrites the screens; look at them before you keep them.
set -eu
srcdir=${srcdir:-.}
golden=$srcdir/tests/golden/plots
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-plots-XXXXXX")
trap 'rm -rf "$here"' EXIT
passed=0 failed=0 skipped=0

utf8=
for l in C.UTF-8 C.utf8 en_US.UTF-8; do
	if test "$(LC_ALL=$l locale charmap 2>/dev/null)" = UTF-8; then utf8=$l; break; fi
done

# run NAME HOSTS GPUS STEPS : a made-up run in the workspace.
run() {
	mkdir -p "$here/w/runs/$1"
	awk -f "$srcdir/tests/tui/fleet_journal.awk" -v hosts="$2" -v gpus="$3" -v steps="$4" \
		>"$here/w/runs/$1/journal.jsonl"
}

# watch LOCALE ARGUMENTS... : a screen, into $here/out.
watch() {
	locale=$1; shift
	env -u WERKBANK_GLYPHS LC_ALL="$locale" TERM=xterm WERKBANK_NOW=1750001300 XDG_STATE_HOME="$here/state" \
		./werkbank watch -C "$here/${workspace:-w}" "$@" >"$here/out" 2>"$here/err"
}

# seeds NAME NOISE SEED... : runs NAME-SEED in the workspace "seeds" that differ in their seed alone.
seeds() {
	name=$1 noise=$2; shift 2
	for seed; do
		mkdir -p "$here/seeds/runs/$name-$seed"
		printf '[train]\nsteps = 1000\nwarmup = %d00\nseed = %d\n' "$noise" "$seed" >"$here/seeds/runs/$name-$seed/recipe.ini"
		awk -v seed="$seed" -v noise="$noise" 'BEGIN {
			random = seed * 7919
			printf "{\"v\":1,\"kind\":\"start\",\"t\":1750000000,\"host\":\"bench\",\"steps\":1000}\n"
			for (step = 10; step <= 1000; step += 10) {
				random = (random * 1103 + 12345) % 65536
				nll = 6 * exp(-step / 300) + 1 + noise * (seed - 2) * 0.1 + noise * (random / 65536 - 0.5) / 5
				time = 1750000000 + step / 2 * (1 + seed / 10)
				printf "{\"v\":1,\"kind\":\"train\",\"t\":%.1f,\"step\":%d,\"loss\":%.4f,\"nll\":%.4f,\"step_s\":0.5,\"target_tps\":9000}\n",
				    time, step, nll + 0.3, nll
				if (step % 200 == 0)
					printf "{\"v\":1,\"kind\":\"eval\",\"t\":%.1f,\"step\":%d,\"bleu\":%.2f,\"dev_nll\":%.4f}\n", time, step,
					    step / 30 - noise * seed, nll + 0.1
			}
			printf "{\"v\":1,\"kind\":\"stop\",\"t\":%.1f,\"step\":1000,\"reason\":\"finished\"}\n", time + 1
		}' >"$here/seeds/runs/$name-$seed/journal.jsonl"
	done
}

# clean WHAT : nothing but text and line ends.
clean() {
	if LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" "$here/out"; then
		echo "$1: a control character came through"; return 1
	fi
}

# screen NAME LOCALE ARGUMENTS... : draw it and compare.
screen() {
	name=$1; shift
	if watch "$@" && clean "$name" &&
	    { test -z "${UPDATE:-}" || cp "$here/out" "$golden/$name.screen"; } &&
	    diff -u "$golden/$name.screen" "$here/out"; then
		echo "ok       $name"; passed=$((passed + 1))
	else
		cat "$here/err"
		echo "FAILED   $name"; failed=$((failed + 1))
	fi
}

test -z "${UPDATE:-}" || mkdir -p "$golden"
run fleet 4 4 3000
run cpus 3 0 1000
run many 64 8 200
run few 3 2 100
run large 900 4 50
run ops 1 4 1000
# memory errors on node2, and node4 without a link for some time
mkdir -p "$here/w/runs/faults"
awk '
	{ at = match($0, /"step":[0-9]+/) ? substr($0, RSTART + 7, RLENGTH - 7) + 0 : 0 }
	/"host":"node2"/ { sub(/"throttle":/, "\"ecc_uncorrected\":" (at > 2000) ",\"ecc_corrected\":" int(at / 600) ",&") }
	/"host":"node4"/ && at > 1400 && at < 2300 { sub(/"link_bytes_s":3125000000,"link_from":"driver"/, "\"link_bytes_s\":2000000000,\"link_from\":\"seen\"") }
	{ print }' "$here/w/runs/fleet/journal.jsonl" >"$here/w/runs/faults/journal.jsonl"
# ranks wait for a slowest rank, but it is another one in each report
mkdir -p "$here/w/runs/turns"
awk '
	/"kind":"rank"/ { sub(/"compute_s":[0-9.]+/, "\"compute_s\":0.1") }
	/"kind":"verdict"/ {
		sub(/,"late_rank":[0-9]+,"late_host":"[^"]*"/, "")
		sub(/"text":"[^"]*"/, "\"text\":\"Ranks wait for the slowest: 40 % of a step\"")
	}
	{ print }' "$here/w/runs/fleet/journal.jsonl" >"$here/w/runs/turns/journal.jsonl"
cat >>"$here/w/runs/ops/journal.jsonl" <<'END'
{"v":1,"kind":"profile","t":1750000500,"step":1000,"seconds":199.8,"steps":999,"roof_gflops":1500,"roof_gbs":120,"ops":[{"op":"matmul","calls":71928,"s":120.1,"share":0.601,"gflops":812.5,"gbs":41.2},{"op":"attention","calls":11988,"s":31.2,"share":0.156,"gflops":402},{"op":"softmax_nll","calls":999,"s":12.4,"share":0.062,"gflops":0,"gbs":88.1},{"op":"adam","calls":999,"s":8.1,"share":0.041,"gflops":0,"gbs":130},{"op":"bad","share":7},{"op":"layer_norm","calls":31968,"s":4.2,"share":0.021,"gflops":0,"gbs":61}]}
END
for size in 24x80 40x120 60x200; do
	for view in 3:run 4:hosts 8:log; do
		screen "${view#*:}-$size-ascii" C fleet --dump $size --keys "${view%%:*}"
		test -z "$utf8" || screen "${view#*:}-$size" $utf8 fleet --dump $size --keys "${view%%:*}"
	done
done
if test -n "$utf8"; then
	# all hosts are seen, and what a pane hides is counted
	screen hosts-30x100 $utf8 fleet --dump 30x100 --keys 4
	screen hosts-30x100-many $utf8 many --dump 30x100 --keys '4jj<End>'
	# what waits does not look busy; where a step goes; without graphics processors
	screen hosts-late $utf8 fleet --dump 24x80 --keys '4<Tab>jj'
	# late and odd hosts are first, with the reason; by name on request, or for want of reports
	screen hosts-odd $utf8 fleet --dump 24x80 --keys 4j
	screen hosts-turns $utf8 turns --dump 24x80 --keys 4
	screen hosts-by-name $utf8 fleet --dump 24x80 --keys '4ojj'
	# what happened to hosts, on a time line
	screen hosts-events $utf8 fleet --dump 24x80 --keys '4<Shift-Tab>'
	screen hosts-faults $utf8 faults --dump 24x80 --keys '4<Shift-Tab>'
	screen hosts-no-events $utf8 few --dump 24x80 --keys '4<Shift-Tab>'
	# the map: a cell for each host, for each GPU, and numbers; hosts are chosen in all directions
	screen hosts-map-hosts $utf8 large --dump 24x80 --keys '4<Tab><Tab>zmmmm<Right><Right><Down>'
	screen hosts-map-figures $utf8 large --dump 24x80 --keys '4<Tab><Tab>z++++jj'
	screen hosts-few $utf8 few --dump 24x80 --keys 4
	screen hosts-heat-time $utf8 fleet --dump 24x80 --keys '4<Tab><Tab>tmmm'
	screen hosts-ranks $utf8 fleet --dump 24x80 --keys '4<Tab><Tab><Tab>z'
	screen hosts-net $utf8 fleet --dump 24x80 --keys '4<Tab><Tab><Tab><Tab>z<Left><Left>'
	screen hosts-many $utf8 many --dump 24x80 --keys '4<Tab><Tab>zjjj'
	screen hosts-cpus $utf8 cpus --dump 24x80 --keys 4
	screen run-split $utf8 fleet --dump 24x80 --keys '3<Tab><Tab><Tab>z<Left><Left><Left>'
	screen run-ops $utf8 ops --dump 24x80 --keys '3<Tab><Tab><Tab>z'
	screen run-ops-40x120 $utf8 ops --dump 40x120 --keys '3<Tab><Tab><Tab>z'
	screen run-zoomed $utf8 fleet --dump 24x80 --keys '3z<Left><Left><Left>++,,y'
	screen run-log-x $utf8 fleet --dump 24x80 --keys '3zxfff'
	screen run-gradient $utf8 fleet --dump 24x80 --keys '3<Tab><Tab><Tab><Tab><Tab>zi'
	screen log-found $utf8 fleet --dump 24x80 --keys '8/gradient<Enter>'
	screen log-warnings $utf8 fleet --dump 24x80 --keys '8ft'
	screen log-only $utf8 fleet --dump 24x80 --keys '8&BLEU<Enter><Up><Enter>'
	# runs that differ in their seed alone are one curve with a band; of four and more it is the deviation
	workspace=seeds
	seeds base 3 1 2 3
	seeds low 1 1 2 3 4
	for size in 24x80 40x120 60x200; do
		screen compare-seeds-$size $utf8 base-1 --dump $size --keys 5
	done
	screen compare-seeds-ascii C base-1 --dump 24x80 --keys 5
	screen compare-seeds-apart $utf8 base-1 --dump 24x80 --keys '5d'
	screen compare-seeds-cursor $utf8 base-1 --dump 40x120 --keys '5m<Left><Left>'
	screen compare-seeds-two $utf8 base-1 --dump 40x120 --keys '5jjj j j j '
	screen compare-seeds-minutes $utf8 base-1 --dump 40x120 --keys '5jjj j j j   kkk   mma'
	# the cursor has the unit of its axis: with another axis it is gone
	screen compare-axis-undo $utf8 base-1 --dump 24x80 --keys '5aa<Left><Left>u'
	# a run without evaluations takes no curve from the others with its recipe
	workspace=young
	mkdir -p "$here/young"
	cp -R "$here/seeds/runs" "$here/young/runs"
	rm -r "$here"/young/runs/low-*
	grep -v '"kind":"eval"' "$here/seeds/runs/base-1/journal.jsonl" >"$here/young/runs/base-1/journal.jsonl"
	screen compare-seeds-young $utf8 base-1 --dump 24x80 --keys 5m
	# where the shortest run ends, its step looks like all other steps
	awk '{ print } /"step":1000,/ && /"kind":"eval"/ && !n++ {
		gsub(/"step":1000/, "\"step\":3000"); print }' "$here/seeds/runs/base-2/journal.jsonl" >"$here/young/runs/base-2/journal.jsonl"
	awk '{ print } /"step":1000,/ && /"kind":"eval"/ && !n++ {
		gsub(/"step":1000/, "\"step\":2000"); print }' "$here/seeds/runs/base-3/journal.jsonl" >"$here/young/runs/base-3/journal.jsonl"
	screen compare-seeds-shorter $utf8 base-1 --dump 40x120 --keys 5m
	workspace=seeds
	# a cursor that is set in one view is in all of them
	screen run-values $utf8 base-1 --dump 24x80 --keys '5<Left><Left><Left>3v'
	screen run-values-40x120 $utf8 base-2 --dump 40x120 --keys '3<Left>v<Left>'
	screen compare-linked $utf8 base-2 --dump 40x120 --keys '3<Left><Left><Left><Left>5'
	screen compare-linked-back $utf8 base-2 --dump 24x80 --keys '3<Left><Left>5<Esc>'
	workspace=w
	screen run-values-60x200 $utf8 fleet --dump 60x200 --keys '3<Left><Left>v'
	screen hosts-linked $utf8 fleet --dump 24x80 --keys '3<Left><Left><Left>4'
else
	echo "skipped  the screens in UTF-8: no such locale here"; skipped=1
fi

# ---- exports: TensorBoard's header, a line a sample ----
mkdir -p "$here/out.d"
(cd "$here/out.d" && LC_ALL=C WERKBANK_NOW=1750001300 XDG_STATE_HOME="$here/state" "$OLDPWD/werkbank" watch -C "$here/w" fleet \
	--dump 24x80 --keys '3W4W8W' >/dev/null)
loss=$here/out.d/fleet-train_nll.csv
if test "$(head -1 "$loss")" = "Wall time,Step,Value" && test "$(wc -l <"$loss")" = 61 &&
    grep -q '^1750000910,1550,nan$' "$loss" && grep -q '^node3,2,NVIDIA H100 80GB HBM3,' "$here/out.d/fleet-gpus.csv" &&
    test "$(wc -l <"$here/out.d/fleet-hosts.csv")" = 5 && grep -q ',1500,warning,gradient norm 31' "$here/out.d/fleet-log.csv"; then
	echo "ok       exports"; passed=$((passed + 1))
else
	ls "$here/out.d"; head -3 "$here"/out.d/*; grep 1550 "$loss" || true
	echo "FAILED   exports"; failed=$((failed + 1))
fi

# ---- pictures: the plot as drawn, by its key and by the palette; valid XML ----
(cd "$here/out.d" && LC_ALL=C WERKBANK_NOW=1750001300 XDG_STATE_HOME="$here/state" "$OLDPWD/werkbank" watch -C "$here/w" fleet \
	--dump 24x80 --keys '3++yI<Tab><Tab><Tab>:plot-picture<Enter>4I5I' >/dev/null)
test -z "${UPDATE:-}" || cp "$here/out.d/fleet-NLL.svg" "$golden/"
good=1
for file in fleet-NLL fleet-step fleet-node3-work compare; do
	grep -q '^</svg>$' "$here/out.d/$file.svg" || good=0
	! command -v xmllint >/dev/null || xmllint --noout "$here/out.d/$file.svg" || good=0
done
if test $good = 1 && diff -u "$golden/fleet-NLL.svg" "$here/out.d/fleet-NLL.svg" && grep -q '>exposed\|>network<' "$here/out.d/fleet-step.svg"; then
	echo "ok       pictures"; passed=$((passed + 1))
else
	ls "$here/out.d"; echo "FAILED   pictures"; failed=$((failed + 1))
fi

# ---- hostile journals ----
# hostile NAME : every view of the run, several sizes, keys of all kinds: no failure, nothing raw.
hostile() {
	good=1
	for size in 1x1 3x9 13x60 24x80 60x200; do
		for keys in 3 '3v<Left>' '3z<Left><Left>++y' '3x<Tab><Tab><Tab>-<Left>' 4 '4tm<Tab><Tab><Tab>z' '4<Tab><Tab><Tab><Tab>x<Left>+' '4<Shift-Tab>j<End>z' 8 '8/a<Enter>nNft<Enter>'; do
			for locale in C $utf8; do
				if ! watch "$locale" "$1" --dump $size --keys "$keys" || ! clean "$1 $size $keys"; then
					echo "$1 $size $keys: $(cat "$here/err")"; good=0
				fi
			done
		done
	done
	if test $good = 1; then echo "ok       $1"; passed=$((passed + 1)); else echo "FAILED   $1"; failed=$((failed + 1)); fi
}

mkdir -p "$here/w/runs/hostile" "$here/w/runs/long" "$here/w/runs/cut"
{
	printf '{"v":1,"kind":"start","t":1750000000,"host":"\\u001b]0;gone\\u0007\\u202eevil","backend":"\\u009b2J"}\n'
	printf '{"v":1,"kind":"rank","t":1e300,"step":1,"rank":0,"host":"\\u001b[31mh","step_s":1e-300,"compute_s":1e300,"wait_s":-1}\n'
	printf '{"v":1,"kind":"rank","t":1,"step":1,"rank":8191,"host":"","step_s":-1,"compute_s":"x"}\n'
	printf '{"v":1,"kind":"rank","t":1,"step":1,"rank":9223372036854775807,"host":"\\u001b[31mh"}\n'
	printf '{"v":1,"kind":"host","t":-1e300,"step":5,"host":"\\u001b[31mh","cpu":1e300,"rx_bytes_s":1e308,"tx_bytes_s":-1e308,"link_bytes_s":1e-308,"memory_total":0,"interface":"\\u0007","gpus":[{"index":-9e18,"name":"\\u001b[2J\\n","util":1e300,"power_w":1e308,"power_limit_w":1e-308,"temperature_c":-1e300,"throttle":"\\u009b31m","sm_mhz":1e300},{},[],"x",null,{"lost":true}]}\n'
	printf '{"v":1,"kind":"host","t":2,"step":999999999999,"host":"%s","gpus":[{}]}\n' "$(printf '%0900d' 0)"
	printf '{"v":1,"kind":"host","step":-5,"host":{},"gpus":7}\n{"v":1,"kind":"verdict","network":"\\u001b[5m","text":"\\u001b]52;c;AAAA\\u0007","late_rank":-9e18,"late_host":"\\u202e"}\n'
	printf '{"v":1,"kind":"verdict","t":3,"network":7,"predicted_bytes":1e308,"observed_bytes":-1,"busbw_bytes_s":1e308,"late_rank":9223372036854775807}\n'
	printf '{"v":1,"kind":"train","t":3,"step":10,"loss":1e308,"lr":-1e308,"grad_norm":1e-320,"target_tps":1e300,"step_s":1e-300,"compute_s":1e300,"exposed_s":-1,"wait_s":1e300,"update_s":1e308,"input_s":-1e308}\n'
	printf '{"v":1,"kind":"train","t":4,"step":999999999999,"loss":null,"nonfinite":"loss","step_s":0,"epoch":1e300}\n'
	printf '{"v":1,"kind":"eval","t":5,"step":999999999999,"bleu":-1e300,"dev_nll":1e300,"train_nll":1e300,"seconds":-1e300}\n'
	printf '{"v":1,"kind":"event","t":6,"level":"error","text":"a \\u001b[2J\\u001b[31mred\\r\\nand \\u009b0m"}\n'
	printf '\033[2Jraw escape\n{"v":1,"kind":"event","text":"\033[2J"}\n{"v":1,"kind":"host","host":"cut'
} >"$here/w/runs/hostile/journal.jsonl"
hostile hostile
# lines of 10 MB, one of them a record that would be right if it were shorter, among good ones
{
	awk -f "$srcdir/tests/tui/fleet_journal.awk" -v hosts=2 -v gpus=2 -v steps=100
	printf '{"v":1,"kind":"event","level":"error","text":"'; head -c 10000000 /dev/zero | tr '\0' a; printf '"}\n'
	head -c 10000000 /dev/zero | tr '\0' '['; echo
	awk -f "$srcdir/tests/tui/fleet_journal.awk" -v hosts=2 -v gpus=2 -v steps=200 | tail -n 9
} >"$here/w/runs/long/journal.jsonl"
hostile long
# a journal whose every 7th line was cut in the middle
awk -f "$srcdir/tests/tui/fleet_journal.awk" -v hosts=2 -v gpus=2 -v steps=400 |
	awk 'NR % 7 { print; next } { print substr($0, 1, length($0) / 2) }' >"$here/w/runs/cut/journal.jsonl"
hostile cut
echo "$passed passed, $failed failed, $skipped skipped"
test $failed = 0
