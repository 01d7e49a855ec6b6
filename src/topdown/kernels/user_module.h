// A user's source as a module that a device loads. Private to topdown/.
#pragma once

#include <functional>

#include "exec/executable.h"
#include "target/target.h"
#include "topdown/kernels/user_source.h"

namespace tapml::topdown {

// Declarations in front of the user's code, which make the language's compiler compare the
// parameters of every entry with the header's: "" for languages without functions as entries.
std::string entry_declarations(const UserSource& source, const target::Target& target);

// Compiled as far as that is done here; see UserKernels::compile().
ModuleBlob compile_user_module(const UserSource& source, const target::Target& target,
                               const std::function<bool()>& cancelled);

// The entry in the module of launch `number`.
std::string module_entry(const UserSource& source, size_t number, const target::Target& target);

// Throws the UserError for a source that its compiler refuses: with the first lines of the log, and
// the declarations where parameters differ from them.
[[noreturn]] void refuse_user_source(const UserSource& source, const target::Target& target,
                                     const std::string& log);

}  // namespace tapml::topdown
