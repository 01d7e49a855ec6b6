#include "runtime/value_check.h"

#include <algorithm>
#include <set>

#include "abi/expected_text.h"
#include "runtime/scalars.h"

namespace tapml::runtime {

std::string describe(const Value& value) {
  if (const Tensor* tensor = value.tensor()) {
    return std::string("a tensor ") + dtype_name(tensor->dtype) + shape_to_string(tensor->shape);
  }
  if (const View* view = value.view()) {
    return std::string("a tensor ") + dtype_name(view->base.dtype) + shape_to_string(view->shape);
  }
  if (const Shape* shape = value.shape()) return "a shape " + shape_to_string(*shape);
  if (const ValueList* fields = value.tuple()) {
    return "a tuple of " + std::to_string(fields->size()) + " fields";
  }
  if (const Prim* prim = value.prim()) {
    return std::string("a host scalar ") + dtype_name(prim->dtype) + " " +
           (prim->dtype == DType::kBool ? (prim->value ? "true" : "false")
                                        : std::to_string(prim->value));
  }
  if (const Closure* closure = value.closure()) {
    return "a function value @" + closure->function->name + " of " +
           std::to_string(closure->function->params.size() - closure->captured.size()) +
           " parameters";
  }
  if (std::holds_alternative<std::shared_ptr<Storage>>(value.data)) return "a storage";
  return "nothing";
}

namespace {

std::string describe(const ValueCheck& check) {
  switch (check.kind) {
    case ValueCheck::Kind::kAny:
      return "anything";
    case ValueCheck::Kind::kTensor: {
      std::string text = "a tensor";
      if (check.has_dtype) text += std::string(" of ") + dtype_name(check.dtype);
      if (check.ndim >= 0) text += " with " + std::to_string(check.ndim) + " dimensions";
      return text;
    }
    case ValueCheck::Kind::kShape: {
      std::string text = "a shape";
      if (check.ndim >= 0) text += " with " + std::to_string(check.ndim) + " dimensions";
      return text;
    }
    case ValueCheck::Kind::kTuple:
      return "a tuple of " + std::to_string(check.fields.size()) + " fields";
    case ValueCheck::Kind::kPrim:
      return std::string("a scalar of ") + dtype_name(check.dtype);
    case ValueCheck::Kind::kCallable:
      return check.ndim < 0 ? "a function value"
                            : "a function value of " + std::to_string(check.ndim) + " parameters";
  }
  return "nothing";
}

Error wrong_value(const std::string& where, const ValueCheck& check, const Value& value) {
  return user_error(where + " is not what the program expects", where, describe(check),
                    describe(value));
}

// Where the variable in a slot got its value, if the function records it.
SymbolSource source_of(const VmFunction& function, int32_t slot) {
  const auto index = static_cast<size_t>(slot);
  return index < function.sources.size() ? function.sources[index] : SymbolSource{};
}

}  // namespace

std::vector<SymbolValue> symbols_of(const VmFunction& function, const ScalarProgram& program,
                                    std::span<const int64_t> slots) {
  std::vector<SymbolValue> symbols;
  std::set<int64_t> seen;
  for (const ScalarInst& inst : program.code) {
    if (inst.op != ScalarOp::kSlot || !seen.insert(inst.operand).second) continue;
    symbols.push_back({source_of(function, static_cast<int32_t>(inst.operand)),
                       slots[static_cast<size_t>(inst.operand)]});
  }
  return symbols;
}

namespace {

// Checks one value of a function.
class Checker {
 public:
  Checker(const VmFunction& function, std::span<int64_t> slots)
      : function_(function), slots_(slots) {}

  Status check(const ValueCheck& check, const Value& value, const std::string& where) {
    switch (check.kind) {
      case ValueCheck::Kind::kAny:
        return {};
      case ValueCheck::Kind::kTensor: {
        const Tensor* tensor = value.tensor();
        const View* view = value.view();
        if (view) tensor = &view->base;
        if (!tensor || (check.has_dtype && tensor->dtype != check.dtype)) {
          return fail(wrong_value(where, check, value));
        }
        if (view) return dims(check, value, view->shape, where);
        return dims(check, value, tensor->shape, where);
      }
      case ValueCheck::Kind::kShape: {
        const Shape* shape = value.shape();
        if (!shape) return fail(wrong_value(where, check, value));
        return dims(check, value, *shape, where);
      }
      case ValueCheck::Kind::kTuple:
        return fields(check, value, where);
      case ValueCheck::Kind::kPrim: {
        const Prim* prim = value.prim();
        if (!prim || prim->dtype != check.dtype) return fail(wrong_value(where, check, value));
        if (check.dims.empty()) return {};
        return integer(check.dims.front(), prim->value, value, where, -1);
      }
      case ValueCheck::Kind::kCallable: {
        const Closure* closure = value.closure();
        if (!closure ||
            (check.ndim >= 0 && static_cast<size_t>(check.ndim) !=
                                    closure->function->params.size() - closure->captured.size())) {
          return fail(wrong_value(where, check, value));
        }
        return {};
      }
    }
    return {};
  }

 private:
  Status fields(const ValueCheck& check, const Value& value, const std::string& where) {
    const ValueList* list = value.tuple();
    if (!list || list->size() != check.fields.size()) {
      return fail(wrong_value(where, check, value));
    }
    for (size_t i = 0; i < list->size(); ++i) {
      const ValueCheck& field = check.fields[i];
      TAPML_TRY(this->check(
          field, (*list)[i],
          field.where.empty() ? "field " + std::to_string(i) + " of " + where : field.where));
    }
    return {};
  }

  Status dims(const ValueCheck& check, const Value& value, std::span<const int64_t> found,
              const std::string& where) {
    if ((check.ndim >= 0 && found.size() != static_cast<size_t>(check.ndim)) ||
        (check.has_dims && found.size() != check.dims.size())) {
      ValueCheck rank = check;
      if (rank.ndim < 0) rank.ndim = static_cast<int32_t>(check.dims.size());
      return fail(wrong_value(where, rank, value));
    }
    if (!check.has_dims) return {};
    for (size_t i = 0; i < found.size(); ++i) {
      TAPML_TRY(integer(check.dims[i], found[i], value, where, static_cast<int>(i)));
    }
    return {};
  }

  // `dimension`: -1 if `found` is the value of a host scalar.
  Status integer(const DimCheck& check, int64_t found, const Value& value, const std::string& where,
                 int dimension) {
    if (check.define_slot >= 0) {
      if (check.most >= 0 && found > check.most) {
        return fail(above_bound(function_, check.define_slot, found, check.most));
      }
      slots_[static_cast<size_t>(check.define_slot)] = found;
      return {};
    }
    int64_t expected = 0;
    const bool has_value = evaluate_into(check.equals, slots_, expected);
    if (has_value && found == expected) return {};
    const std::string number = std::to_string(dimension);
    const std::string place = dimension < 0 ? where : where + ", dimension " + number;
    const std::vector<SymbolValue> symbols = symbols_of(function_, check.equals, slots_);
    if (!has_value) {
      return fail(
          without_value(evaluate(check.equals, slots_).error(), place, check.expression, symbols));
    }
    return fail(user_error(
        (dimension < 0 ? "the value of " : "dimension " + number + " of ") + where + " is " +
            std::to_string(found) + ", not " + expected_text(check.expression, expected),
        place, expected_with_sources(check.expression, expected, symbols),
        std::to_string(found) + (dimension < 0 ? "" : " (" + describe(value) + ")")));
  }

  const VmFunction& function_;
  const std::span<int64_t> slots_;
};

}  // namespace

Status check_value(const VmFunction& function, const ValueCheck& check, const Value& value,
                   std::span<int64_t> slots) noexcept {
  return Checker(function, slots).check(check, value, check.where);
}

Error above_bound(const VmFunction& function, int32_t slot, int64_t value, int64_t most) {
  return tapml::above_bound(source_of(function, slot), function.name, value, most);
}

bool lives_on(const Value& value, const Session& session) noexcept {
  if (const Tensor* tensor = value.tensor()) {
    int64_t bytes = 0;
    return tensor->storage && &tensor->storage->session() == &session && tensor->offset >= 0 &&
           simple_byte_count(tensor->dtype, tensor->shape, bytes) &&
           bytes <= tensor->storage->bytes() - tensor->offset;
  }
  if (const ValueList* fields = value.tuple()) {
    return std::ranges::all_of(*fields,
                               [&](const Value& field) { return lives_on(field, session); });
  }
  return !value.view();
}

Status check_home(const Value& value, const Session& session, const std::string& where) {
  if (value.view()) {
    return fail(user_error(where + " is a view of a tensor", where, "a tensor, not a view"));
  }
  if (const Tensor* tensor = value.tensor()) {
    if (!tensor->storage || &tensor->storage->session() != &session) {
      return fail(user_error("a tensor of " + where + " is not on the session of the VM", where));
    }
    TAPML_ASSIGN(int64_t bytes, checked_byte_count(tensor->dtype, tensor->shape));
    if (tensor->offset < 0 || tensor->offset > tensor->storage->bytes() ||
        bytes > tensor->storage->bytes() - tensor->offset) {
      return fail(user_error("a tensor of " + where + " is outside of its storage", where));
    }
  }
  if (const ValueList* fields = value.tuple()) {
    for (const Value& field : *fields) TAPML_TRY(check_home(field, session, where));
  }
  return {};
}

}  // namespace tapml::runtime
