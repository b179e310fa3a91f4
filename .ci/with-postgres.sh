#!/usr/bin/env bash
# Runs a command with a Postgres server of its own, named in TEST_RETINUE_POSTGRES: bash .ci/with-postgres.sh make e2e
# Suites that run at the same time take more connections than a server allows by default, and the gate must not
# wait for a disk: its tables lie in memory. A server that the caller has named is used as it is.
set -euo pipefail

[[ -z ${TEST_RETINUE_POSTGRES:-} ]] || exec "$@"

programs=(/usr/lib/postgresql/*/bin)
bin=${programs[-1]}
[[ -x $bin/initdb ]] || { echo "no initdb under /usr/lib/postgresql: install postgresql, or name a server in TEST_RETINUE_POSTGRES" >&2; exit 1; }

memory=/dev/shm
[[ -w $memory ]] || memory=${TMPDIR:-/tmp}
folder=$(mktemp -d "$memory/retinue-postgres.XXXXXX")
as=() # Postgres refuses to run as root
if ((EUID == 0)); then
	chown postgres "$folder"
	as=(--reuid postgres --regid postgres --init-groups)
fi
end() {
	[[ -z ${server:-} ]] || { kill -INT "$server" 2>/dev/null && wait "$server" || true; }
	rm -rf "$folder"
}
trap end EXIT
stop() { # the command runs in a process group of its own: nobody else would tell its children
	kill -TERM -- "-$command" 2>/dev/null && wait "$command" || true
	exit 143
}

cd "$folder" # where the server's user may be
setpriv "${as[@]}" "$bin/initdb" -D data -U postgres -A trust -E UTF8 --no-sync >initdb.log || { cat initdb.log >&2; exit 1; }
for _ in 1 2 3 4 5; do
	port=$((20000 + RANDOM % 10000))
	# The server ends with this script, however the script ends.
	setpriv "${as[@]}" --pdeathsig INT "$bin/postgres" -D data -p "$port" -k "$folder" -c listen_addresses=127.0.0.1 \
		-c max_connections=500 -c shared_buffers=128MB >>server.log 2>&1 &
	server=$!
	until ready=$("$bin/pg_isready" -q -h 127.0.0.1 -p "$port" && kill -0 "$server" && echo yes) || ! kill -0 "$server" 2>/dev/null; do
		sleep 0.1
	done
	[[ $ready == yes ]] && break
	server= # most likely the port was taken
done
[[ -n $server ]] || { cat server.log >&2; exit 1; }
cd "$OLDPWD"

export TEST_RETINUE_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable"
set -m
"$@" &
command=$!
set +m
trap stop INT TERM
wait "$command"
