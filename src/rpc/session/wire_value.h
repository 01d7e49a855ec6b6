// Converts values of the VM to messages and back.
#pragma once

#include <functional>
#include <memory>

#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// Map a storage to its name on the other side, and a name to its storage.
using NameOf = std::function<Result<uint64_t>(const std::shared_ptr<runtime::Storage>&)>;
using StorageOf = std::function<Result<std::shared_ptr<runtime::Storage>>(uint64_t)>;

// Describes the sent value in messages: "argument x of main".
using Where = std::function<std::string()>;

// Function values and values nested too deep are UserErrors. `arguments`: of the call whose result
// this is, if the other side supports Argument.
Result<flatbuffers::Offset<wire::Value>> put_value(flatbuffers::FlatBufferBuilder& builder,
                                                   const runtime::Value& value,
                                                   const NameOf& name_of, const Where& where,
                                                   std::span<const runtime::Value> arguments = {});
// Checks that tensors lie inside their storages, and counts what is copied. `arguments`: of the
// call whose result this is. Errors are ProtocolErrors.
Result<runtime::Value> get_value(const wire::Value& value, const StorageOf& storage_of,
                                 CopyBudget& copies,
                                 std::span<const runtime::Value> arguments = {});

}  // namespace tapml::rpc
