#include "browser/page_calls.h"

#include <optional>

#include "abi/scalar_program.h"
#include "base/suggest.h"
#include "browser/page_values.h"
#include "io/json_reader.h"
#include "runtime/kernel_arguments.h"

namespace tapml::browser {

namespace {

constexpr const char* kCall = "call";

bool is_input(const ParamInfo& param) { return param.mode != AccessMode::kOut; }
bool is_output(const ParamInfo& param) { return param.mode != AccessMode::kIn; }

// The scalar that a dimension is; -1: it is something else.
int64_t lone_slot(const ScalarProgram& dim) {
  if (dim.code.size() != 1 || dim.code[0].op != ScalarOp::kSlot) return -1;
  return dim.code[0].operand;
}

const char* operator_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return " + ";
    case ScalarOp::kSub:
      return " - ";
    case ScalarOp::kMul:
      return " * ";
    case ScalarOp::kFloorDiv:
      return " // ";
    case ScalarOp::kFloorMod:
      return " % ";
    default:
      return nullptr;
  }
}

// A dimension as text: "n", "(n + 1)"; what has no short text is "?".
std::string dim_text(const ScalarProgram& dim, const KernelInfo& kernel) {
  std::vector<std::string> stack;
  for (const ScalarInst& inst : dim.code) {
    if (inst.op == ScalarOp::kConst) {
      stack.push_back(std::to_string(inst.operand));
    } else if (inst.op == ScalarOp::kSlot) {
      stack.push_back(kernel.scalars[static_cast<size_t>(inst.operand)]);
    } else {
      const char* const sign = operator_of(inst.op);
      if (!sign || stack.size() < 2) return "?";
      const std::string right = std::move(stack.back());
      stack.pop_back();
      stack.back() = "(" + stack.back() + sign + right + ")";
    }
  }
  return stack.size() == 1 ? stack[0] : "?";
}

Json kernel_param_json(const ParamInfo& param, const KernelInfo& kernel) {
  Json dims = Json::array();
  for (const ScalarProgram& dim : param.dims) {
    const bool is_constant = dim.code.size() == 1 && dim.code[0].op == ScalarOp::kConst;
    dims.push(is_constant ? Json::integer(dim.code[0].operand)
                          : Json::string(dim_text(dim, kernel)));
  }
  return Json::object({{"name", Json::string(param.name)},
                       {"dtype", Json::string(dtype_name(param.dtype))},
                       {"dims", std::move(dims)},
                       {"mode", Json::string(access_mode_name(param.mode))}});
}

Json function_param_json(const VmFunction& function, size_t index) {
  Json json = Json::object({{"name", Json::string(function.params[index])}});
  const ValueCheck* check = check_of_parameter(function, index);
  if (!check) return json;
  if (check->has_dtype || check->kind == ValueCheck::Kind::kPrim) {
    json.set("dtype", Json::string(dtype_name(check->dtype)));
  }
  if (check->kind == ValueCheck::Kind::kTensor && check->has_dims) {
    Json dims = Json::array();
    for (const DimCheck& dim : check->dims) dims.push(Json::string(dim.expression));
    json.set("dims", std::move(dims));
  }
  return json;
}

Error wrong_argument(const KernelInfo& kernel, const ParamInfo& param, const char* what,
                     std::string expected, std::string found) {
  return user_error(
      "argument " + param.name + " of kernel " + kernel.name + " has the wrong " + what,
      "kernel " + kernel.name + ", argument " + param.name, std::move(expected), std::move(found));
}

std::string dims_text(const ParamInfo& param, const KernelInfo& kernel) {
  std::string text;
  for (const ScalarProgram& dim : param.dims) {
    if (!text.empty()) text += ", ";
    text += dim_text(dim, kernel);
  }
  return "[" + text + "]";
}

// A call of a kernel: what it takes so far.
class KernelCallOfPage {
 public:
  KernelCallOfPage(runtime::LocalVirtualMachine& machine, const KernelInfo& kernel)
      : machine_(machine),
        kernel_(kernel),
        tensors_(kernel.params.size()),
        scalars_(kernel.scalars.size()) {}

  // From the request's "scalars".
  Status name_scalars(const JsonObjectReader& given) {
    for (const auto& [name, value] : given.json().members()) {
      const auto found = std::ranges::find(kernel_.scalars, name);
      if (found == kernel_.scalars.end()) {
        return fail(user_error("kernel " + kernel_.name + " has no scalar " + name,
                               "kernel " + kernel_.name, scalar_list(), name));
      }
      TAPML_ASSIGN(scalars_[static_cast<size_t>(found - kernel_.scalars.begin())],
                   given.required_int(name));
    }
    return {};
  }

  Status take_inputs(const std::vector<Json>& arguments, std::span<const std::byte> bytes) {
    const auto inputs = std::ranges::count_if(kernel_.params, is_input);
    if (std::ssize(arguments) != inputs) {
      return fail(
          user_error("a call of kernel " + kernel_.name + " has the wrong number of arguments",
                     "kernel " + kernel_.name, std::to_string(inputs) + " tensors",
                     std::to_string(arguments.size())));
    }
    size_t next = 0;
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const ParamInfo& param = kernel_.params[i];
      if (!is_input(param)) continue;
      const std::string where = "kernel " + kernel_.name + ", argument " + param.name;
      const Json& argument = arguments[next++];
      if (!argument.find("at")) {
        return fail(wrong_argument(kernel_, param, "kind", "a tensor", "another value"));
      }
      TAPML_ASSIGN(tensors_[i], tensor_of(argument, bytes, machine_.session(), where));
      TAPML_TRY(solve(param, tensors_[i]));
    }
    return {};
  }

  // The outputs.
  Result<std::vector<runtime::Value>> run() {
    std::vector<int64_t> scalars;
    for (size_t i = 0; i < scalars_.size(); ++i) {
      if (!scalars_[i]) {
        return fail(user_error("no dimension of an input says scalar " + kernel_.scalars[i],
                               "kernel " + kernel_.name, scalar_list(), "",
                               "give it in the option scalars"));
      }
      scalars.push_back(*scalars_[i]);
    }
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const ParamInfo& param = kernel_.params[i];
      if (is_input(param)) {
        TAPML_TRY(as_user(runtime::check_argument(kernel_, param, tensors_[i], scalars, true,
                                                  machine_.session())));
        continue;
      }
      Shape shape;
      for (const ScalarProgram& dim : param.dims) {
        TAPML_ASSIGN(const int64_t extent, evaluate(dim, scalars));
        shape.push_back(extent);
      }
      TAPML_TRY(as_user(checked_byte_count(param.dtype, shape)));
      TAPML_ASSIGN(tensors_[i], runtime::make_tensor(machine_.session(), param.dtype, shape));
    }
    const runtime::CallSite site{0, &kernel_, kCall, {}};
    TAPML_TRY(machine_.call_point().call(site, tensors_, scalars));
    std::vector<runtime::Value> outputs;
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      if (is_output(kernel_.params[i])) outputs.emplace_back(std::move(tensors_[i]));
    }
    return outputs;
  }

 private:
  std::string scalar_list() const {
    std::string text;
    for (const std::string& name : kernel_.scalars) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "no scalars" : "the scalars " + text;
  }

  // The page is at fault for arguments that do not fit.
  template <class T>
  static Status as_user(const Result<T>& result) {
    if (result) return {};
    Error error = result.error();
    if (error.kind == ErrorKind::kInternal) error.kind = ErrorKind::kUser;
    return fail(std::move(error));
  }

  // Takes from an input the scalars that are its dimensions.
  Status solve(const ParamInfo& param, const runtime::Tensor& tensor) {
    if (tensor.dtype != param.dtype) {
      return fail(wrong_argument(kernel_, param, "dtype", dtype_name(param.dtype),
                                 dtype_name(tensor.dtype)));
    }
    if (tensor.shape.size() != param.dims.size()) {
      return fail(wrong_argument(kernel_, param, "shape", dims_text(param, kernel_),
                                 shape_to_string(tensor.shape)));
    }
    for (size_t d = 0; d < param.dims.size(); ++d) {
      const int64_t slot = lone_slot(param.dims[d]);
      if (slot < 0) continue;
      std::optional<int64_t>& scalar = scalars_[static_cast<size_t>(slot)];
      if (!scalar) scalar = tensor.shape[d];
    }
    return {};
  }

  runtime::LocalVirtualMachine& machine_;
  const KernelInfo& kernel_;
  std::vector<runtime::Tensor> tensors_;
  std::vector<std::optional<int64_t>> scalars_;
};

Result<std::vector<runtime::Value>> call_kernel(runtime::LocalVirtualMachine& machine,
                                                const JsonObjectReader& request,
                                                const std::vector<Json>& arguments,
                                                std::span<const std::byte> bytes) {
  TAPML_ASSIGN(const std::string name, request.required_string("kernel"));
  const Executable& executable = machine.executable();
  const int32_t index = executable.find_kernel(name);
  if (index < 0) {
    std::vector<std::string_view> names;
    for (const KernelInfo& kernel : executable.kernels) names.push_back(kernel.name);
    return fail(user_error("the executable has no kernel " + name, "callKernel",
                           "one of its " + std::to_string(names.size()) + " kernels", name,
                           suggestion(name, names)));
  }
  KernelCallOfPage call(machine, executable.kernels[static_cast<size_t>(index)]);
  TAPML_ASSIGN(const auto scalars, request.optional_object("scalars"));
  if (scalars) TAPML_TRY(call.name_scalars(*scalars));
  TAPML_TRY(call.take_inputs(arguments, bytes));
  return call.run();
}

Result<runtime::Value> call_function(runtime::LocalVirtualMachine& machine,
                                     const JsonObjectReader& request,
                                     const std::vector<Json>& arguments,
                                     std::span<const std::byte> bytes) {
  TAPML_ASSIGN(const std::string name, request.required_string("function"));
  // The VM refuses an unknown function and another number of arguments.
  const VmFunction* function = machine.executable().find_function(name);
  std::vector<runtime::Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_known = function && i < function->params.size();
    const std::string place = is_known ? function->params[i] : std::to_string(i);
    TAPML_ASSIGN(
        runtime::Value value,
        value_of(arguments[i], bytes, is_known ? check_of_parameter(*function, i) : nullptr,
                 machine.session(), "argument " + place + " of " + name));
    values.push_back(std::move(value));
  }
  return machine.call(name, values);
}

}  // namespace

Json functions_json(const Executable& executable) {
  Json list = Json::array();
  for (const VmFunction& function : executable.functions) {
    Json params = Json::array();
    for (size_t i = 0; i < function.params.size(); ++i) {
      params.push(function_param_json(function, i));
    }
    list.push(Json::object({{"name", Json::string(function.name)}, {"params", std::move(params)}}));
  }
  return list;
}

Json kernels_json(const Executable& executable) {
  Json list = Json::array();
  for (const KernelInfo& kernel : executable.kernels) {
    Json params = Json::array(), scalars = Json::array();
    for (const ParamInfo& param : kernel.params) params.push(kernel_param_json(param, kernel));
    for (const std::string& scalar : kernel.scalars) scalars.push(Json::string(scalar));
    list.push(Json::object({{"name", Json::string(kernel.name)},
                            {"params", std::move(params)},
                            {"scalars", std::move(scalars)}}));
  }
  return list;
}

Result<Json> call_by_page(runtime::LocalVirtualMachine& machine, const Json& request,
                          std::span<const std::byte> bytes, std::vector<std::byte>& output) {
  output.clear();
  const JsonObjectReader reader(request, kCall);
  TAPML_ASSIGN(const std::vector<Json>* const arguments, reader.required_array("arguments"));
  if (!reader.has("kernel")) {
    TAPML_ASSIGN(const runtime::Value result, call_function(machine, reader, *arguments, bytes));
    return json_of(result, output);
  }
  TAPML_ASSIGN(std::vector<runtime::Value> outputs,
               call_kernel(machine, reader, *arguments, bytes));
  runtime::Value tuple;
  tuple.data = std::make_shared<const runtime::ValueList>(outputs.begin(), outputs.end());
  return json_of(tuple, output);
}

}  // namespace tapml::browser
