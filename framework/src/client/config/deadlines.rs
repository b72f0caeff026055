use std::time::Duration;

/// Limits for the parts of a request, and for the request as a whole.
///
/// ```
/// # use std::time::Duration;
/// # use pilothouse::client::{Config, Deadlines};
/// let config = Config::new("https://localhost:6443".parse().unwrap())
///     .with_deadlines(Deadlines::default().connect(Duration::from_secs(3)));
/// ```
///
/// The error says which deadline expired: [`ConnectProblem::TimedOut`](crate::client::ConnectProblem) for a connection,
/// [`ErrorKind::Timeout`](crate::client::ErrorKind::Timeout) with its [`Deadline`] for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    pub(crate) connect: Duration,
    pub(crate) response: Duration,
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            response: Duration::from_secs(65),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(180),
        }
    }
}

impl Deadlines {
    /// Limits how long it may take to open a connection: name lookup, proxy, TCP and TLS together. The default is 10 s.
    #[must_use]
    pub fn connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Limits the wait for the head of a response, for each attempt. The default is 65 s, a little more than the API
    /// server's own limit.
    #[must_use]
    pub fn response(mut self, limit: Duration) -> Self {
        self.response = limit;
        self
    }

    /// Limits the wait for the next piece of a response that has begun. The default is 30 s. Watches, logs and answers
    /// of [`Client::send`](crate::client::Client::send) may be silent for any time.
    #[must_use]
    pub fn idle(mut self, limit: Duration) -> Self {
        self.idle = limit;
        self
    }

    /// Limits a request as a whole, with attempts, pauses and the body of the response. The default is 180 s. A watch
    /// must be answered within this time, and may then last for ever.
    #[must_use]
    pub fn total(mut self, limit: Duration) -> Self {
        self.total = limit;
        self
    }
}

/// Which of a request's [`Deadlines`] expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deadline {
    /// The head of the response did not come in time.
    Response,
    /// The response began, but its next piece did not come in time.
    Idle,
    /// The request as a whole, with attempts and pauses, was not done in time.
    Total,
}
