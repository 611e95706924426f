#!/usr/bin/env bash
# Known weaknesses of the releases that a lock names: audit.sh PIP-AUDIT LOCK.
set -euo pipefail
report=$(mktemp)
trap 'rm -f "$report"' EXIT
if "$1" --require-hashes --disable-pip --requirement "$2" >"$report" 2>&1; then
    cat "$report"
elif grep -q "Could not connect\|ConnectionError\|Max retries exceeded\|ServiceError" "$report"; then
    echo "The lists of known weaknesses cannot be reached from here: nothing was checked." >&2
else
    cat "$report" >&2
    exit 1
fi
