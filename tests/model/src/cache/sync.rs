//! loom's locks, and on top of them the types that the shipped files take from other crates, with the same guarantees: a
//! value that is swapped as a whole, and a value whose changes every waiting task receives.

use std::sync::Arc;

pub(super) use crate::lock::Mutex;

pub(super) struct ArcSwap<T>(Mutex<Arc<T>>);

#[derive(Debug)]
pub(super) struct Guard<T>(T);

impl<T> std::ops::Deref for Guard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> ArcSwap<T> {
    pub(super) fn load(&self) -> Guard<Arc<T>> {
        Guard(self.load_full())
    }

    pub(super) fn load_full(&self) -> Arc<T> {
        self.0.lock().clone()
    }

    pub(super) fn store(&self, new: Arc<T>) {
        // The old value is dropped outside of the lock.
        let old = std::mem::replace(&mut *self.0.lock(), new);
        drop(old);
    }
}

impl<T: Default> Default for ArcSwap<T> {
    fn default() -> Self {
        Self(Mutex::new(Arc::default()))
    }
}

pub(super) mod watch {
    //! Like tokio's: a receiver sees the newest value, and a new value wakes each receiver that waits.

    use std::{future::poll_fn, sync::Arc, task::Poll, task::Waker};

    use crate::lock::{Mutex, MutexGuard};

    struct Shared<T> {
        value: T,
        closed: bool,
        waiting: Vec<Waker>,
    }

    pub(in crate::cache) struct Sender<T>(Arc<Mutex<Shared<T>>>);

    pub(in crate::cache) struct Receiver<T>(Arc<Mutex<Shared<T>>>);

    pub(in crate::cache) struct Ref<'a, T>(MutexGuard<'a, Shared<T>>);

    impl<T> Sender<T> {
        pub(in crate::cache) fn new(value: T) -> Self {
            Self(Arc::new(Mutex::new(Shared {
                value,
                closed: false,
                waiting: Vec::new(),
            })))
        }

        pub(in crate::cache) fn subscribe(&self) -> Receiver<T> {
            Receiver(self.0.clone())
        }

        pub(in crate::cache) fn send_replace(&self, value: T) {
            self.change(|shared| shared.value = value);
        }

        fn change(&self, change: impl FnOnce(&mut Shared<T>)) {
            let mut shared = self.0.lock();
            change(&mut shared);
            let waiting = std::mem::take(&mut shared.waiting);
            drop(shared);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            self.change(|shared| shared.closed = true);
        }
    }

    impl<T> Clone for Receiver<T> {
        fn clone(&self) -> Self {
            Self(self.0.clone())
        }
    }

    impl<T> Receiver<T> {
        pub(in crate::cache) fn borrow(&self) -> Ref<'_, T> {
            Ref(self.0.lock())
        }

        pub(in crate::cache) async fn wait_for(
            &mut self,
            mut is_it: impl FnMut(&T) -> bool,
        ) -> Result<Ref<'_, T>, ()> {
            let shared = &self.0;
            poll_fn(|cx| {
                let mut shared = shared.lock();
                if is_it(&shared.value) {
                    return Poll::Ready(Ok(Ref(shared)));
                }
                if shared.closed {
                    return Poll::Ready(Err(()));
                }
                shared.waiting.push(cx.waker().clone());
                Poll::Pending
            })
            .await
        }
    }

    impl<T> std::ops::Deref for Ref<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0.value
        }
    }
}
