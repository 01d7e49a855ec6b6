// Constants and quantized weights of imported models against values computed here, from the files
// alone.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "models/quantization.h"
#include "relax/expr.h"
#include "relax/visit.h"

namespace tapml::frontend {
namespace {

namespace fs = std::filesystem;
const std::string kSource = TAPML_SOURCE_DIR;

// Those whose norms, rotations and scales are Llama's.
std::vector<std::string> model_folders() {
  std::vector<std::string> folders = {kSource + "/models/demo"};
  for (const auto& entry : fs::directory_iterator(kSource + "/tests/golden/logits")) {
    const std::string config = entry.path() / "config.json";
    if (!fs::exists(config)) continue;
    const std::string architecture = read_config(config).config.architecture;
    if (architecture == "llama" || architecture == "qwen2_moe") {
      folders.push_back(entry.path().string());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

// A config.json as the files have it.
class Published {
 public:
  explicit Published(const std::string& folder)
      : json_(unwrapped(parse_json(unwrapped(read_text_file(folder + "/config.json")), folder))) {}

  double number(const char* key) const { return number_in(json_, key).value(); }
  int64_t head_dim() const {
    const auto width = number_in(json_, "head_dim");
    return static_cast<int64_t>(width ? *width
                                      : number("hidden_size") / number("num_attention_heads"));
  }
  double rope_theta() const {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
      const Json* rope = json_.find(key);
      if (!rope || rope->is_null()) continue;
      if (const auto theta = number_in(*rope, "rope_theta")) return *theta;
    }
    return number("rope_theta");
  }
  // Radians per token of rotation j, in the closed form of the Llama 3 paper's code.
  double frequency(int64_t j) const {
    const double plain =
        std::pow(rope_theta(), -2.0 * static_cast<double>(j) / static_cast<double>(head_dim()));
    const Json* rope = json_.find("rope_scaling");
    if (!rope || rope->is_null()) rope = json_.find("rope_parameters");
    if (!rope || rope->is_null()) return plain;
    const std::string type = rope->find("rope_type")->as_string();
    if (type == "default") return plain;
    const double factor = number_in(*rope, "factor").value();
    if (type == "linear") return plain / factor;
    EXPECT_EQ(type, "llama3");
    const double low = number_in(*rope, "low_freq_factor").value(),
                 high = number_in(*rope, "high_freq_factor").value(),
                 turns = number_in(*rope, "original_max_position_embeddings").value() * plain /
                         (2 * std::numbers::pi);
    const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    return plain / factor + share * (plain - plain / factor);
  }

 private:
  template <class T>
  static T unwrapped(Result<T> result) {
    EXPECT_TRUE(result) << result.error().message;
    return std::move(*result);
  }
  static std::optional<double> number_in(const Json& json, const char* key) {
    const Json* value = json.find(key);
    if (!value || !value->is_number()) return std::nullopt;
    return value->as_double();
  }

  Json json_;
};

const relax::CallNode* call_of(const relax::Binding& binding, const char* op) {
  return relax::called_operator(binding.value) == op ? relax::as<relax::CallNode>(binding.value)
                                                     : nullptr;
}

void visit_calls(const Module& module, const char* op,
                 const std::function<void(const relax::CallNode&)>& f) {
  for (const char* name : {"prefill", "decode", "logits_all"}) {
    const relax::Function* function = relax::as_relax_function(module.find(name));
    ASSERT_TRUE(function) << name;
    relax::visit_bindings(function->body, [&](const relax::Binding& binding, bool) {
      if (const relax::CallNode* call = call_of(binding, op)) f(*call);
    });
  }
}

TEST(ImportedConstants, RopeTablesAreTheClosedForm) {
  for (const std::string& folder : model_folders()) {
    const Published published(folder);
    const Module module = read_config(folder + "/config.json").module;
    int64_t tables = 0;
    visit_calls(module, "rope", [&](const relax::CallNode& call) {
      const auto* constant = relax::as<relax::ConstantNode>(call.args.at(2));
      ASSERT_TRUE(constant) << folder;
      ASSERT_EQ(constant->value.size(), published.head_dim() / 2) << folder;
      for (int64_t j = 0; j < constant->value.size(); ++j) {
        const double expected = published.frequency(j);
        // Of five steps in f32.
        EXPECT_NEAR(constant->value.at_f64(j), expected, 5 * 0x1p-24 * expected)
            << folder << " " << j;
      }
      ++tables;
    });
    EXPECT_EQ(tables, 3 * 2 * static_cast<int64_t>(published.number("num_hidden_layers")));
  }
}

TEST(ImportedConstants, EpsilonsAreThoseOfTheFile) {
  for (const std::string& folder : model_folders()) {
    const Published published(folder);
    const Module module = read_config(folder + "/config.json").module;
    int64_t norms = 0;
    visit_calls(module, "rms_norm", [&](const relax::CallNode& call) {
      EXPECT_EQ(std::get<double>(call.attrs.at("epsilon")), published.number("rms_norm_eps"))
          << folder;
      ++norms;
    });
    EXPECT_EQ(norms, 3 * (2 * static_cast<int64_t>(published.number("num_hidden_layers")) + 1));
  }
}

TEST(ImportedConstants, AttentionScalesAreOfTheHeads) {
  for (const std::string& folder : model_folders()) {
    const Published published(folder);
    const Module module = read_config(folder + "/config.json").module;
    int64_t attentions = 0;
    visit_calls(module, "paged_attention", [&](const relax::CallNode& call) {
      const double scale = std::get<double>(call.attrs.at("scale"));
      EXPECT_NEAR(scale * scale * static_cast<double>(published.head_dim()), 1, 1e-15) << folder;
      ++attentions;
    });
    EXPECT_EQ(attentions, 3 * static_cast<int64_t>(published.number("num_hidden_layers")));
  }
}

// The least error of 32 numbers as levels times one scale, over 500 scales around those that map
// the largest element to a level.
double least_error(const std::vector<double>& group) {
  double largest = 0;
  for (const double x : group) {
    if (std::abs(x) > std::abs(largest)) largest = x;
  }
  double least = 0;
  for (const double x : group) least += x * x;
  for (int i = 0; i < 500; ++i) {
    const double scale = largest / -(6.5 + 2.5 * i / 500);
    double error = 0;
    for (const double x : group) {
      const double off = std::clamp(std::nearbyint(x / scale), -8.0, 7.0) * scale - x;
      error += off * off;
    }
    least = std::min(least, error);
  }
  return least;
}

// The codes of the demo model, each decoded here, against the numbers in its file.
TEST(ImportedConstants, QuantizedCodesAndScalesAreThoseOfTheWeights) {
  const std::string folder = kSource + "/models/demo";
  const auto mapped = map_file(folder + "/model.safetensors");
  ASSERT_TRUE(mapped);
  const auto stored = parse_safetensors(mapped->bytes, mapped->owner, "model.safetensors");
  ASSERT_TRUE(stored);
  for (const char* name : {"q4f32", "q4f16"}) {
    const HuggingFaceModel model = read_model(folder, models::Quantization::parse(name));
    int64_t linear = 0;
    double own = 0, best = 0;
    for (const auto& [weight, tensor] : stored->tensors) {
      const auto packed = model.weights.find(weight + ".packed");
      if (packed == model.weights.end()) {
        const bool narrow = weight.find("norm") != std::string::npos ||
                            weight.find("embed") != std::string::npos ||
                            weight.starts_with("lm_head");
        EXPECT_TRUE(narrow) << weight;
        continue;
      }
      ++linear;
      const HostTensor& scales = model.weights.at(weight + ".scales");
      ASSERT_EQ(packed->second.size() * 2, tensor.size()) << weight;
      ASSERT_EQ(scales.size() * 32, tensor.size()) << weight;
      const auto bytes = packed->second.values<uint8_t>();
      for (int64_t g = 0; g < scales.size(); ++g) {
        const double scale = scales.at_f64(g);
        std::vector<double> group;
        double error = 0;
        for (int64_t i = 32 * g; i < 32 * g + 32; ++i) {
          const uint8_t byte = bytes[static_cast<size_t>(i / 2)];
          const int code = i % 2 == 0 ? byte & 15 : byte >> 4;
          const double x = tensor.at_f64(i);
          const double nearest = std::clamp(std::nearbyint(x / scale), -8.0, 7.0);
          // A scale that was rounded or fitted after the levels may have another nearest level.
          EXPECT_LE(std::abs((code - 8) * scale - x),
                    std::abs(nearest * scale - x) + 0.06 * std::abs(scale))
              << weight << " " << i;
          error += ((code - 8) * scale - x) * ((code - 8) * scale - x);
          group.push_back(x);
        }
        if (g % 32 != 0) continue;  // the search takes 16,000 steps
        own += error;
        best += least_error(group);
      }
    }
    EXPECT_EQ(linear, 6 * 7);
    EXPECT_LT(own, 1.05 * best) << name;
    EXPECT_GT(own, 0.9 * best) << name;
  }
}

}  // namespace
}  // namespace tapml::frontend
