// Values inside the graph interpreter: as Value, but tensors are shared instead of copied.
#pragma once

#include "arith/evaluate.h"
#include "interp/interpreter.h"
#include "interp/symbols.h"

namespace tapml::interp {

enum class ItemKind : uint8_t { kTensor, kShape, kPrim, kTuple, kFunction };

struct Item {
  ItemKind kind = ItemKind::kTensor;
  std::shared_ptr<const op::RefTensor> tensor;
  std::vector<int64_t> ints;  // kShape: the dimensions; kPrim: one value (0 of a float)
  std::vector<Item> fields;   // kTuple
  DType dtype = DType::kI64;  // kPrim
  double number = 0;          // kPrim of a float
  // Set for a view: `tensor` is a copy of the viewed part of the storage, made when it is read.
  std::shared_ptr<op::RefTensor> storage;
  int64_t offset = 0;
  std::vector<int64_t> strides;
  std::shared_ptr<const Closure> closure;  // kFunction
};

using Symbols = arith::Values;  // symbolic variables to their values

// A function with the values that it captured when it was created.
struct Closure {
  std::shared_ptr<const relax::Function> function;
  std::string name;                      // for messages
  const relax::VarNode* self = nullptr;  // the variable by which it calls itself; may be null
  std::vector<std::pair<const relax::VarNode*, Item>> vars;
  Symbols symbols;
};

Item tensor_item(op::RefTensor tensor);
// Shares the tensors of `value`, which must outlive the item.
Item borrow(const Value& value);
Value to_value(const Item& item);
// The annotation with constant dimensions that describes exactly such values.
relax::Annotation exact_annotation(const Item& item);
std::string describe(const Item& item);  // "f32[2, 3]"
// The integers of a tensor as a shape; UserError for a negative one.
Item shape_from(const op::RefTensor& tensor);
// Copies borrowed tensors, so that the item owns them.
void own(Item& item);

// The function in which values are checked.
struct CheckedFunction {
  const ModuleSymbols& symbols;
  const relax::Function& function;
  const std::string& name;
};

// Checks a group of items against annotations: kinds, ranks, dtypes and dimensions. Binds variables
// without a value that alone are a dimension, and those that are the only unknown in a linear
// dimension (n + 1). `place` names the item in the UserError: "parameter x of main".
class AnnotationBinder {
 public:
  // `of` gives the variables' bounds and the sources of their values; null if unknown.
  explicit AnnotationBinder(Symbols& symbols, const CheckedFunction* of = nullptr)
      : symbols_(symbols), of_(of) {}

  void bind(const relax::Annotation& annotation, const Item& item, const std::string& place);
  // Solves and compares the dimensions that are expressions.
  void finish();
  // The same, but ignores dimensions whose variables have no value.
  void finish_known();

 private:
  void bind_dims(const Dims& dims, const Item& item, const std::string& place);
  void bind_integer(const PrimExpr& expected, int64_t value, const std::string& place,
                    const Item& item, int dimension);
  void solve();
  void compare();
  void check_bound(const Var& var, int64_t value) const;
  std::vector<SymbolValue> sources(const PrimExpr& expr) const;

  struct Later {
    PrimExpr expr;
    int64_t value;
    std::string place;
    std::string found;
    int dimension;   // -1: a prim value
    bool of_tensor;  // a dimension that is never negative, other than a shape's
  };
  Symbols& symbols_;
  const CheckedFunction* of_;
  std::vector<Later> later_;
};

// Value of a symbolic integer; InternalError if a variable has no value. UserError, whose location
// the caller adds, if the arithmetic has no value.
int64_t value_of(const PrimExpr& expr, const Symbols& symbols);
// Why an expression whose variables are known has no value, in the virtual machine's words.
Error arithmetic_error(const PrimExpr& expr, const Symbols& symbols);

}  // namespace tapml::interp
