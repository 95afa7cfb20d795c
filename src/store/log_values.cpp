#include "src/store/log_values.hpp"

#include "src/consensus/configuration.hpp"

#include <cstring>

namespace assay::store {

using consensus::entry;
using consensus::entry_kind;

void put_number(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t take_number(std::string_view& from) {
  std::uint64_t number = 0;
  if (from.size() >= sizeof number) {
    std::memcpy(&number, from.data(), sizeof number);
    from.remove_prefix(sizeof number);
  }
  return number;
}

void put_entry(std::string& out, const entry& e) {
  put_number(out, e.term);
  out.push_back(static_cast<char>(e.kind));
  out += e.bytes;
}

std::string to_value(const entry& e) {
  std::string out;
  out.reserve(entry_head + e.bytes.size());
  put_entry(out, e);
  return out;
}

std::string to_value(std::uint64_t number) {
  std::string out;
  put_number(out, number);
  return out;
}

entry to_entry(std::string_view value, bool is_whole) {
  entry out;
  out.term = take_number(value);
  out.kind = static_cast<entry_kind>(value.empty() ? 0 : value.front());
  if (!value.empty())
    value.remove_prefix(1);
  if (is_whole || out.kind == entry_kind::change)
    out.bytes = value;
  return out;
}

std::string to_value(const consensus::hard_state& hard) {
  std::string out;
  put_number(out, hard.term);
  put_number(out, hard.vote);
  return out;
}

std::string to_value(const consensus::snapshot_mark& mark) {
  std::string out;
  put_number(out, mark.index);
  put_number(out, mark.term);
  put_number(out, mark.configuration_index);
  return out + consensus::encode(mark.configuration);
}

std::optional<consensus::snapshot_mark> to_mark(std::string_view value) {
  consensus::snapshot_mark out;
  out.index = take_number(value);
  out.term = take_number(value);
  out.configuration_index = take_number(value);
  auto members = consensus::decode_configuration(value);
  if (!members)
    return {};
  out.configuration = *members;
  return out;
}

} // namespace assay::store
