#!/bin/sh
# sbom.sh - the bill of materials of a build, as SPDX 2.3 tag-value: "make sbom" calls it with what configure found.
#	sbom.sh VERSION DATE COMPILER [LIBRARY=VERSION...]
set -eu
version=$1 date=$2 compiler=$3
shift 3
# the same build has the same document: its name is a hash of its content
content=$(printf '%s\n' "$version" "$date" "$compiler" "$@" | sha256sum | cut -c 1-32)
cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: werkbank-$version
DocumentNamespace: https://spdx.org/spdxdocs/werkbank-$version-$content
Creator: Tool: werkbank-sbom.sh-$version
Created: ${date}T12:00:00Z
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-Package-werkbank

PackageName: werkbank
SPDXID: SPDXRef-Package-werkbank
PackageVersion: $version
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageLicenseConcluded: NOASSERTION
PackageLicenseDeclared: MIT
PackageCopyrightText: NOASSERTION
PackageComment: <text>compiled by $compiler</text>
END
for library; do
	name=${library%%=*}
	id=SPDXRef-Package-$(printf '%s' "$name" | tr -c 'A-Za-z0-9.\n-' -)
	found=${library#*=}
	cat <<-END

	PackageName: $name
	SPDXID: $id
	PackageVersion: ${found:-NOASSERTION}
	PackageDownloadLocation: NOASSERTION
	FilesAnalyzed: false
	PackageLicenseConcluded: NOASSERTION
	PackageLicenseDeclared: NOASSERTION
	PackageCopyrightText: NOASSERTION
	Relationship: SPDXRef-Package-werkbank DYNAMIC_LINK $id
	END
done
