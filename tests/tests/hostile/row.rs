//! A row of the table: what the server does, and what must hold all the same.

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
    /// What the program says of itself at the end of the 60 s.
    pub(crate) says: Says,
    /// How soon all is well after the server turned honest.
    pub(crate) recovers: Duration,
    /// The first watch afterwards finds its version expired: the hostile server told of objects that do not exist.
    pub(crate) forgets: bool,
}

/// What is attacked.
#[derive(Clone)]
pub(crate) enum Program {
    /// An operator that watches widgets.
    Operator,
    /// The same, which also applies a ConfigMap for each widget.
    Applying,
    /// The same as the first, which is elected.
    Elected,
    /// One call of the client, and what it gives.
    Call(Call, Gives),
}

/// A call of the client. It gives a text about the outcome.
pub(crate) type Call =
    Arc<dyn Fn(Client) -> BoxFuture<'static, Result<String, Error>> + Send + Sync>;

/// What comes of a call while the server is hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// An error with these words, within 60 s.
    Error(&'static str),
    /// This text, within 60 s.
    Text(&'static str),
}

/// What readiness and the status of the informers say at the end of the 60 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// Ready and without trouble, and the cache is fresh.
    Fresh,
    /// The same, but that a hostile server told also of objects that do not exist.
    Delivered,
    /// Not ready, with these words.
    NotReady(&'static str),
    /// The status of an informer tells a trouble with these words.
    Trouble(&'static str),
    /// The server was not heard for most of the time, and the status tells so.
    Silent,
    /// If the cache is not fresh, something of the above.
    Truth,
    /// Nothing: the server lies in such a way that no client can notice.
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
            says: Says::Truth,
            recovers: Duration::from_secs(65),
            forgets: false,
        }
    }

    /// The server is hostile from the start.
    pub(crate) fn from_the_start() -> Self {
        Self::new(false)
    }

    /// The server turns hostile after the caches are in sync. Watches that are open end then.
    pub(crate) fn after_sync() -> Self {
        Self::new(true)
    }

    /// What it does about requests.
    pub(crate) fn server(
        self,
        act: impl Fn(&Server, &Asked) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        Self {
            misbehave: Arc::new(act),
            ..self
        }
    }

    /// What is done to the frames of HTTP/2 that it sends.
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

    /// A call of the client is attacked, and this is what it gives.
    pub(crate) fn call<F>(
        self,
        gives: Gives,
        call: impl Fn(Client) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, Error>> + Send + 'static,
    {
        let call: Call = Arc::new(move |client| Box::pin(call(client)));
        self.program(Program::Call(call, gives))
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

    pub(crate) fn says(self, says: Says) -> Self {
        Self { says, ..self }
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
