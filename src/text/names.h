// Names in the text format: which need quoting, and the table that keeps printed names apart.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapml::text {

// Words that cannot be a bare name: statement and expression keywords, annotations and dtypes.
bool is_reserved(std::string_view word);
// Words that begin a graph-level expression, so that no operator call may be written with them.
bool is_reserved_in_graph(std::string_view word);
bool is_identifier_start(char c);
bool is_identifier_char(char c);
// A letter or underscore, then letters, digits, underscores, and points that one of these follows.
bool is_identifier(std::string_view word);

// The name itself, or in backquotes where it is not an identifier or is reserved.
std::string format_name(std::string_view name);
// The same for names that keywords cannot be confused with (operators, attribute keys, @globals).
std::string format_free_name(std::string_view name);

// Gives every node a name of its own among the names in scope: "x", "x_1", ... in the order in
// which the nodes are printed.
class NameTable {
 public:
  NameTable() : scopes_(1) {}
  void push() { scopes_.emplace_back(); }
  // Names of the scope may be given again; nodes keep theirs.
  void pop();
  // A name for a node that is bound here.
  const std::string& define(const void* node, const std::string& wanted);
  // The name of a node that is used; one that nothing has bound is named in the outermost scope.
  const std::string& use(const void* node, const std::string& wanted);
  // Ends the scope of one node's name.
  void release(const void* node);
  bool is_taken(const std::string& name) const { return owners_.contains(name); }

 private:
  // A name that may be given again.
  void look_again_at(const std::string& name);
  const std::string& assign(const void* node, const std::string& wanted, size_t scope);

  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<std::string, const void*> owners_;
  // Of a name, all numbers up to this one are taken, but for those of `released_`.
  std::unordered_map<std::string, int> last_suffix_;
  std::vector<std::string> released_;  // since a scope ended
  std::vector<std::vector<std::string>> scopes_;
};

}  // namespace tapml::text
