#include "topdown/reference_run/import_check.h"

#include <cstdio>

#include "base/strings.h"

namespace tapml::topdown {

namespace {

std::string rounded_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

std::string exactly(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string counted(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "model.layers.3.mlp" of the last part "mlp".
bool is_named(const std::string& module, const char* last) {
  return module == last || module.ends_with(std::string(".") + last);
}

std::string place_of(const ImportDifference& difference) {
  std::string text = difference.layer < 0 ? "" : "layer " + std::to_string(difference.layer) + ", ";
  text += difference.end + " of " + difference.module;
  return difference.meaning.empty() ? text : text + " (" + difference.meaning + ")";
}

}  // namespace

std::string border_meaning(const std::string& module, const std::string& end) {
  if (is_named(module, "rotary_emb")) return "the rope table";
  const bool output = end == "output";
  if (output) {
    for (const char* name : {"q_proj", "k_proj"}) {
      if (is_named(module, name)) return "before the rotation";
    }
    for (const char* name : {"self_attn", "o_proj", "mlp", "down_proj"}) {
      if (is_named(module, name)) return "before the residual";
    }
    const size_t dot = module.rfind('.');
    if (dot != std::string::npos &&
        module.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
      return "after the residual";
    }
    return "";
  }
  if (is_named(module, "o_proj")) return "after rotation and attention";
  if (is_named(module, "post_attention_layernorm")) {
    return "attention's output after the residual";
  }
  if (is_named(module, "down_proj")) return "activation times up";
  return "";
}

std::string import_text(const ImportCheck& check) {
  const std::string by =
      check.implementation + " (" + check.model_class + " in " + check.dtype + ")";
  if (!check.passed()) return "differs from " + by;
  return "agrees with " + by + ": " + check.compared + " of " + counted(check.tokens, "token") +
         " within " + rounded_number(check.max_abs) + " of " + rounded_number(check.bound) + ", " +
         counted(check.values, "hidden state") + " compared; " +
         std::to_string(check.kernels_at_ends) + " of " +
         counted(check.kernels, "kernel specification") + " give values of its modules";
}

std::vector<std::string> difference_texts(const ImportCheck& check) {
  if (check.passed()) return {};
  const ImportDifference& first = *check.first;
  std::vector<std::string> texts = {
      "first in " + place_of(first),
      "at token " + std::to_string(first.token) + ": up to " + rounded_number(first.max_abs) +
          " apart, " + rounded_number(first.bound) + " allowed; published " +
          exactly(first.published) + ", imported " + exactly(first.found)};
  if (!first.equals.empty()) {
    texts.push_back("the imported values equal the published output of " + first.equals);
  }
  if (first.by_passes) {
    texts.emplace_back(
        "the import itself agrees: a pass of the compiler changes the model (tapml localize "
        "--bisect passes names it)");
  }
  if (!check.missing.empty()) {
    texts.push_back("the files lack weights of the published model: " + join(check.missing));
  }
  return texts;
}

std::string import_text(const std::optional<ImportCheck>& check) {
  return check ? import_text(*check) : "nothing but tapml vouches for it (--trust torch)";
}

}  // namespace tapml::topdown
