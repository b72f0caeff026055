//! How long a key that failed waits: limiters as values, to be put together.
//!
//! * [`ExponentialBackoff`]: longer with each failure of the key. The default of a queue.
//! * [`FastSlow`]: short for the first failures, then long.
//! * [`TokenBucket`]: so many per second over all keys.
//! * [`MaxOf`], [`MaxWait`], [`Jittered`]: of others. Controllers use a backoff and a bucket by default.

mod exponential_backoff;
mod fast_slow;
mod jittered;
mod max_of;
mod max_wait;
mod rate_limiter;
mod token_bucket;

pub use exponential_backoff::ExponentialBackoff;
pub use fast_slow::FastSlow;
pub use jittered::Jittered;
pub use max_of::MaxOf;
pub use max_wait::MaxWait;
pub use rate_limiter::RateLimiter;
pub use token_bucket::TokenBucket;
