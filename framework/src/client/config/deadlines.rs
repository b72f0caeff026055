use std::time::Duration;

/// How long the parts of a request may take, each on its own, and the request as a whole.
///
/// ```
/// # use std::time::Duration;
/// # use pilothouse::client::{Config, Deadlines};
/// let config = Config::new("https://localhost:6443".parse().unwrap())
///     .with_deadlines(Deadlines::default().connect(Duration::from_secs(3)));
/// ```
///
/// What ran out stands in the error: [`ConnectProblem::TimedOut`](crate::client::ConnectProblem)
/// for a connection, [`Error::Timeout`](crate::client::Error) with its [`Deadline`] for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    pub(crate) connect: Duration,
    pub(crate) answer: Duration,
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(65),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(180),
        }
    }
}

impl Deadlines {
    /// For opening a connection: look-up, proxy, TCP and TLS together; default 10 s.
    #[must_use]
    pub fn connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// For the head of an answer, each time a request is sent; default 65 s, a little more than
    /// the API server's own limit.
    #[must_use]
    pub fn answer(mut self, limit: Duration) -> Self {
        self.answer = limit;
        self
    }

    /// For the next piece of an answer that has begun; default 30 s. Watches, logs and what
    /// [`Client::send`](crate::client::Client::send) answers may be silent for as long as they like.
    #[must_use]
    pub fn idle(mut self, limit: Duration) -> Self {
        self.idle = limit;
        self
    }

    /// For a request as a whole, repetitions, pauses and the answer's body included; default 180 s.
    /// A watch has to be answered within it and may last for ever.
    #[must_use]
    pub fn total(mut self, limit: Duration) -> Self {
        self.total = limit;
        self
    }
}

/// Which of a request's [`Deadlines`] ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deadline {
    /// The head of the answer did not come.
    Answer,
    /// The answer began, and then nothing came any more.
    Idle,
    /// The request as a whole was not done, repetitions and pauses included.
    Total,
}
