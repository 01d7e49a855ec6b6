#include "interp/last_uses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::interp {
namespace {

// "binding: variables" for each binding after which some have no use.
std::vector<std::string> uses_of(const std::string& text) {
  const Module module = text::parse(text, "m.txt");
  const relax::SeqNode& body = relax::body_of(*relax::as_relax_function(module.find("main")));
  std::vector<std::string> lines;
  for (const auto& [binding, vars] : last_uses(body)) {
    std::vector<std::string> names;
    for (const relax::VarNode* var : vars) names.push_back(var->name);
    std::ranges::sort(names);
    std::string line = binding->var->name + ":";
    for (const std::string& name : names) line += " " + name;
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LastUses, AreThoseOfTheLastBindingThatUsesAVariable) {
  EXPECT_EQ(uses_of(R"(module
def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  dataflow {
    a: Tensor((4,), f32) = exp(x)
    unused: Tensor((4,), f32) = negative(a)
    b: Tensor((4,), f32) = add(a, x)
    c: Tensor((4,), f32) = multiply(b, b)
    output c
  }
  return c
})"),
            (Lines{"b: a x", "c: b", "unused: unused"}));
}

TEST(LastUses, BranchesUseValuesAtTheirIf) {
  EXPECT_EQ(uses_of(R"(module
def main(x: Tensor((4,), f32), yes: Tensor((), bool)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = exp(x)
  b: Tensor((4,), f32) = exp(a)
  c: Tensor((4,), f32) = if (yes) {
    d: Tensor((4,), f32) = negative(a)
    yield d
  } else {
    yield b
  }
  e: Tensor((4,), f32) = add(c, c)
  return e
})"),
            (Lines{"a: x", "c: a b d yes", "e: c"}));
}

TEST(LastUses, ALambdaKeepsWhatItCaptures) {
  EXPECT_EQ(uses_of(R"(module
def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = exp(x)
  f: Callable((Tensor((4,), f32),), Tensor((4,), f32)) = def (p: Tensor((4,), f32)) -> Tensor((4,), f32) {
    q: Tensor((4,), f32) = add(p, a)
    return q
  }
  b: Tensor((4,), f32) = negative(x)
  c: Tensor((4,), f32) = f(b)
  return c
})"),
            (Lines{"b: x", "c: b f", "f: a p q"}));
}

}  // namespace
}  // namespace tapml::interp
