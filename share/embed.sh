#!/bin/sh
# embed.sh TABLE FILE... - write text files as a C table { name, text }, so that the programs need no installed files.
# name is the file's name without folders and without its last extension.
set -eu
table=$1; shift
echo "/* made by share/embed.sh */"
echo "static const struct { const char *name, *text; } $table[] = {"
for file in "$@"; do
	name=${file##*/}
	echo "{ \"${name%.*}\","
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' "$file"
	echo "},"
done
echo "};"
