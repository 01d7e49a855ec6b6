// Scheduled programs split into workspaces and launches.
#include <gtest/gtest.h>

#include "codegen/lower/device_func.h"
#include "codegen/lower/segment_tensors.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::codegen {
namespace {

LoweredKernel lower(const std::string& source) {
  Module module = text::parse(source, "test");
  return lower_prim_func(*tir::as_prim_func(module.find("k")), "k");
}

using Indices = std::vector<int32_t>;

TEST(LowerPrimFunc, CutsLaunchesAndLiftsWorkspaces) {
  LoweredKernel lowered = lower(R"(
prim def k(x: Buffer((n, m), f32), w: Buffer((m,), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  alloc a: Buffer((n,), f32)
  alloc b: Buffer((m + 1,), f32)
  for i in parallel(n) {
    a[i] = x[i, 0] + w[0]
  }
  for j in parallel(m + 1) {
    b[j] = f32(1.0)
  }
  for i in parallel(n) {
    y[i] = a[i] + b[0]
  }
}
)");
  ASSERT_EQ(lowered.workspaces.size(), 2u);
  EXPECT_EQ(lowered.workspaces[0]->name, "a");
  EXPECT_EQ(to_string(lowered.workspaces[1]->shape[0]), "m + 1");
  ASSERT_EQ(lowered.launches.size(), 3u);
  EXPECT_EQ(lowered.launches[0].entry, "k_0");
  EXPECT_EQ(lowered.launches[2].entry, "k_2");
  EXPECT_EQ(to_string(lowered.launches[1].extent), "m + 1");
  // Parameters x, w and y are 0, 1 and 2, the workspaces 3 and 4; a launch gets only the buffers
  // that it uses.
  EXPECT_EQ(lowered.launches[0].buffer_indices, (Indices{0, 1, 3}));
  EXPECT_EQ(lowered.launches[1].buffer_indices, (Indices{4}));
  EXPECT_EQ(lowered.launches[2].buffer_indices, (Indices{2, 3, 4}));
  EXPECT_EQ(lowered.launches[0].buffers[2].mode, AccessMode::kWorkspace);
  // n and m: m is also the stride of x.
  EXPECT_EQ(lowered.launches[0].scalar_indices, (Indices{0, 1}));
  EXPECT_EQ(lowered.launches[1].scalar_indices, (Indices{1}));
  EXPECT_FALSE(lowered.launches[0].thread);
}

TEST(LowerPrimFunc, OpensBlocksAndSimplifies) {
  LoweredKernel lowered = lower(R"(
prim def k(x: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
    for r in serial(8) {
      block "sum" (vi: spatial(n) = i, vr: reduce(8) = r) {
        where i < n
        reads x[vi, vr]
        writes y[vi]
        init {
          y[vi] = f32(0.0)
        }
        y[vi] = y[vi] + x[vi, vr // 8 + vr]
      }
    }
  }
}
)");
  ASSERT_EQ(lowered.launches.size(), 1u);
  // The predicate is always true, and r // 8 is 0.
  EXPECT_EQ(text::print(lowered.launches[0].body), R"(for r in serial(8) {
  if r == 0 {
    y[i] = f32(0.0)
  }
  y[i] = y[i] + x[i, r]
})");
}

// An index that the loops' ranges determine selects its segment at compile time: languages reject a
// constant index in front of the others.
TEST(LowerPrimFunc, ConstantRowsPickTheirSegment) {
  Module module = text::parse(R"(
prim def k(x: Buffer((n, 4), f32), out y: Buffer((1,), f32), n: i64) {
  for i in parallel(1) {
    y[i] = x[i + 7, 3] + (let r: i64 = i + 40 in x[r, r - 39])
  }
}
)",
                              "test");
  Limits limits;
  limits.max_binding_bytes = 16 * 16;
  const SegmentedFunc parts = segment_tensors(*tir::as_prim_func(module.find("k")), limits, true);
  ASSERT_EQ(parts.segments.size(), 4u);
  const LoweredKernel lowered = lower_prim_func(*parts.func, "k");
  ASSERT_EQ(lowered.launches.size(), 1u);
  const std::string body = text::print(lowered.launches[0].body);
  EXPECT_NE(body.find("x_part0[7, 3]"), std::string::npos) << body;
  EXPECT_NE(body.find("x_part2[8, 1]"), std::string::npos) << body;
  EXPECT_EQ(body.find("x_part1"), std::string::npos) << body;
  EXPECT_EQ(body.find("x_part3"), std::string::npos) << body;
}

TEST(LowerPrimFunc, EmptyBodiesMakeNoLaunch) {
  LoweredKernel lowered = lower(R"(
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
    for j in serial(0) {
      y[i] = x[j]
    }
  }
  for j in serial(n) {
    y[j] = f32(2.0)
  }
  y[0] = f32(1.0)
}
)");
  // A serial nest and a single statement are one item each.
  ASSERT_EQ(lowered.launches.size(), 2u);
  EXPECT_TRUE(lowered.launches[0].extent.is_int(1));
  EXPECT_TRUE(lowered.launches[1].extent.is_int(1));
}

TEST(LowerPrimFunc, WorkGroups) {
  LoweredKernel lowered = lower(R"(
prim def k(out y: Buffer((n,), f32), n: i64) {workgroup_threads: 16} {
  for g in workgroup((n + 15)//16) {
    for t in thread(16) {
      if g*16 + t < n {
        y[g*16 + t] = f32(1.0)
      }
    }
  }
}
)");
  ASSERT_EQ(lowered.launches.size(), 1u);
  EXPECT_EQ(lowered.launches[0].workgroup_threads, 16);
  EXPECT_TRUE(lowered.launches[0].thread);
  EXPECT_EQ(to_string(lowered.launches[0].extent), "(n + 15)//16");
}

TEST(LowerPrimFunc, AWorkspaceInsideALoopIsRefused) {
  try {
    lower(R"(
prim def k(out y: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
    alloc t: Buffer((n,), f32)
    t[i] = f32(1.0)
    y[i] = t[i]
  }
}
)");
    FAIL() << "accepted";
  } catch (const CompilerException& error) {
    EXPECT_EQ(error.error().kind, ErrorKind::kInternal);
    EXPECT_NE(error.error().message.find("workspace t"), std::string::npos);
  }
}

}  // namespace
}  // namespace tapml::codegen
