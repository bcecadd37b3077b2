#!/bin/sh
# quickstart.sh - quickstart in a tree of stand-ins: packages of five systems, read-only trees, paths that it prints.
# configure, make, pkg-config and werkbank are small scripts here; nothing is installed. Last line: the tally.
set -u
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-quickstart-XXXXXX")
trap 'chmod -R u+w "$tmp" 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME JOBS XDG_DATA_HOME
source=$(cd "$srcdir" && pwd)
HOME=$tmp/home; export HOME

# ---- a machine: programs in $tmp/bin, libraries that pkg-config knows in $tmp/modules ----
mkdir -p "$tmp/bin" "$HOME"
for program in sh awk basename cat chmod cksum cmp cp cut date dirname env expr find grep head id ls mkdir mktemp mv \
	nproc paste printf pwd rm sed sleep sort tail tee touch tr uname uniq wc; do
	path=$(command -v "$program") && case $path in /*) ln -s "$path" "$tmp/bin/$program" ;; esac
done
stand_in() { cat >"$1"; chmod +x "$1"; }
install_compilers() {
	for program in gcc cc autoconf automake; do echo 'exit 0' | stand_in "$tmp/bin/$program"; done
	printf '#!/bin/sh\ngrep -qx "$2" "%s/modules"\n' "$tmp" | stand_in "$tmp/bin/pkg-config"
	printf '#!/bin/sh\nexit 0\n' | stand_in "$tmp/bin/make"
}
printf '%s\n' libpcre2-8 libarchive zlib libcurl libcrypto icu-uc ncursesw >"$tmp/modules"
system() { printf '%s\n' "$@" | sed 's/=\(.*\)/="\1"/' >"$tmp/os-release"; }

# ---- a tree whose configure writes what pkg-config says of MPI, and whose werkbank says how it was called ----
make_tree() {
	mkdir -p "$1/share"
	cp "$source/quickstart" "$1/"
	touch "$1/configure.ac" "$1/share/notes"
	echo 'cp configure.in configure' | stand_in "$1/autogen.sh"
	stand_in "$1/configure.in" <<-'END'
		#!/bin/sh
		echo configured >>times
		touch config.status
		if pkg-config --exists ompi-c; then echo '#define HAVE_MPI 1'; fi >config.h
	END
}
tree="$tmp/Übungen und Spaß/werk bank"
make_tree "$tree"
# quickstart FOLDER ARGUMENT... : as typed there, with the programs of this machine only
quickstart() { (cd "$1" && shift && PATH=$tmp/bin OS_RELEASE=$tmp/os-release "$@"); }

# ---- packages that are missing, and the command for each system ----
for row in 'fedora|ID=fedora|dnf install gcc glibc-devel make .*pcre2-devel .*libcurl-devel' \
	'Rocky Linux|ID=rocky ID_LIKE="rhel centos fedora"|dnf install gcc glibc-devel make ' \
	'Arch|ID=arch|pacman -S gcc glibc make .*pcre2 .*openssl' \
	'openSUSE|ID=opensuse-tumbleweed ID_LIKE=suse|zypper install gcc .*libopenssl-devel' \
	'Alpine|ID=alpine|apk add gcc musl-dev make .*pcre2-dev .*libseccomp-dev expat-dev$' \
	'Debian|ID=debian|apt-get install gcc libc6-dev make .*libpcre2-dev .*libseccomp-dev libexpat1-dev$' \
	'a system like Ubuntu|ID=mint ID_LIKE=ubuntu|apt-get install gcc '; do
	ids=${row#*|}
	eval "set -- ${ids%%|*}"
	system "$@"
	says "${row%%|*}: packages" 69 "${ids#*|}" quickstart "$tree" ./quickstart build
done
system ID=alpine
install_compilers
says "everything is there: it builds" 0 'left out: training on several hosts or ranks. To add it: (sudo )?apk add openmpi-dev openmpi, then ./quickstart build' \
	quickstart "$tree" ./quickstart build
says "what is optional is offered" 0 'going on without optional packages; to add them: (sudo )?apk add libseccomp-dev' \
	quickstart "$tree" ./quickstart build
same "configured once" "$(wc -l <"$tree/build/times" | tr -d ' ')" 1
echo ompi-c >>"$tmp/modules"
says "a library came: it configures again" 0 'configuring' quickstart "$tree" ./quickstart build
if grep -q 'training on several hosts' "$tmp/out"; then not_ok "MPI is in" "left out"; else ok "MPI is in"; fi
says "... and not once more" 0 '' quickstart "$tree" ./quickstart build
same "configured twice" "$(wc -l <"$tree/build/times" | tr -d ' ')" 2

mv "$tmp/bin/uname" "$tmp/bin/uname.linux"
printf '#!/bin/sh\necho Darwin\n' | stand_in "$tmp/bin/uname"
says "macOS" 69 'needs Linux; .* container: share/doc/install.md' quickstart "$tree" ./quickstart build
mv "$tmp/bin/uname.linux" "$tmp/bin/uname"

# every name in the manual's table is quickstart's
says "names of packages" 0 '' sh -c "sed -n '/^package_names/,/^}/p' '$source/quickstart'"
cp "$tmp/out" "$tmp/names"
sed -n '/^## Packages$/,/^## /s/^| \(Debian\|Fedora\|Arch\|openSUSE\|Alpine\)[^`]*\(`.*\)/\2/p' "$source/share/doc/install.md" |
	tr '`|' '  ' | tr -s ' ' '\n' | sed '/^$/d' | sort -u >"$tmp/documented"
[ -s "$tmp/documented" ] || not_ok "names in install.md" "none was found"
while read -r name; do
	grep -qE "[[:blank:]]$name([[:blank:]]|\$)" "$tmp/names" || not_ok "install.md: $name" "quickstart does not name it"
done <"$tmp/documented"

# ---- the run: paths from other folders, and from a copy of a read-only tree ----
stand_in "$tree/werkbank.stub" <<-'END'
	#!/bin/sh
	# a training that reaches BLEU 90 at once
	case $1 in
	stop) touch "$3/stop" ;;
	train)
		mkdir -p "$3"
		if [ -n "${ENDLESS:-}" ]; then
			touch "$3/training"
			until [ -e "$3/stop" ]; do sleep 0.1; done
			echo saved >"$3/ended"
			exit 75
		fi
		mkdir -p "$3/runs/demo"
		echo '{"kind":"eval","step":100,"bleu":91.5}' >"$3/runs/demo/journal.jsonl"
		echo '{"state":"finished"}' >"$3/runs/demo/state.json" ;;
	status)
		[ -d "$3/runs/demo" ] || exit
		cat "$3/bleu" 2>/dev/null || echo '{"runs":[{"best_bleu":91.5}]}' ;;
	translate) echo eins; echo zwei; echo drei ;;
	esac
END
ln -s ../werkbank.stub "$tree/build/werkbank"
says "from the tree: relative paths" 0 '^   build/werkbank translate --run demo  ' quickstart "$tree" ./quickstart
says "trained" 0 'runs/demo is trained already; to train it anew: rm -r werkbank.d/runs/demo, then ./quickstart' quickstart "$tree" ./quickstart
says "from another folder: paths that work there" 0 "^   '$tree/build/werkbank' translate --run demo -C '$tree/werkbank.d'" \
	quickstart "$tmp" "$tree/quickstart"
WERKBANK_HOME=mine; export WERKBANK_HOME
says "a workspace relative to the user's folder" 0 "Everything is in $tmp/mine:" quickstart "$tmp" "$tree/quickstart"
present "... is there" "$tmp/mine/runs/demo"
echo '{"runs":[{"best_bleu":12.5}]}' >"$tmp/mine/bleu"
says "a poor end is named" 0 "the time is over at BLEU 12.50.* To go on:" quickstart "$tmp" "$tree/quickstart"
says "... with the command" 0 "^   '$tree/build/werkbank' train demo -C $tmp/mine --max-minutes" quickstart "$tmp" "$tree/quickstart"
unset WERKBANK_HOME

WERKBANK_HOME=$tmp/short WERKBANK_MAX_MINUTES=2; export WERKBANK_HOME WERKBANK_MAX_MINUTES
says "the time is what WERKBANK_MAX_MINUTES says" 0 '^== training for at most 2 min' quickstart "$tree" ./quickstart
WERKBANK_HOME=$tmp/long WERKBANK_MAX_MINUTES=40
says "... also a long one" 0 '^== training for 3 to 40 minutes, until BLEU 90$' quickstart "$tree" ./quickstart
holds "the end names the report" 'werkbank report --run demo' "$tmp/out"
holds "... and how to type werkbank" "export PATH='$tree/build':[\$]PATH" "$tmp/out"
unset WERKBANK_HOME WERKBANK_MAX_MINUTES

# ---- progress: each line is shown when it comes, not when the build has ended ----
{ sed -n '/^count_compiled()/,/^}/p' "$source/quickstart"; echo 'count_compiled 40 ""'; } >"$tmp/count.sh"
mkfifo "$tmp/build.pipe"
sh "$tmp/count.sh" <"$tmp/build.pipe" >"$tmp/progress" &
pid=$!
exec 3>"$tmp/build.pipe"
for _ in 1 2 3 4 5; do echo "  CC       a.o" >&3; done
for _ in $(seq 100); do [ ! -s "$tmp/progress" ] || break; sleep 0.1; done
same "progress is shown while the build runs" "$(cat "$tmp/progress")" "   compiled 5 of 40 files"
exec 3>&-
wait "$pid"

# ---- kill: the training is saved, and nothing is left behind ----
(cd "$tree" && export ENDLESS=1 WERKBANK_HOME="$tmp/stopped" && PATH=$tmp/bin OS_RELEASE=$tmp/os-release exec ./quickstart) \
	>"$tmp/out" 2>"$tmp/err" </dev/null &
pid=$!
for _ in $(seq 100); do [ ! -e "$tmp/stopped/training" ] || break; sleep 0.1; done
kill "$pid"
got=0; wait "$pid" || got=$?
same "killed: the training has ended before" "$got $(cat "$tmp/stopped/ended" 2>/dev/null)" "75 saved"
touch "$tmp/stopped/stop"	# ends a training that was left behind
same "killed: how to resume" "$(tail -n 1 "$tmp/out")" "== stopped; to resume the training: ./quickstart"

# read_only COMMAND... : with a tree that cannot be written; root needs a mount for that
read_only() {
	if [ "$(id -u)" -ne 0 ]; then quickstart "$tmp" "$@"; return; fi
	quickstart "$tmp" "$unshare" -m sh -c '"$0" --bind "$1" "$1" && "$0" -o remount,ro,bind "$1" && shift && exec "$@"' \
		"$mount" "$locked" "$@"
}
locked="$tmp/read only"
make_tree "$locked"
mkdir -p "$locked/.git"
touch "$locked/.git/objects"
chmod -R a-w "$locked"
unshare=$(command -v unshare) mount=$(command -v mount)
copy=$HOME/.local/share/werkbank/source
if [ "$(id -u)" -eq 0 ] && ! read_only sh -c : >/dev/null 2>&1; then
	skip "a read-only tree" "no mounts here"
else
	says "a read-only tree is copied" 0 "cannot be written; working in a copy: $copy" read_only "$locked/quickstart" build
	same "built there" "$(cat "$copy/build/times")" configured
	absent "without .git" "$copy/.git"
	says "a second start" 0 '' read_only "$locked/quickstart" build
	same "... copies nothing that is the same" "$(cat "$copy/build/times")" configured
	chmod u+w "$locked/share/notes" && echo changed >"$locked/share/notes" && chmod a-w "$locked/share/notes"
	says "a third start" 0 "then $copy/quickstart build|building" read_only "$locked/quickstart" build
	equal "... copies what changed" "$locked/share/notes" "$copy/share/notes"
	absent "nothing was written into it" "$locked/build"
fi
tally
