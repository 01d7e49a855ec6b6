// The f64 rules of the operator table, one function per operator, independent of legalization.
#pragma once

#include <span>

#include "op/reference.h"

namespace tapml::op::reference {

using Args = std::span<const RefArg>;
using Outputs = std::span<RefTensor>;

void matmul(const AttrMap& attrs, Args args, Outputs outputs);

void reshape(const AttrMap& attrs, Args args, Outputs outputs);
void permute(const AttrMap& attrs, Args args, Outputs outputs);
void concat(const AttrMap& attrs, Args args, Outputs outputs);
void split(const AttrMap& attrs, Args args, Outputs outputs);
void slice(const AttrMap& attrs, Args args, Outputs outputs);

void rope(const AttrMap& attrs, Args args, Outputs outputs);
void kv_append(const AttrMap& attrs, Args args, Outputs outputs);
void paged_attention(const AttrMap& attrs, Args args, Outputs outputs);
void paged_attention_with_sinks(const AttrMap& attrs, Args args, Outputs outputs);
void paged_attention_with_slopes(const AttrMap& attrs, Args args, Outputs outputs);
void paged_attention_ahead(const AttrMap& attrs, Args args, Outputs outputs);
void attention(const AttrMap& attrs, Args args, Outputs outputs);

void full(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
