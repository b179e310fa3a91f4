#!/usr/bin/env bash
# Runs make targets in order and stops at the first that fails. Each argument is a target, with
# variables after it if need be. One that begins with ~ depends on how busy a shared machine is and
# is tried a second time; the table says so, and what the first try printed is there to be mended.
# Ends with how long each step took.
set -uo pipefail

table=$(printf '%-14s %8s  %s' step seconds result)
for step in "$@"; do
	tries=1
	[[ $step == '~'* ]] && tries=2
	step=${step#'~'}
	name=${step%% *}
	start=$SECONDS
	for ((try = 1; try <= tries; try++)); do
		printf '\n=== %s%s\n' "$name" "$( ((try == 1)) || echo ', again')"
		result=FAILED
		eval "make --no-print-directory $step" && result=ok && break
	done
	[[ $result == ok ]] && ((try > 1)) && result='ok, at the second try'
	table+=$(printf '\n%-14s %8d  %s' "$name" $((SECONDS - start)) "$result")
	[[ $result == FAILED ]] && break
done

printf '\n%s\n' "$table"
if [[ $result == FAILED ]]; then
	printf '\nci: step "%s" failed; the steps after it did not run\n' "$name"
	exit 1
fi
printf '\nci: all steps passed in %d s\n' "$SECONDS"
