// The operator families, each one file; op/table.cpp lists them.
#pragma once

#include <span>

#include "op/operator.h"

namespace tapml::op {

std::span<const OperatorInfo> unary_operators();
std::span<const OperatorInfo> binary_operators();
std::span<const OperatorInfo> matmul_operators();
std::span<const OperatorInfo> einsum_operators();
std::span<const OperatorInfo> convolution_operators();
std::span<const OperatorInfo> pooling_operators();
std::span<const OperatorInfo> resize_operators();
std::span<const OperatorInfo> reduction_operators();
std::span<const OperatorInfo> normalization_operators();
std::span<const OperatorInfo> layout_operators();
std::span<const OperatorInfo> indexing_operators();
std::span<const OperatorInfo> position_operators();
std::span<const OperatorInfo> attention_operators();
std::span<const OperatorInfo> creation_operators();

}  // namespace tapml::op
