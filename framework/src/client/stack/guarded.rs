use std::{future::ready, sync::Arc};

use futures_core::future::BoxFuture;
use http::{Request, Response};

use super::Dispatch;
use crate::client::{AccessGuard, Body, BoxError};

/// Puts `guards` in front of a stack, outside of everything. Refused requests are not even traced.
pub(crate) fn guarded(
    stack: Box<dyn Dispatch>,
    guards: Arc<[Arc<AccessGuard>]>,
) -> Box<dyn Dispatch> {
    if guards.is_empty() {
        return stack;
    }
    Box::new(Guarded { stack, guards })
}

struct Guarded {
    stack: Box<dyn Dispatch>,
    guards: Arc<[Arc<AccessGuard>]>,
}

impl Dispatch for Guarded {
    fn dispatch(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, BoxError>> {
        match self
            .guards
            .iter()
            .try_for_each(|guard| guard.check(&request))
        {
            Ok(()) => self.stack.dispatch(request),
            Err(refused) => Box::pin(ready(Err(refused.into()))),
        }
    }
}
