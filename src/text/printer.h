// Module to text. docs/text-format.md has the grammar; text/parser.h reads it back.
#pragma once

#include <string>

#include "ir/module.h"
#include "relax/expr.h"
#include "text/common.h"
#include "tir/prim_func.h"

namespace tapml::text {

// The whole module, functions in the order of their names. Every variable gets a unique name in its
// scope (x, x_1). Constants above kInlineConstantBytes are written as their content hash and, if
// `side` is given, added to it. UserError for nesting deeper than kMaxNesting.
std::string print(const Module& module, SideTensors* side = nullptr);
// One function as printed in a module under `name`.
std::string print(const BaseFunction& function, const std::string& name,
                  SideTensors* side = nullptr);

// Single parts, for messages, with variables by their original names. No final newline.
std::string print(const relax::Expr& expr);
std::string print(const relax::Annotation& annotation);
std::string print(const relax::Binding& binding);
std::string print(const tir::Stmt& stmt);
std::string print(const PrimExpr& expr);

}  // namespace tapml::text
