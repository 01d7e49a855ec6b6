// Branches, closures, loops by tail calls, function values, host scalars and packed calls: from the
// text of a program to its result on a device.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "pipeline/compile.h"
#include "run_module.h"
#include "runtime/local_virtual_machine.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml {
namespace {

using runtime::HostFunctions;
using runtime::Prim;
using runtime::Value;
using testing::f32;
using testing::parse_input;

HostTensor truth(bool value) {
  HostTensor tensor = HostTensor::zeros(DType::kBool, {});
  tensor.set_f64(0, value ? 1 : 0);
  return tensor;
}

// One VM for one program.
class Program {
 public:
  explicit Program(const std::string& text, HostFunctions functions = {},
                   const std::string& platform = "cpu")
      : session_(testing::open_session(platform)) {
    pipeline::ImplementOptions options;
    options.instruments.verify = true;
    executable_ = pipeline::compile(parse_input(text), target::parse_target(platform), options);
    auto vm = runtime::LocalVirtualMachine::create(*session_, executable_, std::move(functions));
    if (vm) {
      vm_ = std::move(*vm);
    } else {
      error_ = vm.error();
    }
  }

  Value tensor(const HostTensor& host) { return *runtime::upload(*session_, host); }
  Result<Value> call(const std::vector<Value>& args, const std::string& name = "main") {
    return vm_->call(name, args);
  }
  std::vector<double> numbers(const std::vector<Value>& args) {
    Result<Value> result = call(args);
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? elements(*result) : std::vector<double>();
  }
  static std::vector<double> elements(const Value& value) {
    std::vector<double> list;
    if (!value.tensor()) {
      ADD_FAILURE() << "no tensor";
      return list;
    }
    auto host = runtime::download(*value.tensor());
    for (int64_t i = 0; i < host->size(); ++i) list.push_back(host->at_f64(i));
    return list;
  }
  const Error& error() const { return error_; }
  runtime::LocalVirtualMachine& vm() { return *vm_; }
  const Executable& executable() const { return *executable_; }

 private:
  std::unique_ptr<runtime::Session> session_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
  Error error_;
};

using Numbers = std::vector<double>;

TEST(ControlFlow, BranchesFollowTheirCondition) {
  Program p(R"(
def main(x: Tensor((n, 2), f32), c: Tensor((), bool)) -> Tensor((n, 2), f32) {
  y: Tensor((n, 2), f32) = if (c) {
    dataflow {
      a: Tensor((n, 2), f32) = add(x, x)
      b: Tensor((n, 2), f32) = negative(a)
      output b
    }
    yield b
  } else {
    z: Tensor((n, 2), f32) = multiply(x, x)
    yield z
  }
  w: Tensor((n, 2), f32) = add(y, x)
  return w
}
)");
  Value x = p.tensor(f32({1, 2}, {3, 4}));
  EXPECT_EQ(p.numbers({x, p.tensor(truth(true))}), (Numbers{-3, -4}));
  EXPECT_EQ(p.numbers({x, p.tensor(truth(false))}), (Numbers{12, 20}));
}

TEST(ControlFlow, LoopsAreTailCallsInConstantStack) {
  Program p(R"(
def main(x: Tensor((n,), f32), k0: Prim(i64, k)) -> Tensor((n,), f32) {
  r: Tensor((n,), f32) = @loop(prim(0), prim(k), x)
  return r
}
def loop(i0: Prim(i64, i), k0: Prim(i64, k), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  r: Tensor((n,), f32) = if (prim(i < k)) {
    y: Tensor((n,), f32) = add(x, const(f32, (1,), [1.0]))
    t: Tensor((n,), f32) = @loop(prim(i + 1), prim(k), y)
    yield t
  } else {
    yield x
  }
  return r
}
)");
  EXPECT_EQ(p.numbers({p.tensor(f32({2}, {0, 5})), Prim{DType::kI64, 20000}}),
            (Numbers{20000, 20005}));
}

TEST(ControlFlow, DeepRecursionIsRefusedAndTheVirtualMachineContinues) {
  Program p(R"(
def main(i0: Prim(i64, i), k0: Prim(i64, k), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  r: Tensor((n,), f32) = if (prim(i < k)) {
    y: Tensor((n,), f32) = @main(prim(i + 1), prim(k), x)
    t: Tensor((n,), f32) = add(y, const(f32, (1,), [1.0])) @origin("layers.3")
    yield t
  } else {
    yield x
  }
  return r
}
)");
  Value x = p.tensor(f32({1}, {7}));
  auto deep = p.call({Prim{DType::kI64, 0}, Prim{DType::kI64, 1000000}, x});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().kind, ErrorKind::kUser);
  EXPECT_EQ(deep.error().message, "function calls are nested too deeply");
  EXPECT_NE(deep.error().where.find("binding y"), std::string::npos) << deep.error().where;
  EXPECT_NE(deep.error().where.find("... 9990 more"), std::string::npos) << deep.error().where;
  EXPECT_EQ(p.numbers({Prim{DType::kI64, 0}, Prim{DType::kI64, 100}, x}), (Numbers{107}));
}

TEST(ControlFlow, ClosuresCaptureTensorsAndSymbols) {
  Program p(R"(
def main(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor((n,), f32) {
  twice: Tensor((n,), f32) = add(x, x)
  f: Callable((Tensor((n,), f32),), Tensor((n,), f32)) = def (y: Tensor((n,), f32)) -> Tensor((n,), f32) {
    z: Tensor((n,), f32) = add(y, twice)
    return z
  }
  g: Callable((Tensor((n,), f32),), Tensor((n,), f32)) = def (y: Tensor((n,), f32)) -> Tensor((n,), f32) {
    z: Tensor((n,), f32) = f(y)
    w: Tensor((n,), f32) = multiply(z, x)
    return w
  }
  h: Callable((Tensor((n,), f32),), Tensor((n,), f32)) = if (c) {
    yield f
  } else {
    yield g
  }
  r: Tensor((n,), f32) = h(x)
  return r
}
)");
  Value x = p.tensor(f32({2}, {3, 4}));
  EXPECT_EQ(p.numbers({x, p.tensor(truth(true))}), (Numbers{9, 12}));
  EXPECT_EQ(p.numbers({x, p.tensor(truth(false))}), (Numbers{27, 48}));
}

TEST(ControlFlow, FunctionsAreArgumentsAndResults) {
  Program p(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  f: Callable((Tensor((m,), f32),), Tensor((m,), f32)) = @adder(x)
  y: Tensor((n,), f32) = @apply(f, x)
  z: Tensor((n,), f32) = @apply(@negate, y)
  return z
}
def negate(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = negative(x)
  return y
}
def apply(f: Callable((Tensor((m,), f32),), Tensor((m,), f32)), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = f(x)
  return y
}
def adder(x: Tensor((n,), f32)) -> Callable((Tensor((m,), f32),), Tensor((m,), f32)) {
  f: Callable((Tensor((m,), f32),), Tensor((m,), f32)) = def (y: Tensor((m,), f32)) -> Tensor((m,), f32) {
    x1: Tensor((m,), f32) = match_cast(x, Tensor((m,), f32))
    z: Tensor((m,), f32) = add(y, x1)
    return z
  }
  return f
}
)");
  EXPECT_EQ(p.numbers({p.tensor(f32({2}, {3, 4}))}), (Numbers{-6, -8}));
}

TEST(ControlFlow, PackedCallsRunOnTheHost) {
  int calls = 0;
  HostFunctions functions;
  functions["twice"] = [&](runtime::Session& session,
                           std::span<const Value> args) -> Result<Value> {
    ++calls;
    TAPML_ASSIGN(HostTensor host, runtime::download(*args[0].tensor()));
    for (int64_t i = 0; i < host.size(); ++i) host.set_f64(i, 2 * host.at_f64(i));
    TAPML_ASSIGN(runtime::Tensor result, runtime::upload(session, host));
    return Value(result);
  };
  const char* text = R"(
impure def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = add(x, x)
  y: Tensor((n,), f32) = extern "twice"(a, Tensor((n,), f32))
  unused: Tensor((n,), f32) = extern "twice"(x, Tensor((n,), f32))
  b: Tensor((n,), f32) = add(y, x)
  return b
}
)";
  Program p(text, functions);
  EXPECT_EQ(p.numbers({p.tensor(f32({2}, {1, 2}))}), (Numbers{5, 10}));
  EXPECT_EQ(calls, 2);

  Program missing(text);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUser);
  EXPECT_EQ(missing.error().message, "the host has no function \"twice\"");

  functions["twice"] = [](runtime::Session& session, std::span<const Value>) -> Result<Value> {
    TAPML_ASSIGN(runtime::Tensor result, runtime::upload(session, f32({3}, {1, 2, 3})));
    return Value(result);
  };
  Program wrong(text, functions);
  auto result = wrong.call({wrong.tensor(f32({2}, {1, 2}))});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("result of extern \"twice\""), std::string::npos)
      << result.error().to_string();
}

TEST(ControlFlow, HostScalarsAreValues) {
  Program p(R"(
def main(k0: Prim(i64, k), x: Tensor((n,), f32)) -> Tuple(Prim(i64), Prim(bool), Shape(ndim=1)) {
  p: Tuple(Prim(i64, k + 1), Tensor((n,), f32)) = (prim(k + 1), x)
  q: Prim(i64, k + 1) = p[0]
  r: Prim(i64) = @same(q)
  return (r, prim(k <= n), shape(max(k, n)))
}
def same(k0: Prim(i64, k)) -> Prim(i64) {
  return prim(k*2 - k)
}
)");
  auto result = p.call({Prim{DType::kI64, 4}, p.tensor(f32({4}, {1, 2, 3, 4}))});
  ASSERT_TRUE(result) << result.error().to_string();
  const runtime::ValueList& fields = *result->tuple();
  EXPECT_EQ(*fields[0].prim(), (Prim{DType::kI64, 5}));
  EXPECT_EQ(*fields[1].prim(), (Prim{DType::kBool, 1}));
  EXPECT_EQ(*fields[2].shape(), (Shape{4}));
  auto wrong = p.call({p.tensor(f32({1}, {1})), p.tensor(f32({1}, {1}))});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().expected, "a scalar of i64");
}

TEST(ControlFlow, ResultsAreCheckedAndSolved) {
  // The signature (n + 1, n // 2), enforced by run-time checks only.
  Program p(R"(
def main(x: Tensor((n + 1, n//2), f32), s: Shape(ndim=2)) -> Shape((n, n//2)) {
  return s
}
)");
  Value x = p.tensor(f32({6, 2}, std::vector<float>(12, 1)));
  auto good = p.call({x, Shape{5, 2}});
  ASSERT_TRUE(good) << good.error().to_string();
  auto wrong = p.call({x, Shape{5, 3}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "dimension 1 of result of main is 3, not n//2 = 2");
  auto shape = p.call({p.tensor(f32({6, 3}, std::vector<float>(18, 1))), Shape{5, 2}});
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().message, "dimension 1 of parameter x of main is 3, not n//2 = 2");
  EXPECT_FALSE(p.call({p.tensor(f32({0, 0}, {})), Shape{5, 2}}));
}

TEST(ControlFlow, DataDependentShapesInLoops) {
  // Removes the zeros from x, k times.
  Program p(R"(
def main(x: Tensor((n,), f32), k0: Prim(i64, k)) -> Tensor(ndim=1, f32) {
  r: Tensor(ndim=1, f32) = @loop(x, prim(k))
  return r
}
def loop(x: Tensor((n,), f32), k0: Prim(i64, k)) -> Tensor(ndim=1, f32) {
  r: Tensor(ndim=1, f32) = if (prim(0 < k)) {
    u: Tuple(Tensor(ndim=1, f32), Tensor((n,), i32), Tensor(ndim=1, i32)) = unique(x)
    v: Tensor(ndim=1, f32) = u[0]
    h: Tensor(ndim=1, f32) = multiply(v, const(f32, (1,), [0.5]))
    w: Tensor(ndim=1, f32) = floor(h)
    t: Tensor(ndim=1, f32) = @loop(w, prim(k - 1))
    yield t
  } else {
    yield x
  }
  return r
}
)");
  EXPECT_EQ(p.numbers({p.tensor(f32({6}, {8, 1, 3, 8, 2, 9})), Prim{DType::kI64, 2}}),
            (Numbers{0, 0, 2}));
}

TEST(ControlFlow, DimensionsBroadcastAsTheyComeIn) {
  Program p(R"(
def main(x: Tensor((n,), f32), y: Tensor((k,), f32)) -> Tensor(ndim=1, f32) {
  dataflow {
    a: Tensor((n,), f32) = add(x, x)
    b: Tensor((n,), f32) = negative(a)
    z: Tensor(ndim=1, f32) = multiply(b, y)
    w: Tensor(ndim=1, f32) = negative(z)
    output w
  }
  return w
}
)");
  Value three = p.tensor(f32({3}, {1, 2, 3})), one = p.tensor(f32({1}, {10}));
  EXPECT_EQ(p.numbers({three, three}), (Numbers{2, 8, 18}));
  EXPECT_EQ(p.numbers({three, one}), (Numbers{20, 40, 60}));
  EXPECT_EQ(p.numbers({one, three}), (Numbers{20, 40, 60}));
  auto wrong = p.call({three, p.tensor(f32({2}, {1, 2}))});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kUser);
  EXPECT_EQ(wrong.error().message,
            "dimension 0 of operand a of multiply in binding z of main is 3, not 1 or k = 2");
  EXPECT_EQ(wrong.error().expected, "1 or k = 2 (k = 2 is dimension 0 of parameter y)");
}

TEST(ControlFlow, ErrorsHaveABacktrace) {
  Program p(R"(
def main(x: Tensor((n,), f32), s: Shape(ndim=1)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @inner(x, s) @origin("layers.7")
  z: Tensor((n,), f32) = add(y, x)
  return z
}
def inner(x: Tensor((n,), f32), s: Shape((n,))) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = negative(x)
  return y
}
)");
  auto result = p.call({p.tensor(f32({2}, {1, 2})), Shape{3}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "dimension 0 of parameter s of inner is 3, not n = 2");
  EXPECT_EQ(result.error().where,
            "parameter s of inner, dimension 0\n"
            "    in @inner(x: a tensor f32[2], s: a shape [3])\n"
            "    called from @main(x: a tensor f32[2], s: a shape [3]), binding y (layers.7)");
}

}  // namespace
}  // namespace tapml
