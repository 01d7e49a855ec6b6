#include "support/language_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "arith/evaluate.h"
#include "ir/exceptions.h"
#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::testing {

namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Shape constant_dims(const Dims& dims) {
  Shape shape;
  for (const PrimExpr& dim : dims) shape.push_back(dim->int_value);
  return shape;
}

Expected value_of(const relax::Expr& expr) {
  Expected result;
  if (const auto* constant = relax::as<relax::ConstantNode>(expr)) {
    result.value = interp::Value::tensor(op::RefTensor::from(constant->value));
  } else if (const auto* shape = relax::as<relax::ShapeNode>(expr)) {
    result.value = interp::Value::shape(constant_dims(shape->dims));
  } else if (const auto* prim = relax::as<relax::PrimValueNode>(expr)) {
    std::optional<int64_t> integer = arith::evaluate(prim->value, {});
    result.value =
        interp::Value::scalar({prim->value.dtype(), integer.value_or(0),
                               is_float(prim->value.dtype()) ? prim->value->float_value : 0});
  } else if (const auto* global = relax::as<relax::GlobalVarNode>(expr)) {
    result.value = interp::Value::function(global->name);
  } else if (const auto* tuple = relax::as<relax::TupleNode>(expr)) {
    interp::ValueList values;
    for (const relax::Expr& field : tuple->fields) {
      result.fields.push_back(value_of(field));
      values.push_back(result.fields.back().value);
    }
    result.value = interp::Value::tuple(std::move(values));
  } else if (const auto* call = relax::as<relax::CallNode>(expr)) {
    const std::string& what = relax::called_operator(expr);
    const auto* shape = call->args.empty() ? nullptr : relax::as<relax::ShapeNode>(call->args[0]);
    if (!shape || (what != "iota" && what != "full")) throw_user("no value of a case: " + what);
    op::RefTensor tensor = op::RefTensor::zeros(attr_or(call->attrs, "dtype", DType::kF32),
                                                constant_dims(shape->dims));
    const double value = attr_or(call->attrs, "value", 0.0);
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.set_value(i, what == "iota" ? static_cast<double>(i) : value);
    }
    result.value = interp::Value::tensor(std::move(tensor));
  } else {
    throw_user("no value of a case");
  }
  return result;
}

relax::Expr parse_value(const std::string& text, const std::string& where) {
  Module module = text::parse("def v() -> Object {\n return " + text + "\n}", where);
  return relax::body_of(*relax::as_relax_function(module.find("v"))).result;
}

LanguageCall parse_call(const std::string& text, const std::string& where) {
  LanguageCall call;
  call.text = text;
  size_t open = text.find('(');
  if (open == std::string::npos) throw_user("no call of a case: " + text, where);
  call.function = text.substr(0, open);
  std::string inside = text.substr(open + 1, text.size() - open - 2);
  if (!inside.empty()) inside += ",";  // one argument is a tuple too
  relax::Expr list = parse_value("(" + inside + ")", where);
  for (const relax::Expr& arg : relax::as<relax::TupleNode>(list)->fields) {
    call.args.push_back(value_of(arg).value);
  }
  return call;
}

void read_header(const std::string& line, LanguageCase& section, const std::string& where) {
  size_t colon = line.find(": ");
  if (!line.starts_with("# ") || colon == std::string::npos) return;
  const std::string key = line.substr(2, colon - 2), rest = line.substr(colon + 2);
  auto last_call = [&]() -> LanguageCall& {
    if (section.calls.empty()) throw_user("'" + key + "' before any call", where);
    return section.calls.back();
  };
  if (key == "case") {
    section.name += ": " + rest;
  } else if (key == "annotation" || key == "kind") {
    size_t equals = rest.find(" = ");
    if (equals == std::string::npos) throw_user("'" + key + "' without '='", where);
    std::string name = rest.substr(0, equals), value = rest.substr(equals + 3);
    if (key == "kind") {
      section.kinds.emplace_back(name, value);
    } else {
      section.annotations.push_back({name, value});
    }
  } else if (key == "kernel") {
    section.kernels.push_back(rest);
  } else if (key == "storages") {
    section.storages = rest;
  } else if (key == "call") {
    section.calls.push_back(parse_call(rest, where));
  } else if (key == "gives") {
    last_call().gives = true;
    last_call().result = value_of(parse_value(rest, where));
  } else if (key == "fails") {
    last_call().fails.push_back(rest);
  } else if (key == "endless") {
    last_call().endless = true;
  } else if (key == "refused") {
    section.refused.push_back(rest);
  }
}

std::string compare_tensors(const Expected& expected, const op::RefTensor& found) {
  const op::RefTensor& wanted = expected.value.as_tensor();
  if (found.dtype != wanted.dtype || found.shape != wanted.shape) {
    return std::string("expected ") + dtype_name(wanted.dtype) + shape_to_string(wanted.shape) +
           ", found " + dtype_name(found.dtype) + shape_to_string(found.shape);
  }
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    double a = wanted.values[i], b = found.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (is_float(wanted.dtype) && std::fabs(a - b) <= 1e-5 * std::max(1.0, std::fabs(a))) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(a) + ", found " +
           std::to_string(b);
  }
  return "";
}

}  // namespace

namespace {

// Examples of a page: blocks of ```tapml that begin with "# case:".
void read_page(const fs::path& page, std::vector<LanguageCase>& cases) {
  std::istringstream lines(read_text(page));
  LanguageCase section;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!inside && line == "```tapml") {
      inside = true;
      section = {};
      section.name = page.stem().string();
    } else if (inside && line == "```") {
      inside = false;
      if (section.source.starts_with("# case: ")) cases.push_back(section);
    } else if (inside) {
      read_header(line, section, page.filename().string());
      section.source += line + "\n";
    }
  }
}

}  // namespace

namespace {

std::vector<LanguageCase> read_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tapml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<LanguageCase> cases;
  for (const fs::path& file : files) {
    std::istringstream lines(read_text(file));
    LanguageCase section;
    section.name = file.stem().string();
    auto finish = [&] {
      if (!section.source.empty()) cases.push_back(section);
      section = {};
      section.name = file.stem().string();
    };
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ----")) {
        finish();
        continue;
      }
      read_header(line, section, file.filename().string());
      section.source += line + "\n";
    }
    finish();
  }
  return cases;
}

}  // namespace

std::vector<LanguageCase> load_language_cases() {
  std::vector<LanguageCase> cases = read_folder(TAPML_SOURCE_DIR "/tests/language/cases");
  read_page(TAPML_SOURCE_DIR "/docs/relax.md", cases);
  return cases;
}

std::vector<LanguageCase> load_storage_cases() {
  return read_folder(TAPML_SOURCE_DIR "/tests/language/storage");
}

std::vector<LanguageCase> load_case_folder(const std::string& folder) {
  return read_folder(folder);
}

interp::HostFunctions language_functions() {
  interp::HostFunctions table;
  table["test.double"] = [](const interp::ValueList& args) {
    op::RefTensor tensor = args.at(0).as_tensor();
    for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] *= 2;
    return interp::Value::tensor(std::move(tensor));
  };
  auto count = std::make_shared<int64_t>(0);
  table["test.count"] = [count](const interp::ValueList&) {
    return interp::Value::prim((*count)++);
  };
  return table;
}

std::string difference(const Expected& expected, const interp::Value& found) {
  if (expected.value.data.index() != found.data.index()) return "another kind of value";
  if (std::holds_alternative<op::RefTensor>(found.data)) {
    return compare_tensors(expected, found.as_tensor());
  }
  if (std::holds_alternative<std::vector<int64_t>>(found.data)) {
    return expected.value.as_shape() == found.as_shape()
               ? ""
               : "expected " + shape_to_string(expected.value.as_shape()) + ", found " +
                     shape_to_string(found.as_shape());
  }
  if (const auto* prim = std::get_if<int64_t>(&found.data)) {
    int64_t wanted = std::get<int64_t>(expected.value.data);
    return *prim == wanted
               ? ""
               : "expected " + std::to_string(wanted) + ", found " + std::to_string(*prim);
  }
  if (const auto* scalar = std::get_if<interp::Scalar>(&found.data)) {
    const auto& wanted = std::get<interp::Scalar>(expected.value.data);
    bool same = scalar->dtype == wanted.dtype && scalar->integer == wanted.integer &&
                scalar->number == wanted.number;
    return same ? "" : "another scalar";
  }
  if (std::holds_alternative<interp::FunctionValue>(found.data)) return "";
  const interp::ValueList& fields = found.as_tuple();
  if (fields.size() != expected.fields.size()) return "another number of fields";
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string field = difference(expected.fields[i], fields[i]);
    if (!field.empty()) return "field " + std::to_string(i) + ": " + field;
  }
  return "";
}

}  // namespace tapml::testing
