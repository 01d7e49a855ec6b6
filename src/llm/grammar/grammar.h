// Grammars that say what a text may be, in the notation that llama.cpp calls GBNF:
//
//   root   ::= "{" ws pair ("," ws pair)* "}"    # a rule: the text is one of the choices of root
//   pair   ::= [a-z]+ ":" ([0-9]{1,3} | "none")
//   ws     ::= [ \t\n]*
//
// Literals ("..."), classes of characters ([a-z], [^"], with \n \t \r \\ \" \] \- \xHH \uHHHH
// \UHHHHHHHH), any character (.), names of rules, ( ), |, and the repetitions * + ? {n} {n,} {n,m}.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::llm {

// A context-free grammar over the bytes of UTF-8, flat: a rule's choices are runs of elements, each
// with an end. Immutable.
class Grammar {
 public:
  // UserError for text of another form, a name without a rule, no rule "root", a rule that begins
  // with itself (left recursion), a rule that no finite text satisfies, and a grammar of more than
  // 200,000 elements.
  static Result<Grammar> parse(std::string_view text, const std::string& source);

  using Bytes = std::bitset<256>;
  struct Element {
    enum class Kind : uint8_t { kEnd, kBytes, kRule } kind = Kind::kEnd;
    int32_t index = 0;  // of the set of bytes, or of the rule
  };

  const Element& element(int32_t at) const { return elements_[static_cast<size_t>(at)]; }
  const Bytes& bytes(int32_t index) const { return bytes_[static_cast<size_t>(index)]; }
  // Where the choices of a rule begin.
  const std::vector<int32_t>& choices(int32_t rule) const {
    return choices_[static_cast<size_t>(rule)];
  }
  int32_t root() const { return root_; }

 private:
  friend class GrammarParser;
  Status check(const std::vector<std::string>& names, const std::string& source) const;
  // The rules that have a choice whose own rules all are such rules, too, and which has no bytes
  // unless `with_bytes`: those that a finite text satisfies, or the empty one.
  std::vector<bool> derivable(bool with_bytes) const;

  std::vector<Element> elements_;
  std::vector<Bytes> bytes_;
  std::vector<std::vector<int32_t>> choices_;
  int32_t root_ = 0;
};

}  // namespace tapml::llm
