#!/bin/sh
# injected.sh [long] [COMMAND...] - each command of Werkbank with system calls and allocations that fail.
# fault_run lets the n-th call of one kind fail (memory, open, read, write, close, fsync, rename, fork, threads, mmap …).
# Each time: a documented exit status, never a signal or a hang; a message; status 0 only with the complete output;
# no incomplete output and no temporary; the next undisturbed run ends with the same output. After EINTR and
# short reads and writes the status is 0. Prints a table: command, call, error, calls, places, faults that were made
# ("tried"), findings.
# A place is a call and the functions that led to it; a loop makes many calls at one place. The long form lets the
# first call of each place fail.
# In a build with the address sanitizer memory that is left at the end is a finding, too.
# Last line: the tally, which tests/tally.sh counts.
#
#	SEED	of the sample; printed (long: the time, else 1)
#	PLACES	the first call of each place is tried: yes or no (long: yes, else no)
#	FULL	every n up to this one is tried (0)
#	SAMPLE	random n beyond FULL for each call and error (long: 10, else 1)
#	CALLS	only these kinds of calls
#	ERRORS	only these errors
#	KEEP	a file that gets all findings with what the command said
#	MESSAGES	a file that gets all messages
set -u
long=
case ${1-} in long) long=yes; shift ;; esac
srcdir=$(cd "${srcdir:-.}" && pwd)
golden=$srcdir/tests/golden/import
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-injected-XXXXXX")
server=
# shellcheck disable=SC2317 # the trap calls it
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS WERKBANK_SANDBOX
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY NO_PROXY no_proxy
WERKBANK_SHARE=${WERKBANK_SHARE-$srcdir/share}; export WERKBANK_SHARE
XDG_CONFIG_HOME=$tmp/home XDG_STATE_HOME=$tmp/home; export XDG_CONFIG_HOME XDG_STATE_HOME
wb=$top/werkbank
for tool in fault_run fault_shim.so http_server; do
	[ -e "$top/tests/$tool" ] || { echo "injected.sh: there is no tests/$tool: make tests/$tool" >&2; exit 1; }
done
if [ -n "$long" ]; then
	seed=${SEED:-$(date +%s)} sample=${SAMPLE:-10} by_place=${PLACES:-yes}
else
	seed=${SEED:-1} sample=${SAMPLE:-1} by_place=${PLACES:-no}
fi
full=${FULL:-0}
limit=30 # seconds of one command
if grep -q __asan_init "$top/werkbank-eval"; then
	# the shim comes first; the sandbox would hide the names of functions from the sanitizer
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=1:exitcode=99:allocator_may_return_null=1:fast_unwind_on_malloc=0
	LSAN_OPTIONS=suppressions=$srcdir/tests/faults/leaks.supp:print_suppressions=0
	WERKBANK_SANDBOX=off
	export ASAN_OPTIONS LSAN_OPTIONS WERKBANK_SANDBOX
	limit=120
fi
keep=${KEEP:-$tmp/findings}
: >"$keep"
echo "SEED=$seed FULL=$full SAMPLE=$sample PLACES=$by_place"

# Each kind of call, and the errors it can end with; N+: that call and all later ones.
errors='malloc ENOMEM
malloc ENOMEM+
open EMFILE
open EACCES
read EIO
read SHORT
read SHORT+
read EINTR
read EINTR+
write ENOSPC
write ENOSPC+
write SHORT
write SHORT+
write EINTR
write EINTR+
close EIO
fsync EIO
rename EACCES
fork EAGAIN
pthread EAGAIN
mmap ENOMEM
mkdir ENOSPC
pipe EMFILE'

# The short form leaves out what costs most and finds least.
[ -n "$long" ] || errors=$(echo "$errors" | grep -vE 'SHORT$|EINTR$|EACCES|^mkdir|^close')

# ---- what the commands work on ---------------------------------------------------------------------------------
cat >"$tmp/tiny.manifest" <<'END'
[archive a.tgz]
train.en = a.en
train.de = a.de
dev.en = dev.en
dev.de = dev.de
test.en = test.en
test.de = test.de
END
cat >"$tmp/tiny.ini" <<'END'
[data]
corpus = tiny
manifest = tiny.manifest
merges = 100
min_frequency = 1
[model]
d_model = 32
d_ff = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 20
batch_tokens = 512
eval_every = 10
save_every = 10
threads = 1
END
# set_up : the archive, a corpus, a run, an exported model, a web server
set_up() {
	mkdir "$tmp/text" "$tmp/from" "$tmp/base" "$tmp/ready" || return 1
	"$wb" demo-corpus --demo-pairs 340 "$tmp/all.en" "$tmp/all.de" || return 1
	for l in en de; do
		head -n 300 "$tmp/all.$l" >"$tmp/text/a.$l"
		sed -n 301,320p "$tmp/all.$l" >"$tmp/text/dev.$l"
		sed -n 321,340p "$tmp/all.$l" >"$tmp/text/test.$l"
	done
	(cd "$tmp/text" && tar cf - -- *.en *.de) | gzip -1 >"$tmp/from/a.tgz"
	cp -r "$tmp/tiny.manifest" "$tmp/tiny.ini" "$tmp/from" "$tmp/base"
	cp -r "$tmp/base/." "$tmp/ready"
	cd "$tmp/ready" || return 1
	"$wb" prep -C w tiny.ini --from from --threads 1 -q && "$wb" train -C w --run r tiny.ini -q &&
		"$wb" export -C w --run r --format ctranslate2 -o model || return 1
	head -n 3 w/corpora/tiny/test.en >in
	mkdir -p "$tmp/trainable/w"
	cp -r "$tmp/base/." "$tmp/trainable"
	cp -r w/corpora "$tmp/trainable/w"
	cp -r "$tmp/trainable" "$tmp/tunable"
	cp -r w/runs "$tmp/tunable/w"
	cp "$tmp/text/a.en" "$tmp/text/a.de" "$tmp/tunable"
	cp -r "$golden/marianmt" opus && cp -r "$golden/marian" student && cp opus/*.spm student && chmod -R u+w opus student || return 1
	"$wb" import opus -o opus.model -q && "$wb" import student -o student.model -q &&
		"$wb" prep -C pieces tiny.ini --from from --no-tokenize --segmentation sentencepiece --vocabulary-size 90 -q &&
		"$wb" train -C pieces --run r tiny.ini --steps 1 -q || return 1
	"$top/tests/http_server" "$tmp/from" "$tmp/port" &
	server=$!
	tries=0
	while [ ! -s "$tmp/port" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
	sed "s|^\[archive.*|&\\nurl = http://127.0.0.1:$(cat "$tmp/port")/a.tgz|" "$tmp/tiny.manifest" >"$tmp/base/web.manifest"
}

# words COMMAND : sets "template", the folder it starts in, and "words", its arguments.
words() {
	template=$tmp/ready
	case $1 in
	prep) template=$tmp/base words='prep -C w tiny.ini --from from --threads 1' ;;
	train) template=$tmp/trainable words='train -C w --run t --restarts 0 tiny.ini' ;;
	tune)
		template=$tmp/tunable
		words='tune -C w r --run t --corpus t --train-source a.en --train-target a.de --steps 20 --eval-every 10 --batch-tokens 512 --threads 1 --beam 1'
		;;
	fetch) template=$tmp/base words='fetch -C w ./web.manifest --retry-wait 0.01 --tries 2' ;;
	eval) words='eval -C w --run r --set test --backend cpu --threads 1' ;;
	translate) words='translate -C w --run r --backend cpu --threads 1 -o out.txt in' ;;
	export) words='export -C w --run r --format ctranslate2 -o exported' ;;
	export-huggingface) words='export -m opus.model --format huggingface -o exported' ;;
	export-marian) words='export -m student.model --format marian -o exported' ;;
	export-argos) words='export -C pieces --run r --format argos -o exported' ;;
	import) words='import model -o imported' ;;
	import-huggingface) words='import opus -o imported' ;;
	import-marian) words='import student -o imported' ;;
	average) words='average -C w --run r -o averaged 10 20' ;;
	report) words='report -C w --format html -o report.html r' ;;
	*) echo "injected.sh: '$1' is no command of this test" >&2; exit 64 ;;
	esac
}

# listing : hash and name of each file of the case, without times and what else differs between two runs.
# Of a run its losses and last checkpoint: without an earlier one it goes on, with a warning.
listing() {
	find . -type f ! -path './w/runs/t/*' ! -name '*.json' ! -name lock -exec sha256sum {} +
	find . -name '*.json' ! -path './w/runs/t/*' -exec grep -H '' {} + |
		sed 's/"seconds":[^,]*,//g; s/"kept":[a-z]*,//g; s/"[a-z_]*time[a-z_]*":[^,}]*//g; s/"inode":[0-9]*//; s/{"t":[0-9]*,//; s/"decode[a-z_]*":[^,}]*//g'
	[ -e w/runs/t/journal.jsonl ] || return 0
	sed -n 's/.*"kind":"train",.*"step":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2/p' w/runs/t/journal.jsonl |
		awk '{ loss[$1] = $2 } END { for (step in loss) print "step", step, loss[step] }'
	find w/runs/t/checkpoints/20 -type f ! -name '*.json' ! -name SHA256SUMS -exec sha256sum {} +
}
list() { (cd "$tmp/case" && listing 2>/dev/null | LC_ALL=C sort) >"$1"; grep -v 'tokens/s' "$tmp/out" >"$1.out"; }

status=0 signal=0 hung=0 left=0 faults=0 place='' subject='' # of the last run

# run OPTION... : one run of the command in the case; sets status, signal, hung, left, faults, place, subject
run() {
	# shellcheck disable=SC2086 # the words of the command
	(cd "$tmp/case" && "$top/tests/fault_run" "shim=$top/tests/fault_shim.so" "page=$tmp/page" "out=$tmp/out" \
		"err=$tmp/err" "limit=$limit" "$@" "$wb" $words) >"$tmp/result"
	read -r result <"$tmp/result"
	subject=${result##* subject=}
	eval "${result% subject=*}" # NAME=VALUE without blanks
}
fresh() { rm -rf "$tmp/case" && cp -r "$template" "$tmp/case"; }

# callers PLACE : the functions that led to the call that failed, innermost first
callers() {
	program=${1%%:*}
	case $1 in *:*) ;; *) echo "$1"; return ;; esac
	echo "$1" | cut -d : -f 2- | tr : '\n' | addr2line -f -e "$top/$program" 2>/dev/null |
		sed -n '1~2p' | tr '\n' ' ' | sed "s/^/$program: /"
}

# finding WHAT [FILE] : one more for this row of the table
finding() {
	findings=$((findings + 1))
	{
		echo "$command $call $error $which: $1 [status $first_status, $(callers "$first_place")$first_subject]"
		sed 's/^/    /' "$tmp/said" | tail -n 3
		[ -z "${2-}" ] || sed 's/^/    > /' "$2" | cut -c 1-200 | head -n 9
	} >>"$keep"
}

# incomplete : is there a file which is neither of the start nor of the end, nor for the next run?
incomplete() {
	LC_ALL=C comm -23 "$tmp/now" "$tmp/wanted" | LC_ALL=C comm -23 - "$tmp/start" |
		grep -vE '^([0-9a-f]*  )?\./w/(corpora/tiny/(work/|progress\.json:)|archives/[^ ]*(\.part|progress\.json:))|^step ' >"$tmp/strange"
	[ -s "$tmp/strange" ]
}

# is_same : is the output that of an undisturbed run? Of a journal on a full disk records may be missing, with a warning.
is_same() {
	cmp -s "$tmp/now" "$tmp/wanted" && return
	grep -q 'journal\.jsonl: cannot be written' "$tmp/said" || return
	grep -v '^step ' "$tmp/wanted" >"$tmp/wanted.files"
	grep -v '^step ' "$tmp/now" | cmp -s - "$tmp/wanted.files"
}

# judge_first : was the run right in which a call failed?
judge_first() {
	if [ "$hung" -ne 0 ]; then
		finding "it hangs"
	elif [ "$signal" -ne 0 ]; then
		finding "signal $signal"
	elif [ "$status" -eq 0 ]; then
		is_same && cmp -s "$tmp/now.out" "$tmp/wanted.out" || {
			diff "$tmp/now" "$tmp/wanted" >"$tmp/strange"
			diff "$tmp/now.out" "$tmp/wanted.out" >>"$tmp/strange"
			finding "status 0, another output" "$tmp/strange"
		}
	elif [ "$status" -lt 64 ] || [ "$status" -gt 78 ] || [ "$status" -eq 70 ]; then
		finding "status $status"
	else
		case $error in SHORT* | EINTR*) finding "status $status" ;; esac
		grep -q '^werkbank[a-z ]*: ..' "$tmp/err" || finding "no message"
		! incomplete || finding "incomplete output" "$tmp/strange"
	fi
	[ "$left" -eq 0 ] || finding "processes are left"
	if grep 'Sanitizer:\|^ *#[0-9]* .* in ' "$tmp/said" | grep -v 'fault_shim\|libsanitizer' >"$tmp/strange"; then
		finding "the sanitizer complains" "$tmp/strange"
	fi
	(cd "$tmp/case" && find . -name '*.tmp') >"$tmp/strange"
	[ ! -s "$tmp/strange" ] || finding "a temporary is left" "$tmp/strange"
}

# attempt WHICH : a call fails ("n=NUMBER", "n=NUMBER place=ID"), then an undisturbed run follows
attempt() {
	which=$1
	fresh
	case $error in *+) lasting=+ ;; *) lasting= ;; esac
	# shellcheck disable=SC2086 # one option or two
	run "call=$call" "error=${error%+}" ${which%% *}$lasting ${which#"${which%% *}"}
	first_status=$status first_place=$place first_subject=$subject
	cp "$tmp/err" "$tmp/said"
	[ -z "${MESSAGES-}" ] || echo "$command $call $error $status $(callers "$place")$subject: $(tail -n 1 "$tmp/err")" >>"$MESSAGES"
	list "$tmp/now"
	[ "$faults" -eq 0 ] || tried=$((tried + 1))
	before=$findings
	judge_first
	[ "$first_status" -ne 0 ] || [ $findings -gt $before ] || return 0
	# an output that is a folder is not replaced
	(cd "$tmp/case" && rm -rf exported imported averaged)
	run
	list "$tmp/now"
	if [ "$status" -ne 0 ]; then
		finding "the next run: status $status" "$tmp/err"
	elif ! is_same; then
		diff "$tmp/now" "$tmp/wanted" >"$tmp/strange"
		finding "the next run: another output" "$tmp/strange"
	fi
}

# choices COUNT : a line for each call that is tried
choices() {
	case $error in SHORT+ | EINTR+) echo n=1; return ;; esac # they disturb each call at once
	[ "$by_place" = no ] || sed 's/ .*//; s/^/n=1 place=/' "$tmp/places"
	awk -v count="$1" -v full="$full" -v sample="$sample" -v seed="$seed" 'BEGIN {
		srand(seed)
		for (n = 1; n <= count && (n <= full || count - full <= sample); n++) print "n=" n
		for (i = 0; i < sample && count - full > sample; i++) {
			n = full + 1 + int(rand() * (count - full))
			if (!tried[n]++) print "n=" n
		}
	}'
}

# find_places CALL : a list of the places of its calls, "ID COUNT", in the order of their first calls
find_places() {
	[ "$1" != "$places_of" ] || return 0
	places_of=$1
	fresh
	run "call=$1" n=0
	sed 1d "$tmp/result" >"$tmp/places"
}

# row CALL ERROR COUNT : one row of the table
row() {
	call=$1 error=$2 tried=0 findings=0
	choices "$3" >"$tmp/choices"
	while read -r choice <&4; do attempt "$choice"; done 4<"$tmp/choices"
	printf '%-10s %-8s %-8s %6d calls %5d places %5d tried %4d findings\n' "$command" "$call" "$error" "$3" \
		"$(wc -l <"$tmp/places")" "$tried" "$findings"
	if [ "$findings" -eq 0 ]; then
		ok "$command: $call $error: $tried tried"
	else
		not_ok "$command: $call $error" "$findings findings, as: $(grep "^$command $call $error n=" "$keep" | head -n 1)"
	fi
}

# ---- the table ---------------------------------------------------------------------------------------------------
if ! set_up >"$tmp/log" 2>&1; then
	not_ok "a tiny model" "$(tail -n 3 "$tmp/log")"
	tally
	exit
fi
cd "$tmp" || exit 1
[ $# -gt 0 ] || set -- prep train eval translate tune export export-huggingface export-marian export-argos import import-huggingface \
	import-marian fetch average report
for command; do
	words "$command"
	fresh
	(cd "$tmp/case" && listing 2>/dev/null | LC_ALL=C sort) >"$tmp/start"
	run
	cp "$tmp/result" "$tmp/counts"
	list "$tmp/wanted"
	places_of=
	: >"$tmp/places"
	if [ "$status" -ne 0 ]; then
		not_ok "$command" "undisturbed: status $status: $(tail -n 2 "$tmp/err")"
		continue
	fi
	if ! grep -q '^[a-z]* [1-9]' "$tmp/counts"; then
		skip "$command" "no call is seen: a static program, or not the GNU C library"
		continue
	fi
	echo "$errors" >"$tmp/errors"
	while read -r call error <&3; do
		case " ${CALLS-$call} " in *" $call "*) ;; *) continue ;; esac
		case " ${ERRORS-$error} " in *" $error "*) ;; *) continue ;; esac
		count=$(sed -n "s/^$call //p" "$tmp/counts")
		[ "$by_place" = no ] || find_places "$call"
		[ "$count" -eq 0 ] || row "$call" "$error" "$count"
	done 3<"$tmp/errors"
done
tally
