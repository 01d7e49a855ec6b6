// Values of the C interface, calls with them, and functions of the application.
#include "api/impl.h"

using namespace tapml;  // NOLINT: names of the C interface have a prefix of their own

namespace tapml::api {

std::unique_ptr<tapml_value> wrap(runtime::Value value, std::shared_ptr<const Executable> owner) {
  auto made = std::make_unique<tapml_value>();
  if (const runtime::ValueList* fields = value.tuple()) {
    for (const runtime::Value& field : *fields) made->fields.push_back(wrap(field, owner));
  }
  if (const Shape* dims = value.shape()) made->dims = *dims;
  made->value = std::move(value);
  made->owner = std::move(owner);
  return made;
}

namespace {

bool holds_function(const runtime::Value& value) {
  if (value.closure()) return true;
  const runtime::ValueList* fields = value.tuple();
  if (!fields) return false;
  for (const runtime::Value& field : *fields) {
    if (holds_function(field)) return true;
  }
  return false;
}

// The VM's values; functions must belong to `program`.
Status unwrap_all(const tapml_value* const* arguments, int32_t count, const Executable* program,
                  std::vector<runtime::Value>& values, const std::string& where) {
  for (int32_t i = 0; i < count; ++i) {
    const std::string place = where + ", argument " + std::to_string(i);
    if (!arguments[i]) return std::unexpected(user_error("the value is null", place));
    if (holds_function(arguments[i]->value) && arguments[i]->owner.get() != program) {
      return std::unexpected(user_error("the function value belongs to another program", place,
                                        "one that this program returned", ""));
    }
    values.push_back(arguments[i]->value);
  }
  return {};
}

tapml_status call(tapml_program* program, const std::string& function,
                  std::vector<runtime::Value> values, tapml_value** result) {
  auto returned = program->vm->call(function, values);
  if (!returned) return failed(returned.error());
  *result = wrap(std::move(*returned), program->executable).release();
  return TAPML_OK;
}

}  // namespace

}  // namespace tapml::api

using api::failed;
using api::missing;

// ---- making values

tapml_status tapml_value_tensor(tapml_session* session, const tapml_tensor* tensor,
                                tapml_value** value) {
  if (!session || !tensor || !value) return missing("an argument");
  auto made = api::upload(*session->session, *tensor, "tapml_value_tensor");
  if (!made) return failed(made.error());
  *value = api::wrap(std::move(*made), nullptr).release();
  return TAPML_OK;
}

tapml_status tapml_value_shape(const int64_t* dims, int32_t count, tapml_value** value) {
  if (!value || (count > 0 && !dims)) return missing("an argument");
  if (count < 0 || count > 64) {
    return failed(
        user_error("the rank is not in 0 to 64", "tapml_value_shape", "", std::to_string(count)));
  }
  for (int32_t i = 0; i < count; ++i) {
    if (dims[i] < 0) {
      return failed(user_error("a dimension cannot be negative", "tapml_value_shape", "0 or more",
                               std::to_string(dims[i])));
    }
  }
  *value = api::wrap(Shape(dims, dims + count), nullptr).release();
  return TAPML_OK;
}

tapml_status tapml_value_scalar(tapml_dtype dtype, int64_t number, tapml_value** value) {
  if (!value) return missing("an argument");
  if (dtype < TAPML_BOOL || dtype > TAPML_U64) {
    return failed(user_error("a host scalar must be an integer or a truth value",
                             "tapml_value_scalar", "TAPML_BOOL to TAPML_U64",
                             std::to_string(static_cast<int>(dtype))));
  }
  if (dtype == TAPML_BOOL && number != 0 && number != 1) {
    return failed(user_error("a truth value must be 0 or 1", "tapml_value_scalar", "0 or 1",
                             std::to_string(number)));
  }
  *value = api::wrap(runtime::Prim{static_cast<DType>(dtype), number}, nullptr).release();
  return TAPML_OK;
}

tapml_status tapml_value_tuple(const tapml_value* const* fields, int32_t count,
                               tapml_value** value) {
  if (!value || (count > 0 && !fields)) return missing("an argument");
  constexpr int32_t kMostNesting = 1000;
  auto list = std::make_shared<runtime::ValueList>();
  std::shared_ptr<const Executable> owner;
  for (int32_t i = 0; i < count; ++i) {
    if (!fields[i]) return missing("a field");
    if (fields[i]->owner) {
      if (owner && owner != fields[i]->owner) {
        return failed(
            user_error("a tuple cannot hold function values of two programs", "tapml_value_tuple"));
      }
      owner = fields[i]->owner;
    }
    if (const runtime::ValueList* inner = fields[i]->value.tuple()) {
      list->nesting = std::max(list->nesting, inner->nesting + 1);
    }
    list->push_back(fields[i]->value);
  }
  if (list->nesting > kMostNesting) {
    return failed(user_error("tuples are nested too deeply", "tapml_value_tuple",
                             "at most " + std::to_string(kMostNesting), ""));
  }
  runtime::Value tuple;
  tuple.data = std::shared_ptr<const runtime::ValueList>(std::move(list));
  *value = api::wrap(std::move(tuple), std::move(owner)).release();
  return TAPML_OK;
}

void tapml_value_free(tapml_value* value) { delete value; }

// ---- reading values

tapml_kind tapml_value_kind(const tapml_value* value) {
  if (!value) return TAPML_NOTHING;
  if (value->value.tensor()) return TAPML_TENSOR;
  if (value->value.shape()) return TAPML_SHAPE;
  if (value->value.prim()) return TAPML_SCALAR;
  if (value->value.tuple()) return TAPML_TUPLE;
  return value->value.closure() ? TAPML_FUNCTION : TAPML_NOTHING;
}

tapml_status tapml_value_read_tensor(tapml_value* value, const tapml_tensor** tensor) {
  if (!value || !tensor) return missing("an argument");
  const runtime::Tensor* held = value->value.tensor();
  if (!held) return failed(user_error("the value is not a tensor", "tapml_value_read_tensor"));
  if (!value->host) {
    Result<HostTensor> host = runtime::download(*held);
    if (!host) return failed(host.error());
    value->host = std::move(*host);
    value->view = {static_cast<tapml_dtype>(value->host->dtype()),
                   static_cast<int32_t>(value->host->shape().size()), value->host->shape().data(),
                   value->host->bytes().data()};
  }
  *tensor = &value->view;
  return TAPML_OK;
}

int32_t tapml_value_size(const tapml_value* value) {
  if (!value) return 0;
  if (value->value.shape()) return static_cast<int32_t>(value->dims.size());
  return static_cast<int32_t>(value->fields.size());
}

const int64_t* tapml_value_dims(const tapml_value* value) {
  return value && value->value.shape() ? value->dims.data() : nullptr;
}

tapml_status tapml_value_read_scalar(const tapml_value* value, tapml_dtype* dtype,
                                     int64_t* number) {
  if (!value || !number) return missing("an argument");
  const runtime::Prim* prim = value->value.prim();
  if (!prim) return failed(user_error("the value is not a host scalar", "tapml_value_read_scalar"));
  if (dtype) *dtype = static_cast<tapml_dtype>(prim->dtype);
  *number = prim->value;
  return TAPML_OK;
}

tapml_value* tapml_value_field(tapml_value* value, int32_t index) {
  if (!value || index < 0 || static_cast<size_t>(index) >= value->fields.size()) return nullptr;
  return value->fields[static_cast<size_t>(index)].get();
}

// ---- calls

tapml_status tapml_program_invoke(tapml_program* program, const char* function,
                                  const tapml_value* const* arguments, int32_t count,
                                  tapml_value** result) {
  if (!program || !function || !result || (count > 0 && !arguments)) return missing("an argument");
  std::vector<runtime::Value> values;
  if (Status status =
          api::unwrap_all(arguments, count, program->executable.get(), values, function);
      !status) {
    return failed(status.error());
  }
  return api::call(program, function, std::move(values), result);
}

tapml_status tapml_program_invoke_value(tapml_program* program, const tapml_value* function,
                                        const tapml_value* const* arguments, int32_t count,
                                        tapml_value** result) {
  if (!program || !function || !result || (count > 0 && !arguments)) return missing("an argument");
  const runtime::Closure* closure = function->value.closure();
  if (!closure) {
    return failed(user_error("the value is not a function", "tapml_program_invoke_value"));
  }
  if (function->owner != program->executable) {
    return failed(user_error("the function value belongs to another program",
                             "tapml_program_invoke_value", "one that this program returned", ""));
  }
  std::vector<runtime::Value> values(closure->captured.begin(), closure->captured.end());
  const std::string& name = closure->function->name;
  if (Status status = api::unwrap_all(arguments, count, program->executable.get(), values, name);
      !status) {
    return failed(status.error());
  }
  return api::call(program, name, std::move(values), result);
}

// ---- functions of the application

Error api::host_error(tapml_status status) {
  const std::string message = tapml_last_error();
  switch (status) {
    case TAPML_BAD_INPUT:
      return user_error(message);
    case TAPML_PLATFORM:
      return platform_error(PlatformFault::kAbsent, message);
    default:
      return internal_error(message);
  }
}

tapml_status tapml_session_register(tapml_session* session, const char* name,
                                    tapml_host_function function, void* user) {
  if (!session || !name || !function) return missing("an argument");
  session->functions[name] = [=](runtime::Session&,
                                 std::span<const runtime::Value> values) -> Result<runtime::Value> {
    std::vector<std::unique_ptr<tapml_value>> held;
    std::vector<tapml_value*> arguments;
    for (const runtime::Value& value : values) {
      held.push_back(api::wrap(value, nullptr));
      arguments.push_back(held.back().get());
    }
    tapml_set_error("the application's function failed without a message");
    tapml_value* result = nullptr;
    tapml_status status =
        function(user, session, arguments.data(), static_cast<int32_t>(arguments.size()), &result);
    std::unique_ptr<tapml_value> owned(result);
    if (status != TAPML_OK) return std::unexpected(api::host_error(status));
    if (!owned) return std::unexpected(user_error("the application's function returned no value"));
    return owned->value;
  };
  return TAPML_OK;
}
