#!/usr/bin/env bash
# Installs the MCP servers that tests run against, as pinned, and prints where they are. A folder that
# everybody can read: the tests run as a user without rights.
set -euo pipefail
cd "$(dirname "$0")/../internal/tool/mcp/testdata/servers"
for tool in node npm; do
	command -v "$tool" >/dev/null || { echo "mcp: $tool is not installed: install nodejs and npm" >&2; exit 1; }
done
pinned=$(sha256sum package-lock.json)
target=/var/tmp/retinue-mcp-servers-${pinned:0:12}
if [[ ! -e $target/ready ]]; then
	fresh=$(mktemp -d "$target.XXXXXX")
	cp package.json package-lock.json "$fresh"
	(cd "$fresh" && npm ci --ignore-scripts --no-audit --no-fund >&2)
	touch "$fresh/ready"
	chmod -R a+rX "$fresh"
	rm -rf "$target"
	mv -T "$fresh" "$target"
fi
echo "$target"
