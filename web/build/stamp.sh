#!/usr/bin/env bash
# Prints the hash of everything that the app is built from. Run in web/.
set -euo pipefail
export LC_ALL=C
{
  find src public build -type f
  ls index.html package.json package-lock.json tsconfig.json biome.json vite.config.ts
} | sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1
