// Invariants T16 and T17: operands of matrix operations and of asynchronous copies.
#include "analysis/verifier_impl.h"
#include "text/printer.h"
#include "tir/async_copy.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

std::string size_text(const BufferNode& fragment) {
  return std::to_string(fragment_rows(fragment)) + " x " +
         std::to_string(fragment_columns(fragment));
}

std::string dtypes_text(const MatrixNode& node) {
  return std::string(dtype_name(node.left->dtype)) + ", " + dtype_name(node.right->dtype) +
         " and " + dtype_name(node.accumulator->dtype);
}

}  // namespace

void MatrixVerifier::check(const MatrixNode& node) {
  name_ = matrix_op_name(node.op);
  if (width_ == 0) width_ = node.width;
  if (node.width != width_) {
    fail("has the width " + std::to_string(node.width) + ", another one " + std::to_string(width_));
  }
  for (const Buffer* operand : {&node.fragment, &node.left, &node.right, &node.accumulator}) {
    const Buffer& buffer = *operand;
    if (!buffer || buffer->scope == Scope::kFragment) continue;
    return fail("has the operand '" + buffer->name + "', which is not a fragment");
  }
  switch (node.op) {
    case MatrixOp::kFill:
      if (node.value && node.value.dtype() != node.fragment->dtype) {
        fail("fills '" + node.fragment->name + "' of dtype " + dtype_name(node.fragment->dtype) +
             " with a value of dtype " + dtype_name(node.value.dtype()));
      }
      return;
    case MatrixOp::kLoad:
    case MatrixOp::kStore:
      return memory(node);
    case MatrixOp::kMultiplyAdd:
      return product(node);
  }
}

void MatrixVerifier::memory(const MatrixNode& node) {
  const BufferNode &memory = *node.memory, &fragment = *node.fragment;
  if (memory.scope != Scope::kGlobal && memory.scope != Scope::kShared) {
    fail("accesses '" + memory.name + "', which is neither global nor shared");
  }
  if (memory.shape.empty()) fail("accesses '" + memory.name + "', which has no dimension");
  if (memory.dtype != fragment.dtype) {
    fail("moves elements between '" + memory.name + "' of dtype " + dtype_name(memory.dtype) +
         " and '" + fragment.name + "' of dtype " + dtype_name(fragment.dtype));
  }
  if (!node.leading) return;
  if (!is_integer(node.leading.dtype())) {
    return fail("has a leading dimension of dtype " +
                std::string(dtype_name(node.leading.dtype())));
  }
  const bool by_rows = node.layout == MatrixLayout::kRowMajor;
  const int64_t least = by_rows ? fragment_columns(fragment) : fragment_rows(fragment);
  if (node.leading.is_int() && node.leading->int_value < least) {
    fail("has the leading dimension " + text::print(node.leading) + ", less than the " +
         std::to_string(least) + " elements of a " + (by_rows ? "row" : "column") + " of '" +
         fragment.name + "'");
  }
}

void MatrixVerifier::product(const MatrixNode& node) {
  const BufferNode &left = *node.left, &right = *node.right, &sum = *node.accumulator;
  if (!has_matrix_product(left.dtype, right.dtype, sum.dtype)) {
    fail("has operands of dtypes " + dtypes_text(node) +
         "; f16, f16 and f32 or f16, bf16, bf16 and f32, and i8, i8 and i32 are supported");
  }
  if (fragment_columns(left) != fragment_rows(right) || fragment_rows(left) != fragment_rows(sum) ||
      fragment_columns(right) != fragment_columns(sum)) {
    fail("has operands of " + size_text(left) + ", " + size_text(right) + " and " + size_text(sum) +
         " elements; m x k, k x n and m x n are expected");
  }
  if (node.fragment->dtype != sum.dtype || size_text(*node.fragment) != size_text(sum)) {
    fail("stores to '" + node.fragment->name + "', whose dtype or extents are not those of '" +
         sum.name + "'");
  }
  role(left, Role::kLeft);
  role(right, Role::kRight);
  role(sum, Role::kSum);
  role(*node.fragment, Role::kSum);
}

// Matrix units hold the operands in different arrangements of registers.
void MatrixVerifier::role(const BufferNode& fragment, Role role) {
  constexpr const char* kNames[] = {"left operand", "right operand", "sum"};
  const auto [known, is_new] = roles_.emplace(&fragment, role);
  if (is_new || known->second == role) return;
  fail("uses '" + fragment.name + "' as a " + kNames[static_cast<size_t>(role)] +
       ", another one as a " + kNames[static_cast<size_t>(known->second)]);
}

void MatrixVerifier::fail(const std::string& what) {
  report_.add("T16", std::string(name_) + " " + what);
}

void verify_copy(const CopyAsyncNode& node, Report& report) {
  const BufferNode &to = *node.to.buffer, &from = *node.from.buffer;
  auto fail = [&](const std::string& what) { report.add("T17", "copy_async " + what); };
  if (to.scope != Scope::kShared) fail("copies to '" + to.name + "', which is not shared");
  if (from.scope != Scope::kGlobal) fail("copies from '" + from.name + "', which is not global");
  if (to.dtype != from.dtype) {
    fail("copies from '" + from.name + "' of dtype " + dtype_name(from.dtype) + " to '" + to.name +
         "' of dtype " + dtype_name(to.dtype));
  }
  const auto target = box_extents(node.to), source = box_extents(node.from);
  for (const auto* box : {&node.to, &node.from}) {
    for (const PrimExpr& extent : box->extents) {
      if (!extent || (extent.is_int() && extent->int_value >= 1)) continue;
      return fail("has a box of '" + box->buffer->name + "' with the extent " +
                  text::print(extent) + ", which is not a positive constant");
    }
  }
  if (target && source && *target != *source) {
    fail("copies between boxes of '" + to.name + "' and '" + from.name + "' whose extents differ");
  }
}

}  // namespace tapml::analysis
