#include "ir/exceptions.h"

#include <new>

namespace tapml {

void throw_error(Error error) { throw CompilerException(std::move(error)); }

void throw_user(std::string message, std::string where, std::string expected, std::string found,
                std::string hint) {
  throw_error(user_error(std::move(message), std::move(where), std::move(expected),
                         std::move(found), std::move(hint)));
}

void throw_internal(std::string message, std::string where) {
  throw_error(internal_error(std::move(message), std::move(where)));
}

void throw_platform(PlatformFault fault, std::string message, std::string where, std::string hint) {
  throw_error(platform_error(fault, std::move(message), std::move(where), std::move(hint)));
}

Error current_exception_error() {
  try {
    throw;
  } catch (const CompilerException& e) {
    return e.error();
  } catch (const std::bad_alloc&) {
    return platform_error(PlatformFault::kOutOfMemory, "out of host memory");
  } catch (const std::exception& e) {
    return internal_error(std::string("unexpected exception: ") + e.what());
  } catch (...) {
    return internal_error("unexpected exception of an unknown type");
  }
}

}  // namespace tapml
