// Every architecture, and every quantized file, with activations in f16 and in bf16.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "io/json.h"
#include "models/interpreted_text.h"
#include "models/table.h"

namespace tapml {
namespace {

// A folder of tests/golden/logits for each architecture: the first by name.
std::map<std::string, std::string> config_folders() {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(testing::golden_path("logits"))) {
    const std::string config = entry.path() / "config.json", name = entry.path().filename();
    if (!std::filesystem::exists(config)) continue;
    const Json json = unwrap(parse_json(unwrap(read_text_file(config)), config));
    std::string& folder = found[json.find("model_type")->as_string()];
    if (folder.empty() || name < folder) folder = name;
  }
  return found;
}

struct PrecisionCase {
  std::string part, folder;  // of tests/golden
  DType dtype;
};

std::string precision_name(const ::testing::TestParamInfo<PrecisionCase>& info) {
  return info.param.folder + "_" + dtype_name(info.param.dtype);
}

testing::GoldenModel read_case(const PrecisionCase& test) {
  const std::string folder = testing::golden_path(test.part + "/" + test.folder);
  const models::Precision precision = {.activations = test.dtype, .cache = {}, .accumulation = {}};
  testing::GoldenModel golden;
  golden.reference = testing::read_tensors(folder + "/golden.safetensors");
  if (test.part == "quantized") {
    golden.model = frontend::read_model(folder, nullptr, precision);
  } else {
    golden.model = frontend::read_config(folder + "/config.json", nullptr, precision);
    testing::add_random_weights(golden);
  }
  return golden;
}

class ModelPrecision : public ::testing::TestWithParam<PrecisionCase> {};

// The weights are those of the f32 model; only the roundings on the way to the logits are others.
TEST_P(ModelPrecision, LogitsAreThoseOfTheModelInF32) {
  const DType dtype = GetParam().dtype;
  const testing::GoldenModel golden = read_case(GetParam());
  analysis::verify(golden.model.module, "read_config");
  build::check_annotations(golden.model.module, "read_config");
  for (const StateTensor& state : golden.interface().state) {
    if (state.kind == StateKind::kPaged) {
      EXPECT_EQ(state.dtype, dtype) << state.name;
    }
  }
  const auto tokens = golden.reference.at("tokens").values<int32_t>().first(3);
  const HostTensor& expected = golden.reference.at("logits");
  const HostTensor logits = InterpretedText(golden, 1).call("logits_all", tokens);
  EXPECT_EQ(logits.shape(), (Shape{1, 3, expected.shape()[1]}));
  // Eight bits of a bf16 value, eleven of an f16 value.
  EXPECT_LE(testing::largest_difference(logits, expected),
            testing::logit_tolerance(expected) * (dtype == DType::kF16 ? 100 : 800));
}

std::vector<PrecisionCase> precision_cases() {
  std::vector<PrecisionCase> all;
  constexpr DType kDTypes[] = {DType::kF16, DType::kBF16};
  for (const auto& [type, folder] : config_folders()) {
    for (DType dtype : kDTypes) all.push_back({"logits", folder, dtype});
  }
  for (const auto& entry : std::filesystem::directory_iterator(testing::golden_path("quantized"))) {
    for (DType dtype : kDTypes) all.push_back({"quantized", entry.path().filename(), dtype});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Architectures, ModelPrecision, ::testing::ValuesIn(precision_cases()),
                         precision_name);

TEST(PrecisionCases, CoverTheDecoders) {
  const auto tested = config_folders();
  for (const models::Architecture& one : models::architecture_table()) {
    if (one.read_encoder || one.reads_sound) continue;
    EXPECT_TRUE(tested.contains(one.name)) << one.name;
  }
}

}  // namespace
}  // namespace tapml
