// Source locations of the parts of a parsed module, for the messages of later checks: a Module
// itself has no locations.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tapml::text {

class Source;

// Filled by parse (ParseOptions::places). Every location is "file:3:8", the line, and a caret. A
// part that is not in the map has the location of its parent: the function, or else the file. A
// variable that its function binds in several scopes has the function's location.
class SourceMap {
 public:
  SourceMap();
  ~SourceMap();
  SourceMap(const SourceMap&) = delete;
  SourceMap& operator=(const SourceMap&) = delete;

  // The function's name.
  std::string function(const std::string& name) const;
  // The annotation of what the function returns.
  std::string result(const std::string& name) const;
  // The value that a variable is bound to; its annotation.
  std::string value(const std::string& function, const std::string& variable) const;
  std::string annotation(const std::string& function, const std::string& variable) const;
  // A statement of a tensor program, by its node; std::nullopt if it is not from this text.
  std::optional<std::string> statement(const void* node) const;

  // Registers a variable for a part of the value of `of` or, if `of` is empty, of the function's
  // result: it has the location of the whole.
  void add_part(const std::string& function, const std::string& variable, const std::string& of);

 private:
  friend class Parser;
  struct Function {
    size_t name = 0;
    size_t result = 0;
  };
  struct Binding {
    size_t annotation = 0;
    size_t value = 0;
    bool unique = true;
  };
  void reset(std::string_view text, std::string_view file);
  void add_binding(const std::string& function, const std::string& variable, Binding binding);
  const Binding* find(const std::string& function, const std::string& variable) const;
  std::string place(size_t offset) const;

  std::string text_, file_;
  std::unique_ptr<Source> source_;  // a view of the two
  std::map<std::string, Function> functions_;
  std::map<std::pair<std::string, std::string>, Binding> bindings_;
  std::map<const void*, size_t> statements_;
};

}  // namespace tapml::text
