#include "fuzz/oracles/problem.h"

#include <cctype>

#include "fuzz/oracles/compare.h"
#include "fuzz/oracles/variants.h"

namespace tapml::fuzz {

namespace {

constexpr const char* kKinds[kProblemKinds] = {"crash",    "hang",       "memory", "internal",
                                               "refusal",  "verifier",   "text",   "values",
                                               "accepted", "diagnostic", "mutator"};

// The text with a '#' for every word with a digit: names of variables, numbers, hashes.
std::string without_names(std::string_view text) {
  std::string result, word;
  bool digit = false;
  auto end_word = [&] {
    result += digit ? "#" : word;
    word.clear();
    digit = false;
  };
  for (const char c : text.substr(0, text.find('\n'))) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '_') {
      word += c;
      digit |= std::isdigit(byte) != 0;
    } else {
      end_word();
      result += c;
    }
  }
  end_word();
  return result;
}

std::string text_of(const Json& json, const char* key) {
  const Json* value = json.find(key);
  return value ? value->as_string() : "";
}

}  // namespace

const char* problem_kind_name(ProblemKind kind) { return kKinds[static_cast<int>(kind)]; }

std::optional<ProblemKind> problem_kind_of(std::string_view name) {
  for (int i = 0; i < kProblemKinds; ++i) {
    if (name == kKinds[i]) return static_cast<ProblemKind>(i);
  }
  return std::nullopt;
}

bool has_telling_message(ProblemKind kind) {
  return kind == ProblemKind::kInternal || kind == ProblemKind::kRefusal ||
         kind == ProblemKind::kVerifier || kind == ProblemKind::kDiagnostic;
}

std::string Problem::signature() const {
  std::string text = std::string(problem_kind_name(kind)) + " | " + stage + " | " + pass;
  if (has_telling_message(kind)) text += " | " + without_names(message);
  if (kind == ProblemKind::kValues) text += " | " + difference_kind(message);
  return variant.empty() ? text : text + " | " + parse_variant(variant).kind();
}

Json Problem::json() const {
  return Json::object({{"kind", Json::string(problem_kind_name(kind))},
                       {"stage", Json::string(stage)},
                       {"pass", Json::string(pass)},
                       {"message", Json::string(message)},
                       {"variant", Json::string(variant)}});
}

Problem Problem::from_json(const Json& json) {
  return {problem_kind_of(text_of(json, "kind")).value_or(ProblemKind::kInternal),
          text_of(json, "stage"), text_of(json, "pass"), text_of(json, "message"),
          text_of(json, "variant")};
}

}  // namespace tapml::fuzz
