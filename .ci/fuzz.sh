#!/usr/bin/env bash
# Runs fuzz targets, each for a time: fuzz.sh TIME PACKAGE:TARGET... Run by `make fuzz`.
#
# A target fails when an input does, and then `go test` names the file that it wrote. At times Go 1.26
# reports the end of the time itself as a failure (golang/go#75804): that is none.
set -euo pipefail
time=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# report prints how many inputs a target has had, for docs/proof.md.
report() {
	echo "proof: $1: $(grep -o 'execs: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2) inputs, 0 failed"
}
for target in "$@"; do
	package=./internal/${target%%:*} name=${target##*:}
	echo "$package $name, $time"
	if "${GO:-go}" test "$package" -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1s >"$log" 2>&1; then
		tail -n 3 "$log"
		report "$target"
	elif grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"; then
		tail -n 6 "$log"
		echo "no input failed: only the time was up"
		report "$target"
	else
		cat "$log"
		exit 1
	fi
done
