#pragma once
// Limits among coordinators; the rest are in src/base/limits.hpp.

#include "src/base/limits.hpp"

namespace assay::limits {

/// One frame between coordinators: a page, or an entry of the largest kind, with what is around it.
inline constexpr std::size_t peer_frame_bytes = 11 << 20;
inline constexpr std::size_t peer_entries = 4'096;    ///< Of one append.
inline constexpr std::size_t peer_page_rows = 65'536; ///< Of one page.
inline constexpr std::size_t peer_address_bytes = 256;
inline constexpr std::size_t peers = 64;

/// A connection that brings nothing for so long is given up and made again (an agent's has
/// `peer_silence`).
inline constexpr auto member_silence = 2300ms;
inline constexpr auto member_beat_every = 750ms;
static_assert(member_beat_every * 3 < member_silence, "three lost beats before it is given up");

/// Unsent bytes per peer and lane; what does not fit is dropped, and the engine says it again.
inline constexpr std::size_t peer_consensus_bytes = 24 << 20;
inline constexpr std::size_t peer_bulk_bytes = 96 << 20;
inline constexpr std::size_t peer_service_bytes = 24 << 20; ///< Room for two of the largest pools.

/// Of one peer's service lane in a turn of the links' thread, so that consensus gets its turn.
inline constexpr std::size_t peer_service_turn_bytes = 1 << 20;

// -- serving over the links
inline constexpr std::size_t service_items = 10'000; ///< Entries of one list in a message.
/// Of a body that a follower passes on, either way; a larger one is refused where it came in.
inline constexpr std::size_t admin_body_bytes = 10 << 20;
/// Two clocks differ by far less over a lease's life; the rest is room for rounding.
inline constexpr auto lease_margin = std::chrono::milliseconds{100};
/// An ingress says hello again so often, until the leader answers with its pools.
inline constexpr auto service_hello_every = std::chrono::seconds{1};
/// A remote ingress that was not heard, or not reached, for so long is lost: its credits are
/// renewed no more, and are back when the last lease ran out.
inline constexpr auto ingress_silence = peer_silence;
/// Then the last lease of a silent ingress is over, and a move waits for it no more.
inline constexpr auto ingress_gone = ingress_silence + lease_life;
/// Ticket answers that wait for room in the outbox, per ingress; the oldest go first. Whoever waits
/// for one of those is turned away by its own deadline.
inline constexpr std::size_t ticket_answers_waiting = 4 * queue_waiting;

/// Hours of service that wait to be on record; beyond it the oldest go.
inline constexpr std::size_t service_untold = 65'536;
inline constexpr std::size_t service_telling = 64; ///< Of them under way at once.
inline constexpr auto service_tell_again = std::chrono::seconds{5};
inline constexpr unsigned service_refusals = 12; ///< Then one is given up.
inline constexpr auto service_book_tick = std::chrono::milliseconds{500};
inline constexpr auto service_farewell = std::chrono::seconds{5}; ///< For the last of them.

/// How often an assayd looks whether it still leads, when nothing says so before.
inline constexpr auto leadership_look = std::chrono::milliseconds{50};
/// A leader whose clock is further from the median of all stamps nothing and hands over.
inline constexpr auto clock_spread = std::chrono::seconds{5};
inline constexpr auto clock_told_every = std::chrono::seconds{1};
inline constexpr auto clock_told_ages = std::chrono::seconds{5}; ///< What was told is old then.
/// A sync of the log that takes longer, the middle one of the last seconds, is slow.
inline constexpr auto slow_sync = std::chrono::milliseconds{200};
inline constexpr int slow_sync_factor = 4; ///< Whoever leads instead is faster by so much.
inline constexpr auto slow_disk_rest = std::chrono::minutes{1}; ///< Between two such hand-overs.
inline constexpr auto sync_window = std::chrono::seconds{5};
inline constexpr auto sync_look = std::chrono::milliseconds{500};
inline constexpr std::size_t sync_readings = 256;
inline constexpr std::size_t sync_least = 3; ///< Fewer say nothing.
/// For the leader's answer to what a follower passed on; an apply of many files takes its time.
inline constexpr auto forward_patience = std::chrono::seconds{25};
inline constexpr std::size_t unsaid_answers = 16; ///< To one member that cannot be reached now.
/// Who is named with a new key goes on with the old one for so long, here and there, so that it
/// hears by it that it is named so.
inline constexpr auto key_change_grace = std::chrono::seconds{1};
/// With new keys that wait, and nobody who answers: the others may know those already.
inline constexpr auto key_change_patience = std::chrono::seconds{3};
/// For the others to connect and catch up before a change of the group is tried again.
inline constexpr auto group_change_retry = std::chrono::seconds{1};

// -- blobs
inline constexpr std::size_t blob_page_bytes = 512 << 10;
inline constexpr std::uint64_t blob_bytes = 1ULL << 30; ///< A larger one is not kept.
inline constexpr std::size_t blob_downloads = 4;        ///< Fetched at once; the others wait,
inline constexpr std::size_t blobs_waiting = 1'024;     ///< so many; more are asked for later.
/// Heard of one member and not looked at yet, a want counted as the page that it asks for; what
/// does not fit is dropped and said again.
inline constexpr std::size_t blob_inbox_bytes = 8 << 20;
inline constexpr auto blob_tick = 250ms;
inline constexpr auto blob_said_again = 2s; ///< An offer or a want that nothing followed.
/// Without progress for so long another member is asked, or the blob counts as not kept.
inline constexpr auto blob_silence = 10s;
inline constexpr auto blob_look_every = 2s;  ///< For blobs that the ledger names and we lack.
inline constexpr auto blob_look_again = 30s; ///< For one that no member could give.
inline constexpr std::size_t blobs_looked_for = 256; ///< Of those, at once.
/// For a job whose input cannot be read now, or evidence that could not be kept.
inline constexpr auto blob_work_again = 5s;
inline constexpr unsigned evidence_tries = 4; ///< Then the evaluation ends without a verdict.

static_assert(blob_page_bytes < peer_frame_bytes && job_bytes <= blob_bytes);
static_assert(
  2 * blob_downloads * blob_page_bytes < blob_inbox_bytes, "what both ends fetch of each other fits"
);
static_assert(blob_said_again * 3 < blob_silence, "lost messages are no silence");
static_assert(batch_frame_bytes + (1 << 20) < peer_frame_bytes, "the largest entry fits one frame");
static_assert(row_bytes + (1 << 19) < peer_frame_bytes, "the largest row fits one page");
static_assert(page_bytes < peer_frame_bytes);
static_assert(2 * peer_frame_bytes <= peer_consensus_bytes);
static_assert(2 * peer_frame_bytes <= peer_service_bytes);
static_assert(admin_body_bytes + (1 << 19) < peer_frame_bytes, "the largest body fits one frame");
static_assert(lease_margin + usage_report_every < lease_life - lease_renew);
static_assert(
  ingress_silence + lease_renew < lease_life, "one that is back has not lost its lease"
);

static_assert(ingress_gone * 2 < move_ack_within, "a dead ingress turns no move back");

} // namespace assay::limits
