// Every operator of the table, in every dtype that it claims, static and dynamic, through the whole
// pipeline on every platform, against the reference. TAPML_WALK=full draws the full cross product
// (`make test-ops`; for targets with options, which affect shapes, in two dtypes); otherwise f32
// and one narrow dtype of each operator. With TAPML_REMOTE_TARGET (support/remote_target.h) that
// target is the only platform.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "support/generated_program.h"
#include "support/refusals.h"
#include "support/remote_target.h"

namespace tapml::testing {
namespace {

bool is_full() {
  const char* mode = std::getenv("TAPML_WALK");
  return mode && std::string(mode) == "full";
}

// Sizes 1, around the tiles of schedules, and 0.
const std::vector<std::vector<int64_t>> kExtents = {
    {1, 2, 3, 5, 8}, {15, 16, 17, 4}, {0, 1, 7}, {31, 33, 64, 2}, {1}, {127, 129, 3}};

// Sizes that dynamic forms are called with in addition to the drawn ones.
const std::vector<std::vector<int64_t>> kOtherExtents = {{0, 2}, {1}, {17, 3, 1, 2}, {2, 33, 4}};

// A different number for each operator.
size_t number_of(const op::OperatorInfo& info) {
  size_t sum = 0;
  for (const char* c = info.name; *c; ++c) sum = sum * 31 + static_cast<unsigned char>(*c);
  return sum;
}

// f32 (or the first dtype) and a narrow one that varies by operator, or any other if there is none.
std::vector<DType> two_dtypes_of(const op::OperatorInfo& info) {
  const std::vector<DType>& all = info.generator.dtypes;
  if (all.size() <= 2) return all;
  auto f32 = std::find(all.begin(), all.end(), DType::kF32);
  const DType wide = f32 == all.end() ? all[0] : *f32;
  std::vector<DType> narrow, others;
  for (DType dtype : all) {
    if (dtype == wide) continue;
    (dtype != DType::kBool && dtype_bytes(dtype) < 4 ? narrow : others).push_back(dtype);
  }
  const std::vector<DType>& from = narrow.empty() ? others : narrow;
  return {wide, from[number_of(info) % from.size()]};
}

bool is_empty(const op::GeneratedCall& call) {
  for (const op::GeneratedArg& arg : call.args) {
    for (const op::GeneratedTensor& tensor : arg.tensors) {
      if (element_count(tensor.shape) == 0) return true;
    }
  }
  return false;
}

// Whether the ranges of its elements stay valid for other extents: pages of a table would not be
// pages of the pool.
bool is_free(const op::GeneratedCall& call) {
  for (const op::GeneratedArg& arg : call.args) {
    for (const op::GeneratedTensor& tensor : arg.tensors) {
      if (tensor.order == op::GeneratedTensor::Order::kDistinct) return false;
    }
  }
  return true;
}

// A convolution whose filter is about as large as its image: every element of the one meets every
// element of the other, which takes too long.
bool is_endless(const op::OperatorInfo& info, const op::GeneratedCall& call) {
  constexpr int64_t kMostProducts = 1 << 20;
  if (!std::string_view(info.name).starts_with("conv")) return false;
  auto elements = [&](size_t arg) { return element_count(call.args.at(arg).tensors.at(0).shape); };
  return elements(0) * elements(1) > kMostProducts;
}

struct Walk {
  Module module;
  std::vector<GeneratedProgram> programs;
  int dynamic = 0;
};

// Calls of one operator; a failure if a dtype that it claims has none. `brief`: one call per dtype,
// and one of constant sizes that vary by operator; `has_options`: in fewer dtypes, since narrow
// indices and schedules concern shapes.
Walk walk(const op::OperatorInfo& info, bool brief, bool has_options) {
  Walk result;
  std::vector<DType> dtypes =
      is_full() && !has_options ? info.generator.dtypes : two_dtypes_of(info);
  const bool one_dtype = brief && has_options;
  if (one_dtype) dtypes.resize(1);
  for (DType dtype : dtypes) {
    int calls = 0;
    const bool first = dtype == dtypes[0];
    const size_t draws = is_full() ? kExtents.size() : !brief ? 3 : first && !one_dtype ? 2 : 1;
    for (size_t i = 0; i < draws; ++i) {
      const bool is_constant = brief && i == 1;
      // Other sizes for each dtype.
      const size_t draw = is_constant ? 1 + number_of(info) % (kExtents.size() - 1)
                          : brief     ? (first ? 0 : 1)
                                      : i;
      RandomStream rng(draw, std::string(info.name) + "." + dtype_name(dtype));
      op::GeneratedCall call;
      bool valid = false;
      // Of the sizes with 0, a call that has one, if the operator allows it.
      const bool none = kExtents[draw][0] == 0;
      for (int attempt = 0; attempt < 50 && !(valid && (!none || is_empty(call))); ++attempt) {
        op::GeneratedCall next;
        if (!op::generate_call(info, dtype, kExtents[draw], rng, next)) continue;
        valid = true;
        call = std::move(next);
      }
      if (!valid) continue;
      ++calls;
      std::vector<HostTensor> arguments = random_arguments(call, rng);
      auto add = [&](DimForm form) {
        std::string name = "f" + std::to_string(result.programs.size());
        if (!add_generated(result.module, name, info, call, form)) return false;
        result.programs.push_back(
            {name, describe(info, call) + (form == DimForm::kStatic ? "" : " dynamic"), arguments});
        if (form == DimForm::kStatic) return true;
        ++result.dynamic;
        if (!is_free(call)) return true;
        for (const std::vector<int64_t>& extents : kOtherExtents) {
          const op::GeneratedCall other = resized(call, form, extents);
          if (is_endless(info, other)) continue;
          result.programs.push_back(
              {name, describe(info, other) + " dynamic", random_arguments(other, rng), true});
        }
        return true;
      };
      // Dynamic forms are called with all these sizes; half the draws vary their attributes enough.
      const bool may_vary = !is_constant && !(is_full() && i >= kExtents.size() / 2);
      bool dynamic = may_vary && (add(DimForm::kSymbolic) || add(DimForm::kFirst));
      if (!dynamic || !brief) add(DimForm::kStatic);
    }
    EXPECT_GT(calls, 0) << "no call of " << info.name << " in " << dtype_name(dtype);
  }
  return result;
}

using Case = std::tuple<const char*, const op::OperatorInfo*>;

class EveryOperator : public ::testing::TestWithParam<Case> {};

TEST_P(EveryOperator, AgreesWithTheReference) {
  const auto& [platform, info] = GetParam();
  target::Target target = target::parse_target(platform);
  std::unique_ptr<runtime::Session> session;
  if (target.endpoint.empty()) {
    session = open_session(platform);
  } else {
    session = open_remote_target(target);
  }
  if (!session) GTEST_SKIP() << platform << " is unavailable";
  // GPU drivers are slow for every kernel, and WebAssembly starts a process.
  bool brief = !is_full() && target.description.platform != "cpu";
  const bool has_options = std::string(platform).find(':') != std::string::npos;
  Walk cases = walk(*info, brief, has_options);
  if (!info->generator.ranks.empty() && !brief) {
    EXPECT_GT(cases.dynamic, 0) << "no dynamic form";
  }
  auto executable = compile_supported(cases.module, target);
  std::erase_if(cases.programs, [&](const GeneratedProgram& program) {
    if (cases.module.functions.contains(program.function)) return false;
    EXPECT_NE(program.text.find("f64"), std::string::npos) << "refused: " << program.text;
    return true;
  });
  if (std::string(platform).ends_with("schedule=fallback")) {
    for (const Implementation& one : executable->implementations) {
      EXPECT_EQ(one.provider, "schedule:fallback") << executable->kernels[one.kernel].name;
    }
  }
  expect_matches_reference(*session, executable, cases.module, cases.programs);
}

std::vector<const char*> walked_platforms() {
  static const std::string kElsewhere = remote_target();
  if (!kElsewhere.empty()) return {kElsewhere.c_str()};
  std::vector<const char*> platforms = {"cpu",    "opencl", "opencl:index=32",
                                        "vulkan", "wasm",   "vulkan:schedule=fallback"};
  if (is_full()) platforms.push_back("opencl:schedule=fallback");
  return platforms;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const std::string platform = std::get<0>(info.param);
  return (platform == remote_target() ? "elsewhere" : target_test_name(platform)) + "_" +
         std::get<1>(info.param)->name;
}

INSTANTIATE_TEST_SUITE_P(Platforms, EveryOperator,
                         ::testing::Combine(::testing::ValuesIn(walked_platforms()),
                                            ::testing::ValuesIn(op::operator_table().begin(),
                                                                op::operator_table().end())),
                         case_name);

}  // namespace
}  // namespace tapml::testing
