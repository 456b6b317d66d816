# Set-up, the main job, and the tests. `make` alone says what there is.

python := .venv/bin/python
scripts := tools/bootstrap tools/fresh-machine .ci/run
programs := tools/make-reference tools/make-samples tools/compile-matrix tools/soak tools/repeat-tests
# Wrong on purpose: what vsperf must answer with "did you mean". Digests in sums are no words.
misspelt := tests/golden,tests/unit/test_config_*,*.sum
prose := README.md docs vsperf tests conf testcases tools vnfs results/README.md Makefile setup.py

# The tests start vsperf many hundred times: a machine that keeps no compiled modules, as images of
# containers ask for, would spend a third of each start on compiling it anew.
unexport PYTHONDONTWRITEBYTECODE

pytest := $(python) -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20
JUNIT := build/tests/everyday.xml
, := ,

# Hugepages and the devices of the switch are root's.
as_root := $(shell [ "$$(id -u)" -eq 0 ] || command -v sudo)


.PHONY: help run bench test test-all test-seconds check test-tgen soak compile-matrix setup setup-dev setup-bench lint format docs clean-venv

help: ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \t\2/p' Makefile | expand -t 20

run: setup ## set up, then measure OVS-DPDK on this machine
	@$(as_root) .venv/bin/vsperf run phy2phy_tput --set search.draws=2 --budget 7m --wait 2m

bench: setup-bench ## set up, then hold tgen and vsperf against others: a few minutes, one table
	@$(as_root) $(python) tools/bench/run_all.py --short

test: setup-dev ## set up, then all gates and the tests of every day: about ten minutes
	@$(MAKE) --no-print-directory -j2 gates tests || \
		{ if [ -e build/gates.failed ]; then cat build/gates.failed; fi; exit 1; }

# The gates run beside the tests, which wait for most of their time, and give way to them; many
# kernels ask for a session of its own for that. What a gate has against the sources is told behind
# the tests, where it is not overlooked.
.PHONY: gates tests
gates:
	@mkdir -p build && rm -f build/gates.failed
	@setpriv --pdeathsig TERM setsid sh -c '{ echo 5 >/proc/self/autogroup; } 2>/dev/null; \
		exec nice -n 5 $(MAKE) --no-print-directory --output-sync=target \
		compile-matrix lint test-tgen' >build/gates.log 2>&1 || \
		{ mv build/gates.log build/gates.failed; exit 1; }
	@cat build/gates.log

tests:
	@$(pytest) --tier=everyday --junitxml=$(JUNIT)

# VPP, TREX, DPERF and DPVS name the folders of those four, which no package brings, and NETPERF and
# WRK2 programs, which not every distribution has: their tests are skipped without, and required with.
test-all: setup-dev ## everything that has not passed at this commit; SHARD=3/8, ONLY=vpp VPP=/folder
	@$(if $(VPP),VSPERF_VPP='$(VPP)' )$(if $(TREX),VSPERF_TREX='$(TREX)' )\
		$(if $(NETPERF),VSPERF_NETPERF='$(NETPERF)' )$(if $(DPERF),VSPERF_DPERF='$(DPERF)' )\
		$(if $(WRK2),VSPERF_WRK2='$(WRK2)' )$(if $(DPVS),VSPERF_DPVS='$(DPVS)' )\
		VSPERF_CI_REQUIRE="$${VSPERF_CI_REQUIRE-}$(if $(VPP),$(,)vpp)$(if $(TREX),$(,)trex)$(if $(NETPERF),$(,)netperf)$(if $(WRK2),$(,)wrk2)$(if $(DPERF),$(,)dperf)$(if $(DPVS),$(,)dpvs)" \
		$(pytest) --remaining $(if $(SHARD),--shard=$(SHARD)) $(if $(ONLY),-k '$(ONLY)') \
		--junitxml=build/tests/all$(if $(SHARD),-$(subst /,-of-,$(SHARD))).xml

test-seconds: ## note how long modules took in test-all, so that its shards are equally long
	@$(python) tests/tiers.py

check: lint ## set up, then the gates and the quick unit tests: what to run before each commit
	@$(python) -m pytest -n 2 --dist loadfile --tier=quick --hypothesis-profile=brief tests/unit

test-tgen: setup-dev ## the unit tests and the fuzzer of the traffic generator, with sanitizers too
	@for build in tgen tgen-sanitized; do \
		echo "tests: build/$$build"; \
		said=$$(meson test --no-rebuild -C build/$$build --print-errorlogs 2>&1) || \
			{ echo "$$said"; exit 1; }; \
	done

soak: setup-dev ## attack vsperf for MINUTES=10 with SEED=1: kills, full disks, hostile input
	@$(as_root) $(python) tools/soak --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

setup: ## install what vsperf needs into .venv
	@tools/bootstrap

setup-dev: ## install what the tests need, too
	@tools/bootstrap --dev

setup-bench: ## install what the benchmarks need, too
	@tools/bootstrap --bench

compile-matrix: setup-dev ## compile the C parts for other processors and with other compilers
	@$(python) tools/compile-matrix

lint: setup-dev ## the gates: style, types, layers, spelling, shell scripts
	@echo "gate: ruff check";           $(python) -m ruff check . $(programs) vnfs/build
	@echo "gate: ruff format";          $(python) -m ruff format --check . $(programs) vnfs/build
	@echo "gate: mypy";                 $(python) -m mypy
	@echo "gate: mypy tools";           $(python) -m mypy --scripts-are-modules $(programs)
	@echo "gate: mypy vnfs";            $(python) -m mypy --scripts-are-modules vnfs/build
	@echo "gate: import-linter";        said=$$(.venv/bin/lint-imports) || { echo "$$said"; exit 1; }
	@echo "gate: codespell";            .venv/bin/codespell --skip '$(misspelt)' $(prose)
	@echo "gate: shellcheck";           .venv/bin/shellcheck $(scripts)

format: setup-dev ## put the code into its standard form
	@$(python) -m ruff check --fix . $(programs) vnfs/build
	@$(python) -m ruff format . $(programs) vnfs/build

docs: setup-dev ## write the generated pages of docs/reference anew
	@$(python) tools/make-reference

clean-venv: ## delete .venv; the next target makes it anew
	rm -rf .venv
