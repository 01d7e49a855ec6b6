#include "llm/sampler.h"

#include <sstream>

#include "base/rng.h"

namespace tapml::llm {

namespace {

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

Status check_sampler_options(const SamplerOptions& options) {
  // Written so that NaN fails too.
  if (!(options.temperature >= 0 && options.temperature <= 1e6)) {
    return fail(user_error("the temperature is out of range", "temperature", "a number from 0",
                           number_text(options.temperature)));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return fail(user_error("top-p is out of range", "top-p", "a number above 0, at most 1",
                           number_text(options.top_p)));
  }
  if (options.temperature > 0) {
    return fail(user_error("random sampling is not supported", "temperature",
                           "0, which takes the likeliest token", number_text(options.temperature)));
  }
  return {};
}

HostTensor sampler_parameters(const SamplerOptions& options, int64_t batch) {
  HostTensor parameters = HostTensor::zeros(DType::kF32, {batch, 2});
  for (int64_t i = 0; i < batch; ++i) {
    parameters.set_f64(2 * i, options.temperature);
    parameters.set_f64(2 * i + 1, options.top_p);
  }
  return parameters;
}

HostTensor sampler_state(const SamplerOptions& options) {
  const PhiloxKey key = philox_key(options.seed, "sample");
  HostTensor state = HostTensor::zeros(DType::kI64, {2});
  state.mutable_values<int64_t>()[0] =
      static_cast<int64_t>(uint64_t{key[0]} | uint64_t{key[1]} << 32);
  return state;
}

}  // namespace tapml::llm
