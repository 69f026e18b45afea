# `make` alone prints the targets.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
# When the commit was made: the only time that what is built knows.
SOURCE_DATE_EPOCH ?= $(shell git show -s --format=%ct HEAD 2>/dev/null)
LINT    := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 10s
# It runs go test and prints at the end, and only there, what failed with its output. Where it
# cannot be had, plain go test does the same with more words. AGAIN=1 runs up to three
# tests that failed once more and lists them: a failure that is gone then is a fault of the
# test or of the program, to be looked for, but it does not stop another change.
TESTSUM := $(GO) run gotest.tools/gotestsum@v1.13.0
AGAIN_FLAGS := $(if $(AGAIN),--rerun-fails=1 --rerun-fails-max-failures=3)
# All tests, with FULL=1 or NIGHTLY=1. Otherwise the packages that run the whole program are left out, and tests that take long are skipped.
WHOLE   := $(FULL)$(NIGHTLY)
# They begin in this order: first those that wait the longest, so that others work meanwhile.
TESTED   = $(or $(OF),./whatsapp $(if $(WHOLE),./e2e/... ./...,$(shell $(GO) list ./... | grep -v /e2e/) ./e2e/house))
GOTEST   = $(shell $(TESTSUM) --version >/dev/null 2>&1 && echo "$(TESTSUM) --format pkgname --format-hide-empty-pkg $(AGAIN_FLAGS) --packages '$(TESTED)' --" || echo "$(GO) test $(TESTED)")

# Packages whose tests run at once: one more than there are processors, since the
# longest of them wait rather than work.
AT_ONCE := $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)

export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: baileys mistakes nightly help build dist packages systemd size run demo test race bench fuzz crash clients powerloss model lives bitflips cells rows nemesis soak lint vuln fmt pictures scene docs check

help: ## print the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Where inlining makes the program larger and nothing faster that can be measured.
COLD := go.mau.fi/... postern/sandbox/... github.com/prometheus/... github.com/BurntSushi/... github.com/spf13/... \
	postern/cli/... postern/config postern/httpapi/openapi postern/mcp github.com/modelcontextprotocol/... \
	github.com/google/jsonschema-go/... github.com/segmentio/... github.com/yosida95/... \
	github.com/minio/... github.com/tinylib/... github.com/klauspost/compress/s2 github.com/klauspost/cpuid/... github.com/klauspost/crc32 gopkg.in/ini.v1 github.com/philhofer/... go.yaml.in/... postern/media/kept/s3

# Functions begin at multiples of 16 bytes instead of 32: 0.2 MB less, and no
# slower (BENCHMARKS.md, The binary).
STAMP := -X postern/app.version=$(VERSION) -X postern/app.commit=$(COMMIT) -X postern/app.committed=$(SOURCE_DATE_EPOCH)
BUILD := -trimpath $(COLD:%=-gcflags=%=-l) -ldflags '-s -w -funcalign=16 $(STAMP)'

build: ## build bin/postern, static and stripped
	$(GO) build $(BUILD) -o bin/postern .

dist: ## dist/ with all that a release has, the same bytes on any machine (PLATFORMS=linux/amd64,… DIST=folder)
	$(GO) run ./packaging/dist -version '$(VERSION)' -commit '$(COMMIT)' -epoch '$(or $(SOURCE_DATE_EPOCH),0)' -out '$(or $(DIST),dist)' -platforms '$(or $(PLATFORMS),all)' -- $(BUILD)

packages: ## install, run, upgrade and remove what make dist makes (root, and debootstrap, rpm, podman, qemu-user as far as they are there; ONLY=TestTheDeb)
	PACKAGES=1 $(GO) test -run '$(or $(ONLY),.)' -count 1 -timeout 1h -v ./e2e/packages

systemd: ## boot a small Debian with the .deb in it, and see its systemd start, watch, reload, stop and upgrade the service (root, debootstrap)
	$(MAKE) packages ONLY=TestSystemd

size: build ## size of bin/postern by feature (BY=module or BY=package)
	$(GO) run ./.ci/size -by '$(or $(BY),feature)' bin/postern

run: build ## build and serve with ./config.toml or the defaults
	./bin/postern serve

demo: build ## the main job: sandbox, two paired instances, a batch, the webhooks as they arrive
	./bin/postern demo

test: ## the tests that take a few minutes; failures are printed at the end (FULL=1: all tests, a quarter of an hour; OF=./store)
	@$(GOTEST) -p $(AT_ONCE) $(if $(WHOLE),,-short) $(TESTFLAGS)

race: WHOLE = 1
race: ## all tests, or those of packages (OF=./store), under the race detector (needs a C compiler)
	CGO_ENABLED=1 GORACE=suppressions=$(CURDIR)/.ci/race.suppressions $(GOTEST) -race -timeout 20m $(RACEFLAGS)

bench: ## the benchmarks behind BENCHMARKS.md
	$(GO) test -run '^$$' -bench . -count 3 ./...

fuzz: ## every fuzz target for FUZZTIME each
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

crash: ## kill -9 the real program under load, again and again (ROUNDS=200 SEED=any)
	ROUNDS=$(or $(ROUNDS),200) SEED=$(SEED) $(GO) test -run '^TestKillUnderLoad' -count 1 -timeout 2h -v ./e2e/crash

powerloss: ## cut the power of the real store and the real program at random, look at IMAGES=100000 disks (SEED=any)
	IMAGES=$(or $(IMAGES),100000) SEED=$(SEED) $(GO) test -run '^Test(PowerLoss|AFailedSync)' -count 1 -timeout 4h -v ./e2e/powerloss ./e2e/crash

model: ## the batch engine against its model, in random lives (STEPS=1000000 FROM=seed of the first, or SEED=one life again)
	STEPS=$(or $(STEPS),1000000) FROM=$(FROM) SEED=$(SEED) $(GO) test -run '^(TestTheEngineDoesWhatTheModelSays|TestSpacedLivesKeepTheTimeBetweenMessages)$$' -count 1 -timeout 2h -v ./batch

lives: ## the limits of instances against their plain rules, in random lives (LIVES=100000)
	$(GO) test -run '^TestLimitsAreExactModel$$' -count 1 -timeout 2h -v ./instance/pace -pace.lives $(or $(LIVES),100000)

mistakes: ## start the real program with mistakes of an operator in a row (ROUNDS=1000 SEED=any)
	ROUNDS=$(or $(ROUNDS),1000) SEED=$(SEED) $(GO) test -run '^TestOperatorMistakes' -count 1 -timeout 3h -v ./e2e/mistakes

clients: ## the documents of the interface before linters and generators; generated clients send (needs network the first time; ONLY=go)
	.ci/clients/run $(ONLY)

baileys: ## Baileys, another client of WhatsApp, from npm against the sandbox and with Postern (needs node, npm and network the first time)
	BAILEYS=1 $(GO) test -count 1 -timeout 20m -v ./e2e/baileys

# The packages whose goroutines share the most: all of them, with nothing in the cache, take twelve minutes more (BENCHMARKS.md).
SHARING := ./access ./app/... ./batch ./console/feed ./dispatch ./httpapi/alerts ./instance ./instance/pace ./instance/webhooks ./mcp ./messages ./store ./wsbus

nightly: ## what make test is too short for: all tests in full, kills, mistakes, model, limits, power cuts, bit flips, clients, Baileys, the package, races (an hour or two)
	NIGHTLY=1 $(MAKE) test
	$(MAKE) crash ROUNDS=200
	$(MAKE) mistakes ROUNDS=1000
	$(MAKE) model STEPS=200000
	$(MAKE) lives LIVES=20000
	$(MAKE) powerloss IMAGES=3000
	$(MAKE) bitflips FLIPS=1000
	$(MAKE) cells
	$(MAKE) rows
	$(MAKE) nemesis ROUNDS=60
	$(MAKE) clients
	$(MAKE) baileys
	$(MAKE) packages ONLY=TestTheDeb
	$(MAKE) race RACEFLAGS=-short OF='$(SHARING)'

bitflips: ## single flipped bits of a rich data file, against the store and the whole program (FLIPS=10000 SEED=any)
	FLIPS=$(or $(FLIPS),10000) SEED=$(SEED) $(GO) test -run '^Test(FlippedBits|UnreadableRecords)' -count 1 -timeout 3h -v ./e2e/crash

# Tests that damage or replace a file behind the store's back, or set a clock: a copy of a cell is loaded again, its time never goes back, and a clock that is
# more than 48 hours ahead does not date its records for a day.
BEHIND := Damage|Unreadable|TestARepair|TestUnknownCrash|TestDeletionIsAtomic|TestTheEngineDoesWhat|DeletedMessageEventHasItsID|OutboxIsCounted|AStartAfterAStop|WhatAStopCould|SchemaVersion3|TheOutboxOf|TestRestoredBackupSends|TestFinalBatchesGoWhen|TestAnswerIsKeptForThirtyDays

STORING := ./delivery/... ./messages/... ./instance/... ./batch/... ./whatsapp/device ./access ./media

cells: ## the packages that store, with every data file thrown away at each open and loaded from a database in memory
	$(GO) test -tags everycell -count 1 -skip '$(BEHIND)' $(or $(OF),$(STORING))

rows: ## the same, loaded from PostgreSQL
	NIGHTLY=1 PACKAGES='$(or $(OF),$(STORING))' SKIP='$(BEHIND)' $(GO) test -count 1 -timeout 2h -v ./cluster/everycell

nemesis: ## nodes of a cell on PostgreSQL that are killed, paused and cut off, and faults that these tests must find (ROUNDS=200 or HOURS=n, SEED=any)
	ROUNDS=$(or $(ROUNDS),$(if $(HOURS),1,200)) HOURS=$(HOURS) SEED=$(SEED) ONLY='$(ONLY)' $(GO) test -run '^TestNemesis' -count 1 -timeout 0 -v ./e2e/cluster
	NIGHTLY=1 $(GO) test -count 1 -timeout 2h -v ./e2e/cluster/controls

soak: ## the real program for hours at RATE=500 events a second to ten destinations, one dead and one slow (SOAK=2h)
	SOAK=$(or $(SOAK),2h) RATE=$(or $(RATE),500) $(GO) test -run '^TestSoak$$' -count 1 -timeout 24h -v ./e2e/bench

lint: ## golangci-lint
	CGO_ENABLED=0 $(LINT) run ./...

vuln: ## known weaknesses in what the program calls (govulncheck; fails where its database cannot be had)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

fmt: ## gofumpt by way of golangci-lint, and Prettier for the console's modules (needs npm)
	$(LINT) fmt ./...
	cd console/page && npx --yes prettier@3.6.2 --print-width 120 --write --log-level warn 'console/**/*.js' '!console/words'

README_PICTURES := connect-1280-light instance-events-1280-dark
pictures: ## every page of the console as a picture in bin/pictures, those of the README in docs/pictures (needs a chromium and the typeface Inter; ONLY=overview)
	$(GO) test -run '^TestPictures$$' -count 1 -timeout 30m ./console/page -args -pictures '$(CURDIR)/bin/pictures' -only '$(ONLY)'
	@mkdir -p docs/pictures
	@[ -n '$(ONLY)' ] || for p in $(README_PICTURES); do cp bin/pictures/$$p.png docs/pictures/; done

# Of the README and docs/console.md.
SCENE_PICTURES := overview-1280-light instances-1280-light
scene: ## the real program with 60 instances in trouble: pictures of the console in bin/scene, those of the README in docs/pictures (needs a chromium; STAY=1 keeps it running)
	@mkdir -p bin/scene docs/pictures
	SCENE='$(CURDIR)/bin/scene' STAY='$(STAY)' $(GO) test -run '^TestScene$$' -count 1 -timeout 0 -v ./e2e/browser
	@for p in $(SCENE_PICTURES); do cp bin/scene/$$p.png docs/pictures/scene-$$p.png; done

docs: ## regenerate what is generated: config.toml.example, cli/licences.txt, docs/configuration.md, docs/events.md, docs/errors.md, docs/clients.md, httpapi/routes.txt, the states in docs/batches.md, the tables in docs/cluster.md, the console's events
	$(GO) test -run '^(TestExampleConfig|TestNoTrigger|TestTheErrorPage|TestThePageOfClients|TestEveryLinkedModule|TestRoutesPage)' ./config ./cli ./e2e/docs ./e2e/events ./httpapi -args -update
	$(GO) test -run '^(TestBatchPage|TestEventsFile|TestFleetPage)' ./batch/table ./console/page ./e2e/fleetsim -args -update

check: lint ## lint, vet, race tests, import table, short fuzz
	$(GO) vet ./...
	$(MAKE) race
	$(MAKE) fuzz FUZZTIME=3s
