#include "frontend/gguf/file_types.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr GgufFileType kFileTypes[] = {
    {"F32", 0, "F32", "numbers of 32 bits"},
    {"F16", 1, "F16", "matrices of 16 bits"},
    {"BF16", 32, "BF16", "matrices of 16 bits"},
    {"Q8_0", 7, "Q8_0", "8.5 bits an element"},
    {"Q6_K", 18, "Q6_K", "6.6 bits"},
    {"Q5_K_M", 17, "Q5_K", "5.5 bits, more where it matters"},
    {"Q5_K_S", 16, "Q5_K", "5.5 bits"},
    {"Q5_1", 9, "Q5_1", "6 bits"},
    {"Q5_0", 8, "Q5_0", "5.5 bits"},
    {"Q4_K_M", 15, "Q4_K", "4.5 bits, more where it matters"},
    {"Q4_K_S", 14, "Q4_K", "4.5 bits"},
    {"IQ4_NL", 25, "IQ4_NL", "4.5 bits, levels that are not evenly spaced"},
    {"Q4_1", 3, "Q4_1", "5 bits"},
    {"Q4_0", 2, "Q4_0", "4.5 bits"},
    {"MXFP4_MOE", 38, "MXFP4", "experts of 4.25 bits, all else Q8_0"},
    {"Q3_K_L", 13, "Q3_K", "3.4 bits, much more where it matters"},
    {"Q3_K_M", 12, "Q3_K", "3.4 bits, more where it matters"},
    {"Q3_K_S", 11, "Q3_K", "3.4 bits"},
    {"Q2_K", 10, "Q2_K", "2.6 bits, more where it matters"},
};

const GgufType& type_named(std::string_view name) {
  return *std::ranges::find(gguf_types(), name, &GgufType::name);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Vectors, and what is small and matters.
bool stays_f32(std::string_view name, const Shape& shape) {
  return shape.size() < 2 || !name.ends_with(".weight") || name.ends_with("_norm.weight") ||
         contains(name, "ffn_gate_inp") || name == "position_embd.weight" ||
         contains(name, "shortconv.conv.weight");
}

// "3" of "blk.3.attn_v.weight"; 0 without one.
int64_t layer_of(std::string_view name) {
  int64_t layer = 0;
  constexpr std::string_view kBlock = "blk.";
  if (name.starts_with(kBlock)) {
    std::from_chars(name.data() + kBlock.size(), name.data() + name.size(), layer);
  }
  return layer;
}

// The first eighth of the layers, the last one, and every third of the others.
bool gets_more_bits(int64_t layer, int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

// llama.cpp's choices for one kind of tensor each; empty: none of its own.
class Choice {
 public:
  Choice(std::string_view file, const GgufMixture& mixture, int64_t layer)
      : file_(file), mixture_(mixture), layer_(layer) {}

  std::string_view values() const {
    const int64_t layers = mixture_.layers;
    const bool shares_much = mixture_.kv_heads > 0 && mixture_.heads / mixture_.kv_heads >= 4;
    if (mixture_.experts == 8) return "Q8_0";
    std::string_view type;
    if (file_ == "Q2_K") type = shares_much ? "Q4_K" : "Q3_K";
    if (file_ == "Q3_K_M") type = layer_ < 2 ? "Q5_K" : "Q4_K";
    if (file_ == "Q3_K_L") type = "Q5_K";
    if (file_ == "IQ4_NL" && shares_much) type = "Q5_K";
    if ((file_ == "Q4_K_M" || file_ == "Q5_K_M") && gets_more_bits(layer_, layers)) type = "Q6_K";
    if (file_ == "Q4_K_S" && layer_ < 4) type = "Q5_K";
    // Models of 70B, whose values are an eighth of their queries.
    const bool is_small = layers == 80 && mixture_.kv_heads != mixture_.heads;
    const bool has_few_bits = type == "Q3_K" || type == "Q4_K" ||
                              (type.empty() && (file_ == "Q3_K_S" || file_.starts_with("Q4_K")));
    return is_small && has_few_bits ? "Q5_K" : type;
  }

  std::string_view keys() const { return mixture_.experts == 8 ? "Q8_0" : ""; }

  std::string_view down() const {
    const int64_t layers = mixture_.layers;
    if (file_ == "Q2_K") return "Q3_K";
    if (file_ == "Q3_K_M") return layer_ < layers / 16 ? "Q5_K" : "Q4_K";
    if (file_ == "Q3_K_L") return "Q5_K";
    if (file_ == "Q4_K_M" || file_ == "Q5_K_M") return gets_more_bits(layer_, layers) ? "Q6_K" : "";
    if (layer_ < layers / 8 && (file_ == "IQ4_NL" || file_ == "Q4_K_S")) return "Q5_K";
    return "";
  }

  std::string_view output() const {
    if (mixture_.experts == 8) {
      constexpr std::string_view kFew[] = {"Q2_K",   "Q3_K_S", "Q3_K_M",
                                           "IQ4_NL", "Q4_K_S", "Q4_K_M"};
      return std::ranges::find(kFew, file_) != std::end(kFew) ? "Q5_K" : "";
    }
    if (file_ == "Q2_K") return "Q3_K";
    if (file_ == "Q3_K_M") return "Q4_K";
    if (file_ == "Q3_K_L") return "Q5_K";
    return "";
  }

 private:
  std::string_view file_;
  const GgufMixture& mixture_;
  int64_t layer_;
};

std::string_view chosen_type(const GgufFileType& file, const GgufMixture& mixture,
                             std::string_view name, const Shape& shape) {
  if (name == "output.weight" || (mixture.is_tied && name == "token_embd.weight")) {
    const bool is_whole = shape.back() % type_named(file.most).elements == 0;
    return file.most == "MXFP4" || file.most == "Q8_0" || !is_whole ? "Q8_0" : "Q6_K";
  }
  if (file.most == "MXFP4") return shape.size() == 3 ? "MXFP4" : "Q8_0";
  const Choice choice(file.name, mixture, layer_of(name));
  std::string_view type;
  if (contains(name, "attn_v.weight") || contains(name, "attn_qkv.weight")) {
    type = choice.values();
  } else if (contains(name, "attn_k.weight")) {
    type = choice.keys();
  } else if (contains(name, "attn_output.weight")) {
    type = choice.output();
  } else if (contains(name, "ffn_down")) {
    type = choice.down();
  }
  return type.empty() ? file.most : type;
}

// The type with blocks of 32 in place of one with blocks of 256.
std::string_view fallback_of(std::string_view type) {
  if (type == "Q2_K" || type == "Q3_K") return "Q4_0";
  if (type == "Q4_K") return "Q5_0";
  if (type == "Q5_K") return "Q5_1";
  if (type == "Q6_K") return "Q8_0";
  return type;
}

}  // namespace

std::span<const GgufFileType> gguf_file_types() { return kFileTypes; }

const GgufFileType& find_gguf_file_type(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  for (const std::string& tried : {upper, upper + "_M"}) {
    const auto found = std::ranges::find(kFileTypes, tried, &GgufFileType::name);
    if (found != std::end(kFileTypes)) return *found;
  }
  std::vector<std::string_view> known;
  for (const GgufFileType& one : kFileTypes) known.push_back(one.name);
  throw_user("there is no type of GGUF files " + in_quotes(name), "--type", join_choices(known),
             in_quotes(name));
}

const GgufType& gguf_tensor_type(const GgufFileType& file, const GgufMixture& mixture,
                                 std::string_view name, const Shape& shape) {
  if (stays_f32(name, shape)) return type_named("F32");
  const GgufType& most = type_named(file.most);
  if (most.plain) return most;
  const int64_t columns = shape.back();
  const auto fits = [&](std::string_view type) { return columns % type_named(type).elements == 0; };
  const std::string_view chosen = chosen_type(file, mixture, name, shape);
  if (fits(chosen)) return type_named(chosen);
  const std::string_view other = fallback_of(chosen);
  return type_named(fits(other) ? other : "F16");
}

}  // namespace tapml::frontend
