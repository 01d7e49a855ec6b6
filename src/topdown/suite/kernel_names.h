// How a person names kernels: by the name, by how it begins, or by a pattern with * and ?.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

std::vector<std::string> kernel_names(const Suite& suite);
std::vector<std::string> kernel_names(const Module& fixed);

// `<ops>` of `<ops>_<8 hex>`; all of a name that has no hash.
std::string_view operators_in(std::string_view kernel);

// Whether `wanted` may mean this kernel: its name, how it begins, or a pattern that describes it.
bool means_kernel(std::string_view wanted, std::string_view kernel);
// Those of `names` that `wanted` means, in their order: the one of exactly this name, else all that
// means_kernel() takes.
std::vector<std::string> kernels_meant(const std::vector<std::string>& names,
                                       std::string_view wanted);

// Who is asked for a kernel, for messages.
struct KernelQuestion {
  std::string where;  // the option with its value, or the parameter
  std::string owner;  // of what the names are: "the suite"
};
// The one kernel that `wanted` means. UserError where it means none, with the names that are near,
// and where it means several, with those.
std::string find_kernel(const std::vector<std::string>& names, const std::string& wanted,
                        const KernelQuestion& asked);
// The kernels that it means, one at least. UserError where there is none.
std::vector<std::string> find_kernels(const std::vector<std::string>& names,
                                      const std::string& wanted, const KernelQuestion& asked);

// "did you mean 'a' or 'b'?": names that are near a name which means none, up to three: the same
// operators with another hash, or a few letters apart. Nothing where none is near.
std::string kernel_suggestion(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace tapml::topdown
