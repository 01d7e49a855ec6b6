// The text of a function in a C-like language while it is written: lines, scopes and names.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tapml::codegen {

class CodeText {
 public:
  virtual ~CodeText() = default;
  // A name that nothing else has. Always with a suffix, to avoid the language's keywords.
  std::string unique(const std::string& hint);

  void line(const std::string& text);
  // A declaration of `name` ("float sum") that the next line completes if it assigns to it.
  void declare(std::string declaration, std::string name);
  // Writes the pending declaration.
  void define();
  // Statements that were written aside.
  void append(const std::string& statements) { out_ += statements; }

  // `head { body }`; without a head, braces alone.
  template <class F>
  void block(const std::string& head, F&& body) {
    line(head.empty() ? "{" : head + " {");
    scope(body);
    line("}");
  }

  // Names defined in `body` are visible only there.
  template <class F>
  void scope(F&& body) {
    const size_t before = index_names_.size();
    ++depth_;
    body();
    --depth_;
    for (; index_names_.size() > before; index_names_.pop_back()) {
      index_values_.erase(index_names_.back());
    }
  }

  // The statements that `body` writes, which are not part of the text yet.
  template <class F>
  std::string aside(F&& body) {
    define();
    std::string before = std::move(out_);
    out_.clear();
    scope(body);
    std::string statements = std::move(out_);
    out_ = std::move(before);
    return statements;
  }

  // A variable of `type` with the value `text`; a plain name or literal is returned unchanged.
  // `index`: the value does not change within the scope, and has one name there.
  std::string named(const std::string& text, const std::string& type, bool index);

  // All that was written, at the depth of the body of a function's outermost loop.
  std::string take() { return std::move(out_); }

  // The definition of a value in the language.
  virtual std::string definition(const std::string& type, const std::string& name,
                                 const std::string& value) const = 0;

 private:
  std::string out_;
  int depth_ = 2;
  std::string declared_, declared_name_;
  std::map<std::string, int> counters_;  // by name, without suffix
  // Variables that hold indices in scope, by type and text; the texts in order of definition.
  std::map<std::string, std::string> index_values_;
  std::vector<std::string> index_names_;
};

}  // namespace tapml::codegen
