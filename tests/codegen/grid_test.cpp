// Grids of several dimensions and shared buffers whose size the launcher computes: the emitted
// code, and what devices compute, locally and behind the protocol.
#include <gtest/gtest.h>

#include "codegen/lower/check_program.h"
#include "device_kernels.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

// y[c, i, j] is the row x[i, j], reversed in shared memory, times c + 1.
constexpr const char* kReversedRows = R"(
prim def k(x: Buffer((a, b, n), f32), out y: Buffer((2, a, b, n), f32), a: i64, b: i64, n: i64)
    {workgroup_threads: 32} {
  for i in workgroup(a) {
    for j in workgroup(b) {
      for c in workgroup(2) {
        alloc row: Buffer((n,), f32, shared)
        alloc last: Buffer((n, 2), i32, shared)
        for t in thread(32) {
          for s in serial((n + 31)//32) {
            if s*32 + t < n {
              row[s*32 + t] = x[i, j, s*32 + t]
              last[s*32 + t, 1] = cast(i32, n - 1 - (s*32 + t))
            }
          }
          barrier
          for s in serial((n + 31)//32) {
            if s*32 + t < n {
              y[c, i, j, s*32 + t] = row[cast(i64, last[s*32 + t, 1])]*cast(f32, c + 1)
            }
          }
        }
      }
    }
  }
}
)";

tir::PrimFuncRef program(const std::string& source) {
  const Module module = text::parse(source, "test");
  return std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

std::string emitted(const std::string& source, const std::string& text) {
  const target::Target target = target::parse_target(text);
  codegen::DeviceFunc launch = codegen::lower_prim_func(*program(source), "kernel").launches.at(0);
  if (target.description.index_bits == 32) codegen::narrow_index(launch, true, "kernel", true);
  return codegen::generator_of(target).source_text({launch}, target);
}

void expect_parts(const std::string& source, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(source.find(part), std::string::npos) << part << " is not in:\n" << source;
  }
}

TEST(GridText, EachLanguageStridesOverEachDimension) {
  expect_parts(emitted(kReversedRows, "opencl"),
               {"__local float* restrict row_0, __local int* restrict last_0) {",
                "= get_group_id(0);", "+= get_num_groups(0))",
                "for (long j_0 = get_group_id(1); j_0 < (b_0); j_0 += get_num_groups(1))",
                "for (long c_0 = get_group_id(2); c_0 < (2L); c_0 += get_num_groups(2))"});
  expect_parts(
      emitted(kReversedRows, "vulkan"),
      {"layout(constant_id = 1000) const int row_0_size = 1;", "shared float row_0[row_0_size];",
       "layout(constant_id = 1001) const int last_0_size = 1;", "= gl_WorkGroupID.x;",
       "for (uint at_j_0 = gl_WorkGroupID.y; at_j_0 < uint(b_0); at_j_0 += "
       "gl_NumWorkGroups.y)",
       "gl_WorkGroupID.z"});
}

TEST(GridText, TheLauncherKnowsTheSizes) {
  const tir::PrimFuncRef func = program(kReversedRows);
  const LaunchInfo info = codegen::describe_launch(
      codegen::lower_prim_func(*func, "kernel").launches.at(0), func->scalars);
  const std::vector<int64_t> sizes = {5, 7, 100};
  EXPECT_EQ(*evaluate(info.extent, sizes), 5 * 32);
  ASSERT_EQ(info.grid.size(), 2u);
  EXPECT_EQ(*evaluate(info.grid[0], sizes), 7);
  EXPECT_EQ(*evaluate(info.grid[1], sizes), 2);
  ASSERT_EQ(info.shared.size(), 2u);
  EXPECT_EQ(*evaluate(info.shared[0].elements, sizes), 100);
  EXPECT_EQ(*evaluate(info.shared[1].elements, sizes), 200);
  EXPECT_EQ(info.shared[1].element_bytes, 4);
}

struct Place {
  const char* platform;
  bool remote;
};

class GridOn : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    const std::string platform = GetParam().platform;
    if (GetParam().remote) {
      auto device = open_device(platform);
      if (!device) GTEST_SKIP() << platform << " is unavailable";
      server_ = std::make_unique<MemoryServer>(device);
      kernels_ = std::make_unique<DeviceKernels>(platform, server_->connect());
    } else {
      kernels_ = std::make_unique<DeviceKernels>(platform);
    }
    if (!kernels_->available()) GTEST_SKIP() << platform << " is unavailable";
  }

  void TearDown() override {
    kernels_.reset();
    server_.reset();
  }

  std::unique_ptr<MemoryServer> server_;
  std::unique_ptr<DeviceKernels> kernels_;
};

// Sizes: none, one, several pipelines for one kernel, a row as wide as a model's (16 KiB of shared
// memory), and more groups in the second dimension than a device has.
TEST_P(GridOn, RowsAreReversedAtEverySize) {
  std::string source = kReversedRows;
  kernels_->add_scheduled(*program(source));
  kernels_->load();
  const std::vector<std::vector<int64_t>> all = {{0, 3, 8},    {3, 0, 8},    {1, 1, 1},
                                                 {3, 5, 31},   {2, 3, 33},   {4, 1, 256},
                                                 {1, 2, 1024}, {1, 70000, 1}};
  for (const std::vector<int64_t>& sizes : all) {
    const int64_t a = sizes[0], b = sizes[1], n = sizes[2];
    SCOPED_TRACE(std::to_string(a) + " x " + std::to_string(b) + " x " + std::to_string(n));
    HostTensor x = HostTensor::zeros(DType::kF32, {a, b, n});
    auto values = x.mutable_values<float>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) + 0.5F;
    HostTensor y = HostTensor::zeros(DType::kF32, {2, a, b, n});
    std::vector<HostTensor> arguments = {x, y};
    kernels_->run(0, arguments, sizes);
    if (HasFatalFailure()) return;
    const auto found = arguments[1].values<float>();
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t row = 0; row < a * b; ++row) {
        for (int64_t i = 0; i < n; ++i) {
          const float expected =
              values[static_cast<size_t>(row * n + n - 1 - i)] * static_cast<float>(c + 1);
          ASSERT_EQ(found[static_cast<size_t>((c * a * b + row) * n + i)], expected)
              << c << " " << row << " " << i;
        }
      }
    }
  }
}

TEST_P(GridOn, MoreSharedMemoryThanTheDeviceHasIsRefused) {
  kernels_->add_scheduled(*program(kReversedRows));
  kernels_->load();
  const int64_t n = int64_t{1} << 22;
  const std::vector<HostTensor> arguments = {HostTensor::zeros(DType::kF32, {1, 1, n}),
                                             HostTensor::zeros(DType::kF32, {2, 1, 1, n})};
  std::vector<runtime::Tensor> tensors;
  for (const HostTensor& argument : arguments) {
    auto storage =
        runtime::Storage::allocate(kernels_->session(), static_cast<int64_t>(argument.byte_size()));
    ASSERT_TRUE(storage);
    tensors.push_back({*storage, 0, argument.dtype(), argument.shape()});
  }
  const std::vector<int64_t> scalars = {1, 1, n};
  const Status status = kernels_->runner().enqueue(0, tensors, scalars);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit);
  EXPECT_NE(status.error().message.find("4194304 elements"), std::string::npos)
      << status.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(Platforms, GridOn,
                         ::testing::Values(Place{"opencl", false}, Place{"opencl", true},
                                           Place{"vulkan", false}, Place{"vulkan", true}),
                         [](const auto& each) {
                           return std::string(each.param.platform) +
                                  (each.param.remote ? "_remote" : "");
                         });

TEST(GridText, APlatformWithoutWorkGroupsRefusesIt) {
  const target::Target target = target::parse_target("cpu");
  expect_user_error(
      [&] { codegen::check_program(*program(kReversedRows), target.description, "kernel k"); },
      {"work-group loop over i: the target has no work groups"});
}

}  // namespace
}  // namespace tapml::testing
