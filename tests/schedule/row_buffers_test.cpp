// The placement of intermediates in row programs, and that it does not change values.
#include <gtest/gtest.h>

#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "support/dtypes.h"
#include "support/kernel_program.h"
#include "tir/visit.h"

namespace tapml::testing {
namespace {

int workspaces(const tir::PrimFunc& func) {
  int count = 0;
  tir::visit(func.body, [&](const tir::Stmt& stmt) {
    if (stmt->kind != tir::StmtKind::kAlloc) return;
    count += tir::as<tir::AllocNode>(stmt).buffer->scope == tir::Scope::kGlobal ? 1 : 0;
  });
  return count;
}

struct Case {
  KernelProgram kernel;
  int workspaces;  // of the scheduled program
};

KernelProgram unary(const char* op, Dims shape, DType dtype, std::vector<Sizes> sizes,
                    AttrMap attrs = {}) {
  KernelMaker maker(std::string(op) + "_" + dtype_name(dtype));
  maker.op(op, {maker.param(std::move(shape), dtype)}, std::move(attrs));
  return maker.single(std::move(sizes));
}

TEST(RowBuffers, RowsAreKeptInTheOutputOrLocally) {
  Var n = make_var("n"), m = make_var("m");
  std::vector<Sizes> sizes = {{{"n", 0}, {"m", 3}}, {{"n", 2}, {"m", 1}}, {{"n", 3}, {"m", 70}}};
  std::vector<Case> cases;
  // The exponentials use the output's storage; peak and total are one number per row.
  cases.push_back({unary("softmax", {n, m}, kF32, sizes), 0});
  cases.push_back({unary("softmax", {n, 40}, kF32, {{{"n", 3}}}), 0});
  cases.push_back({unary("softmax", {n, 5, 9}, kF32, {{{"n", 2}}}, {{"axis", int64_t{1}}}), 0});
  // A narrow output cannot hold them; a short row is local, a long or unknown one is not.
  cases.push_back({unary("softmax", {n, 40}, DType::kBF16, {{{"n", 3}}}), 0});
  cases.push_back({unary("softmax", {n, m}, DType::kF16, sizes), 1});
  cases.push_back({unary("softmax", {n, 9000}, DType::kF16, {{{"n", 1}}}), 1});
  cases.push_back({unary("log_softmax", {n, m}, kF32, sizes), 0});
  target::Target cpu = target::parse_target("cpu");
  for (const Case& test : cases) {
    schedule::Scheduled scheduled = schedule::schedule_for(*test.kernel.func, cpu);
    EXPECT_EQ(scheduled.rule, "cpu_rows") << test.kernel.name;
    EXPECT_EQ(workspaces(*scheduled.func), test.workspaces) << test.kernel.name;
    tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
    for (const Sizes& at : test.kernel.sizes) {
      SCOPED_TRACE(test.kernel.label(at));
      std::vector<HostTensor> arguments = test.kernel.arguments(at);
      std::vector<op::RefTensor> expected = test.kernel.expected(arguments, at);
      interp::run_prim_func(*loops, arguments, test.kernel.scalars(at));
      expect_within_bounds(test.kernel, at, arguments, expected);
    }
  }
}

}  // namespace
}  // namespace tapml::testing
