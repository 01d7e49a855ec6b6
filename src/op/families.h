// The operator families, one file each; op/table.cpp lists them.
#pragma once

#include <span>

#include "op/operator.h"

namespace tapml::op {

std::span<const OperatorInfo> unary_math_operators();
std::span<const OperatorInfo> activation_operators();
std::span<const OperatorInfo> rounding_operators();
std::span<const OperatorInfo> cast_operators();
std::span<const OperatorInfo> arithmetic_operators();
std::span<const OperatorInfo> predicate_operators();
std::span<const OperatorInfo> logic_operators();
std::span<const OperatorInfo> matmul_operators();
std::span<const OperatorInfo> gather_matmul_operators();
std::span<const OperatorInfo> quantization_operators();
std::span<const OperatorInfo> quantize_operators();
std::span<const OperatorInfo> einsum_operators();
std::span<const OperatorInfo> convolution_operators();
std::span<const OperatorInfo> pooling_operators();
std::span<const OperatorInfo> resize_operators();
std::span<const OperatorInfo> reduction_operators();
std::span<const OperatorInfo> statistics_operators();
std::span<const OperatorInfo> scan_operators();
std::span<const OperatorInfo> softmax_operators();
std::span<const OperatorInfo> normalization_operators();
std::span<const OperatorInfo> layout_operators();
std::span<const OperatorInfo> arrange_operators();
std::span<const OperatorInfo> join_operators();
std::span<const OperatorInfo> region_operators();
std::span<const OperatorInfo> indexing_operators();
std::span<const OperatorInfo> scatter_operators();
std::span<const OperatorInfo> sorting_operators();
std::span<const OperatorInfo> selection_operators();
std::span<const OperatorInfo> position_operators();
std::span<const OperatorInfo> attention_operators();
std::span<const OperatorInfo> full_attention_operators();
std::span<const OperatorInfo> creation_operators();

}  // namespace tapml::op
