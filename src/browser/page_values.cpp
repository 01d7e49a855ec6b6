#include "browser/page_values.h"

#include <charconv>

#include "base/rounding.h"
#include "io/json_reader.h"

namespace tapml::browser {

namespace {

constexpr size_t kAlignment = 8;  // of a tensor's bytes, the widest element
constexpr int64_t kMostRank = 64;
constexpr int64_t kMostBytes = int64_t{1} << 32;

Result<runtime::Prim> prim_of(const std::string& text, const ValueCheck* check,
                              const std::string& where) {
  const bool is_known = check && check->kind == ValueCheck::Kind::kPrim;
  runtime::Prim prim{is_known ? check->dtype : DType::kI64, 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), prim.value);
  if (error == std::errc{} && end == text.data() + text.size()) return prim;
  return fail(user_error(where + " is not an integer that a host scalar holds", where,
                         std::string("a scalar of ") + dtype_name(prim.dtype), text));
}

Json dims_json(std::span<const int64_t> dims) {
  Json list = Json::array();
  for (const int64_t dim : dims) list.push(Json::integer(dim));
  return list;
}

}  // namespace

Result<runtime::Tensor> tensor_of(const Json& json, std::span<const std::byte> bytes,
                                  runtime::Session& session, const std::string& where) {
  const JsonObjectReader reader(json, where);
  TAPML_ASSIGN(const std::string name, reader.required_string("dtype"));
  const auto dtype = parse_dtype(name);
  if (!dtype) return fail(user_error(where + " has an unknown dtype", where, "a dtype", name));
  TAPML_ASSIGN(Shape shape, reader.required_int_array("shape", 0, kMostBytes));
  TAPML_ASSIGN(const int64_t at, reader.required_int("at", 0, kMostBytes));
  TAPML_ASSIGN(const int64_t size, checked_byte_count(*dtype, shape));
  const auto all = static_cast<int64_t>(bytes.size());
  if (std::ssize(shape) > kMostRank || at > all || size > all - at) {
    return fail(internal_error("the bytes of a tensor are missing", where));
  }
  return runtime::upload(
      session,
      HostTensor::view(*dtype, std::move(shape), bytes.data() + static_cast<size_t>(at), nullptr));
}

Result<runtime::Value> value_of(const Json& json, std::span<const std::byte> bytes,
                                const ValueCheck* check, runtime::Session& session,
                                const std::string& where) {
  const JsonObjectReader reader(json, where);
  if (reader.has("fields")) {
    TAPML_ASSIGN(const std::vector<Json>* const fields, reader.required_array("fields"));
    auto list = std::make_shared<runtime::ValueList>();
    for (size_t i = 0; i < fields->size(); ++i) {
      const bool is_known = check && i < check->fields.size();
      TAPML_ASSIGN(runtime::Value field,
                   value_of((*fields)[i], bytes, is_known ? &check->fields[i] : nullptr, session,
                            where + ", field " + std::to_string(i)));
      if (const runtime::ValueList* inner = field.tuple()) {
        list->nesting = std::max(list->nesting, inner->nesting + 1);
      }
      list->push_back(std::move(field));
    }
    runtime::Value tuple;
    tuple.data = std::shared_ptr<const runtime::ValueList>(std::move(list));
    return tuple;
  }
  if (reader.has("dims")) {
    TAPML_ASSIGN(Shape dims, reader.required_int_array("dims", 0));
    return runtime::Value(std::move(dims));
  }
  if (reader.has("value")) {
    TAPML_ASSIGN(const std::string text, reader.required_string("value"));
    TAPML_ASSIGN(const runtime::Prim prim, prim_of(text, check, where));
    return runtime::Value(prim);
  }
  TAPML_ASSIGN(runtime::Tensor tensor, tensor_of(json, bytes, session, where));
  return runtime::Value(std::move(tensor));
}

Result<Json> json_of(const runtime::Value& value, std::vector<std::byte>& bytes) {
  if (const runtime::Tensor* tensor = value.tensor()) {
    TAPML_ASSIGN(const HostTensor host, runtime::download(*tensor));
    bytes.resize(round_up(bytes.size(), kAlignment));
    const auto at = static_cast<int64_t>(bytes.size());
    bytes.insert(bytes.end(), host.bytes().begin(), host.bytes().end());
    return Json::object({{"dtype", Json::string(dtype_name(host.dtype()))},
                         {"shape", dims_json(host.shape())},
                         {"at", Json::integer(at)},
                         {"bytes", Json::integer(static_cast<int64_t>(host.byte_size()))}});
  }
  if (const Shape* dims = value.shape()) return Json::object({{"dims", dims_json(*dims)}});
  if (const runtime::Prim* prim = value.prim()) {
    return Json::object({{"dtype", Json::string(dtype_name(prim->dtype))},
                         {"value", Json::string(std::to_string(prim->value))}});
  }
  if (const runtime::ValueList* fields = value.tuple()) {
    Json list = Json::array();
    for (const runtime::Value& field : *fields) {
      TAPML_ASSIGN(Json json, json_of(field, bytes));
      list.push(std::move(json));
    }
    return Json::object({{"fields", std::move(list)}});
  }
  return fail(user_error("the result has a value that a page cannot receive", "result",
                         "tensors, shapes, scalars and tuples", "a function value"));
}

}  // namespace tapml::browser
