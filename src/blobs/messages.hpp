#pragma once
// What coordinators say to each other about blobs. Pull only: an offer and an answer to a want are
// all that anybody is told without having asked, and whoever lacks a blob asks for its pages one
// after the other. So nobody is sent more than it can take.

#include "src/base/digest.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace assay::blobs {

/// The sender has it, and waits until enough others say `kept`.
struct offer {
  digest blob;
  std::uint64_t size = 0;

  friend bool operator==(const offer&, const offer&) = default;
};

struct want {
  digest blob;
  std::uint64_t offset = 0; ///< A multiple of limits::blob_page_bytes.

  friend bool operator==(const want&, const want&) = default;
};

struct page {
  digest blob;
  std::uint64_t offset = 0; ///< As asked.
  std::uint64_t size = 0;   ///< Of the whole blob.
  bool is_missing = false;  ///< The sender does not have it; then there are no bytes.
  std::string bytes;        ///< limits::blob_page_bytes of them, or what is left.

  friend bool operator==(const page&, const page&) = default;
};

/// It is on the sender's disk.
struct kept {
  digest blob;

  friend bool operator==(const kept&, const kept&) = default;
};

using message = std::variant<offer, want, page, kept>;

} // namespace assay::blobs
