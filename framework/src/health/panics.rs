//! Panics that the framework catches, and those that nobody catches.
//!
//! A caught panic is reported by the code that catches it, which knows the object. It does not know the line of the source:
//! only a panic hook does. [`report_panics`] installs a hook that remembers the place for the code that catches, and reports
//! every other panic itself. Without this hook everything works the same, but the default hook prints its own text for
//! each panic, and a caught panic has no place. In a test, `keep_places` installs one that only remembers the place.

use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    cell::RefCell,
    collections::BTreeSet,
    fmt,
    panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind},
    pin::Pin,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use parking_lot::Mutex;
use pin_project_lite::pin_project;

/// A panic that was caught. Its text is the message, and the place in the source if it is known.
#[derive(Debug)]
pub(crate) struct CaughtPanic {
    message: String,
    place: Option<String>,
}

impl fmt::Display for CaughtPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Calls `work` and catches a panic. As after [`AssertUnwindSafe`], the caller answers for what `work` left half done.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, CaughtPanic> {
    let scope = Scope::enter();
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<CaughtPanic>() {
        // It was caught on another thread and continued here, so no hook saw it here.
        Ok(caught) => *caught,
        Err(panic) => CaughtPanic {
            message: message(&*panic).to_owned(),
            place: scope.take_place(),
        },
    })
}

/// Runs `future` to its end and catches a panic of it, as [`catch_panic`] does.
pub(crate) fn catch_panic_of<F: Future>(future: F) -> CatchPanic<F> {
    CatchPanic { future }
}

pin_project! {
    /// The future of [`catch_panic_of`].
    pub(crate) struct CatchPanic<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for CatchPanic<F> {
    type Output = Result<F::Output, CaughtPanic>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.project().future;
        match catch_panic(|| future.poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

thread_local! {
    /// The calls of [`catch_panic`] that are running on this thread, the innermost last. Each has the panic that the hook
    /// saw in it, if any.
    static SCOPES: RefCell<Vec<Option<SeenPanic>>> = const { RefCell::new(Vec::new()) };
}

/// What the hook knows of a panic.
struct SeenPanic {
    message: String,
    place: String,
    backtrace: Option<String>,
}

/// A running call of [`catch_panic`].
struct Scope;

impl Scope {
    fn enter() -> Self {
        SCOPES.with_borrow_mut(|scopes| scopes.push(None));
        Self
    }

    /// The place of the panic that was caught. If the user asked for backtraces, the panic is also logged here, because
    /// the text of a failure has no room for one.
    fn take_place(&self) -> Option<String> {
        let seen = SCOPES.with_borrow_mut(|scopes| scopes.last_mut()?.take())?;
        if seen.backtrace.is_some() {
            seen.report();
        }
        Some(seen.place)
    }
}

/// If the code inside of the scope caught the panic itself, nobody else reports it.
impl Drop for Scope {
    fn drop(&mut self) {
        let seen = SCOPES.with_borrow_mut(Vec::pop).flatten();
        if let Some(seen) = seen
            && REPORTS.load(Ordering::Relaxed)
        {
            seen.report();
        }
    }
}

impl SeenPanic {
    fn of(info: &PanicHookInfo<'_>) -> Self {
        // Only with RUST_BACKTRACE, as in the default hook.
        let backtrace = Backtrace::capture();
        let is_captured = backtrace.status() == BacktraceStatus::Captured;
        Self {
            backtrace: is_captured.then(|| backtrace.to_string()),
            ..Self::without_backtrace(info)
        }
    }

    fn without_backtrace(info: &PanicHookInfo<'_>) -> Self {
        let place = info.location().map(ToString::to_string);
        Self {
            message: info.payload_as_str().unwrap_or("no message").to_owned(),
            place: place.unwrap_or_default(),
            backtrace: None,
        }
    }

    fn report(&self) {
        let Self {
            message,
            place,
            backtrace,
        } = self;
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("unnamed");
        match backtrace.as_ref().filter(|_| is_first_at(place)) {
            Some(backtrace) => tracing::error!(thread, backtrace, "panicked: {message} ({place})"),
            None => tracing::error!(thread, "panicked: {message} ({place})"),
        }
    }
}

/// Whether no panic at this place was reported before. A reconcile that panics is tried again and again, and one backtrace
/// tells all.
fn is_first_at(place: &str) -> bool {
    /// So many places are remembered. Their number is bounded by the program's code.
    const PLACES: usize = 256;
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut seen = SEEN.lock();
    seen.len() < PLACES && seen.insert(place.to_owned())
}

/// Installs a panic hook that reports panics as events of tracing, each once: with message and place, and the fields of the
/// spans around it. A hook that the program installed before is called too; the default hook, which prints text, is not.
/// Later calls do nothing.
pub(crate) fn report_panics() {
    REPORTS.store(true, Ordering::Relaxed);
    install();
}

/// Installs a panic hook that remembers the place of a panic for the code that catches it. The hook before it, also the default one, goes
/// on printing every panic, as the output of a test needs it, and no panic becomes an event. After [`report_panics`] it does nothing.
#[cfg(all(feature = "dev", not(test)))]
pub(crate) fn keep_places() {
    install();
}

/// Whether panics become events.
static REPORTS: AtomicBool = AtomicBool::new(false);

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        let default = panic::take_hook();
        // After `take_hook` the default hook is in place. It captures nothing, so that only its code identifies it. If
        // the comparison misses, the default text is printed beside the event.
        #[allow(ambiguous_wide_pointer_comparisons)]
        let is_default = std::ptr::eq(&raw const *previous, &raw const *default);
        panic::set_hook(Box::new(move |info| {
            let reports = REPORTS.load(Ordering::Relaxed);
            if reports {
                see(SeenPanic::of(info));
            } else {
                keep(SeenPanic::without_backtrace(info));
            }
            if !is_default || !reports {
                previous(info);
            }
        }));
    });
}

/// Keeps a panic for the scope that catches it, or reports it.
fn see(seen: SeenPanic) {
    // Without unwinding the process ends here, and nobody catches the panic.
    if cfg!(panic = "abort") {
        return seen.report();
    }
    let earlier = SCOPES.try_with(|scopes| {
        // It is never borrowed while other code runs.
        let mut scopes = scopes.borrow_mut();
        match scopes.last_mut() {
            Some(scope) => scope.replace(seen),
            None => Some(seen),
        }
    });
    // An earlier panic of the scope was caught inside of it.
    if let Ok(Some(panic)) = earlier {
        panic.report();
    }
}

/// Keeps a panic for the scope that catches it, if there is one.
fn keep(seen: SeenPanic) {
    // A thread that ends has no scope any more.
    let _ = SCOPES.try_with(|scopes| {
        if let Some(scope) = scopes.borrow_mut().last_mut() {
            *scope = Some(seen);
        }
    });
}
