#pragma once
// Believes nobody: takes an exported ledger from its first record to its signed head, applies every
// record again, and says the first thing that is wrong.
//
// An export is a sequence of frames: a header, one frame per batch, a signed head last, so that a
// tail that was cut off shows. Frames as bytes: src/wire/export_codec.hpp. Raft indexes are there
// to tell where a batch was kept; nobody signs them, and only their order is checked.

#include "src/base/result.hpp"
#include "src/ledger/apply.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace assay::ledger {

inline constexpr std::uint32_t export_format = 1;

struct export_header {
  std::uint32_t format = export_format;
  uuid cluster;
  digest genesis;

  friend bool operator==(const export_header&, const export_header&) = default;
};

/// A batch as it was signed, with the bytes of the records that were taken.
struct export_batch {
  batch_row batch;
  std::vector<std::string> canonical; ///< One per record with a seq, in order.

  friend bool operator==(const export_batch&, const export_batch&) = default;
};

struct export_head {
  std::uint64_t seq = 0;
  digest chain;
  std::string signer;    ///< Member name.
  std::string signature; ///< Over head_message, 64 bytes.

  friend bool operator==(const export_head&, const export_head&) = default;
};

using export_frame = std::variant<export_header, export_batch, export_head>;

/// The first thing that is wrong.
struct finding {
  std::uint64_t seq = 0; ///< The first seq that cannot be trusted.
  std::string text;
  /// Nothing is wrong that this program could know of; a newer one judges.
  bool is_too_new = false;

  friend bool operator==(const finding&, const finding&) = default;
};

/// Decodes the bytes of one record, strictly, or says why they are none. Handed in, because this
/// folder knows no encoding (wire::read_record is one).
using record_reader = result<record, std::string> (*)(std::string_view canonical);

/// Feed frames in order; stop at the first finding.
class auditor {
public:
  /// Is told what each batch did once it was found right.
  using applied_sink = std::function<void(const batch_outcome&)>;

  explicit auditor(record_reader read, applied_sink applied = {})
    : read_{read}, applied_{std::move(applied)} {}

  std::optional<finding> feed(const export_frame& frame);

  /// Call at the end of the file: an export that just stops was cut.
  std::optional<finding> finish() const;

  /// What the records add up to.
  const tables& state() const { return tables_; }
  std::uint64_t batches() const { return batches_; }
  /// As the file's first frame says; nothing before it was fed.
  const std::optional<export_header>& began() const { return header_; }

private:
  std::optional<finding> header(const export_header& h);
  std::optional<finding> batch(const export_batch& b);
  std::optional<finding> head(const export_head& h);
  std::optional<finding> reapply(const export_batch& b);
  std::optional<finding> compare(const ledger::batch& again, std::uint64_t raft_index);
  std::optional<finding> check_signature(const batch_row& b) const;
  std::optional<finding> check_founding(const batch_row& b);
  finding wrong(std::string text) const { return {tables_.head.seq + 1, std::move(text)}; }

  /// The ids of all records so far. There may be millions: no more is kept than tells a repeated
  /// record from another one under its id.
  class remembered : public history {
  public:
    std::optional<record_id_row> find(const uuid& record_id) const override;
    void add(const record_id_row& row);

  private:
    struct known {
      digest record;
      std::uint64_t seq = 0;
    };
    struct hash_of {
      std::size_t operator()(const uuid& id) const;
    };
    boost::unordered_flat_map<uuid, known, hash_of> ids_;
  };

  record_reader read_;
  applied_sink applied_;
  tables tables_;
  remembered known_;
  std::optional<export_header> header_;
  bool ended_ = false;
  std::vector<batch_row> founding_; ///< Seen before any member was named.
  std::uint64_t batches_ = 0;
};

} // namespace assay::ledger
