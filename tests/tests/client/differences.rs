//! Where the two servers differ on purpose.

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// The sandbox.
    Sandbox,
    /// A real API server.
    Real,
}

/// A scenario, the server that does not go through it, and why.
pub(crate) const DIFFERENCES: &[(&str, Server, &str)] = &[];

/// Why this server does not go through a scenario.
pub(crate) fn reason(scenario: &str, server: Server) -> Option<&'static str> {
    DIFFERENCES
        .iter()
        .find(|(name, where_, _)| *name == scenario && *where_ == server)
        .map(|(_, _, reason)| *reason)
}
