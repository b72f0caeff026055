use std::fmt;

use super::Problem;

/// A version of a group whose kinds could not be read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DiscoveryFailure<'a> {
    /// Name of the group; `""` is the core group.
    pub group: &'a str,
    /// Name of the version.
    pub version: &'a str,
    /// The reason.
    pub problem: &'a Problem,
}

/// `group "metrics.k8s.io" (v1beta1): discover /apis/metrics.k8s.io/v1beta1: service unavailable`.
impl fmt::Display for DiscoveryFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str("the core group")?,
            group => write!(f, "group \"{group}\"")?,
        }
        write!(f, " ({}): {}", self.version, self.problem)
    }
}
