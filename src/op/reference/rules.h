// The f64 rules of the operator table, one function an operator, written apart from legalization.
#pragma once

#include <span>

#include "op/reference.h"

namespace tapml::op::reference {

using Args = std::span<const RefArg>;
using Outputs = std::span<RefTensor>;

void negative(const AttrMap& attrs, Args args, Outputs outputs);
void exp(const AttrMap& attrs, Args args, Outputs outputs);
void sqrt(const AttrMap& attrs, Args args, Outputs outputs);
void rsqrt(const AttrMap& attrs, Args args, Outputs outputs);
void sigmoid(const AttrMap& attrs, Args args, Outputs outputs);
void silu(const AttrMap& attrs, Args args, Outputs outputs);
void tanh(const AttrMap& attrs, Args args, Outputs outputs);
void sin(const AttrMap& attrs, Args args, Outputs outputs);
void cos(const AttrMap& attrs, Args args, Outputs outputs);
void cast(const AttrMap& attrs, Args args, Outputs outputs);

void add(const AttrMap& attrs, Args args, Outputs outputs);
void subtract(const AttrMap& attrs, Args args, Outputs outputs);
void multiply(const AttrMap& attrs, Args args, Outputs outputs);
void divide(const AttrMap& attrs, Args args, Outputs outputs);
void maximum(const AttrMap& attrs, Args args, Outputs outputs);
void minimum(const AttrMap& attrs, Args args, Outputs outputs);
void greater(const AttrMap& attrs, Args args, Outputs outputs);
void less(const AttrMap& attrs, Args args, Outputs outputs);
void equal(const AttrMap& attrs, Args args, Outputs outputs);
void where(const AttrMap& attrs, Args args, Outputs outputs);

void matmul(const AttrMap& attrs, Args args, Outputs outputs);

void sum(const AttrMap& attrs, Args args, Outputs outputs);
void mean(const AttrMap& attrs, Args args, Outputs outputs);
void max(const AttrMap& attrs, Args args, Outputs outputs);
void argmax(const AttrMap& attrs, Args args, Outputs outputs);

void rms_norm(const AttrMap& attrs, Args args, Outputs outputs);
void softmax(const AttrMap& attrs, Args args, Outputs outputs);

void reshape(const AttrMap& attrs, Args args, Outputs outputs);
void permute(const AttrMap& attrs, Args args, Outputs outputs);
void concat(const AttrMap& attrs, Args args, Outputs outputs);
void split(const AttrMap& attrs, Args args, Outputs outputs);
void slice(const AttrMap& attrs, Args args, Outputs outputs);

void take(const AttrMap& attrs, Args args, Outputs outputs);
void rope(const AttrMap& attrs, Args args, Outputs outputs);
void kv_append(const AttrMap& attrs, Args args, Outputs outputs);
void paged_attention(const AttrMap& attrs, Args args, Outputs outputs);

void full(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
