// Selects kernels by name, by the beginning of a name, or by a pattern with * and ?.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

std::vector<std::string> kernel_names(const Suite& suite);
std::vector<std::string> kernel_names(const Module& fixed);

// `<ops>` of `<ops>_<8 hex>`; the whole name if it has no hash.
std::string_view operators_in(std::string_view kernel);

// Whether `wanted` may mean this kernel: its name, the beginning of its name, or a matching
// pattern.
bool means_kernel(std::string_view wanted, std::string_view kernel);
// Those of `names` that `wanted` means, in their order: the one with exactly this name, else all
// that means_kernel() accepts.
std::vector<std::string> kernels_meant(const std::vector<std::string>& names,
                                       std::string_view wanted);

// The context of a request for a kernel, for messages.
struct KernelQuestion {
  std::string where;  // the option with its value, or the parameter
  std::string owner;  // the owner of the names: "the suite"
};
// The one kernel that `wanted` means. UserError with similar names if it means none, and with the
// matches if it means several.
std::string find_kernel(const std::vector<std::string>& names, const std::string& wanted,
                        const KernelQuestion& asked);
// The kernels that `wanted` means, at least one. UserError if there is none.
std::vector<std::string> find_kernels(const std::vector<std::string>& names,
                                      const std::string& wanted, const KernelQuestion& asked);

// "did you mean 'a' or 'b'?": up to three names similar to an unknown one, with the same operators
// and another hash, or a few letters apart. Empty if none is similar.
std::string kernel_suggestion(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace tapml::topdown
