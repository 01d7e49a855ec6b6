// Structural equality and hash: two programs are equal if renaming variables and buffers makes them
// identical. Origins are ignored; attributes, global names and block names count; floats and
// constants compare by their bits. Grouping without meaning (nested sequences, adjacent blocks of
// plain bindings) is ignored. Free variables match by their first occurrence.
#pragma once

#include <cstdint>
#include <string>

#include "ir/module.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::text {

struct EqualOptions {
  // Whether the origins and check notes of bindings must be equal too.
  bool origins = false;
  // If given and the two differ, receives the path to the first difference and both sides, as text.
  std::string* difference = nullptr;
};

bool structural_equal(const Module& a, const Module& b, EqualOptions options = {});
bool structural_equal(const BaseFunction& a, const BaseFunction& b, EqualOptions options = {});
bool structural_equal(const relax::Expr& a, const relax::Expr& b, EqualOptions options = {});
bool structural_equal(const relax::Annotation& a, const relax::Annotation& b,
                      EqualOptions options = {});
bool structural_equal(const tir::Stmt& a, const tir::Stmt& b, EqualOptions options = {});
bool structural_equal(const PrimExpr& a, const PrimExpr& b, EqualOptions options = {});

// Equal programs have equal hashes, which are the same on every platform and in every run. A
// function's hash covers its attributes, so a name made from it is computed before the name is put
// into them.
uint64_t structural_hash(const Module& module);
uint64_t structural_hash(const BaseFunction& function);
uint64_t structural_hash(const relax::Expr& expr);
uint64_t structural_hash(const tir::Stmt& stmt);
uint64_t structural_hash(const PrimExpr& expr);

}  // namespace tapml::text
