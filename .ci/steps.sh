#!/usr/bin/env bash
# Runs make targets in order and stops at the first that fails. Each argument is a target, with
# variables after it if need be; targets with " + " between them run side by side, for those that
# mostly wait. Ends with how long each step took, and how much of the two it kept a processor busy.
set -uo pipefail

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
TIMEFORMAT='%R %U %S'

# run carries out one target and leaves its times and its result in files.
run() {
	{ time eval "make --no-print-directory $1" 2>&1; } 2>"$logs/$2.time"
	echo $? >"$logs/$2.code"
}

table=$(printf '%-15s %8s %8s  %s' step seconds cpu result)
failed=
for step in "$@"; do
	mapfile -t side < <(sed 's/ + /\n/g' <<<"$step")
	if ((${#side[@]} == 1)); then
		printf '\n=== %s\n' "${step%% *}"
		run "$step" 0
	else
		printf '\n=== %s\n' "$step"
		for i in "${!side[@]}"; do
			run "${side[i]}" "$i" >"$logs/$i.out" &
		done
		wait
	fi
	for i in "${!side[@]}"; do
		name=${side[i]%% *}
		((${#side[@]} == 1)) || { printf '\n--- %s\n' "$name"; cat "$logs/$i.out"; }
		result=ok
		[[ $(<"$logs/$i.code") == 0 ]] || { result=FAILED; failed+=" $name"; }
		read -r real user sys <"$logs/$i.time"
		table+=$(printf '\n%-15s %8.0f %8.0f  %s' "$name" "$real" "$(awk "BEGIN { print $user + $sys }")" "$result")
	done
	[[ -z $failed ]] || break
done

printf '\n%s\n' "$table"
if [[ -n $failed ]]; then
	printf '\nci: failed:%s; the steps after it did not run\n' "$failed"
	exit 1
fi
printf '\nci: all steps passed in %d s\n' "$SECONDS"
