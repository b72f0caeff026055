//! A row of the table: what the server does, and what must hold anyway.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pilothouse::client::{Client, Error};

use crate::server::{Asked, Connects, Misbehave, Server, act::Act, frames::Tamper};

/// A row of the table. The server misbehaves for 60 s.
pub(crate) struct Row {
    /// Whether the caches are in sync when the server turns hostile.
    pub(crate) synced: bool,
    pub(crate) misbehave: Misbehave,
    pub(crate) tamper: Option<Tamper>,
    pub(crate) connects: Connects,
    pub(crate) program: Program,
    /// The most requests within the 60 s, and the most connections.
    pub(crate) requests: usize,
    /// The most bytes that the client takes within the 60 s.
    pub(crate) bytes: u64,
    /// The most log lines at WARN and above within the 60 s.
    pub(crate) lines: usize,
    /// The health that the program reports at the end of the 60 s.
    pub(crate) health: Health,
    /// The time in which the program must recover after the server turned honest.
    pub(crate) recovers: Duration,
    /// Whether the first watch afterwards gets an expired version, because the hostile server reported objects that do not exist.
    pub(crate) forgets: bool,
}

/// The program under attack.
#[derive(Clone)]
pub(crate) enum Program {
    /// An operator that watches widgets.
    Operator,
    /// An operator that also applies a ConfigMap for each widget.
    Applying,
    /// An operator that watches widgets, with a leader election.
    Elected,
    /// One call of the client, and its expected outcome.
    Call(Call, CallOutcome),
}

/// A call of the client. It returns a text about the outcome.
pub(crate) type Call =
    Arc<dyn Fn(Client) -> BoxFuture<'static, Result<String, Error>> + Send + Sync>;

/// The expected outcome of a call while the server is hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// An error with these words, within 60 s.
    Error(&'static str),
    /// This text, within 60 s.
    Text(&'static str),
}

/// What readiness and the status of the informers report at the end of the 60 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// Ready and without trouble, and the cache is fresh.
    Fresh,
    /// As `Fresh`, but the hostile server also reported objects that do not exist.
    Delivered,
    /// Not ready, with these words.
    NotReady(&'static str),
    /// The status of an informer reports a problem with these words.
    Trouble(&'static str),
    /// The server was silent for most of the time, and the status reports it.
    Silent,
    /// If the cache is not fresh, the program must report one of the above.
    Truth,
    /// Not checked, because no client can notice the server's lie.
    Anything,
}

impl Row {
    fn new(synced: bool) -> Self {
        Self {
            synced,
            misbehave: Arc::new(|_, _| None),
            tamper: None,
            connects: Connects::Serves,
            program: Program::Operator,
            requests: 60,
            bytes: 1024 * 1024,
            lines: 3,
            health: Health::Truth,
            recovers: Duration::from_secs(65),
            forgets: false,
        }
    }

    /// The server is hostile from the start.
    pub(crate) fn from_the_start() -> Self {
        Self::new(false)
    }

    /// The server turns hostile after the caches are in sync. Open watches end at that moment.
    pub(crate) fn after_sync() -> Self {
        Self::new(true)
    }

    /// Sets the answers of the server to requests.
    pub(crate) fn server(
        self,
        act: impl Fn(&Server, &Asked) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        Self {
            misbehave: Arc::new(act),
            ..self
        }
    }

    /// Sets the manipulation of the HTTP/2 frames that the server sends.
    pub(crate) fn frames(self, tamper: Tamper) -> Self {
        Self {
            tamper: Some(tamper),
            ..self
        }
    }

    pub(crate) fn connects(self, connects: Connects) -> Self {
        Self { connects, ..self }
    }

    pub(crate) fn program(self, program: Program) -> Self {
        Self { program, ..self }
    }

    /// Attacks a call of the client, with this expected outcome.
    pub(crate) fn call<F>(
        self,
        expected: CallOutcome,
        call: impl Fn(Client) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, Error>> + Send + 'static,
    {
        let call: Call = Arc::new(move |client| Box::pin(call(client)));
        self.program(Program::Call(call, expected))
    }

    pub(crate) fn requests(self, requests: usize) -> Self {
        Self { requests, ..self }
    }

    pub(crate) fn megabytes(self, megabytes: u64) -> Self {
        let bytes = megabytes * 1024 * 1024;
        Self { bytes, ..self }
    }

    pub(crate) fn lines(self, lines: usize) -> Self {
        Self { lines, ..self }
    }

    pub(crate) fn reports(self, health: Health) -> Self {
        Self { health, ..self }
    }

    pub(crate) fn recovers(self, seconds: u64) -> Self {
        let recovers = Duration::from_secs(seconds);
        Self { recovers, ..self }
    }

    pub(crate) fn forgets(self) -> Self {
        Self {
            forgets: true,
            ..self
        }
    }
}
