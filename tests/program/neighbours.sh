#!/bin/sh
# neighbours.sh - a folder that every user can write in: nothing is written through what others plant there.
# Another user is made by changing the owner of links, which needs root; without root those lines are skipped.
# Last line: the tally, which tests/tally.sh counts.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-neighbours-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
wb=$top/werkbank
w=$tmp/w
# shellcheck source=/dev/null
. "$here/helpers.sh"

# No sticky bit: there the kernel's fs.protected_symlinks does not help.
shared=$tmp/shared
mkdir "$shared"
chmod 777 "$shared"
victim=$tmp/victim
fresh_victim() { echo precious >"$victim"; }
unhurt() { same "$1: the victim is as before" "$(cat "$victim")" precious; }

cat >"$tmp/tiny.ini" <<'TINY'
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
steps = 4
batch_tokens = 512
eval_every = 4
save_every = 4
threads = 1
TINY
if ! "$wb" prep -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1 ||
    ! "$wb" train -C "$w" --run r "$tmp/tiny.ini" >>"$tmp/log" 2>&1; then
	not_ok "a tiny model" "$(tail -n 3 "$tmp/log")"
	tally
	exit
fi
printf 'a b\n' >"$tmp/in"

# write COMMAND : one of the commands writes $out.
write() {
	case $1 in
	translate) "$wb" translate -C "$w" --run r "$tmp/in" -o "$out" ;;
	job) "$wb" job slurm -C "$w" "$tmp/tiny.ini" --walltime 60 -o "$out" ;;
	report) "$wb" report -C "$w" r -o "$out" ;;
	export) "$wb" export -C "$w" --run r --format jsonl -o "$out" ;;
	prometheus) "$wb" export -C "$w" --run r --format prometheus -o "$out" ;;
	average) "$wb" average -C "$w" --run r -o "$out" ;;
	ctranslate2) "$wb" export -C "$w" --run r --format ctranslate2 -o "$out" ;;
	metrics) "$wb" train -C "$w" --run m --steps 2 "$tmp/tiny.ini" --prometheus "$out" ;;
	esac
}

for command in translate job report export prometheus average ctranslate2 metrics; do
	out=$shared/$command.out
	# the temporary names of the next processes, as they were before: NAME.PID.tmp
	fresh_victim
	pid=$(sh -c 'echo $$')
	i=0
	while [ "$i" -lt 150 ]; do
		ln -s "$victim" "$out.$((pid + 100 + i)).tmp"
		i=$((i + 1))
	done
	says "$command among planted temporaries" 0 '' write $command
	present "$command: its output" "$out"
	unhurt "$command among planted temporaries"
	rm -rf "$shared"/*.tmp "$out" "$w/runs/m"
	# the name itself, planted by another user
	ln -s "$victim" "$out"
	if ! chown -h 65534 "$out" 2>/dev/null; then
		skip "$command on another user's link" "only root can make one"
	else
		case $command in
		average | ctranslate2) says "$command on another user's link" 73 'already exists' write $command ;;
		metrics) write $command >"$tmp/out" 2>"$tmp/err" ;; # metrics never stop a training
		*) says "$command on another user's link" 77 'symbolic link that another user' write $command ;;
		esac
		unhurt "$command on another user's link"
	fi
	rm -rf "$out"
done

# ---- another user who plants links while a command writes ----------------------------------------------
# What he runs: in the current folder he replaces files by links to the victim, until "stop" is there.
plant='while [ ! -e stop ]; do
	for name in $1; do
		case $name in *"*"*) continue ;; esac
		rm -f "$name" && ln -s "$0" "$name" && echo "$name" >>planted
	done
done'
as_other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
# attacked WHAT MODE NAMES : ten translations into a folder of this mode, whose NAMES another user replaces
attacked() {
	arena=$tmp/arena
	out=$arena/out.txt
	rm -rf "$arena"
	mkdir "$arena"
	chmod "$2" "$arena"
	fresh_victim
	(cd "$arena" && as_other sh -c "$plant" "$victim" "$3") 2>/dev/null &
	attacker=$!
	statuses=
	for i in 1 2 3 4 5 6 7 8 9 10; do
		got=0
		rm -f "$out"
		write translate >"$tmp/out" 2>"$tmp/err" || got=$?
		statuses="$statuses $got"
		[ "$(cat "$victim")" = precious ] || break
	done
	: >"$arena/stop"
	wait "$attacker"
	unhurt "$1: after $(grep -c . "$arena/planted" 2>/dev/null) links and $i translations"
	# 73: the temporary was replaced; 77: the output was a link of another user
	same "$1: statuses" "$(echo "$statuses" | tr ' ' '\n' | grep -vxE '0|73|77|')" ''
}
chmod 711 "$tmp"
if as_other test -x "$tmp" 2>/dev/null; then
	attacked "another user's links for temporaries" 777 'out.txt.*.tmp'
	attacked "another user's links for the output" 777 out.txt
	attacked "another user's links in a folder like /tmp" 1777 'out.txt out.txt.*.tmp'
else
	skip "another user's links while a command writes" "only root can become another user, with setpriv"
fi

# ---- another user who replaces the temporary folders of commands -----------------------------------------
# A folder of root with files of the names that commands write; each is worth as much as the victim.
trap_names='model.bin config.json vocab.tsv shared_vocabulary.json recipe.ini bpe.codes state.json SHA256SUMS
	model.safetensors average.json journal.jsonl training.safetensors optimizer.safetensors
	checkpoints/0/model.safetensors checkpoints/0/vocab.tsv checkpoints/0/state.json checkpoints/0/SHA256SUMS'
fresh_trap() {
	rm -rf "$1"
	mkdir -p "$1/checkpoints/0"
	for name in $trap_names; do echo precious >"$1/$name"; done
	ln -s 7 "$1/checkpoints/last"
	ln -s 8 "$1/checkpoints/best"
}
# worth FOLDER : what is left of a trap
worth() {
	(cd "$1" 2>/dev/null && for name in $trap_names; do
		[ "$(cat "$name" 2>/dev/null)" = precious ] || printf '%s ' "$name"
	done
	readlink checkpoints/last checkpoints/best | tr '\n' ' ') || echo 'all is gone'
}
make_folder() {
	case $1 in
	average | ctranslate2) write "$1" ;;
	import) "$wb" import "$tmp/model" -o "$out" ;;
	checkpoint) "$wb" train -C "$tmp/w3" --run r --steps 8 --restarts 0 "$tmp/tiny.ini" ;;
	esac
}
# swapped COMMAND MODE HOW : three runs, whose temporary folders another user replaces by a link or a folder of root
swapped() {
	what="$1, folders replaced by a $3, mode $2"
	arena=$tmp/arena
	lost=
	taken=0
	for i in 1 2 3; do
		rm -rf "$arena" "$tmp/w3"
		mkdir "$arena"
		out=$arena/out
		place=$arena
		if [ "$1" = checkpoint ]; then
			cp -R "$w" "$tmp/w3"
			place=$tmp/w3/runs/r/checkpoints
		fi
		chgrp 65534 "$place"
		chmod "$2" "$place"
		trap_folder=$tmp/precious
		[ "$3" = link ] || trap_folder=$place/precious
		fresh_trap "$trap_folder"
		: >"$tmp/swaps" # else the "ready" of the round before may be found
		as_other "$top/tests/swap_folder" "$3" "$place" "$trap_folder" >"$tmp/swaps" 2>&1 &
		swapper=$!
		tries=0
		while [ ! -s "$tmp/swaps" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
		got=0
		make_folder "$1" >"$tmp/out" 2>"$tmp/err" || got=$?
		: >"$place/stop"
		wait "$swapper"
		n=$(tail -n 1 "$tmp/swaps")
		taken=$((taken + n))
		# the folder of root stands where the other user has put it
		[ "$3" = link ] || [ -d "$trap_folder" ] ||
			trap_folder=$(for f in "$place"/*.tmp "$place"/*; do [ ! -d "$f/checkpoints/0" ] || { echo "$f"; break; }; done)
		now=$(worth "$trap_folder")
		[ "$now" = '7 8 ' ] || lost="$lost [status $got: $now]"
		[ "$n" -eq 0 ] || case $got in 6[56] | 7[347]) ;; *) lost="$lost [status $got]" ;; esac
	done
	same "$what: nothing of root's is lost after $taken swaps" "$lost" ''
	[ "$taken" -gt 0 ] || not_ok "$what" "no folder was replaced: $(cat "$tmp/swaps")"
}
if ! as_other test -x "$tmp" 2>/dev/null; then
	skip "another user's links for folders while a command writes" "only root can become another user, with setpriv"
elif [ ! -x "$top/tests/swap_folder" ]; then
	skip "another user's links for folders while a command writes" "no tests/swap_folder: make tests/swap_folder"
else
	"$wb" export -C "$w" --run r --format ctranslate2 -o "$tmp/model" >"$tmp/log" 2>&1
	for command in average ctranslate2 import checkpoint; do
		swapped $command 777 link
		swapped $command 775 link
		swapped $command 777 copy
	done
fi

# ---- permissions, links of one's own ----
umask 022
out=$tmp/private
: >"$out"
chmod 600 "$out"
says "a private file" 0 '' write translate
same "stays private" "$(stat -c %a "$out")" 600
ln -s private "$tmp/mine"
out=$tmp/mine
says "a link of one's own" 0 '' write report
same "is still a link" "$(readlink "$tmp/mine")" private
same "to a private file" "$(stat -c %a "$tmp/private")" 600
umask 077
out=$tmp/job
says "a job script under umask 077" 0 '' write job
same "is for its owner alone" "$(stat -c %a "$out")" 700

# ---- a folder of a stranger: what is no file is refused at once ----
for kind in pipe device; do
	for name in vocab.tsv recipe.ini state.json SHA256SUMS; do
		rm -rf "$tmp/model"
		cp -RL "$w/runs/r/checkpoints/last" "$tmp/model"
		rm -f "$tmp/model/$name"
		if [ $kind = pipe ]; then mkfifo "$tmp/model/$name"; else ln -s /dev/zero "$tmp/model/$name"; fi
		got=0
		timeout 20 "$wb" translate --model "$tmp/model" "$tmp/in" >"$tmp/out" 2>"$tmp/err" || got=$?
		case $got in
		65 | 66) ok "a $kind as $name" ;;
		*) not_ok "a $kind as $name" "status $got: $(head -c 300 "$tmp/err")" ;;
		esac
		same "a $kind as $name: the message names it" "$(grep -c "$name" "$tmp/err")" 1
	done
done
for name in journal.jsonl state.json recipe.ini console.log lock; do
	rm -rf "$tmp/w2"
	mkdir -p "$tmp/w2/runs"
	cp -R "$w/runs/r" "$tmp/w2/runs/r"
	rm -f "$tmp/w2/runs/r/$name"
	mkfifo "$tmp/w2/runs/r/$name"
	for command in status runs "report r" "logs r"; do
		got=0
		# shellcheck disable=SC2086 # two words
		timeout 20 "$wb" $command -C "$tmp/w2" >"$tmp/out" 2>"$tmp/err" || got=$?
		if [ $got -ne 124 ]; then ok "$command with a pipe as $name"; else
			not_ok "$command with a pipe as $name" "it hangs"
		fi
	done
done
tally
