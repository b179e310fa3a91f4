#!/usr/bin/env bash
# Workflow code must give the same on every replay. The check is run on it, and on a copy that reads
# the clock: a check that does not notice that would notice nothing.
set -euo pipefail

check() { bin/workflowcheck -config .ci/workflowcheck.yaml "$1" 2>&1; }

if ! found=$(check ./internal/durable) || [ -n "$found" ]; then
  echo "$found"
  echo "workflow code depends on more than its history"
  exit 1
fi
echo "proof: nothing found in internal/durable"

# The copy lies where git does not look and imports of internal packages are allowed.
seeded=bin/_seeded # a name that ./... passes over: other suites may run beside this one
rm -rf "$seeded"
trap 'rm -rf "$seeded"' EXIT
mkdir -p "$seeded"
for file in internal/durable/*.go; do
  case $file in *_test.go) ;; *) cp "$file" "$seeded/" ;; esac
done
place='time.UnixMilli(want).Sub(workflow.Now(ctx))'
grep -qF "$place" "$seeded/workflow.go" || { echo "workflowcheck: the place for the seeded fault has gone"; exit 1; }
sed -i "s|$place|time.UnixMilli(want).Sub(time.Now())|" "$seeded/workflow.go"
found=$(check "./$seeded" || true)
case $found in
  *time.Now*) echo "proof: a seeded time.Now is found" ;;
  *) echo "$found"; echo "workflowcheck: the seeded time.Now is NOT found"; exit 1 ;;
esac
