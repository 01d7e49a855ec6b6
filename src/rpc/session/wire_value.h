// Values of the machine as messages, and back.
#pragma once

#include <functional>
#include <memory>

#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// The name of a storage for the other side, and the storage of a name.
using NameOf = std::function<Result<uint64_t>(const std::shared_ptr<runtime::Storage>&)>;
using StorageOf = std::function<Result<std::shared_ptr<runtime::Storage>>(uint64_t)>;

// What it is that is sent, for messages: "argument x of main".
using Where = std::function<std::string()>;

// Function values do not travel: they are UserErrors, as is what is nested too deep. `arguments`:
// of the call whose result it is, where the other side knows Argument.
Result<flatbuffers::Offset<wire::Value>> put_value(flatbuffers::FlatBufferBuilder& builder,
                                                   const runtime::Value& value,
                                                   const NameOf& name_of, const Where& where,
                                                   std::span<const runtime::Value> arguments = {});
// Nothing is taken on trust: tensors lie inside of their storages, and what is copied is counted.
// `arguments`: of the call whose result it is. ProtocolErrors.
Result<runtime::Value> get_value(const wire::Value& value, const StorageOf& storage_of,
                                 CopyBudget& copies,
                                 std::span<const runtime::Value> arguments = {});

}  // namespace tapml::rpc
