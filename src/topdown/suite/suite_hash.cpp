#include "topdown/suite/suite_hash.h"

#include "topdown/suite/field_digest.h"

namespace tapml::topdown {

std::string suite_hash(const Suite& suite) {
  FieldDigest digest;
  for (const SuiteKernel& kernel : suite.kernels) {
    digest.text(kernel.name);
    digest.text(kernel.spec);
  }
  digest.number(std::ssize(suite.calls));
  for (const SuiteCall& call : suite.calls) {
    digest.number(call.kernel);
    digest.text(call.function);
    for (int64_t scalar : call.scalars) digest.number(scalar);
    for (const auto* hashes : {&call.before, &call.after}) {
      for (const std::string& hash : *hashes) digest.text(hash);
    }
  }
  return digest.hex();
}

std::string weights_hash(const std::map<std::string, HostTensor>& weights) {
  FieldDigest digest;
  for (const auto& [name, tensor] : weights) {
    digest.text(name);
    digest.text(dtype_name(tensor.dtype()));
    for (int64_t extent : tensor.shape()) digest.number(extent);
    digest.bytes(tensor.bytes());
  }
  return digest.hex();
}

}  // namespace tapml::topdown
