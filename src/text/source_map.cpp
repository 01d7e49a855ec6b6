#include "text/source_map.h"

#include "text/lexer.h"

namespace tapml::text {

SourceMap::SourceMap() = default;
SourceMap::~SourceMap() = default;

void SourceMap::reset(std::string_view text, std::string_view file) {
  text_ = text;
  file_ = file;
  source_ = std::make_unique<Source>(text_, file_);
  functions_.clear();
  bindings_.clear();
  statements_.clear();
}

void SourceMap::add_binding(const std::string& function, const std::string& variable,
                            Binding binding) {
  auto [it, is_new] = bindings_.emplace(std::pair(function, variable), binding);
  if (!is_new) it->second.unique = false;
}

const SourceMap::Binding* SourceMap::find(const std::string& function,
                                          const std::string& variable) const {
  auto it = bindings_.find({function, variable});
  return it == bindings_.end() || !it->second.unique ? nullptr : &it->second;
}

std::string SourceMap::place(size_t offset) const {
  return source_ ? source_->place(offset) : file_;
}

std::string SourceMap::function(const std::string& name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? file_ : place(it->second.name);
}

std::string SourceMap::result(const std::string& name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? file_ : place(it->second.result);
}

std::string SourceMap::value(const std::string& function, const std::string& variable) const {
  const Binding* binding = find(function, variable);
  return binding ? place(binding->value) : this->function(function);
}

std::optional<std::string> SourceMap::statement(const void* node) const {
  auto it = statements_.find(node);
  return it == statements_.end() ? std::nullopt : std::optional(place(it->second));
}

std::string SourceMap::annotation(const std::string& function, const std::string& variable) const {
  const Binding* binding = find(function, variable);
  return binding ? place(binding->annotation) : this->function(function);
}

void SourceMap::add_part(const std::string& function, const std::string& variable,
                         const std::string& of) {
  if (const Binding* whole = find(function, of)) {
    add_binding(function, variable, {whole->value, whole->value});
  } else if (auto it = functions_.find(function); of.empty() && it != functions_.end()) {
    add_binding(function, variable, {it->second.result, it->second.result});
  }
}

}  // namespace tapml::text
