#include "topdown/reference_run/allowed.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "relax/visit.h"
#include "target/target.h"

namespace tapml::topdown {

namespace {

using op::ProductFormat;

bool covers_operand(OperandPrecision allowed, ProductFormat format) {
  switch (format) {
    case ProductFormat::kExact:
      return true;
    case ProductFormat::kF16:
    case ProductFormat::kTF32:
      return allowed != OperandPrecision::kF32;
    case ProductFormat::kTF32Truncated:
      return allowed == OperandPrecision::kTF32 || allowed == OperandPrecision::kBF16;
    case ProductFormat::kBF16:
      return allowed == OperandPrecision::kBF16;
  }
  return false;
}

}  // namespace

std::vector<Allowances> allowances_to_try(const Allowances& allowances) {
  std::vector<Allowances> result = allowances.parts();
  if (result.size() > 1) result.push_back(allowances);
  return result;
}

bool covers(const Allowances& allowances, const op::ProductRounding& products) {
  const auto sum_covered = [&](ProductFormat format) {
    return format == ProductFormat::kExact ||
           (format == ProductFormat::kF16 && allowances.half_sums);
  };
  return covers_operand(allowances.precision, products.first) &&
         covers_operand(allowances.precision, products.second) && sum_covered(products.terms) &&
         sum_covered(products.sums);
}

op::ProductRounding emulation_of(const Allowances& allowances) {
  op::ProductRounding products;
  products.as_specified = true;
  if (allowances.half_sums) products.sums = ProductFormat::kF16;
  switch (allowances.precision) {
    case OperandPrecision::kF32:
      break;
    case OperandPrecision::kTF32:
      products.first = products.second = ProductFormat::kTF32Truncated;
      break;
    case OperandPrecision::kF16:
      products.first = products.second = ProductFormat::kF16;
      break;
    case OperandPrecision::kBF16:
      products.first = products.second = ProductFormat::kBF16;
      break;
  }
  return products;
}

bool specifies_half_sums(const relax::Function& function) {
  bool found = false;
  relax::visit(function.body, [&](const relax::Expr& e) {
    const auto* call = relax::as<relax::CallNode>(e);
    found |= call && attr_or(call->attrs, "accumulation", DType::kF32) == DType::kF16;
  });
  return found;
}

bool specifies_half_sums(const Module& module) {
  return std::ranges::any_of(module.functions, [](const auto& entry) {
    const auto* function = relax::as_relax_function(entry.second.get());
    return function && specifies_half_sums(*function);
  });
}

bool quantizes_activations(const Module& module) {
  return std::ranges::any_of(module.functions, [](const auto& entry) {
    const auto* function = relax::as_relax_function(entry.second.get());
    bool found = false;
    if (function) {
      relax::visit(function->body, [&](const relax::Expr& e) {
        const auto* call = relax::as<relax::CallNode>(e);
        const auto* callee = call ? relax::as<relax::OperatorNode>(call->callee) : nullptr;
        found |= callee && callee->name == "quantize";
      });
    }
    return found;
  });
}

Allowances allowances_of(const std::string& target) {
  const auto parsed = guard([&] { return target::parse_target(target).description.allowances; });
  return parsed ? *parsed : Allowances{};
}

}  // namespace tapml::topdown
