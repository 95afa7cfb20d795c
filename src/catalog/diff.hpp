#pragma once
// What an apply would change: the wanted declarations against the current ones. Pure, so that a
// dry run and the real thing cannot differ, and a second apply finds everything unchanged.
//
// An apply never deletes: what is declared already and not named in the files is left alone.

#include "src/catalog/declarations.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::catalog {

enum class change_kind : std::uint8_t { added, changed, unchanged };
std::string_view name(change_kind k);

/// Fields are named as in YAML (`replicas.max`); an empty side means the field was not there.
struct field_change {
  std::string field;
  std::string before;
  std::string after;

  friend bool operator==(const field_change&, const field_change&) = default;
};

struct change {
  std::string kind; ///< As `kind_of` says.
  std::string name;
  change_kind what = change_kind::unchanged;
  std::vector<field_change> fields; ///< Empty when unchanged.

  friend bool operator==(const change&, const change&) = default;
};

/// One change per wanted declaration, in the order wanted.
std::vector<change> diff(std::span<const declaration> wanted, std::span<const declaration> current);

/// A name that a declaration uses. An evaluation policy may also be met by a suite of that name.
struct reference {
  std::string kind;
  std::string name;
  std::string needed_by; ///< `KIND NAME` of the declaration that uses it.

  friend bool operator==(const reference&, const reference&) = default;
};

std::vector<reference> references_of(const declaration& d);

/// References of `wanted` that neither `wanted` nor `current` declares; each once per user.
std::vector<reference>
missing(std::span<const declaration> wanted, std::span<const declaration> current);

} // namespace assay::catalog
