// The references of the operators against the results of PyTorch and NumPy
// (tests/golden/make_ops.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "io/json.h"
#include "support/generated_program.h"
#include "support/golden_models.h"

namespace tapml::testing {
namespace {

std::string folder() { return testing::golden_path("ops"); }

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Json calls_of(const std::string& family) {
  const std::string path = folder() + "/" + family + ".json";
  MappedFile file = unwrap(map_file(path));
  return unwrap(
      parse_json({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, path));
}

double number_of(const Json& json) {
  const Json* text = json.find("number");
  return text ? std::stod(text->as_string()) : json.as_double();
}

AttrValue attribute(op::AttributeKind kind, const Json& json) {
  switch (kind) {
    case op::AttributeKind::kBool:
      return json.as_bool();
    case op::AttributeKind::kInt:
      return json.as_integer();
    case op::AttributeKind::kFloat:
      return number_of(json);
    case op::AttributeKind::kString:
      return json.as_string();
    case op::AttributeKind::kDType:
      return *parse_dtype(json.find("dtype")->as_string());
    case op::AttributeKind::kInts: {
      std::vector<int64_t> list;
      for (const Json& item : json.items()) list.push_back(item.as_integer());
      return list;
    }
    case op::AttributeKind::kFloats: {
      std::vector<double> list;
      for (const Json& item : json.items()) list.push_back(number_of(item));
      return list;
    }
  }
  return {};
}

AttrMap attributes(const op::OperatorInfo& info, const Json& json) {
  AttrMap attrs;
  for (const auto& [name, value] : json.members()) {
    bool known = false;
    for (const op::AttributeSpec& spec : info.attrs) {
      if (name != spec.name) continue;
      attrs[name] = attribute(spec.kind, value);
      known = true;
    }
    EXPECT_TRUE(known) << info.name << " has no attribute " << name;
  }
  return attrs;
}

std::vector<op::RefTensor> evaluate(const op::OperatorInfo& info, const Json& call,
                                    const std::map<std::string, HostTensor>& tensors) {
  Module module;
  build::FunctionBuilder f(module);
  std::vector<relax::Expr> args;
  std::vector<interp::Value> values;
  const std::vector<Json>& given = call.find("args")->items();
  for (size_t i = 0; i < given.size(); ++i) {
    if (const Json* ints = given[i].find("ints")) {
      Dims dims;
      for (const Json& item : ints->items()) dims.push_back(item.as_integer());
      args.push_back(info.args[i].kind == op::ArgumentKind::kPrim
                         ? relax::make_prim_value(dims.at(0))
                         : relax::make_shape(dims));
      continue;
    }
    std::vector<relax::Expr> fields;
    for (const Json& name : given[i].find("tensors")->items()) {
      const HostTensor& tensor = tensors.at(name.as_string());
      Dims dims(tensor.shape().begin(), tensor.shape().end());
      fields.push_back(f.param("x", relax::tensor_annotation(std::move(dims), tensor.dtype())));
      values.push_back(interp::Value::tensor(op::RefTensor::from(tensor)));
    }
    args.push_back(info.args[i].kind == op::ArgumentKind::kTensors ? relax::make_tuple(fields)
                                                                   : fields.at(0));
  }
  relax::Variable result = f.emit_op(info.name, args, attributes(info, *call.find("attrs")));
  module.functions["main"] = f.finish(result);
  std::vector<op::RefTensor> outputs;
  collect(interp::call(module, "main", values), outputs);
  return outputs;
}

// An expected value in f64 is exact except for its last digits; others come from a correct
// implementation.
void expect_golden(const op::RefTensor& found, const HostTensor& expected) {
  ASSERT_EQ(found.shape, expected.shape());
  for (int64_t i = 0; i < expected.size(); ++i) {
    auto at = static_cast<size_t>(i);
    double value = found.values[at], golden = expected.at_f64(i);
    if (std::isnan(value) && std::isnan(golden)) continue;
    if (value == golden && found.integers.empty()) continue;
    if (!is_float(expected.dtype())) {
      int64_t bits = expected.dtype() == DType::kI64 || expected.dtype() == DType::kU64
                         ? expected.values<int64_t>()[at]
                         : static_cast<int64_t>(golden);
      ASSERT_EQ(found.integer(at), bits) << "element " << i;
      continue;
    }
    double slack = expected.dtype() == DType::kF64 ? 1e-10 * std::max(1.0, std::fabs(golden))
                                                   : found.bound[at];
    ASSERT_TRUE(std::isfinite(slack)) << "element " << i << " has no bound";
    ASSERT_LE(std::fabs(value - golden), slack)
        << "element " << i << ": " << value << ", golden " << golden;
  }
}

class GoldenOperators : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenOperators, ReferencesAgree) {
  auto tensors = read_tensors(folder() + "/" + GetParam() + ".safetensors");
  Json calls = calls_of(GetParam());
  for (size_t c = 0; c < calls.items().size(); ++c) {
    const Json& call = calls.items()[c];
    SCOPED_TRACE("case " + std::to_string(c) + " " + call.dump());
    const op::OperatorInfo* info = op::find_operator(call.find("op")->as_string());
    ASSERT_NE(info, nullptr);
    try {
      std::vector<op::RefTensor> found = evaluate(*info, call, tensors);
      const std::vector<Json>& names = call.find("outputs")->items();
      ASSERT_EQ(found.size(), names.size());
      for (size_t o = 0; o < names.size(); ++o) {
        EXPECT_STREQ(dtype_name(found[o].dtype),
                     call.find("result")->items().at(o).as_string().c_str());
        expect_golden(found[o], tensors.at(names[o].as_string()));
      }
    } catch (const CompilerException& exception) {
      ADD_FAILURE() << exception.error().to_string();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenOperators, ::testing::ValuesIn(families()),
                         [](const auto& info) { return info.param; });

// More than one call of each: another shape, dtype or attribute. The dimensions of a tensor are not
// a tensor.
TEST(GoldenOperators, EveryOperatorHasCases) {
  std::map<std::string, int> cases;
  for (const std::string& family : families()) {
    const Json calls = calls_of(family);
    for (const Json& call : calls.items()) ++cases[call.find("op")->as_string()];
  }
  for (const op::OperatorInfo* info : op::operator_table()) {
    if (std::string(info->name) == "shape_of") continue;
    EXPECT_GE(cases[info->name], 2) << "golden cases of " << info->name;
  }
}

}  // namespace
}  // namespace tapml::testing
