//! How long a key that failed waits: rate limiters as values that can be combined.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `rate_limiter.rs` | the trait [`RateLimiter`], and [`FailedKey`], which it decides about |
//! | `exponential_backoff.rs` | [`ExponentialBackoff`]: longer with each failure of the key; the default of a queue |
//! | `fast_slow.rs` | [`FastSlow`]: short for the first failures, then long |
//! | `token_bucket.rs` | [`TokenBucket`]: a rate over all keys, which groups of keys share |
//! | `reservations.rs` | the retries that a token bucket has promised, by group |
//! | `max_of.rs` | [`MaxOf`]: the longer delay of two limiters; controllers combine a backoff and a bucket by default |
//! | `max_wait.rs` | [`MaxWait`]: limits the delay of another limiter |
//! | `jittered.rs` | [`Jittered`]: adds jitter to another limiter |

mod exponential_backoff;
mod fast_slow;
mod jittered;
mod max_of;
mod max_wait;
mod rate_limiter;
mod reservations;
mod token_bucket;

pub use exponential_backoff::ExponentialBackoff;
pub use fast_slow::FastSlow;
pub use jittered::Jittered;
pub use max_of::MaxOf;
pub use max_wait::MaxWait;
pub use rate_limiter::{FailedKey, RateLimiter};
pub use token_bucket::TokenBucket;
