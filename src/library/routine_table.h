// The routines that a program may call by name: tapml's own and those of the user's libraries, with
// their signatures.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "abi/routine_signature.h"
#include "ir/module.h"
#include "library/library.h"

namespace tapml::library {

// The name and the routines of a user's library.
struct UserLibrary {
  std::string name;
  std::map<std::string, RoutineSignature> routines;
};

struct KnownRoutine {
  std::string library, routine;
  RoutineSignature signature;
  bool user = false;

  std::string full_name() const { return library + "." + routine; }
};

class RoutineTable {
 public:
  explicit RoutineTable(const std::vector<UserLibrary>& user);

  // `name`: "library.routine", or "routine" for a user's library; null for an unknown one.
  const KnownRoutine* find(const std::string& name) const;
  const KnownRoutine& get(const std::string& library, const std::string& routine) const;
  // Full names, joined by commas.
  std::string names() const;

 private:
  std::vector<KnownRoutine> routines_;
};

// The first violation of the signature by a call with these tensors that is certain for all values
// of the variables (which are not negative).
std::optional<RoutineFault> find_fault(const RoutineSignature& signature,
                                       const std::vector<Operand>& inputs,
                                       const std::vector<Operand>& outputs,
                                       const std::vector<int64_t>& parameters);

// UserError for the fault, at `where`.
[[noreturn]] void refuse_call(const KnownRoutine& routine, const RoutineFault& fault,
                              const std::string& where);

// Checks the calls in `module` by call_dps_library against the signatures of their routines, as far
// as the annotations of the arguments allow. `place` returns the location of a function's variable.
// Unknown routines are left to the compiler.
void check_routine_calls(const Module& module, const std::vector<UserLibrary>& user,
                         const std::function<std::string(const std::string& function,
                                                         const std::string& variable)>& place);

}  // namespace tapml::library
