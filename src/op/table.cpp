#include "op/families.h"

namespace tapml::op {

std::span<const OperatorInfo* const> operator_table() {
  static const std::vector<const OperatorInfo*> kTable = [] {
    std::vector<const OperatorInfo*> table;
    for (auto family :
         {unary_operators(), binary_operators(), matmul_operators(), einsum_operators(), convolution_operators(), pooling_operators(), resize_operators(), reduction_operators(),
          normalization_operators(), layout_operators(), indexing_operators(), position_operators(),
          attention_operators(), creation_operators()}) {
      for (const OperatorInfo& info : family) table.push_back(&info);
    }
    return table;
  }();
  return kTable;
}

const OperatorInfo* find_operator(std::string_view name) {
  for (const OperatorInfo* info : operator_table()) {
    if (name == info->name) return info;
  }
  return nullptr;
}

}  // namespace tapml::op
