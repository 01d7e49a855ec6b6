// Names in the text format: which names need quoting, and the table that makes printed names
// unique.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapml::text {

// Words that cannot be a bare name: statement and expression keywords, annotations and dtypes.
bool is_reserved(std::string_view word);
// Words that begin a graph-level expression, so they cannot name an operator in a call.
bool is_reserved_in_graph(std::string_view word);
bool is_identifier_start(char c);
bool is_identifier_char(char c);
// A letter or underscore, then letters, digits, underscores, and points that one of these follows.
bool is_identifier(std::string_view word);

// The name, in backquotes if it is not an identifier or is reserved.
std::string format_name(std::string_view name);
// The same for names that cannot be confused with keywords (operators, attribute keys, @globals).
std::string format_free_name(std::string_view name);

// Gives every node a unique name in its scope: "x", "x_1", ... in the order in which the nodes are
// printed.
class NameTable {
 public:
  NameTable() : scopes_(1) {}
  void push() { scopes_.emplace_back(); }
  // Makes the scope's names available again; nodes keep their names.
  void pop();
  // Names a node at its binding.
  const std::string& define(const void* node, const std::string& wanted);
  // The name of a node at a use; an unbound node is named in the outermost scope.
  const std::string& use(const void* node, const std::string& wanted);
  // Ends the scope of one node's name.
  void release(const void* node);
  bool is_taken(const std::string& name) const { return owners_.contains(name); }

 private:
  // Marks a name as available again.
  void look_again_at(const std::string& name);
  const std::string& assign(const void* node, const std::string& wanted, size_t scope);

  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<std::string, const void*> owners_;
  // By name, the last suffix: all suffixes up to it are taken, except those in `released_`.
  std::unordered_map<std::string, int> last_suffix_;
  std::vector<std::string> released_;  // since a scope ended
  std::vector<std::vector<std::string>> scopes_;
};

}  // namespace tapml::text
