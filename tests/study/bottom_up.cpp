#include "study/bottom_up.h"

#include <cmath>

#include "topdown/runner/call_runner.h"
#include "topdown/suite/select_calls.h"

namespace tapml::study {

using namespace topdown;  // NOLINT: this is about topdown alone

namespace {

constexpr double kRelative = 1e-2, kAbsolute = 1e-2;

// Whether all elements of `b` are within the tolerance around `a`'s.
bool all_close(const HostTensor& a, const HostTensor& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at_f64(i), y = b.at_f64(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    if (!(std::abs(y - x) <= kAbsolute + kRelative * std::abs(x))) return false;
  }
  return true;
}

// A call of the suite with random inputs: standard normal floats; integers 0 or 1, which are valid
// indices of every table.
Suite random_call(const Setting& setting, size_t call) {
  Suite one = one_call(setting.suite(), call);
  RandomStream random = setting.random("bottom-up " + std::to_string(call));
  for (std::string& hash : one.calls[0].before) {
    if (hash.empty()) continue;
    const HostTensor& carved = one.tensors.at(hash);
    HostTensor tensor = HostTensor::zeros(carved.dtype(), carved.shape());
    for (int64_t e = 0; e < tensor.size(); ++e) {
      const double normal =
          std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * M_PI * random.unit());
      tensor.set_f64(e,
                     is_float(tensor.dtype()) ? normal : static_cast<double>(random.between(0, 1)));
    }
    hash = content_hash(tensor);
    one.tensors.insert_or_assign(hash, std::move(tensor));
  }
  return one;
}

}  // namespace

std::set<std::string> bottom_up(Setting& setting, const std::vector<Bug>& bugs) {
  const Suite& suite = setting.suite();
  Sandbox sandbox(with_session_faults(setting.target(), session_faults_of(bugs)));
  Sandbox reference(setting.source());
  sandbox.load(setting.target_executable(rewrite_of(bugs)));
  reference.load(setting.source_executable());
  std::set<std::string> failed, seen;
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    const std::string& name = suite.kernels[static_cast<size_t>(suite.calls[c].kernel)].name;
    if (!seen.insert(name).second) continue;
    const Suite one = random_call(setting, c);
    auto expected = run_call(one, 0, reference.runner());
    if (!expected) {
      // This call cannot be tested this way.
      if (reference.contains(expected.error())) reference.restart();
      continue;
    }
    auto outputs = run_call(one, 0, sandbox.runner());
    if (!outputs) {
      if (sandbox.contains(outputs.error())) sandbox.restart();
      failed.insert(name);
      continue;
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      if (!all_close((*expected)[i], (*outputs)[i])) failed.insert(name);
    }
  }
  return failed;
}

}  // namespace tapml::study
