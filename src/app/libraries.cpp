#include "app/libraries.h"

#include <set>

#include "ir/exceptions.h"

namespace tapml::app {

device::HostLibraries LibraryFiles::load() const {
  device::HostLibraries libraries;
  std::set<std::string> names;
  for (const std::string& name : device::built_in_libraries()) names.insert(name);
  for (const std::string& file : files) {
    libraries.push_back(unwrap(device::HostLibrary::load(file)));
    const std::string name = libraries.back()->name();
    if (names.insert(name).second) continue;
    throw_user("two libraries are called " + name, file, "a unique name", name);
  }
  return libraries;
}

namespace {

std::vector<library::UserLibrary> user_libraries(const device::HostLibraries& libraries) {
  std::vector<library::UserLibrary> user;
  for (const auto& library : libraries) user.push_back({library->name(), library->routines()});
  return user;
}

}  // namespace

void check_routine_calls(const Module& module, const device::HostLibraries& libraries,
                         const text::SourceMap& places) {
  library::check_routine_calls(module, user_libraries(libraries),
                               [&](const std::string& function, const std::string& variable) {
                                 return places.value(function, variable);
                               });
}

library::LibraryOptions library_options(const device::HostLibraries& libraries,
                                        const PatternOptions& patterns) {
  library::LibraryOptions options;
  options.libraries = user_libraries(libraries);
  options.patterns = patterns.read();
  options.is_installed = device::is_library_installed;
  return options;
}

}  // namespace tapml::app
