# `make` alone prints the targets.
GO ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help demo test race vet lint generate ci long test-real bench bench-write

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## run the main job on the stand-in: changes of a small shop as JSON lines
	$(GO) run ./cmd/mssqlcdc demo

test: ## the fast test set; nothing to install
	$(GO) test ./...

race: ## the fast test set with the race detector, shuffled
	$(GO) test -race -shuffle=on ./...

vet: ## go vet and staticcheck
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

generate: ## write the generated files (docs/types.md, docs/fields.md)
	$(GO) generate ./...

ci: ## what must pass before a change lands: the above, README commands, foreign clients
	bash .ci/run

long: ## everything, with a dated record under docs/results
	bash .ci/long

test-real: ## the scenario suite on a real SQL Server: make test-real MSSQL_TEST_DSN=sqlserver://…
	@test -n "$(MSSQL_TEST_DSN)" || { echo "set MSSQL_TEST_DSN, for example sqlserver://sa:password@host?database=test"; exit 2; }
	MSSQL_TEST_DSN='$(MSSQL_TEST_DSN)' $(GO) test -count=1 -v ./internal/compat/...

bench: ## the codec and pipeline benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./internal/... ./changetable/...

bench-write: ## bulk loads against other writers, with a record under bench/results (installs them; minutes)
	$(GO) run ./bench/write -results bench/results
