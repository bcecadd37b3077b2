#!/bin/sh
# layers_symbols.sh [knots] - checks by the symbols of the objects what layers.sh checks by includes
#
# An object of a room may use only symbols that this room, or a room it may include, defines; and a header declares only
# what its own room defines. A table that main fills, or a header that promises another room's function, is unseen by a
# check of includes. Who may use whom is the table of layers.sh. It runs in the build folder, after make.
# With "knots" it prints the files of each room that need each other in a circle, and checks nothing.
set -eu
srcdir=${srcdir:-.}
build=$PWD
if ! command -v nm >/dev/null; then
	echo "layers_symbols.sh: no nm on this machine: skipped"
	exit 77
fi
# facts: "room FOLDER ALLOWED...", "interface ROOM ABOVE...", "object PATH", nm's lines after "PATH:", "header PATH", and declarations after "PATH:".
facts() {
	(cd "$srcdir" && srcdir=. sh tests/layers.sh rooms)
	(cd "$build" && find share kernels data train eval tui -name '*.o' -exec nm -A {} +) 2>/dev/null
	[ "$1" = knots ] || (cd "$srcdir" && find share kernels data train eval tui -name '*.h' -exec grep -HE '^(extern|[a-z].*[ *][a-z_0-9]+\()' {} + |
		grep -vE ':(static|typedef|#)')
}
# shellcheck disable=SC2016 # a program of awk
facts "${1:-check}" | awk -v srcdir="$srcdir" -v knots="${1:-}" '
function complain(text) { print text; bad = 1 }
# The source of an object, "share/conf/libbase_a-conf.o" is of share/conf/conf.c; "": it is gone, the object is stale.
function source_of(object, path, ending, line) {
	if (object in source) return source[object]
	path = object
	sub(/\.o$/, "", path)
	sub(/\.cu$/, "", path)
	sub(/\/[a-z_0-9]+-/, "/", path)
	source[object] = ""
	for (ending = 1; ending <= 2; ending++)
		if ((getline line <(srcdir "/" path (ending == 1 ? ".c" : ".cu"))) > 0) {
			source[object] = path
			close(srcdir "/" path (ending == 1 ? ".c" : ".cu"))
		}
	return source[object]
}
function room_of(path) { sub(/\/[^\/]*$/, "", path); return path }
# FOLDER/... stands for all of its rooms.
function may_use(user, owner, i, n, words, folder) {
	if (user == owner) return 1
	n = split(allowed[user], words, " ")
	for (i = 1; i <= n; i++) {
		folder = words[i]
		if (folder == owner) return 1
		if (sub(/\/\.\.\.$/, "/", folder) && index(owner, folder) == 1) return 1
	}
	return 0
}
$1 == "room" { room = $2; $1 = $2 = ""; allowed[room] = $0; n_rooms++; next }
$1 == "interface" { for (i = 3; i <= NF; i++) above[$2 " " $i] = 1; next }
# nm: "PATH:ADDRESS T NAME" or "PATH:         U NAME"
/^[^ ]*\.o:/ {
	path = source_of(substr($0, 1, index($0, ":") - 1))
	if (path == "") next
	if ($(NF - 1) == "U") {
		uses[++n_uses] = path " " $NF
	} else if ($(NF - 1) ~ /^[TDBRVWCG]$/ && !($NF in file_of)) {
		file_of[$NF] = path
		n_defined++
	}
	next
}
/^[^ ]*\.h:/ {
	header = substr($0, 1, index($0, ":") - 1)
	text = substr($0, length(header) + 2)
	if (!match(text, /[a-z_0-9]+(\[[^\]]*\])*[;(=]/)) next
	text = substr(text, RSTART)
	sub(/[^a-z_0-9].*/, "", text)
	promise[++n_promises] = header " " text
}
# Circles: reached[a, b] for files of one room, closed by passing over all files in between.
function print_knots(i, j, k, edge, from, to, list, n, name, size, total) {
	for (edge in within) {
		split(edge, list, " ")
		reached[list[1], list[2]] = 1
		if (!(list[1] in seen)) { seen[list[1]] = 1; members[room_of(list[1])] = members[room_of(list[1])] " " list[1] }
		if (!(list[2] in seen)) { seen[list[2]] = 1; members[room_of(list[2])] = members[room_of(list[2])] " " list[2] }
	}
	for (room in members) {
		n = split(members[room], list, " ")
		for (k = 1; k <= n; k++) for (i = 1; i <= n; i++) if ((list[i], list[k]) in reached)
			for (j = 1; j <= n; j++) if ((list[k], list[j]) in reached) reached[list[i], list[j]] = 1
		for (i = 1; i <= n; i++) {
			if (list[i] in tied || !((list[i], list[i]) in reached)) continue
			size = 0; name = ""
			for (j = 1; j <= n; j++) if ((list[i], list[j]) in reached && (list[j], list[i]) in reached) {
				tied[list[j]] = 1
				size++
				name = name " " substr(list[j], length(room) + 2)
			}
			printf "%3d %s:%s\n", size, room, name | "sort -rn"
		}
	}
}
END {
	if (!n_defined || !n_rooms) { print "no objects here: run make first"; exit 77 }
	for (i = 1; i <= n_promises; i++) {
		split(promise[i], use, " ")
		if (!(use[2] in file_of) || room_of(file_of[use[2]]) == room_of(use[1])) continue
		if ((room_of(use[1]) " " room_of(file_of[use[2]])) in above) file_of[use[2]] = use[1]
		else if (knots == "") complain(use[1] " declares " use[2] ", which " file_of[use[2]] " defines")
	}
	for (i = 1; i <= n_uses; i++) {
		split(uses[i], use, " ")
		if (!(use[2] in file_of) || file_of[use[2]] == use[1]) continue
		owner = file_of[use[2]]
		if (room_of(owner) == room_of(use[1])) within[use[1] " " owner] = 1
		else if (knots == "" && !may_use(room_of(use[1]), room_of(owner)))
			complain(use[1] ".o uses " use[2] " of " owner ": " room_of(use[1]) " may not use " room_of(owner))
	}
	if (knots != "") { print_knots(); exit 0 }
	exit bad
}'
