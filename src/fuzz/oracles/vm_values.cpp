#include "fuzz/oracles/vm_values.h"

#include "ir/exceptions.h"

namespace tapml::fuzz {

runtime::Value to_machine(runtime::Session& session, const Executable& executable,
                          const interp::Value& value) {
  if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
    return unwrap(runtime::upload(session, tensor->to_host()));
  }
  if (const auto* shape = std::get_if<std::vector<int64_t>>(&value.data)) return Shape(*shape);
  if (const auto* number = std::get_if<int64_t>(&value.data)) {
    return runtime::Prim{DType::kI64, *number};
  }
  if (const auto* scalar = std::get_if<interp::Scalar>(&value.data)) {
    return runtime::Prim{scalar->dtype, scalar->integer};
  }
  runtime::Value result;
  if (const auto* function = std::get_if<interp::FunctionValue>(&value.data)) {
    auto closure = std::make_shared<runtime::Closure>();
    closure->function = executable.find_function(function->name);
    result.data = std::shared_ptr<const runtime::Closure>(std::move(closure));
    return result;
  }
  auto fields = std::make_shared<runtime::ValueList>();
  for (const interp::Value& field : value.as_tuple()) {
    fields->push_back(to_machine(session, executable, field));
  }
  result.data = std::shared_ptr<const runtime::ValueList>(std::move(fields));
  return result;
}

interp::Value from_machine(const runtime::Value& value) {
  if (const runtime::Tensor* tensor = value.tensor()) {
    return interp::Value::tensor(op::RefTensor::from(unwrap(runtime::download(*tensor))));
  }
  if (const Shape* shape = value.shape()) return interp::Value::shape(*shape);
  if (const runtime::Prim* prim = value.prim()) {
    if (prim->dtype == DType::kI64) return interp::Value::prim(prim->value);
    return interp::Value::scalar({prim->dtype, prim->value, 0});
  }
  if (const runtime::Closure* closure = value.closure()) {
    return interp::Value::function(closure->function ? closure->function->name : "");
  }
  interp::ValueList fields;
  for (const runtime::Value& field : *value.tuple()) fields.push_back(from_machine(field));
  return interp::Value::tuple(std::move(fields));
}

runtime::HostFunctions machine_functions(const Executable& executable,
                                         const interp::HostFunctions& table) {
  runtime::HostFunctions functions;
  for (const std::string& name : executable.packed) {
    functions[name] = [name, table, &executable](
                          runtime::Session& session,
                          std::span<const runtime::Value> args) -> Result<runtime::Value> {
      return guard([&] {
        auto it = table.find(name);
        if (it == table.end()) throw_user("nobody offers " + name);
        interp::ValueList list;
        for (const runtime::Value& arg : args) list.push_back(from_machine(arg));
        return to_machine(session, executable, it->second(list));
      });
    };
  }
  return functions;
}

}  // namespace tapml::fuzz
