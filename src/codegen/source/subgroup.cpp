#include "codegen/source/subgroup.h"

#include "ir/exceptions.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

int64_t subgroup_width(const DeviceFunc& function) {
  int64_t width = 0;
  visit(function.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kStore) return;
    const auto call = as_subgroup_call(as<StoreNode>(s).value);
    if (!call) return;
    if (width != 0 && width != call->width) {
      throw_user("a launch has operations of subgroups of different widths", function.entry,
                 "one width", std::to_string(width) + " and " + std::to_string(call->width));
    }
    width = call->width;
  });
  return width;
}

SubgroupEmitter::SubgroupEmitter(const DeviceFunc& function, const Dialect& dialect,
                                 const Operations& operations, const Unique& unique)
    : dialect_(dialect),
      operations_(operations),
      index_(function.index),
      width_(subgroup_width(function)) {
  if (width_ == 0 || dialect.subgroups(width_) == Subgroups::kThere) return;
  counter_ = unique("lane");
  joined_ = unique("joined");
  visit(function.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kStore || !as_subgroup_call(as<StoreNode>(s).value)) return;
    const DType dtype = as<StoreNode>(s).buffer->dtype;
    if (scratch_.contains(dtype)) return;
    scratch_[dtype] = unique("exchange");
    declarations_.push_back(
        dialect.shared_declaration(scratch_[dtype], dtype, function.workgroup_threads));
  });
}

std::vector<std::string> SubgroupEmitter::lines(const StoreNode& store, const std::string& value,
                                                const std::string& target,
                                                const std::string& thread) const {
  const SubgroupCall call = *as_subgroup_call(store.value);
  const Subgroups has = dialect_.subgroups(width_);
  const std::string assign = target + " = " + dialect_.subgroup(call, value) + ";";
  if (has == Subgroups::kThere) return {assign};
  std::vector<std::string> result;
  if (has == Subgroups::kPerhaps) {
    // Decided by what the device's compiler supports, then by what the running group finds.
    result = {"#ifdef TAPML_SUBGROUPS", "if (" + dialect_.in_subgroups(width_) + ") {", assign,
              "} else", "#endif"};
  }
  const std::vector<std::string> other = exchange(call, value, target, thread);
  result.emplace_back("{");
  result.insert(result.end(), other.begin(), other.end());
  result.emplace_back("}");
  return result;
}

std::vector<std::string> SubgroupEmitter::exchange(const SubgroupCall& call,
                                                   const std::string& value,
                                                   const std::string& target,
                                                   const std::string& thread) const {
  const DType dtype = call.value.dtype();
  const std::string& scratch = scratch_.at(dtype);
  auto literal = [&](int64_t number) { return dialect_.int_literal(number, index_); };
  std::vector<std::string> result = {scratch + "[" + thread + "] = " + value + ";",
                                     dialect_.barrier()};
  const auto combination = combination_of(call.op);
  if (combination) {
    const std::string first = "(" + thread + " & " + literal(-call.width) + ")";
    const Var a = make_var("a", dtype), b = make_var("b", dtype);
    const std::string type = dialect_.type_name(dtype), index = dialect_.type_name(index_);
    const std::string other = joined_ + "_other";
    result.push_back(dialect_.variable(type, joined_) + " = " + scratch + "[" + first + "];");
    result.push_back(dialect_.counting(index, counter_, literal(1), literal(call.width), "") +
                     " {");
    result.push_back(
        dialect_.definition(type, other, scratch + "[" + first + " + " + counter_ + "]"));
    result.push_back(joined_ + " = " +
                     operations_.binary(make_binary(*combination, a, b), joined_, other, false) +
                     ";");
    result.emplace_back("}");
    result.push_back(target + " = " + joined_ + ";");
  } else {
    result.push_back(target + " = " + scratch + "[" + thread + " ^ " + literal(call.mask) + "];");
  }
  result.push_back(dialect_.barrier());
  return result;
}

}  // namespace tapml::codegen
