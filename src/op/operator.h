// The operator table: one entry has everything that the system knows about a graph operator.
// Printer, builder, interpreter, legalizer, fuzzer and tests use the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "op/generate.h"
#include "op/reference.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::op {

enum class ArgumentKind : uint8_t {
  kTensor,
  kShape,   // a ShapeExpr (or shape value): its integers are symbolic
  kPrim,    // one symbolic integer
  kTensors  // a tuple of tensors; last argument only
};

struct ArgumentSpec {
  const char* name;
  ArgumentKind kind;
  const char* doc;
};

enum class AttributeKind : uint8_t { kBool, kInt, kFloat, kString, kDType, kInts, kFloats };

struct AttributeSpec {
  const char* name;
  AttributeKind kind;
  bool required;
  AttrValue fallback;  // used if absent and not required; if its type is not `kind`: stays absent
  const char* doc;
};

// The call as rules see it: arguments with their annotations, attributes with defaults filled in.
// Two integers of a call that must be equal but may differ; `what` names them ("numbers of
// elements").
struct OpenEquality {
  PrimExpr a, b;
  std::string what;
};

struct CallView {
  const struct OperatorInfo& info;
  std::vector<relax::Expr> args;
  std::vector<relax::Annotation> annotations;  // one per argument
  AttrMap attrs;
  // Whether dimensions that must be equal must be provably equal; else they only must not be
  // provably different.
  bool strict = false;
  // Set in a strict call: integers that may differ are added here instead of rejected.
  std::vector<OpenEquality>* undecided = nullptr;

  // Argument i as a tensor of known rank, shape and dtype; UserError that names operator, argument,
  // what was expected and what was found.
  const relax::TensorAnnotation& tensor(size_t i) const;
  Dims shape(size_t i) const;           // its dims (known), throws as tensor()
  DType dtype(size_t i) const;          // its dtype (known)
  Dims shape_argument(size_t i) const;  // integers of a kShape / kPrim argument
  bool flag(const char* name) const;
  int64_t integer(const char* name) const;
  double number(const char* name) const;
  const std::vector<int64_t>& integers(const char* name) const;
  // Throws a UserError about this call: "matmul: <message>".
  [[noreturn]] void error(const std::string& message, const std::string& expected = "",
                          const std::string& found = "") const;
};

// Deduces the result annotation. Best effort: a coarse annotation (ndim, dtype) if arguments are
// coarse; UserError for arguments that can never be valid.
using DeduceRule = relax::Annotation (*)(const CallView& call);

// Tensor program of the call: parameters are the tensor arguments in order (kTensors flattened),
// `in` (or `inout`, see OperatorInfo::inout), then the outputs that own their storage, `out`.
// Annotations are fully known. Symbolic integers of shape arguments appear as scalars.
using LegalizeRule = tir::PrimFuncRef (*)(const CallView& call);

// f64 evaluation with the running error bound. `outputs` have their dtype and shape set and values
// zeroed; inout outputs start as a copy of their argument.
using ReferenceRule = void (*)(const AttrMap& attrs, std::span<const RefArg> args,
                               std::span<RefTensor> outputs);

// Receives the bindings of a decomposition, which are inserted before the call that it replaces.
class BindingSink {
 public:
  virtual ~BindingSink() = default;
  // Binds the call of an operator to a fresh variable with the deduced annotation.
  virtual relax::Variable emit(relax::Expr call, const std::string& hint) = 0;
  // A checked cast that defines the annotation's new symbolic variables.
  virtual relax::Variable match_cast(relax::Expr value, relax::Annotation annotation,
                                     const std::string& hint) = 0;
};

// Decomposes the call into simpler operators: returns the value that replaces it (an atom or a
// tuple of atoms), or null to keep the call. Results whose shape depends on data are made this way:
// a count, read by `tensor_to_shape`, and an operator that fills a tensor of that size.
using DecomposeRule = relax::Expr (*)(const CallView& call, BindingSink& sink);

// Information for generators of random programs to make valid calls of the operator.
struct GeneratorInfo {
  std::vector<int> ranks;     // ranks that argument 0 may have; empty if it is not a tensor
  std::vector<DType> dtypes;  // dtypes that argument 0 may have
  double low = -2, high = 2;  // useful range of random elements of argument 0
  // Generates the rest of a call; null if further arguments are tensors like the first and no
  // attribute is needed.
  GenerateRule rule = nullptr;
};

// Value of OperatorInfo::outputs if the deduced tuple determines the number of outputs.
inline constexpr int kTupleOfOutputs = 0;

struct OperatorInfo {
  const char* name;
  const char* doc;  // one paragraph: what it computes, shapes, dtypes, source
  std::vector<ArgumentSpec> args;
  std::vector<AttributeSpec> attrs;
  int outputs = 1;
  // inout[j] = i: output j is argument i updated in place; -1: fresh storage. Empty: all fresh.
  std::vector<int64_t> inout;
  DeduceRule deduce;
  LegalizeRule legalize;
  ReferenceRule reference;
  GeneratorInfo generator;
  bool pure = true;  // value semantics at graph level; inout operators are pure there
  // Null for most operators. `legalize` may be null if this always applies.
  DecomposeRule decompose = nullptr;
  // Whether the result is an expanded form of the operands that should not be stored: fusion
  // computes it in its readers, including products, and it is neither folded nor prepared.
  bool expands = false;
};

// The only operator without an entry: returns the elements of a tensor of rank 1 and integer dtype
// as a shape value. It waits for them; a negative element is an input error.
inline constexpr const char* kTensorToShape = "tensor_to_shape";

// All operators, in the order of their families' files.
std::span<const OperatorInfo* const> operator_table();
const OperatorInfo* find_operator(std::string_view name);
// The entry of a callee: its own, or the table's. Null where there is none.
const OperatorInfo* operator_of(const relax::OperatorNode& callee);
// The entry of the operator that `value` calls; null where it calls none.
const OperatorInfo* called_operator_info(const relax::Expr& value);
// A call of an operator that is not in the table. A caller defines an operator by one entry: its
// calls are deduced, evaluated, decomposed or legalized, fused and carved by it like all others.
relax::Expr make_call(const OperatorInfo& info, std::vector<relax::Expr> args, AttrMap attrs = {});

// `attrs` with the defaults of those attributes that are absent and have one.
AttrMap with_defaults(const OperatorInfo& info, AttrMap attrs);

// Checks argument count and kinds and attribute names and types, and fills in defaults.
// `annotations` are those of the arguments. UserError that names the operator and the known
// arguments or attributes.
CallView view_call(const relax::CallNode& call);
// Deduces calls of operators other than the cross-level call_tir family.
relax::Annotation deduce(const relax::CallNode& call);

}  // namespace tapml::op
