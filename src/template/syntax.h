// The syntax tree of a template. Positions are byte offsets of its source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "template/value.h"

namespace tapml::jinja {

enum class ExprKind : uint8_t {
  kConstant,
  kName,
  kList,
  kTuple,
  kDict,       // items: key, value, key, value
  kMember,     // items[0].text
  kSubscript,  // items[0][items[1]]
  kSlice,      // items: start, stop, step; null where it is left out
  kCall,       // items[0](arguments)
  kFilter,     // items[0]|text(arguments); null in a filter block
  kTest,       // items[0] is text(arguments)
  kNot,
  kNegative,
  kPositive,
  kBinary,   // text: + - * / // % **
  kConcat,   // ~
  kCompare,  // items[0] names[0] items[1] names[1] ...
  kAnd,
  kOr,
  kCondition,        // items: test, value, other; null where it is left out
  kNamespaceMember,  // a target: text.names[0]
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct ArgumentList {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr rest, named_rest;  // *rest, **named_rest; may be null
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  uint32_t at = 0;
  int depth = 1;  // of the tree
  std::string text;
  Value constant;
  std::vector<ExprPtr> items;
  std::vector<std::string> names;
  ArgumentList arguments;
};

enum class NodeKind : uint8_t {
  kText,
  kOutput,      // exprs
  kIf,          // exprs: tests; bodies: one for each, and one more for else
  kFor,         // target, exprs[0] in, exprs[1] if (may be null); bodies: body, else
  kSet,         // target, exprs[0]
  kSetBlock,    // target, exprs[0]: a filter or null; bodies[0]
  kMacro,       // macro
  kCallBlock,   // exprs[0]: a call; macro: the caller
  kFilter,      // exprs[0]: a filter; bodies[0]
  kWith,        // targets, exprs; bodies[0]
  kGeneration,  // bodies[0]
  kBreak,
  kContinue,
};

struct Node;
using Body = std::vector<std::unique_ptr<Node>>;

struct MacroSyntax {
  std::string name;
  uint32_t at = 0;
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults;  // of the last parameters
  Body body;
  bool takes_rest = false, takes_named_rest = false, takes_caller = false;
};

struct Node {
  NodeKind kind = NodeKind::kText;
  uint32_t at = 0;
  std::string text;
  std::vector<ExprPtr> exprs;
  std::vector<ExprPtr> targets;
  std::vector<Body> bodies;
  MacroSyntax macro;
  bool recursive = false;
};

}  // namespace tapml::jinja
