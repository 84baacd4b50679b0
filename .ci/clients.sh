#!/usr/bin/env bash
# Installs the clients that internal/compat/clients drives against the stand-in: FreeTDS from the system's packages,
# pymssql and tedious into the user's cache folder, where the test looks for them. Nothing goes into the tree.
set -euo pipefail
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mssqlcdc/clients"
mkdir -p "$cache"

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

if ! command -v tsql >/dev/null || ! command -v bsqldb >/dev/null || ! command -v freebcp >/dev/null; then
  root apt-get update -qq
  root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq freetds-bin >/dev/null
fi

pymssql=2.4.6
if ! "$cache/venv/bin/python" -c "import pymssql; assert pymssql.__version__ == '$pymssql'" 2>/dev/null; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q --disable-pip-version-check "pymssql==$pymssql"
fi

tedious=19.2.2
if ! grep -qs "\"version\": \"$tedious\"" "$cache/node_modules/tedious/package.json"; then
  npm install --silent --no-audit --no-fund --no-save --prefix "$cache" "tedious@$tedious"
fi

echo "clients: $(tsql -C | sed -n 's/^ *Version: *//p'), pymssql $pymssql, tedious $tedious in $cache"
