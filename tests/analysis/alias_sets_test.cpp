#include "analysis/alias_sets.h"

#include <gtest/gtest.h>

#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::analysis {
namespace {

class Aliases : public ::testing::Test {
 protected:
  void read(const std::string& source) {
    module_ = text::parse(source, "test");
    const relax::Function* main = relax::as_relax_function(module_.find("main"));
    for (const relax::Variable& param : main->params) vars_[param->name] = param.get();
    relax::visit_bindings(main->body, [&](const relax::Binding& binding, bool) {
      vars_[binding.var->name] = binding.var.get();
    });
    sets_ = alias_sets(*main, &module_);
  }
  bool share(const std::string& a, const std::string& b) {
    return sets_.may_alias(vars_.at(a), vars_.at(b));
  }

  Module module_;
  std::map<std::string, const relax::VarNode*> vars_;
  AliasSets sets_;
};

TEST_F(Aliases, ViewsTuplesCastsAndNames) {
  read(R"(
impure def main(x: Tensor((6,), f32)) -> Object {
  c: Tensor((6,), f32) = copy(x)
  v: Tensor((2, 3), f32) = view_reshape(x, shape(2, 3))
  r: Tensor((3, 2), f32) = reshape(c, shape(3, 2))
  t: Tuple(Object, Object) = (v, c)
  e: Tensor((6,), f32) = exp(x)
  d: Tensor((n,), f32) = match_cast(e, Tensor((n,), f32))
  return t
})");
  EXPECT_TRUE(share("x", "v"));
  EXPECT_TRUE(share("c", "r"));
  EXPECT_TRUE(share("t", "x"));
  EXPECT_TRUE(share("e", "d"));
  EXPECT_FALSE(share("e", "x"));
}

TEST_F(Aliases, AnOperatorMakesANewTensor) {
  read(R"(
def main(x: Tensor((6,), f32), y: Tensor((6,), f32)) -> Object {
  a: Tensor((6,), f32) = add(x, y)
  b: Tensor((6,), f32) = copy(x)
  return (a, b)
})");
  EXPECT_TRUE(share("x", "y"));  // a caller may pass one tensor twice
  EXPECT_FALSE(share("a", "x"));
  EXPECT_FALSE(share("a", "b"));
}

TEST_F(Aliases, BranchesAndCalls) {
  read(R"(
impure def main(x: Tensor((6,), f32), c: Tensor((), bool)) -> Object {
  a: Tensor((6,), f32) = exp(x)
  b: Tensor((6,), f32) = exp(x)
  i: Tensor((6,), f32) = if (c) { yield a } else { yield x }
  f: Object = extern "f"(b)
  return (i, f)
})");
  EXPECT_TRUE(share("i", "a"));
  EXPECT_TRUE(share("i", "x"));
  EXPECT_TRUE(share("f", "b"));
  EXPECT_FALSE(share("f", "i"));
}

TEST_F(Aliases, WrittenTensorsAndThoseOfTheCaller) {
  read(R"(
def pure(x: Tensor((n,), f32)) -> Tensor((n,), f32) { return x }
impure def main(x: Tensor((6,), f32)) -> Object {
  a: Tensor((6,), f32) = exp(x)
  v: Tensor((3,), f32) = view_slice(a, shape(0), shape(3))
  w: Tuple() = assign_slice(v, x, shape(0))
  b: Tensor((6,), f32) = exp(x)
  c: Tensor((6,), f32) = @pure(b)
  d: Tensor((6,), f32) = tanh(b)
  e: Tensor((6,), f32) = tanh(d)
  p: Object = extern "test.double"(e)
  return d
})");
  auto written = [&](const std::string& name) { return sets_.may_be_written(vars_.at(name)); };
  auto shared = [&](const std::string& name) { return sets_.is_shared(vars_.at(name)); };
  EXPECT_TRUE(written("a"));
  EXPECT_TRUE(written("v"));
  EXPECT_FALSE(written("x"));
  EXPECT_FALSE(written("b"));  // a pure function cannot
  EXPECT_TRUE(written("e"));   // a packed function may
  EXPECT_TRUE(shared("x"));
  EXPECT_TRUE(shared("d"));
  EXPECT_FALSE(shared("a"));
  EXPECT_FALSE(shared("c"));
  EXPECT_TRUE(writes_storage(module_));
}

}  // namespace
}  // namespace tapml::analysis
