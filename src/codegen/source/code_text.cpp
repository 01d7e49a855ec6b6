#include "codegen/source/code_text.h"

#include <cctype>
#include <utility>

namespace tapml::codegen {

std::string CodeText::unique(const std::string& hint) {
  std::string base;
  // No two underscores in a row, no gl_, no leading digit: languages reserve such names.
  for (char c : hint) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
    if (c != '_' || (!base.empty() && base.back() != '_')) base += c;
  }
  while (base.ends_with('_')) base.pop_back();
  if (base.empty() || isdigit(static_cast<unsigned char>(base[0])) || base.starts_with("gl_")) {
    base = "v" + base;
  }
  return base + "_" + std::to_string(counters_[base]++);
}

void CodeText::declare(std::string declaration, std::string name) {
  define();
  declared_ = std::move(declaration);
  declared_name_ = std::move(name);
}

void CodeText::define() {
  if (!declared_.empty()) line(std::exchange(declared_, {}) + ";");
}

void CodeText::line(const std::string& text) {
  const std::string declared = std::exchange(declared_, {});
  const bool defines = !declared.empty() && text.starts_with(declared_name_ + " = ");
  if (!declared.empty() && !defines) line(declared + ";");
  out_ += std::string(2 * static_cast<size_t>(depth_), ' ') +
          (defines ? declared + text.substr(declared_name_.size()) : text) + "\n";
}

std::string CodeText::named(const std::string& text, const std::string& type, bool index) {
  const bool is_simple = text.find_first_of(" (?[") == std::string::npos;
  if (is_simple) return text;
  std::string key = type;
  key += " = " + text;
  if (index) {
    auto known = index_values_.find(key);
    if (known != index_values_.end()) return known->second;
  }
  std::string result = unique("t");
  line(definition(type, result, text));
  if (index) {
    index_values_.emplace(key, result);
    index_names_.push_back(std::move(key));
  }
  return result;
}

}  // namespace tapml::codegen
