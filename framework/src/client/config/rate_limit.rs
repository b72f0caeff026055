use std::time::Duration;

use super::ConfigError;

/// A configuration under which a request may wait for longer is an error.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A token bucket: one token per interval, up to a maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateLimit {
    pub(crate) interval: Duration,
    pub(crate) burst: u32,
}

impl RateLimit {
    pub(crate) fn new(per_second: f64, burst: u32) -> Result<Self, ConfigError> {
        let interval = Duration::try_from_secs_f64(per_second.recip());
        match interval {
            Ok(interval) if burst > 0 && interval > Duration::ZERO && interval <= LONGEST => {
                Ok(Self { interval, burst })
            }
            _ => Err(ConfigError::new(format!(
                "a limit of {per_second} requests per second with bursts of {burst} lets nothing or everything pass: give numbers above 0, or no limit"
            ))),
        }
    }
}
