// tapml_bench [PATTERN]: runs the benchmarks whose names contain PATTERN; see bench/harness.h.
#include <cstdio>

#include "cases.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

int main(int argc, char** argv) {
  using namespace tapml;
  auto missed = guard([&] {
    bench::Options options;
    if (argc > 1) options.only = argv[1];
    unwrap(make_folder("out"));
    // Fork the servers before any threads start.
    std::vector<bench::Case> cases = bench::rpc_cases();
    for (bench::Case& test : bench::kernel_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::model_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::family_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::compile_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::memory_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::migration_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::reference_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::watch_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::optimization_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::quantization_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::llama_cpp_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::serving_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::speculation_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::library_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::tracker_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::web_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::opencl_cases()) cases.push_back(std::move(test));
    for (bench::Case& test : bench::vulkan_cases()) cases.push_back(std::move(test));
    return bench::run(cases, options);
  });
  if (missed) return 0;  // a missed bar is a result, not a failure to measure
  std::fprintf(stderr, "tapml_bench: %s\n", missed.error().to_string().c_str());
  return 2;
}
