// Values inside the graph interpreter: as Value, but tensors are shared instead of copied.
#pragma once

#include "arith/evaluate.h"
#include "interp/interpreter.h"

namespace tapml::interp {

enum class ItemKind : uint8_t { kTensor, kShape, kPrim, kTuple };

struct Item {
  ItemKind kind = ItemKind::kTensor;
  std::shared_ptr<const op::RefTensor> tensor;
  std::vector<int64_t> ints;  // kShape: the dimensions; kPrim: one value
  std::vector<Item> fields;   // kTuple
};

Item tensor_item(op::RefTensor tensor);
// Shares the tensors of `value`, which must outlive the item.
Item borrow(const Value& value);
Value to_value(const Item& item);
// The annotation that holds of exactly such values: constant dimensions.
relax::Annotation exact_annotation(const Item& item);
std::string describe(const Item& item);  // "f32[2, 3]"

using Symbols = arith::Values;  // symbolic variables to their values

// Checks an item against an annotation: kinds, ranks, dtypes and dimensions. Variables that stand
// alone in a dimension and have no value yet are bound. `what` names the item in the UserError
// ("parameter x"), `where` the function.
class AnnotationBinder {
 public:
  AnnotationBinder(Symbols& symbols, std::string where)
      : symbols_(symbols), where_(std::move(where)) {}

  void bind(const relax::Annotation& annotation, const Item& item, const std::string& what);
  // Compares the dimensions that are expressions, once every variable is bound.
  void finish();

 private:
  void bind_dims(const Dims& dims, const std::vector<int64_t>& values, const std::string& what);
  void bind_dim(const PrimExpr& dim, int64_t value, const std::string& what);
  [[noreturn]] void mismatch(const std::string& what, const std::string& expected,
                             const std::string& found) const;

  struct Later {
    PrimExpr expr;
    int64_t value;
    std::string what;
  };
  Symbols& symbols_;
  std::string where_;
  std::vector<Later> later_;
};

// Value of a symbolic integer; InternalError where a variable has none.
int64_t value_of(const PrimExpr& expr, const Symbols& symbols);

}  // namespace tapml::interp
