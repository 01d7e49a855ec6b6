// Compiling and loading.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cases.h"
#include "codegen/llvm/native.h"
#include "device/cpu/cpu_device.h"
#include "exec/executable_file.h"
#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "pipeline/kernel_cache.h"
#include "programs.h"
#include "runtime/host/shared_object.h"

namespace tapml::bench {

namespace {

constexpr const char* kTvmPython = "build/venv-bench-tvm/bin/python";
constexpr const char* kLlama7b = "bench/models/llama2_7b.json";

// A private folder, removed with its last user.
std::shared_ptr<std::string> temporary_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tapml-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw_user("no temporary folder", pattern);
  return {new std::string(pattern), [](std::string* path) {
            std::error_code ignored;
            std::filesystem::remove_all(*path, ignored);
            delete path;
          }};
}

// Compiles the text of a configuration to an executable, with the cache in `folder`.
double compile_7b(const std::string& folder) {
  return seconds_of([&] {
    frontend::HuggingFaceModel model = frontend::read_config(kLlama7b);
    pipeline::KernelCache cache(std::make_shared<DiskCache>(DiskCacheOptions{folder, {}}));
    pipeline::ImplementOptions options;
    options.cache = &cache;
    pipeline::compile(model.module, target::parse_target("cpu"), options);
  });
}

Pair cold_7b(std::string& absent) {
  auto folder = temporary_folder();
  Pair pair{[=] {
              std::filesystem::remove_all(*folder + "/cache");
              return compile_7b(*folder + "/cache");
            },
            nullptr};
  auto peer = std::make_shared<Peer>(
      std::vector<std::string>{kTvmPython, "bench/peers/tvm_llama.py", kLlama7b});
  if (peer->ok()) {
    pair.peer = [=] { return peer->measure(); };
  } else {
    absent = peer->why();
  }
  return pair;
}

Pair warm_7b(std::string&) {
  auto folder = temporary_folder();
  compile_7b(*folder + "/cache");
  return {[=] { return compile_7b(*folder + "/cache"); }, nullptr};
}

// Loads a file to a runnable VM instance, without the weights: map, check, read, load the code.
Pair load(const Module& module) {
  auto folder = temporary_folder();
  ExecutableFile file;
  file.executable = *pipeline::compile(module, target::parse_target("cpu"));
  for (ModuleBlob& blob : file.executable.modules) blob = codegen::link_shared(blob);
  const std::string path = *folder + "/model.tapml";
  unwrap(write_file_atomic(path, unwrap(write_executable(file))));
  std::shared_ptr<runtime::LocalSession> session = unwrap(runtime::LocalSession::create(
      std::make_shared<device::CpuDevice>(cpu_threads(), runtime::make_shared_object_loader())));
  return {[=] {
            (void)folder;  // keeps the folder alive
            return 1e3 * seconds_of(
                             [&] {
                               MappedFile image = unwrap(map_file(path));
                               auto read = unwrap(read_executable(image.bytes, image.owner, path));
                               auto executable =
                                   std::make_shared<Executable>(std::move(read.executable));
                               unwrap(runtime::LocalVirtualMachine::create(*session, executable));
                             },
                             5);
          },
          nullptr};
}

// Instructions for each binding in passes, text format, checks and lowering, by callgrind.
double instructions(const std::string& shape, int64_t bindings) {
  auto folder = temporary_folder();
  const std::string counts = *folder + "/counts";
  const std::string command =
      "valgrind -q --tool=callgrind --collect-atstart=no --toggle-collect=tapml_counted_stage "
      "--callgrind-out-file=" +
      counts + " build/bench/tapml_count_growth " + shape + " " + std::to_string(bindings) +
      " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) throw_user("the count failed", command);
  std::ifstream file(counts);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string key = "\ntotals: ";
  size_t at = text.find(key);
  if (at == std::string::npos) throw_user("no total in the count", command);
  return std::stod(text.substr(at + key.size())) / static_cast<double>(bindings);
}

Pair growth(std::string& absent, const std::string& shape) {
  if (std::system("valgrind --version >/dev/null 2>&1") != 0) {
    absent = "valgrind is not installed";
    return {};
  }
  return {[=] { return instructions(shape, 100'000); }, [=] { return instructions(shape, 1'000); }};
}

Pair growth_chain(std::string& absent) { return growth(absent, "chain"); }
Pair growth_wide(std::string& absent) { return growth(absent, "wide"); }
Pair growth_functions(std::string& absent) { return growth(absent, "functions"); }
Pair growth_control(std::string& absent) { return growth(absent, "control"); }
Pair growth_storage(std::string& absent) { return growth(absent, "storage"); }
Pair growth_symbols(std::string& absent) { return growth(absent, "symbols"); }
Pair growth_weights(std::string& absent) { return growth(absent, "weights"); }

Case growth_case(const char* name, Pair (*prepare)(std::string& absent)) {
  return {.name = name,
          .unit = "instr.",
          .peer = "of 1,000 bindings",
          .bound = Bound::kAtMost,
          .bar = 1.15,
          .prepare = prepare,
          .pairs = 1};
}

Pair load_demo(std::string&) { return load(frontend::read_model("models/demo").module); }
Pair load_7b(std::string&) { return load(frontend::read_config(kLlama7b).module); }

}  // namespace

std::vector<Case> compile_cases() {
  return {
      {.name = "compile/llama2_7b_cold",
       .unit = "s",
       .peer = "apache-tvm 0.27",
       .bound = Bound::kAtMost,
       .bar = 2.5,
       .figure = true,
       .prepare = cold_7b},
      {.name = "compile/llama2_7b_warm",
       .unit = "s",
       .bound = Bound::kAtMost,
       .bar = 0.3,
       .figure = true,
       .prepare = warm_7b},
      {.name = "load/demo",
       .unit = "ms",
       .bound = Bound::kAtMost,
       .bar = 1.5,
       .figure = true,
       .prepare = load_demo},
      {.name = "load/llama2_7b",
       .unit = "ms",
       .bound = Bound::kAtMost,
       .bar = 5,
       .figure = true,
       .prepare = load_7b},
      growth_case("passes/100k_chain", growth_chain),
      growth_case("passes/100k_wide", growth_wide),
      growth_case("passes/100k_functions", growth_functions),
      growth_case("passes/100k_control", growth_control),
      growth_case("passes/100k_storage", growth_storage),
      growth_case("passes/100k_symbols", growth_symbols),
      growth_case("passes/100k_weights", growth_weights),
  };
}

}  // namespace tapml::bench
