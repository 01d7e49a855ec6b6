// The same GGUF file in llama.cpp.
#include <cstdlib>
#include <filesystem>

#include "app/commands/export.h"
#include "cases.h"
#include "compiled_model.h"
#include "ir/exceptions.h"
#include "programs.h"

namespace tapml::bench {

namespace {

constexpr const char* kFolder = "out/bench-models";
constexpr const char* kModules = "build/bench-llama-cpp/node_modules";
constexpr int64_t kPrompt = 512, kSteps = 64;

// A file of 171 million random weights, made once.
std::string gguf_file(const std::string& type) {
  const std::string folder = std::string(kFolder) + "/llama_171m";
  const std::string file = folder + "." + type + ".gguf";
  if (std::filesystem::exists(file)) return file;
  if (!std::filesystem::exists(folder + "/model.safetensors")) {
    const std::string make = std::string("scripts/random_model ") + kLlama171m + " " + folder;
    if (std::system((make + " >/dev/null").c_str()) != 0) {
      throw_user("the model of the benchmark was not made", make, "a folder", "an error");
    }
  }
  app::export_model({.model = folder, .gguf = file, .type = type});
  return file;
}

// As the program runs it on cpu.
std::shared_ptr<CompiledModel> model_of(const std::string& type) {
  static std::map<std::string, std::weak_ptr<CompiledModel>> kept;
  if (auto model = kept[type].lock()) return model;
  const models::Precision precision = {.activations = {}, .quantized_inputs = true};
  auto model =
      std::make_shared<CompiledModel>(frontend::read_model(gguf_file(type), nullptr, precision));
  kept[type] = model;
  return model;
}

Case row(const std::string& type, bool is_decode, double bar) {
  Case result{.name = "llama_cpp/llama_171m_" + type + (is_decode ? "/decode" : "/prefill_512"),
              .unit = "tokens/s",
              .peer = "llama.cpp",
              .bar = bar,
              .prepare = {}};
  result.prepare = [=](std::string& absent) -> Pair {
    auto model = model_of(type);
    auto peer = std::make_shared<Peer>(std::vector<std::string>{
        kPeerPython, "bench/peers/llama_cpp.py", kModules, gguf_file(type),
        is_decode ? "decode" : "prefill", std::to_string(is_decode ? kSteps : kPrompt),
        std::to_string(cpu_threads())});
    const auto seconds = [=] {
      return is_decode ? model->decode(kSteps) : model->prefill(kPrompt);
    };
    const double count = is_decode ? 1 : kPrompt;
    seconds();
    Pair pair{[=] { return count / seconds(); }, [=] { return count / peer->measure(); }};
    if (!peer->ok()) {
      absent = peer->why();
      pair.peer = nullptr;
    }
    return pair;
  };
  return result;
}

}  // namespace

std::vector<Case> llama_cpp_cases() {
  return {row("Q4_0", true, 1.2),  row("Q8_0", true, 1.2),  row("F32", true, 1.1),
          row("Q4_0", false, 1.1), row("Q8_0", false, 1.1), row("F32", false, 1.5)};
}

}  // namespace tapml::bench
