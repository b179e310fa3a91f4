#!/usr/bin/env bash
# Prints size, start time and memory of both programs, as docs/operating.md has them.
# Run by `make report/binaries`; needs bin/retinue and bin/retinue-full, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
lean=$PWD/bin/retinue full=$PWD/bin/retinue-full
data=$(mktemp -d)
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$data"
}
trap finish EXIT
export XDG_DATA_HOME=$data XDG_CONFIG_HOME=$data/config HOME=$data

now() { date +%s%N; }
ms() { echo $((($(now) - $1) / 1000000)); }
mb() { echo $((($1 + 524288) / 1048576)); }
rss() { awk '/^VmRSS/ { printf "%d", $2 / 1024 }' "/proc/$1/status"; }
await() { # file text
	for _ in $(seq 300); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.02
	done
	echo "no \"$2\" in $1:" >&2
	cat "$1" >&2
	exit 1
}

for program in "$lean" "$full"; do
	packed=$(gzip -1 -c "$program" | wc -c)
	begun=$(now)
	"$program" version >/dev/null
	started=$(ms "$begun")
	printf 'proof: %s: size %d MB, compressed %d MB, version after %d ms\n' "$(basename "$program")" \
		"$(mb "$(stat -c %s "$program")")" "$(mb "$packed")" "$started"
done

begun=$(now)
"$full" up --demo >"$data/up.log" 2>&1 &
up=$!
pids+=("$up")
await "$data/up.log" "is up"
printf 'proof: retinue-full up --demo ready after %d ms, %d MB\n' "$(ms "$begun")" "$(rss "$up")"
begun=$(now)
"$full" run --demo "Compare apples, pears and plums" >/dev/null 2>&1 </dev/null
printf 'proof: retinue-full: three sub-agents answered after another %d ms, then %d MB\n' "$(ms "$begun")" "$(rss "$up")"

address=$(sed 's/.*"address":"\([^"]*\)".*/\1/' "$data/retinue/demo/engine.json")
begun=$(now)
tls=$data/retinue/demo/engine-tls
"$lean" worker --set "engine.temporal_address=$address" --set "engine.tls.ca=$tls/ca.pem" --set "engine.tls.cert=$tls/client.pem" --set "data_dir=$data/worker" >"$data/worker.log" 2>&1 &
worker=$!
pids+=("$worker")
await "$data/worker.log" "ready"
printf 'proof: retinue worker ready after %d ms, %d MB\n' "$(ms "$begun")" "$(rss "$worker")"
