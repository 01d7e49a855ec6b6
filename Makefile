# The front door. Each target does all of its own set-up.

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-ops unit install bench format format-check lint wasm check-components clean

# Written sources, tracked or about to be.
sources = git ls-files -z -co --exclude-standard -- 'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' \
          'bench/*.h' 'bench/*.cpp' 'python/src/*.h' 'python/src/*.cpp'

# Warnings are errors where nobody would read them.
configure_dev = cmake --preset dev --log-level=WARNING $(if $(CI),-DTAPML_WERROR=ON)

help:  ## list the targets
	@echo "make <target>:"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup:  ## install the Debian packages that are missing
	@scripts/setup

demo: release  ## bring the demo model up on OpenCL, kernel by kernel; writes out/demo/report.html
	@scripts/demo

.PHONY: release
release: setup  ## build the program, build/tapml
	@echo "== release build (build/)"
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release

.PHONY: dev
dev: setup  ## build everything with assertions (build/dev/)
	@echo "== development build (build/dev/)"
	@$(configure_dev)
	@cmake --build --preset dev

test: dev  ## build and run all tests; a test that is skipped must be on the list (tests/skips.txt)
	@echo "== tests"
	@rm -rf build/dev/test-results
	@ctest --preset dev
	@scripts/check_skips build/dev/test-results

.PHONY: test-python
test-python: setup  ## build the Python package and run its tests
	@$(configure_dev)
	@cmake --build --preset dev --target tapml tapml_python toy_packages
	@ctest --preset dev -R '^python$$'

.PHONY: python
python: setup  ## build the Python package, build/python (docs/python.md)
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target tapml_python

.PHONY: wheel
wheel: setup  ## build the wheel of the Python package, build/wheel/*.whl (docs/python.md)
	@/usr/bin/python3 python/backend/tapml_build.py build/wheel

.PHONY: test-torch
test-torch: setup  ## compare with PyTorch, transformers and tokenizers as they are installed now
	@$(configure_dev)
	@cmake --build --preset dev --target test_io test_image test_llm test_models test_e2e test_walk tapml tapml_python
	@scripts/test_torch

STUDY_ARGUMENTS ?=

.PHONY: study-localize
study-localize: setup  ## inject faults of every kind and have localize name them; writes docs/studies/localize.md (STUDY_ARGUMENTS=--help)
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target tapml tapml_study
	@scripts/study_localize $(STUDY_ARGUMENTS)

.PHONY: study-hirgen
study-hirgen: setup  ## seed each bug of tests/seeded_bugs and measure how long the fuzzer takes to find it; writes docs/studies/hirgen.md
	@scripts/seeded_bugs study $(STUDY_ARGUMENTS)

.PHONY: test-math
test-math: setup  ## check portable math on all 2^32 values of f32 (about 20 minutes)
	@$(configure_dev)
	@cmake --build --preset dev --target test_math
	@TAPML_MATH_STRIDE=1 build/dev/tests/test_math --gtest_filter='*PortableMath*'

.PHONY: test-oclgrind
test-oclgrind: setup  ## OpenCL kernels under oclgrind: races and accesses out of bounds (scripts/test_oclgrind)
	@scripts/setup oclgrind
	@$(configure_dev)
	@cmake --build --preset dev --target tapml test_device test_codegen test_walk
	@scripts/test_oclgrind

.PHONY: test-page
test-page: setup  ## the report pages in headless Chromium: windows, phones, dark, paper (scripts/test_page); writes out/page/
	@scripts/setup chromium
	@$(configure_dev)
	@cmake --build --preset dev --target tapml test_topdown
	@scripts/test_page

unit: setup  ## build and run the unit tests only
	@$(configure_dev)
	@cmake --build --preset dev --target unit_tests
	@ctest --preset dev -L unit

bench: release  ## measure speed against peers and ceilings (ONLY=pattern for some); writes out/bench.json
	@scripts/bench_setup
	@cmake --build --preset release --target tapml_bench tapml_count_growth
	@build/bench/tapml_bench $(ONLY)

.PHONY: count
count: setup  ## count the instructions of the passes, against what is stored (scripts/count_instructions)
	@scripts/count_instructions

format: setup  ## format all C++ files in place
	@$(sources) | xargs -0 -r clang-format-19 -i

format-check: setup  ## fail when a C++ file is not formatted
	@$(sources) | xargs -0 -r clang-format-19 --dry-run -Werror
	@echo "format-check: $$($(sources) | tr -dc '\0' | wc -c) files are formatted"

lint: setup  ## run clang-tidy over all C++ sources (scripts/lint_changed: what changed)
	@scripts/lint_changed --all

.PHONY: asan
asan: setup  ## unit tests and the inputs of the fuzzers under sanitizers (build/asan/)
	@echo "== Clang 19, address and undefined-behaviour sanitizers (build/asan/)"
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan --target unit_tests fuzz_readers
	@ulimit -s 65536; ctest --preset asan  # frames of sanitized code that is not optimized are large

.PHONY: asan-rest
asan-rest: setup  ## the unit tests that asan leaves out, because others run the same code (CMakePresets.json)
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan --target unit_tests test_accuracy
	@ulimit -s 65536; ctest --preset asan-rest

.PHONY: asan-fuzz
asan-fuzz: setup  ## the inputs of the fuzzers alone under sanitizers (build/asan/)
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan --target fuzz_readers
	@ctest --preset asan -L fuzz

.PHONY: test-tsan
test-tsan: setup  ## tests of the runtime, of remote sessions and a short soak under the thread sanitizer (build/tsan/)
	@echo "== Clang 19, thread sanitizer (build/tsan/)"
	@cmake --preset tsan --log-level=WARNING
	@cmake --build --preset tsan
	@ctest --preset tsan

SOAK_MINUTES = $(if $(filter command environment,$(firstword $(origin MINUTES))),$(MINUTES),10)

.PHONY: soak
soak: setup  ## 64 sessions of random calls at once (MINUTES=10); writes out/soak.json
	@$(configure_dev)
	@cmake --build --preset dev --target tapml_soak
	@build/dev/tests/tapml_soak --minutes $(SOAK_MINUTES) --json out/soak.json

MINUTES ?= 1
ONLY_READERS = $(if $(ONLY),--only $(ONLY))

.PHONY: fuzz-readers
fuzz-readers: setup  ## search for inputs that break a reader (MINUTES=1 each, ONLY=json,text)
	@cmake --preset libfuzzer --log-level=WARNING
	@cmake --build --preset libfuzzer --target fuzz_readers
	@scripts/fuzz_readers --minutes $(MINUTES) $(ONLY_READERS)

.PHONY: fuzz-rpc
fuzz-rpc: setup  ## search for bytes that break an end of the protocol (MINUTES=1 for all together)
	@cmake --preset libfuzzer --log-level=WARNING
	@cmake --build --preset libfuzzer --target fuzz_rpc_server fuzz_rpc_client fuzz_rpc_bytes
	@scripts/fuzz_readers --minutes $(MINUTES) --only rpc --together

.PHONY: fuzz-text
fuzz-text: setup  ## search for programs that break the parser or the passes (MINUTES=1)
	@cmake --preset libfuzzer --log-level=WARNING
	@cmake --build --preset libfuzzer --target fuzz_program
	@scripts/fuzz_readers --minutes $(MINUTES) --only program

check-components:  ## check the includes of src/ against the component table
	@scripts/check_components

wasm: setup  ## build the WebAssembly part of the runtime, check that it does not throw, and what --target wasm starts
	@scripts/build_wasm

PREFIX ?= /usr/local
install: release  ## install the program, libtapml, the compiler's library and their headers under PREFIX (/usr/local)
	@cmake --install build --prefix "$(PREFIX)"

.PHONY: test-aarch64
test-aarch64: setup  ## run 64-bit Arm under qemu: conformance, the demo model, kernels of every operator
	@scripts/setup_aarch64
	@scripts/test_aarch64

.PHONY: test-models
test-models: dev  ## every golden model, compiled for the cpu, OpenCL and Vulkan, against PyTorch's logits
	@cd build/dev && TAPML_TEST_ALL_MODELS=1 tests/test_models && \
	  TAPML_TEST_ALL_MODELS=1 tests/test_llm --gtest_filter='*QuantizedFolder*' && \
	  TAPML_TEST_ALL_MODELS=1 tests/test_e2e --gtest_filter='OtherModels/*:*EmbeddingGolden*:*Image*:SpeechRun.CarvesAndMigrates'

test-ops: dev  ## every operator in every dtype on every platform, and many random programs
	@cd build/dev && export TAPML_CACHE=$$PWD/test-cache TAPML_WALK=full TAPML_CAMPAIGN_TESTS=2000 \
	  TAPML_CAMPAIGN_SECONDS=60; tests/test_walk && tests/test_campaign

clean:  ## remove build/ and out/
	@rm -rf build out
