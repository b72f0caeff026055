//! Intended differences between the two servers.

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// The sandbox.
    Sandbox,
    /// A real API server.
    Real,
}

/// A scenario, the server that fails it, and the reason.
pub(crate) const DIFFERENCES: &[(&str, Server, &str)] = &[];

/// Returns the reason why this server fails a scenario, if it is expected to.
pub(crate) fn reason(scenario: &str, server: Server) -> Option<&'static str> {
    DIFFERENCES
        .iter()
        .find(|(name, where_, _)| *name == scenario && *where_ == server)
        .map(|(_, _, reason)| *reason)
}
