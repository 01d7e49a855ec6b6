// The routines that a program may call by name: tapml's own and those of the user's libraries, each
// with what it takes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "abi/routine_signature.h"
#include "ir/module.h"
#include "library/library.h"

namespace tapml::library {

// A library that the user gave: its name, and its routines.
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

  // "library.routine", or "routine" of a user's library; null where there is none.
  const KnownRoutine* find(const std::string& name) const;
  const KnownRoutine& get(const std::string& library, const std::string& routine) const;
  // Full names, joined by commas.
  std::string names() const;

 private:
  std::vector<KnownRoutine> routines_;
};

// What the signature forbids of a call of these tensors, as far as it is known for all values of
// the variables (which are not negative).
std::optional<RoutineFault> find_fault(const RoutineSignature& signature,
                                       const std::vector<Operand>& inputs,
                                       const std::vector<Operand>& outputs,
                                       const std::vector<int64_t>& parameters);

// UserError for the fault, at `where`.
[[noreturn]] void refuse_call(const KnownRoutine& routine, const RoutineFault& fault,
                              const std::string& where);

// Holds the calls that functions of `module` make by call_dps_library against the signatures of
// their routines, where the annotations of their arguments say enough. `place` gives the place of
// what a variable of a function is bound to. Routines that nobody has are left to who compiles.
void check_routine_calls(const Module& module, const std::vector<UserLibrary>& user,
                         const std::function<std::string(const std::string& function,
                                                         const std::string& variable)>& place);

}  // namespace tapml::library
