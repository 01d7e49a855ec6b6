#include "runtime/value_check.h"

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

// Memory is planned for no more than the bound.
Error above_bound(const DimCheck& dim, size_t i, const Value& value, const std::string& where,
                  int64_t found) {
  return user_error("dimension " + std::to_string(i) + " of " + where + " is " +
                        std::to_string(found) + ", above the bound of " + dim.expression,
                    where + ", dimension " + std::to_string(i),
                    dim.expression + " <= " + std::to_string(dim.most),
                    std::to_string(found) + " (" + describe(value) + ")",
                    "compile with a larger bound." + dim.expression);
}

Status check_dims(const ValueCheck& check, const Value& value, std::span<const int64_t> dims,
                  const std::string& where, std::span<int64_t> slots) {
  if ((check.ndim >= 0 && dims.size() != static_cast<size_t>(check.ndim)) ||
      (check.has_dims && dims.size() != check.dims.size())) {
    ValueCheck rank = check;
    if (rank.ndim < 0) rank.ndim = static_cast<int32_t>(check.dims.size());
    return fail(wrong_value(where, rank, value));
  }
  if (!check.has_dims) return {};
  for (size_t i = 0; i < dims.size(); ++i) {
    const DimCheck& dim = check.dims[i];
    if (dim.define_slot >= 0) {
      if (dim.most >= 0 && dims[i] > dim.most)
        return fail(above_bound(dim, i, value, where, dims[i]));
      slots[static_cast<size_t>(dim.define_slot)] = dims[i];
      continue;
    }
    int64_t expected = 0;
    if (!evaluate_into(dim.equals, slots, expected))
      return fail(evaluate(dim.equals, slots).error());
    if (dims[i] == expected) continue;
    const std::string text = expected_text(dim.expression, expected);
    return fail(user_error("dimension " + std::to_string(i) + " of " + where + " is " +
                               std::to_string(dims[i]) + ", not " + text,
                           where + ", dimension " + std::to_string(i), text,
                           std::to_string(dims[i]) + " (" + describe(value) + ")"));
  }
  return {};
}

// The value of a host scalar: dims holds it alone.
Status check_prim(const ValueCheck& check, const Prim& prim, const std::string& where,
                  std::span<int64_t> slots) {
  if (check.dims.empty()) return {};
  const DimCheck& dim = check.dims.front();
  if (dim.define_slot >= 0) {
    if (dim.most >= 0 && prim.value > dim.most) {
      return fail(user_error("the value of " + where + " is above its bound", where,
                             dim.expression + " <= " + std::to_string(dim.most),
                             std::to_string(prim.value)));
    }
    slots[static_cast<size_t>(dim.define_slot)] = prim.value;
    return {};
  }
  TAPML_ASSIGN(int64_t expected, evaluate(dim.equals, slots));
  if (prim.value == expected) return {};
  const std::string text = expected_text(dim.expression, expected);
  return fail(
      user_error("the value of " + where + " is " + std::to_string(prim.value) + ", not " + text,
                 where, text, std::to_string(prim.value)));
}

Status check_at(const ValueCheck& check, const Value& value, const std::string& where,
                std::span<int64_t> slots) {
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
      if (view) return check_dims(check, value, view->shape, where, slots);
      return check_dims(check, value, tensor->shape, where, slots);
    }
    case ValueCheck::Kind::kShape: {
      const Shape* shape = value.shape();
      if (!shape) return fail(wrong_value(where, check, value));
      return check_dims(check, value, *shape, where, slots);
    }
    case ValueCheck::Kind::kTuple: {
      const ValueList* fields = value.tuple();
      if (!fields || fields->size() != check.fields.size()) {
        return fail(wrong_value(where, check, value));
      }
      for (size_t i = 0; i < fields->size(); ++i) {
        const ValueCheck& field = check.fields[i];
        TAPML_TRY(check_at(
            field, (*fields)[i],
            field.where.empty() ? "field " + std::to_string(i) + " of " + where : field.where,
            slots));
      }
      return {};
    }
    case ValueCheck::Kind::kPrim: {
      const Prim* prim = value.prim();
      if (!prim || prim->dtype != check.dtype) return fail(wrong_value(where, check, value));
      return check_prim(check, *prim, where, slots);
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

}  // namespace

Status check_value(const ValueCheck& check, const Value& value, std::span<int64_t> slots) noexcept {
  return check_at(check, value, check.where, slots);
}

Status check_home(const Value& value, const Session& session, const std::string& where) {
  if (value.view()) {
    return fail(user_error(where + " is a view of a tensor", where, "a tensor of its own"));
  }
  if (const Tensor* tensor = value.tensor()) {
    if (!tensor->storage || &tensor->storage->session() != &session) {
      return fail(
          user_error("a tensor of " + where + " does not live on the machine's session", where));
    }
    TAPML_ASSIGN(int64_t bytes, checked_byte_count(tensor->dtype, tensor->shape));
    if (tensor->offset < 0 || tensor->offset > tensor->storage->bytes() ||
        bytes > tensor->storage->bytes() - tensor->offset) {
      return fail(user_error("a tensor of " + where + " lies outside of its storage", where));
    }
  }
  if (const ValueList* fields = value.tuple()) {
    for (const Value& field : *fields) TAPML_TRY(check_home(field, session, where));
  }
  return {};
}

}  // namespace tapml::runtime
