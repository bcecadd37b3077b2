#!/bin/sh
# sbom.sh - "make sbom" lists the libraries that the programs are linked with, as SPDX. Last line: the tally.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-sbom-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
make=${MAKE:-make}
says "make sbom" 0 '' "${make%% *}" sbom
document=$(find . -maxdepth 1 -name 'werkbank-*.spdx' | head -n 1)
says "it is SPDX 2.3 of this package" 0 '^PackageName: werkbank$' grep -xE 'SPDXVersion: SPDX-2.3|PackageName: werkbank' "$document"
same "each package but the first is a dependency" "$(grep -c '^PackageName:' "$document")" "$(($(grep -c '_LINK' "$document") + 1))"
if grep -qE '^PackageVersion: (NOASSERTION)?$' "$document"; then
	not_ok "each library has a version" "$(grep -B 2 -E '^PackageVersion: (NOASSERTION)?$' "$document")"
else
	ok "each library has a version"
fi
# what the linker recorded is in the list
for pair in archive:libarchive curl:libcurl crypto:libcrypto pcre2-8:libpcre2-8 seccomp:libseccomp expat:expat z:zlib; do
	if readelf -d werkbank-data 2>/dev/null | grep -q "NEEDED.*lib${pair%:*}[.-]"; then
		says "${pair#*:} is listed" 0 '' grep -qx "PackageName: ${pair#*:}" "$document"
	fi
done
cp "$document" "$tmp/first"
"${make%% *}" sbom >/dev/null 2>&1
equal "the same document twice" "$tmp/first" "$document"
tally
