#!/usr/bin/env bash
# Runs make targets in order and stops at the first that fails. Each argument is a target, with
# variables after it if need be. Ends with how long each step took.
set -uo pipefail

table=$(printf '%-14s %8s  %s' step seconds result)
for step in "$@"; do
	name=${step%% *}
	printf '\n=== %s\n' "$name"
	start=$SECONDS
	result=ok
	eval "make --no-print-directory $step" || result=FAILED
	table+=$(printf '\n%-14s %8d  %s' "$name" $((SECONDS - start)) "$result")
	[[ $result == ok ]] || break
done

printf '\n%s\n' "$table"
if [[ $result != ok ]]; then
	printf '\nci: step "%s" failed; the steps after it did not run\n' "$name"
	exit 1
fi
printf '\nci: all steps passed in %d s\n' "$SECONDS"
