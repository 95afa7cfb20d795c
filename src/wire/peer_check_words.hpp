#pragma once
// The words in which src/wire/peer_checks*.cpp refuse. For them alone.

#include "src/wire/peer_checks.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace assay::peers {

using verdict = std::optional<problem>;

/// Far above what a cluster reaches, and so low that no sum overflows.
inline constexpr std::uint64_t number_max = 1ULL << 62;

inline verdict wrong(std::string where, std::string what, std::string next) {
  return problem{problem_kind::invalid, std::move(what), std::move(where), std::move(next)};
}

inline std::string text(std::uint64_t number) {
  return std::to_string(number);
}

/// Numbers that count from 1, like terms and indexes.
inline verdict refuse_number(std::string where, std::uint64_t value) {
  if (value >= 1 && value <= number_max)
    return {};
  return wrong(std::move(where), "is " + text(value), "allowed is 1 to 2^62");
}

inline verdict refuse_more(std::string where, std::uint64_t value, std::uint64_t most) {
  if (value <= most)
    return {};
  return wrong(std::move(where), "is " + text(value), "allowed is at most " + text(most));
}

// What each message about serving shows by itself.
verdict refuse_one(const ingress_hello& m);
verdict refuse_one(const ingress_report& m);
verdict refuse_one(const ticket_ask& m);
verdict refuse_one(const ticket_withdraw& m);
verdict refuse_one(const pools_now& m);
verdict refuse_one(const pool_state& m);
verdict refuse_one(const lease& m);
verdict refuse_one(const ticket_admit& m);
verdict refuse_one(const ticket_refuse& m);
verdict refuse_one(const admin_ask& m);
verdict refuse_one(const admin_answer& m);
verdict refuse_one(const clock_told& m);
verdict refuse_one(const service_told& m);
verdict refuse_one(const service_kept& m);
verdict refuse_one(const sync_told& m);
verdict refuse_one(const disk_told& m);

// And each about blobs.
verdict refuse_one(const blob_offer& m);
verdict refuse_one(const blob_want& m);
verdict refuse_one(const blob_page& m);
verdict refuse_one(const blob_kept& m);

} // namespace assay::peers
