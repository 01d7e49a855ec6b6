#include "relax/captures.h"

#include <gtest/gtest.h>

#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::relax {
namespace {

class CapturesTest : public ::testing::Test {
 protected:
  // Finds the lambda that main binds to `name`, and its variable.
  void find(const std::string& name) {
    visit_bindings(as_relax_function(module_.find("main"))->body,
                   [&](const Binding& binding, bool) {
                     if (binding.var->name != name) return;
                     self_ = binding.var.get();
                     lambda_ = as<FunctionNode>(binding.value)->function;
                   });
  }

  const Module module_ = text::parse(R"(
def main(x: Tensor((n,), f32), y: Tensor((m,), f32)) -> Tensor((n,), f32) {
  f: Callable((Tensor((k,), f32),), Tensor((k,), f32)) = def (a: Tensor((k,), f32)) -> Tensor((k,), f32) {
    g: Callable((Tensor((n,), f32),), Tensor((n,), f32)) = def (b: Tensor((n,), f32)) -> Tensor((n,), f32) {
      c: Tensor((n,), f32) = add(b, x)
      d: Tensor((n,), f32) = add(c, x)
      return d
    }
    e: Tensor((n,), f32) = g(x)
    h: Tensor((k,), f32) = f(a)
    i: Tensor((m,), f32) = exp(y)
    return h
  }
  r: Tensor((n,), f32) = f(x)
  return r
}
)",
                                     "test");
  const VarNode* self_ = nullptr;
  FunctionRef lambda_;
};

TEST_F(CapturesTest, OuterVariablesInOrderOfFirstUse) {
  find("f");
  ASSERT_NE(lambda_, nullptr);
  const auto names = [](const std::vector<Variable>& variables) {
    std::vector<std::string> result;
    for (const Variable& variable : variables) result.push_back(variable->name);
    return result;
  };
  EXPECT_EQ(names(captured_variables(*lambda_, self_)), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(names(captured_variables(*lambda_)), (std::vector<std::string>{"x", "f", "y"}));
}

TEST_F(CapturesTest, SymbolsAreAllMentionedOnes) {
  find("f");
  std::vector<Var> symbols;
  collect_symbols(*lambda_, symbols);
  std::vector<std::string> names;
  for (const Var& symbol : symbols) names.push_back(symbol->name);
  EXPECT_EQ(names, (std::vector<std::string>{"k", "n", "m"}));
}

}  // namespace
}  // namespace tapml::relax
