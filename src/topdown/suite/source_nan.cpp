#include "topdown/suite/source_nan.h"

#include "base/strings.h"

namespace tapml::topdown {

std::string source_nan_text(const SourceNaN& nan) {
  const std::string inputs = join(nan.inputs);
  return "NaN in the source's own run: " + nan.kernel +
         (nan.origin.layers.empty() ? "" : " (" + layers_summary(nan.origin) + ")") + ", call " +
         std::to_string(nan.sequence) + ", output " + nan.output + ", from " +
         (inputs.empty() ? "inputs without NaN" : "NaN in its input " + inputs) + "; " +
         std::to_string(nan.calls) + (nan.calls == 1 ? " call has" : " calls have") +
         " NaN in an output. Tests after it prove little: correct the model or its input, and run "
         "this again";
}

}  // namespace tapml::topdown
