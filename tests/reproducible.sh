#!/bin/sh
# reproducible.sh - "make dist" from two folders, with other times, modes and locales, gives the same bytes. Needs git.
# Last line: the tally. With DEB=yes and debhelper it builds the Debian package twice, too.
# If two files differ and there is diffoscope, it says where.
#
#	KEEP	a folder that gets the archives and packages, in one/ and two/
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-reproducible-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
. "$here/tests/helpers.sh"
[ -z "${KEEP-}" ] || mkdir -p "$KEEP/one" "$KEEP/two"
# twice NAME FILE FILE : a test that both are the same bytes
twice() {
	[ -z "${KEEP-}" ] || { cp "$2" "$KEEP/one"; cp "$3" "$KEEP/two"; }
	equal "$@"
	cmp -s "$2" "$3" || ! command -v diffoscope >/dev/null || diffoscope --max-report-size 4000 "$2" "$3" || true
}
unset SOURCE_DATE_EPOCH MAKEFLAGS MAKELEVEL MFLAGS
commit=$(git -C "$here" rev-parse HEAD)

# one_dist FOLDER UMASK DATE : the archive of a fresh copy in FOLDER, whose files are of DATE
one_dist() {
	mkdir -p "$1"
	git -C "$here" archive "$commit" | (umask "$2"; tar -x -C "$1" --no-same-permissions)
	find "$1" -exec touch -h -d "$3" {} +
	(umask "$2"; cd "$1" && ./autogen.sh && mkdir b && cd b && ../configure -q --without-cuda --without-mpi && make dist) >"$tmp/log" 2>&1 ||
		{ tail -n 5 "$tmp/log"; exit 1; }
}
one_dist "$tmp/one" 022 2020-01-01
LC_ALL=C.UTF-8 one_dist "$tmp/another/and-longer" 077 2025-06-30
set -- "$tmp"/one/b/werkbank-*.tar.gz "$tmp"/another/*/b/werkbank-*.tar.gz
twice "make dist gives the same bytes twice" "$1" "$2"

if [ "${DEB:-no}" = yes ] && command -v dh >/dev/null; then
	for folder in first second/deeper; do
		mkdir -p "$tmp/$folder"
		DEB_BUILD_OPTIONS=nocheck DEBFULLNAME=Nightly DEBEMAIL=nightly@example.org \
			sh "$here/share/packaging/deb.sh" "$tmp/$folder" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; exit 1; }
	done
	set -- "$tmp"/first/werkbank_*.deb "$tmp"/second/deeper/werkbank_*.deb
	twice "the Debian package has the same bytes twice" "$1" "$2"
else
	skip "the Debian package" "not asked for (DEB=yes), or no debhelper"
fi
tally
