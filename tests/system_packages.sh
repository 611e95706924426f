#!/usr/bin/env bash
# Install what the tests need from the system: Chromium, PostgreSQL and nginx.
set -euo pipefail
missing=()
command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null \
    || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
    || missing+=(chromium)
command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 \
    || missing+=(postgresql)
command -v nginx >/dev/null || missing+=(nginx-light)
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "Please install: ${missing[*]} (this system has no apt-get), then run make test again." >&2
    exit 1
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
echo "Installing ${missing[*]} …"
$sudo apt-get update -qq
# The headless build of Chromium is half as large and needs a fifth less processor time.
if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
    missing=("${missing[@]/#chromium/chromium-headless-shell}")
fi
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    fonts-dejavu-core fonts-noto-color-emoji >/dev/null
