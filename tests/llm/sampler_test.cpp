#include "llm/sampler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "support/expect_error.h"

namespace tapml::llm {
namespace {

TEST(Sampler, ParametersOfEverySequence) {
  HostTensor parameters = sampler_parameters({.temperature = 0, .top_p = 0.5}, 2);
  EXPECT_EQ(parameters.dtype(), DType::kF32);
  EXPECT_EQ(parameters.shape(), (Shape{2, 2}));
  for (int64_t i : {0, 1}) {
    EXPECT_EQ(parameters.at_f64(2 * i), 0);
    EXPECT_EQ(parameters.at_f64(2 * i + 1), 0.5);
  }
}

TEST(Sampler, StateIsKeyAndCounter) {
  HostTensor state = sampler_state({.seed = 7});
  ASSERT_EQ(state.dtype(), DType::kI64);
  ASSERT_EQ(state.shape(), Shape{2});
  PhiloxKey key = philox_key(7, "sample");
  auto bits = static_cast<uint64_t>(state.values<int64_t>()[0]);
  EXPECT_EQ(static_cast<uint32_t>(bits), key[0]);
  EXPECT_EQ(static_cast<uint32_t>(bits >> 32), key[1]);
  EXPECT_EQ(state.values<int64_t>()[1], 0);
  EXPECT_NE(sampler_state({.seed = 8}).values<int64_t>()[0], state.values<int64_t>()[0]);
}

TEST(Sampler, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(check_sampler_options({}));
  auto refuses = [](const SamplerOptions& options, const std::vector<std::string>& parts) {
    Status status = check_sampler_options(options);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kUser);
    testing::expect_parts(status.error(), parts);
  };
  refuses({.temperature = -1}, {"temperature", "-1"});
  refuses({.temperature = NAN}, {"temperature", "nan"});
  refuses({.temperature = INFINITY}, {"temperature", "inf"});
  refuses({.temperature = 0.7}, {"random sampling is not supported", "0.7"});
  refuses({.top_p = 0}, {"top-p", "above 0"});
  refuses({.top_p = 1.5}, {"top-p", "1.5"});
  refuses({.top_p = NAN}, {"top-p", "nan"});
}

}  // namespace
}  // namespace tapml::llm
