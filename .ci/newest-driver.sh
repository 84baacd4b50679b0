#!/usr/bin/env bash
# Tests internal/session, or other packages, with a newer go-mssqldb than go.mod names, because taking a connection over depends on
# what is inside of the driver. The module files of the tree stay as they are.
#   .ci/newest-driver.sh [VERSION] [PACKAGE…]
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-v1.11.2}
[ $# -eq 0 ] || shift
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(./internal/session/)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp go.mod "$dir/go.mod"
cp go.sum "$dir/go.sum"
go mod edit -require="github.com/microsoft/go-mssqldb@$version" "$dir/go.mod"
go build -modfile="$dir/go.mod" -mod=mod "${packages[@]}"
used=$(go list -modfile="$dir/go.mod" -mod=mod -m github.com/microsoft/go-mssqldb)
echo "built with $used"
[ "${used##* }" = "$version" ] || { echo "the build has taken another version"; exit 1; }
go test -count=1 -modfile="$dir/go.mod" -mod=mod "${packages[@]}"
