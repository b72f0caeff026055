use std::time::Duration;

use super::activity::PEER_TIMEOUT;

/// How much the peers of a server may ask for at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The number of connections that are open at once.
    pub(super) connections: usize,
    /// The number of open connections of one peer.
    pub(super) connections_of_peer: usize,
    /// The number of responses, health excluded, that run at once. It is less than `connections`, so that connections for
    /// health remain: only a connection without such a response can be closed for another one.
    pub(super) responses: usize,
    /// The number of those responses for one peer. It is less than `connections_of_peer`, so that a peer with too many
    /// connections always has one that can be closed.
    pub(super) responses_of_peer: usize,
    /// How long a connection without a request stays open after the last response.
    pub(super) idle: Duration,
    /// How long a connection stays open that has not had a request yet, from the end of the TLS handshake.
    pub(super) first_request: Duration,
    /// The time limit for the next head over HTTP/1.1, from the end of the last response. The first one has its own.
    pub(super) next_head: Duration,
    /// The time limit for running requests after the server was stopped.
    pub(crate) grace: Duration,
}

impl Limits {
    /// For metrics, health and routes of a program's own.
    pub(crate) const ENDPOINTS: Self = Self {
        connections: 256,
        connections_of_peer: 64,
        responses: 64,
        responses_of_peer: 16,
        idle: Duration::from_secs(90),
        first_request: PEER_TIMEOUT,
        next_head: PEER_TIMEOUT,
        grace: Duration::from_secs(3),
    };

    /// For webhooks, whose only peers are the API servers. Each of them closes an idle connection after 90 s. The server must
    /// not be earlier: a request that is sent at that moment would be lost. This also holds for a connection without any request
    /// yet: Go's transport opens one for a request, and keeps it idle if another connection becomes free before.
    pub(crate) const WEBHOOKS: Self = Self {
        connections: 512,
        connections_of_peer: 384,
        responses: 320,
        responses_of_peer: 256,
        idle: Duration::from_secs(300),
        first_request: Duration::from_secs(300),
        next_head: Duration::from_secs(300),
        grace: Duration::from_secs(3),
    };

    /// With this time limit for running requests after the server was stopped.
    pub(crate) const fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }
}
