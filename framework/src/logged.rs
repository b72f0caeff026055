//! What a test logs.

use std::{io, sync::Arc};

use parking_lot::Mutex;

/// The log of a thread.
#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<Vec<u8>>>);

/// The log of this thread from now on, until the second value is dropped. The lines have no time.
pub(crate) fn logged(level: tracing::Level) -> (Logged, impl Sized) {
    let log = Logged::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_max_level(level)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    // With a single subscriber, tracing caches the decision of the first thread, which may disable a line for all threads.
    let second = tracing::Dispatch::new(tracing_subscriber::registry());
    tracing::callsite::rebuild_interest_cache();
    (log, (guard, second))
}

impl Logged {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
