#!/bin/sh
# deb.sh - a Debian package of this tree: share/packaging/deb.sh [FOLDER], by default ./deb-build.
#
# Copies what the tree holds (of a git checkout: what is committed) to FOLDER/werkbank, puts debian/ there, and
# lets dpkg-buildpackage work. Needs the packages of Build-Depends in debian/control, and lintian to check.
# DEB_BUILD_OPTIONS=nocheck leaves the tests out. The package lies in FOLDER then. Its maintainer is who builds it:
# DEBFULLNAME and DEBEMAIL must say who that is, as for all of Debian's tools.
set -eu
if [ -z "${DEBFULLNAME-}" ] || [ -z "${DEBEMAIL-}" ]; then
	echo "deb.sh: who maintains this package? Set DEBFULLNAME and DEBEMAIL to your name and address" >&2
	exit 64
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
to=${1:-deb-build}
mkdir -p "$to"
to=$(cd "$to" && pwd)
rm -rf "$to/werkbank"
mkdir "$to/werkbank"
if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
	git -C "$root" archive HEAD | tar -x -C "$to/werkbank"
else
	(cd "$root" && tar -c --exclude="./build*" --exclude="./deb-build" --exclude="./werkbank.d" .) | tar -x -C "$to/werkbank"
fi
cd "$to/werkbank"
cp -R share/packaging/debian debian
version=$(sed -n 's/^AC_INIT(\[werkbank\], \[\(.*\)\])$/\1/p' configure.ac)
date=$(sed -n 's/^AC_SUBST(\[RELEASE_DATE\], \[\(.*\)\])$/\1/p' configure.ac)
sed -i "1s/(.*)/($version)/; s/@DATE@/$(LC_ALL=C date -u -R -d "$date 12:00Z")/" debian/changelog
maintainer=$(printf '%s <%s>' "$DEBFULLNAME" "$DEBEMAIL" | sed 's/[\/&]/\\&/g')
sed -i "s/@MAINTAINER@/$maintainer/" debian/changelog debian/control
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH-$(date -u -d "$date 12:00Z" +%s)}; export SOURCE_DATE_EPOCH
dpkg-buildpackage -us -uc -b
cd ..
if command -v lintian >/dev/null 2>&1; then
	lintian --fail-on error,warning --info werkbank_"$version"_*.changes
else
	echo "deb.sh: no lintian here; the package is not checked" >&2
fi
ls -l "$to"/werkbank_*.deb
