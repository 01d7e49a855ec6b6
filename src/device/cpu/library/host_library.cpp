#include "device/cpu/library/host_library.h"

#include <dlfcn.h>

#include <set>

#include "device/cpu/library/adapters.h"

namespace tapml::device {

namespace {

struct Adapter {
  const char* name;
  const tapml_library* (*table)();
};
#define TAPML_ADAPTER(name) {#name, name##_library},
constexpr Adapter kAdapters[] = {TAPML_KNOWN_LIBRARIES(TAPML_ADAPTER)};
#undef TAPML_ADAPTER

bool is_name(const char* text) {
  if (!text || !*text) return false;
  for (; *text; ++text) {
    bool good = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                (*text >= '0' && *text <= '9') || *text == '_';
    if (!good) return false;
  }
  return true;
}

Status check_table(const tapml_library* table, const std::string& where) {
  if (!table) return fail(user_error("the library has no table of routines", where));
  if (table->version != TAPML_LIBRARY_VERSION) {
    return fail(user_error("the library was built for another version of tapml/library.h", where,
                           std::to_string(TAPML_LIBRARY_VERSION), std::to_string(table->version),
                           "build the library again"));
  }
  if (!is_name(table->name)) {
    return fail(user_error("the library has no name", where, "letters, digits and underscores",
                           table->name ? table->name : "nothing"));
  }
  if (!table->routines || table->routine_count == 0) {
    return fail(user_error("library " + std::string(table->name) + " has no routines", where));
  }
  if (!table->open != !table->close) {
    return fail(user_error(
        "library " + std::string(table->name) + " has one of open and close without the other",
        where));
  }
  std::set<std::string> names;
  for (uint32_t i = 0; i < table->routine_count; ++i) {
    const tapml_routine& routine = table->routines[i];
    if (is_name(routine.name) && routine.run && names.insert(routine.name).second) continue;
    return fail(user_error("routine " + std::to_string(i) + " of library " +
                               std::string(table->name) + " has no function or no unique name",
                           where, "letters, digits and underscores",
                           routine.name ? routine.name : "nothing"));
  }
  return {};
}

}  // namespace

HostLibrary::~HostLibrary() {
  if (handle_) dlclose(handle_);
}

Status HostLibrary::take(const tapml_library* table, const std::string& where) {
  TAPML_TRY(check_table(table, where));
  table_ = table;
  for (uint32_t i = 0; i < table->routine_count; ++i) {
    const tapml_routine& routine = table->routines[i];
    const std::string place = where + ", routine " + routine.name;
    if (!routine.signature) {
      return fail(user_error("a routine has no signature", place,
                             "a signature as in tapml/library.h", "nothing"));
    }
    TAPML_ASSIGN(signatures_[routine.name], parse_routine_signature(routine.signature, place));
  }
  return {};
}

const tapml_routine* HostLibrary::find(const std::string& routine) const {
  for (uint32_t i = 0; i < table_->routine_count; ++i) {
    if (routine == table_->routines[i].name) return &table_->routines[i];
  }
  return nullptr;
}

Result<std::shared_ptr<const HostLibrary>> HostLibrary::wrap(const tapml_library* table,
                                                             const std::string& where) noexcept {
  std::shared_ptr<HostLibrary> library(new HostLibrary);
  TAPML_TRY(library->take(table, where));
  return library;
}

Result<std::shared_ptr<const HostLibrary>> HostLibrary::load(const std::string& path) noexcept {
  // Without a slash the system's loader would search its own folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  std::shared_ptr<HostLibrary> library(new HostLibrary);
  library->handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle_) {
    const char* reason = dlerror();
    return fail(
        user_error("the library cannot be loaded", path, "a shared object", reason ? reason : ""));
  }
  using Entry = const tapml_library* (*)();
  auto entry = reinterpret_cast<Entry>(dlsym(library->handle_, "tapml_library_entry"));
  if (!entry) {
    return fail(user_error("the shared object is not a library of routines", path,
                           "a function tapml_library_entry (tapml/library.h)", "none"));
  }
  TAPML_TRY(library->take(entry(), path));
  return library;
}

Result<std::shared_ptr<const HostLibrary>> built_in_library(const std::string& name) noexcept {
  for (const Adapter& adapter : kAdapters) {
    if (name == adapter.name) return HostLibrary::wrap(adapter.table(), "library " + name);
  }
  return fail(platform_error(PlatformFault::kAbsent, "there is no library " + name, "cpu",
                             "--library FILE loads one that is not part of tapml"));
}

std::vector<std::string> built_in_libraries() {
  std::vector<std::string> names;
  for (const Adapter& adapter : kAdapters) names.emplace_back(adapter.name);
  return names;
}

bool is_library_installed(const std::string& name) noexcept {
  for (const Adapter& adapter : kAdapters) {
    if (name != adapter.name) continue;
    char reason[256];
    void* state = adapter.table()->open(1, reason, sizeof reason);
    if (state) adapter.table()->close(state);
    return state != nullptr;
  }
  return false;
}

}  // namespace tapml::device
