#include "fuzz/external/straight_line.h"

#include <functional>
#include <map>

#include "base/hash.h"
#include "fuzz/oracles/oracles.h"
#include "ir/exceptions.h"
#include "passes/dead_code.h"
#include "passes/specialize.h"
#include "relax/visit.h"

namespace tapml::fuzz {

namespace {

using relax::VarNode;

[[noreturn]] void no_line(const std::string& found) {
  throw_user("the program is no straight line of operator calls", "main", "", found);
}

Json integers(const std::vector<int64_t>& values) {
  std::vector<Json> items;
  for (const int64_t value : values) items.push_back(Json::integer(value));
  return Json::array(std::move(items));
}

std::vector<int64_t> constant_dims(const Dims& dims) {
  std::vector<int64_t> values;
  for (const PrimExpr& dim : dims) {
    if (!dim.is_int()) no_line("a dimension that depends on data");
    values.push_back(dim->int_value);
  }
  return values;
}

Json attribute_json(const AttrValue& value) {
  struct Visitor {
    Json operator()(bool flag) const { return Json::boolean(flag); }
    Json operator()(int64_t number) const { return Json::integer(number); }
    Json operator()(double number) const { return Json::number(number); }
    Json operator()(const std::string& text) const { return Json::string(text); }
    Json operator()(DType dtype) const { return Json::string(dtype_name(dtype)); }
    Json operator()(const std::vector<int64_t>& values) const { return integers(values); }
    Json operator()(const std::vector<double>& values) const {
      std::vector<Json> items;
      for (const double value : values) items.push_back(Json::number(value));
      return Json::array(std::move(items));
    }
    Json operator()(const std::vector<std::string>& values) const {
      std::vector<Json> items;
      for (const std::string& value : values) items.push_back(Json::string(value));
      return Json::array(std::move(items));
    }
  };
  return std::visit(Visitor{}, value);
}

// The bindings of main, whose body has no control flow.
std::vector<relax::Binding> bindings_of(const relax::Function& main) {
  std::vector<relax::Binding> bindings;
  for (const relax::Block& block : relax::body_of(main).blocks) {
    bindings.insert(bindings.end(), block.bindings.begin(), block.bindings.end());
  }
  return bindings;
}

class Exporter {
 public:
  Exporter(const Program& program, const std::set<std::string>& cut) : program_(program) {
    if (program.module.functions.size() != 1) no_line("several functions");
    const auto values = extents_of(program.module, program.arguments);
    if (!values.empty()) program_.module = passes::specialize(program.module, "main", values);
    evaluate();
    cut_out(cut);
  }

  StraightLine line() {
    StraightLine line;
    std::vector<Json> inputs, outputs;
    for (size_t i = 0; i < main().params.size(); ++i) {
      if (!std::holds_alternative<op::RefTensor>(program_.arguments[i].data)) {
        no_line("a parameter that is no tensor");
      }
      Json input = tensor_json(program_.arguments[i].as_tensor().to_host());
      input.set("name", Json::string(name(*main().params[i])));
      inputs.push_back(std::move(input));
    }
    std::vector<Json> steps;
    for (const relax::Binding& binding : bindings_of(main())) {
      if (!relax::as<relax::TupleNode>(binding.value)) steps.push_back(step(binding));
    }
    for (const relax::Expr& result : results_) {
      const auto& variable = *relax::as<VarNode>(result);
      outputs.push_back(Json::string(name(variable)));
    }
    const interp::Value expected =
        evaluated(program_.module, program_.arguments, interp::KernelBody::kSpec);
    for (const interp::Value& value : expected.as_tuple()) {
      line.expected.push_back(value.as_tensor());
    }
    line.document = Json::object({{"inputs", Json::array(std::move(inputs))},
                                  {"steps", Json::array(std::move(steps))},
                                  {"outputs", Json::array(std::move(outputs))}});
    line.program = std::move(program_);
    return line;
  }

 private:
  const relax::Function& main() const {
    return *relax::as_relax_function(program_.module.find("main"));
  }

  // Values and names of all bindings.
  void evaluate() {
    interp::CallOptions options;
    options.packed = packed_functions();
    options.observe = [&](const relax::Binding& binding, const op::RefTensor& value) {
      values_.emplace(binding.var->name, value);
    };
    interp::call(program_.module, "main", program_.arguments, options);
  }

  // Names are those of the variables, which differ in a generated program.
  const std::string& name(const VarNode& variable) const { return variable.name; }

  void cut_out(const std::set<std::string>& cut) {
    const relax::Function old = main();
    std::vector<relax::Variable> params = old.params;
    std::vector<relax::Binding> kept;
    std::set<std::string> tuples;
    for (const relax::Binding& binding : bindings_of(old)) {
      const auto* item = relax::as<relax::TupleGetItemNode>(binding.value);
      const auto* whole = item ? relax::as<VarNode>(item->tuple) : nullptr;
      const bool is_cut =
          cut.contains(binding.var->name) || (whole && tuples.contains(whole->name));
      if (!is_cut) {
        kept.push_back(binding);
        continue;
      }
      const auto value = values_.find(binding.var->name);
      if (value == values_.end()) {
        tuples.insert(binding.var->name);
        continue;
      }
      // Exact from here on.
      params.push_back(binding.var);
      program_.arguments.push_back(
          interp::Value::tensor(op::RefTensor::from(value->second.to_host())));
    }
    collect_results(kept, params);
    std::vector<relax::Annotation> annotations;
    for (const relax::Expr& result : results_) {
      annotations.push_back(relax::annotation_of(result));
    }
    const relax::Annotation annotation = relax::tuple_annotation(std::move(annotations));
    relax::Variable last = relax::make_variable("all_results", annotation);
    kept.push_back({last, relax::make_tuple(results_), nullptr, {}});
    program_.module.functions["main"] = relax::make_function(
        std::move(params), relax::make_seq({{true, std::move(kept)}}, last), annotation);
    program_.module = passes::eliminate_dead_code(program_.module);
  }

  // The computed tensors among the results of main.
  void collect_results(const std::vector<relax::Binding>& kept,
                       const std::vector<relax::Variable>& params) {
    std::map<const VarNode*, const relax::Binding*> bound;
    for (const relax::Binding& binding : kept) bound[binding.var.get()] = &binding;
    std::function<void(const relax::Expr&)> add = [&](const relax::Expr& expr) {
      if (const auto* tuple = relax::as<relax::TupleNode>(expr)) {
        for (const relax::Expr& field : tuple->fields) add(field);
        return;
      }
      const auto at = bound.find(relax::as<VarNode>(expr));
      if (at == bound.end()) return;
      const relax::Expr& value = at->second->value;
      if (relax::as<relax::TupleNode>(value) || relax::as<VarNode>(value)) return add(value);
      if (values_.contains(at->second->var->name)) results_.push_back(expr);
    };
    add(relax::body_of(main()).result);
    if (results_.empty()) {
      throw_user("no results are left", "main", "", counted_params(params.size()));
    }
  }
  static std::string counted_params(size_t count) { return std::to_string(count) + " parameters"; }

  Json step(const relax::Binding& binding) {
    if (binding.match_cast) no_line("a match_cast");
    Json json = Json::object({{"name", Json::string(binding.var->name)}});
    if (const auto* item = relax::as<relax::TupleGetItemNode>(binding.value)) {
      const auto* whole = relax::as<VarNode>(item->tuple);
      if (!whole) no_line("a field of no variable");
      json.set("of", Json::string(name(*whole)));
      json.set("field", Json::integer(item->index));
    } else if (const auto* call = relax::as<relax::CallNode>(binding.value)) {
      const std::string& op = relax::called_operator(binding.value);
      const op::OperatorInfo* info = op::called_operator_info(binding.value);
      if (!info) no_line(op.empty() ? "a call of a function" : op);
      json.set("op", Json::string(op));
      std::vector<Json> args, results;
      for (const relax::Expr& arg : call->args) args.push_back(argument(arg));
      json.set("args", Json::array(std::move(args)));
      Json attrs = Json::object();
      for (const auto& [key, value] : op::with_defaults(*info, call->attrs)) {
        attrs.set(key, attribute_json(value));
      }
      json.set("attrs", std::move(attrs));
      add_results(binding.var->annotation, results);
      json.set("results", Json::array(std::move(results)));
    } else {
      no_line("a binding that is no call");
    }
    const auto value = values_.find(binding.var->name);
    if (value != values_.end()) {
      const Json tensor = tensor_json(value->second.to_host());
      for (const auto& [key, member] : tensor.members()) json.set(key, member);
    }
    return json;
  }

  static void add_results(const relax::Annotation& annotation, std::vector<Json>& results) {
    if (const auto* tuple = relax::as_tuple(annotation)) {
      for (const relax::Annotation& field : tuple->fields) add_results(field, results);
      return;
    }
    const auto* tensor = relax::as_tensor(annotation);
    if (!tensor || !tensor->dtype) return;
    Json result = Json::object({{"dtype", Json::string(dtype_name(*tensor->dtype))}});
    if (tensor->shape) result.set("shape", integers(constant_dims(*tensor->shape)));
    results.push_back(std::move(result));
  }

  Json argument(const relax::Expr& arg) {
    if (const auto* constant = relax::as<relax::ConstantNode>(arg)) {
      return Json::object({{"tensor", tensor_json(constant->value)}});
    }
    if (const auto* tuple = relax::as<relax::TupleNode>(arg)) {
      std::vector<Json> fields;
      for (const relax::Expr& field : tuple->fields) fields.push_back(argument(field));
      return Json::object({{"fields", Json::array(std::move(fields))}});
    }
    const relax::Annotation annotation = relax::annotation_of(arg);
    if (const auto* shape = relax::as_shape(annotation)) {
      if (!shape->dims) no_line("a shape that depends on data");
      return Json::object({{"ints", integers(constant_dims(*shape->dims))}});
    }
    if (const auto* prim = relax::as_prim(annotation)) {
      if (!prim->value || !prim->value.is_int()) no_line("a scalar that depends on data");
      return Json::object({{"ints", integers({prim->value->int_value})}});
    }
    const auto* variable = relax::as<VarNode>(arg);
    if (!variable) no_line("an argument that is no tensor");
    return Json::object({{"name", Json::string(name(*variable))}});
  }

  Program program_;
  std::map<std::string, op::RefTensor> values_;
  std::vector<relax::Expr> results_;
};

}  // namespace

StraightLine straight_line(const Program& program, const std::set<std::string>& cut) {
  return Exporter(program, cut).line();
}

Json tensor_json(const HostTensor& tensor) {
  const std::span<const std::byte> bytes = tensor.bytes();
  return Json::object({{"dtype", Json::string(dtype_name(tensor.dtype()))},
                       {"shape", integers(tensor.shape())},
                       {"hex", Json::string(to_hex({reinterpret_cast<const uint8_t*>(bytes.data()),
                                                    bytes.size()}))}});
}

HostTensor tensor_from_json(const Json& json) {
  auto wrong = [&](const std::string& found) {
    throw_user("this is no tensor", json_location("answer", json), "dtype, shape and hex", found);
  };
  const Json* dtype = json.find("dtype");
  const Json* shape = json.find("shape");
  const Json* hex = json.find("hex");
  if (!dtype || !shape || !hex) wrong(json_excerpt(json));
  const auto type = parse_dtype(dtype->as_string());
  if (!type) wrong(dtype->as_string());
  Shape extents;
  for (const Json& dim : shape->items()) extents.push_back(dim.as_integer());
  const int64_t size = unwrap(checked_byte_count(*type, extents));
  const std::string& digits = hex->as_string();
  if (std::ssize(digits) != 2 * size) wrong(std::to_string(digits.size()) + " digits");
  HostTensor tensor = HostTensor::zeros(*type, extents);
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
  };
  for (size_t i = 0; i < tensor.byte_size(); ++i) {
    tensor.mutable_bytes()[i] =
        static_cast<std::byte>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
  }
  return tensor;
}

}  // namespace tapml::fuzz
