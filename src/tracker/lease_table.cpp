#include "tracker/lease_table.h"

#include <algorithm>
#include <iterator>

namespace tapml::tracker {

namespace {

Json seconds_since(LeaseTable::Clock::time_point since) {
  return Json::integer(
      std::chrono::duration_cast<std::chrono::seconds>(LeaseTable::Clock::now() - since).count());
}

}  // namespace

void LeaseTable::add_device(Id device, const std::string& key, std::string peer) {
  const int64_t order = arrivals_++;
  devices_[device] = {key, std::move(peer), "", false, order, Clock::now()};
  keys_[key].devices.insert(device);
  keys_[key].idle.insert({order, device});
}

void LeaseTable::add_client(Id client, const std::string& key, int64_t priority, std::string peer) {
  const Turn turn{-priority, arrivals_++, client};
  clients_[client] = {key, std::move(peer), turn, false, Clock::now()};
  keys_[key].queue.insert(turn);
  ++waiting_;
}

void LeaseTable::remove(Id id) {
  if (const auto device = devices_.find(id); device != devices_.end()) {
    const std::string key = device->second.key;
    keys_[key].devices.erase(id);
    keys_[key].idle.erase({device->second.order, id});
    devices_.erase(device);
    forget_if_empty(key);
  } else if (const auto client = clients_.find(id); client != clients_.end()) {
    const std::string key = client->second.key;
    if (!client->second.is_served) {
      keys_[key].queue.erase(client->second.turn);
      --waiting_;
    }
    clients_.erase(client);
    forget_if_empty(key);
  }
}

std::optional<LeaseTable::Grant> LeaseTable::grant(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end() || found->second.idle.empty() || found->second.queue.empty()) return {};
  Key& here = found->second;
  const Grant grant{std::get<2>(*here.queue.begin()), here.idle.begin()->second};
  here.queue.erase(here.queue.begin());
  here.idle.erase(here.idle.begin());
  --waiting_;
  Client& client = clients_[grant.client];
  client.is_served = true;
  Device& device = devices_[grant.device];
  device.is_leased = true;
  device.client = client.peer;
  device.since = Clock::now();
  return grant;
}

LeaseTable::Place LeaseTable::place(Id client) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.is_served) return {};
  const Key& key = keys_.at(found->second.key);
  const auto turn = key.queue.find(found->second.turn);
  return {std::distance(key.queue.begin(), turn) + 1, std::ssize(key.devices)};
}

std::vector<LeaseTable::Id> LeaseTable::waiting(const std::string& key) const {
  std::vector<Id> ids;
  if (const auto found = keys_.find(key); found != keys_.end()) {
    for (const Turn& turn : found->second.queue) ids.push_back(std::get<2>(turn));
  }
  return ids;
}

Json LeaseTable::status() const {
  std::vector<Json> keys;
  for (const auto& [name, key] : keys_) {
    std::vector<Json> devices, waiting;
    for (const Id id : key.devices) {
      const Device& device = devices_.at(id);
      Json json = Json::object({{"peer", Json::string(device.peer)},
                                {"state", Json::string(device.is_leased ? "leased" : "free")},
                                {"seconds", seconds_since(device.since)}});
      if (device.is_leased) json.set("client", Json::string(device.client));
      devices.push_back(std::move(json));
    }
    for (const Turn& turn : key.queue) {
      const Client& client = clients_.at(std::get<2>(turn));
      waiting.push_back(Json::object({{"place", Json::integer(std::ssize(waiting) + 1)},
                                      {"peer", Json::string(client.peer)},
                                      {"priority", Json::integer(-std::get<0>(turn))},
                                      {"seconds", seconds_since(client.since)}}));
    }
    keys.push_back(Json::object({{"key", Json::string(name)},
                                 {"devices", Json::array(std::move(devices))},
                                 {"waiting", Json::array(std::move(waiting))}}));
  }
  return Json::object({{"keys", Json::array(std::move(keys))}});
}

void LeaseTable::forget_if_empty(const std::string& key) {
  const auto found = keys_.find(key);
  if (found != keys_.end() && found->second.devices.empty() && found->second.queue.empty()) {
    keys_.erase(found);
  }
}

}  // namespace tapml::tracker
