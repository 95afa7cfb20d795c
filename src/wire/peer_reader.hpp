#pragma once
// How src/wire/peer_decode*.cpp read fields that may be damaged. For them alone.

#include "schema/peers.capnp.h"
#include "src/base/problem.hpp"
#include "src/wire/peer_messages.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace assay::wire {

inline problem damage(std::string where, std::string what, std::string next) {
  return {problem_kind::invalid, std::move(what), std::move(where), std::move(next)};
}

inline problem newer(std::string where) {
  return {
    problem_kind::refused,
    "is of a kind that this version does not know",
    std::move(where),
    "it was ignored; bring all coordinators to one version",
  };
}

/// Remembers the first fault; what is read after it is thrown away.
struct reader {
  std::optional<problem> fault;

  void note(problem what) {
    if (!fault)
      fault = std::move(what);
  }

  static std::string text(capnp::Text::Reader t) { return {t.cStr(), t.size()}; }

  static std::string bytes(capnp::Data::Reader d) {
    return {reinterpret_cast<const char*>(d.begin()), d.size()};
  }

  /// For what always has the same size.
  template <std::size_t Size>
  void copy(std::string where, capnp::Data::Reader from, std::array<std::uint8_t, Size>& into) {
    if (from.size() == Size)
      std::memcpy(into.data(), from.begin(), Size);
    else
      note(damage(
        std::move(where),
        "has " + std::to_string(from.size()) + " bytes",
        "allowed are " + std::to_string(Size)
      ));
  }

  /// Whether a list may be copied.
  bool fits(std::string where, std::size_t size, std::size_t most) {
    if (size <= most)
      return true;
    note(damage(
      std::move(where),
      "has " + std::to_string(size) + " elements",
      "allowed are " + std::to_string(most)
    ));
    return false;
  }
};

/// The union's members about blobs, if it is one of them.
std::optional<peers::message> read_blobs(reader& in, schema::peers::PeerMessage::Reader m);

/// The union's members about serving; what none of us knows is noted as newer.
peers::message read_service(reader& in, schema::peers::PeerMessage::Reader m);

} // namespace assay::wire
