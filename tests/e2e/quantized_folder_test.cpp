// A GPTQ folder with act-order, made of the demo model, through the program.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "support/golden_models.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::output_of;
using testing::run_program;
using Tensors = std::map<std::string, HostTensor>;

constexpr int64_t kGroup = 32;

void set_nibble(HostTensor& words, int64_t word, int64_t nibble, int value) {
  words.mutable_values<uint32_t>()[static_cast<size_t>(word)] |= static_cast<uint32_t>(value)
                                                                 << (4 * nibble);
}

// Adds a weight [outputs, inputs] in four bits with zeros of 8, whose groups take every n-th input.
void add_gptq(const std::string& path, const HostTensor& weight, Tensors& tensors) {
  const int64_t outputs = weight.shape()[0], inputs = weight.shape()[1], groups = inputs / kGroup;
  HostTensor codes = HostTensor::zeros(DType::kI32, {inputs / 8, outputs});
  HostTensor zeros = HostTensor::zeros(DType::kI32, {groups, outputs / 8});
  HostTensor scales = HostTensor::zeros(DType::kF16, {groups, outputs});
  HostTensor index = HostTensor::zeros(DType::kI32, {inputs});
  for (int64_t i = 0; i < inputs; ++i) index.set_f64(i, static_cast<double>(i % groups));
  for (uint32_t& word : zeros.mutable_values<uint32_t>()) word = 0x77777777;  // minus one
  for (int64_t row = 0; row < outputs; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      double largest = 1e-4;
      for (int64_t i = group; i < inputs; i += groups) {
        largest = std::max(largest, std::fabs(weight.at_f64(row * inputs + i)));
      }
      scales.set_f64(group * outputs + row, largest / 7);
      const double scale = scales.at_f64(group * outputs + row);
      for (int64_t i = group; i < inputs; i += groups) {
        const double level = std::nearbyint(weight.at_f64(row * inputs + i) / scale);
        set_nibble(codes, i / 8 * outputs + row, i % 8,
                   static_cast<int>(std::clamp(level, -8.0, 7.0)) + 8);
      }
    }
  }
  tensors[path + ".qweight"] = codes;
  tensors[path + ".qzeros"] = zeros;
  tensors[path + ".scales"] = scales;
  tensors[path + ".g_idx"] = index;
}

void make_folder(const std::string& folder) {
  Tensors tensors;
  for (const auto& [name, weight] : testing::read_tensors(kDemoModel + "/model.safetensors")) {
    if (name.find("_proj.weight") == std::string::npos) {
      tensors[name] = weight;
    } else {
      add_gptq(name.substr(0, name.rfind('.')), weight, tensors);
    }
  }
  unwrap(write_file_atomic(folder + "/model.safetensors", write_safetensors(tensors)));
  std::string config = unwrap(read_text_file(kDemoModel + "/config.json"));
  config.insert(config.rfind('}'),
                R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32,
                   "desc_act": true, "sym": true})");
  unwrap(write_text_atomic(folder + "/config.json", config));
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"}) {
    std::filesystem::copy(kDemoModel + "/" + name, folder + "/" + name);
  }
}

// Integers, scales and orders stay as they are in an executable, a package and a suite by
// reference.
TEST(QuantizedFolder, RunsCompilesPackagesAndCarves) {
  testing::TempFolder folder;
  const std::string model = folder / "model", file = folder / "demo.tapml";
  std::filesystem::create_directory(model);
  make_folder(model);
  const std::vector<std::string> how = {"--prompt", "Emma was", "--max-tokens", "6"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), how.begin(), how.end());
    return output_of(words);
  };
  const std::string text = run({model});
  EXPECT_GT(text.size(), 10u);
  output_of({"compile", model, "-o", file, "--package", folder / "package"});
  EXPECT_EQ(run({file}), text);
  EXPECT_EQ(run({folder / "package"}), text);
  output_of({"carve", model, "--prompt", "Emma was", "--max-tokens", "2", "--weights", "reference",
             "-o", folder / "suite"});
  const std::string replayed = output_of({"replay", folder / "suite", "--target", "cpu"});
  EXPECT_NE(replayed.find("dequantize_matmul"), std::string::npos) << replayed;
}

}  // namespace
}  // namespace tapml
