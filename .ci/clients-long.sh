#!/usr/bin/env bash
# Installs what the long tests of internal/compat/clients drive, beside what .ci/clients.sh installs: the system's packages by
# apt, the rest into the user's cache folder. A part that cannot be installed is named at the end; its tests are skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mssqlcdc/clients"
source=internal/compat/clients/testdata/long
missing=()

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
part() { # name, function
  if (set -e; "$2") >"$cache/$1.log" 2>&1; then echo "installed: $1"; else missing+=("$1"); echo "not installed: $1 (see $cache/$1.log)"; fi
}

system() {
  local need=()
  command -v tshark >/dev/null || need+=(tshark)
  command -v javac >/dev/null || need+=(default-jdk-headless)
  command -v mvn >/dev/null || need+=(maven)
  [ -e "$(odbc_driver)" ] || need+=(tdsodbc unixodbc)
  [ "${#need[@]}" = 0 ] && return
  root apt-get update -qq
  root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${need[@]}"
}
odbc_driver() { echo "/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")/odbc/libtdsodbc.so"; }

python_clients() {
  "$cache/venv/bin/pip" install -q --disable-pip-version-check mssql-python==1.16.0 mssql-python-odbc==18.6.2.2 mssql-python-rs==0.3.0 \
    arrow-odbc==10.6.2 pyarrow==26.0.1 python-tds==1.17.1 pyOpenSSL==26.4.0
}
tedious20() { npm install --silent --no-audit --no-fund --no-save --prefix "$cache/tedious20" tedious@20.3.9 node@22.23.3; }
jdbc() {
  local v
  for v in 12.4.2.jre8 13.4.0.jre11; do
    mvn -B -q -f "$source/jdbc/pom.xml" dependency:copy-dependencies "-Djdbc.version=$v" "-DoutputDirectory=$cache/jdbc/${v%%.*}"
  done
  javac -d "$cache/jdbc/classes" -cp "$cache/jdbc/13/*" "$source/jdbc/JdbcRows.java"
}
debezium() {
  mvn -B -q -f "$source/debezium/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$cache/debezium/lib"
  javac -d "$cache/debezium/classes" -cp "$cache/debezium/lib/*" "$source/debezium/Events.java"
}
tiberius() { cargo build -q --release --manifest-path "$source/tiberius/Cargo.toml" --target-dir "$cache/tiberius"; }

mkdir -p "$cache"
bash .ci/clients.sh
part system system
part python python_clients
part tedious20 tedious20
part jdbc jdbc
part debezium debezium
part tiberius tiberius
[ "${#missing[@]}" = 0 ] || { echo "missing: ${missing[*]}"; exit 1; }
