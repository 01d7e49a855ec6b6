#include <unordered_map>

#include "op/families.h"

namespace tapml::op {

namespace {

// In the order of docs/operators.md.
constexpr std::span<const OperatorInfo> (*kFamilies[])() = {
    unary_math_operators,     activation_operators,    rounding_operators,
    cast_operators,           arithmetic_operators,    predicate_operators,
    logic_operators,          matmul_operators,        gather_matmul_operators,
    quantization_operators,   quantize_operators,      einsum_operators,
    convolution_operators,    pooling_operators,       resize_operators,
    reduction_operators,      statistics_operators,    scan_operators,
    softmax_operators,        normalization_operators, layout_operators,
    arrange_operators,        join_operators,          region_operators,
    indexing_operators,       scatter_operators,       sorting_operators,
    selection_operators,      position_operators,      attention_operators,
    full_attention_operators, creation_operators,
};

}  // namespace

std::span<const OperatorInfo* const> operator_table() {
  static const std::vector<const OperatorInfo*> kTable = [] {
    std::vector<const OperatorInfo*> table;
    for (auto family : kFamilies) {
      for (const OperatorInfo& info : family()) table.push_back(&info);
    }
    return table;
  }();
  return kTable;
}

const OperatorInfo* find_operator(std::string_view name) {
  static const std::unordered_map<std::string_view, const OperatorInfo*> kByName = [] {
    std::unordered_map<std::string_view, const OperatorInfo*> by_name;
    for (const OperatorInfo* info : operator_table()) by_name.emplace(info->name, info);
    return by_name;
  }();
  auto it = kByName.find(name);
  return it == kByName.end() ? nullptr : it->second;
}

const OperatorInfo* operator_of(const relax::OperatorNode& callee) {
  return callee.info ? callee.info : find_operator(callee.name);
}

const OperatorInfo* called_operator_info(const relax::Expr& value) {
  const auto* call = relax::as<relax::CallNode>(value);
  const auto* callee = call ? relax::as<relax::OperatorNode>(call->callee) : nullptr;
  return callee ? operator_of(*callee) : nullptr;
}

relax::Expr make_call(const OperatorInfo& info, std::vector<relax::Expr> args, AttrMap attrs) {
  return relax::make_call(relax::make_operator(info.name, &info), std::move(args),
                          std::move(attrs));
}

}  // namespace tapml::op
