//! Secrets, which only exist after an apply. Watches receive their changes.
//!
//! As with a real server, an apply that changes nothing is answered with the present object, and no watch sends an
//! event. A list has no pages.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    task::{Context, Poll, ready},
};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::StatusCode;
use tokio::sync::watch;

use super::{
    Served,
    answer::{Answer, Parts, failure, written},
    applied::Applied,
    events::{CHUNK, changed},
    form::Format,
    messages,
    query::Query,
    stock,
};

/// The path of the list.
pub(super) const PATH: &str = "/api/v1/secrets";

/// All applied Secrets.
#[derive(Debug, Default)]
pub(super) struct Children {
    all: RwLock<All>,
    /// The number of changes.
    changes: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct All {
    /// Each change, in the order of the resource versions, which count from 1.
    log: Vec<Applied>,
    /// The last change of each Secret by path.
    present: HashMap<String, usize>,
}

impl Children {
    /// Applies a Secret and returns its state after that.
    pub(super) fn apply(&self, path: &str, mut child: Applied) -> (StatusCode, Applied) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let before = all.present.get(path).map(|place| &all.log[*place]);
        let code = before.map_or(StatusCode::CREATED, |_| StatusCode::OK);
        if let Some(before) = before.filter(|before| before.body == child.body) {
            return (code, before.clone());
        }
        let place = all.log.len();
        child.number = place as u64 + 1;
        child.first = before.map_or(child.number, |before| before.first);
        // Copy the body, because it shares memory with the connection's read buffer.
        child.body = Bytes::copy_from_slice(&child.body);
        all.log.push(child.clone());
        all.present.insert(path.to_owned(), place);
        self.changes.send_replace(place + 1);
        (code, child)
    }

    /// Returns the number of Secrets.
    pub(super) fn count(&self) -> usize {
        self.all().present.len()
    }

    /// Removes all Secrets and changes.
    pub(super) fn reset(&self) {
        *self.all.write().unwrap_or_else(PoisonError::into_inner) = All::default();
        self.changes.send_replace(0);
    }

    fn all(&self) -> RwLockReadGuard<'_, All> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    /// Returns the present Secrets in the order of their last change.
    fn present(&self) -> Vec<Applied> {
        let mut places: Vec<_> = self.present.values().copied().collect();
        places.sort_unstable();
        places
            .into_iter()
            .map(|place| self.log[place].clone())
            .collect()
    }
}

/// Answers a list or a watch.
pub(super) fn answer(served: &Arc<Served>, query: &str, accept: &str) -> Answer {
    let format = Format::accepted(accept);
    match Query::read(query) {
        Ok(query) if query.watch => {
            let body = ChildEvents::new(served, format, &query);
            written(StatusCode::OK, format.content_type(true), body)
        }
        Ok(_) => written(
            StatusCode::OK,
            format.content_type(false),
            Parts::new([list(served, format)]),
        ),
        Err(wrong) => failure(StatusCode::BAD_REQUEST, &wrong),
    }
}

fn list(served: &Served, format: Format) -> Bytes {
    let (base, all) = (served.last_version(), served.children.all());
    let version = base + all.log.len() as u64;
    match format {
        Format::Json => {
            let mut buffer = BytesMut::from(&*format!(
                "{{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{version}\"}},\"items\":["
            ));
            for (number, child) in all.present().iter().enumerate() {
                if number > 0 {
                    buffer.put_u8(b',');
                }
                child.json(base, &mut buffer);
            }
            buffer.put_slice(b"]}\n");
            buffer.freeze()
        }
        Format::Protobuf => {
            let children = all.present();
            let items = children.iter().map(|child| child.message(base));
            messages::whole_list("v1", "Secret", version, items)
        }
    }
}

/// The body of a watch.
struct ChildEvents {
    served: Arc<Served>,
    format: Format,
    /// The initial objects, which are sent before the bookmark that ends them.
    initial: Option<Vec<Applied>>,
    /// The first change that was not sent.
    next: usize,
    changes: Pin<Box<dyn Future<Output = watch::Receiver<usize>> + Send + Sync>>,
}

impl ChildEvents {
    fn new(served: &Arc<Served>, format: Format, query: &Query) -> Self {
        let mut changes = served.children.changes.subscribe();
        changes.mark_unchanged();
        let all = served.children.all();
        let after = query.version.unwrap_or_default();
        let next = after.saturating_sub(served.last_version()) as usize;
        let next = if query.initial_events {
            all.log.len()
        } else {
            next
        };
        Self {
            initial: query.initial_events.then(|| all.present()),
            next,
            format,
            changes: Box::pin(changed(changes)),
            served: served.clone(),
        }
    }

    fn chunk(&mut self) -> Option<Bytes> {
        let (base, all) = (self.served.last_version(), self.served.children.all());
        let mut buffer = BytesMut::new();
        if let Some(initial) = self.initial.take() {
            for child in &initial {
                event("ADDED", child, base, self.format, &mut buffer);
            }
            let version = base + self.next as u64;
            match self.format {
                Format::Json => stock::bookmark("Secret", "v1", version, "", &mut buffer),
                Format::Protobuf => messages::bookmark("v1", "Secret", version, &mut buffer),
            }
        }
        while buffer.len() < CHUNK
            && let Some(child) = all.log.get(self.next)
        {
            let what = match child.number == child.first {
                true => "ADDED",
                false => "MODIFIED",
            };
            event(what, child, base, self.format, &mut buffer);
            self.next += 1;
        }
        (!buffer.is_empty()).then(|| buffer.freeze())
    }
}

fn event(what: &str, child: &Applied, base: u64, format: Format, buffer: &mut BytesMut) {
    match format {
        Format::Json => {
            buffer.put_slice(format!("{{\"type\":\"{what}\",\"object\":").as_bytes());
            child.json(base, buffer);
            buffer.put_slice(b"}\n");
        }
        Format::Protobuf => {
            messages::event_of(what, "v1", "Secret", &child.message(base), buffer);
        }
    }
}

impl Body for ChildEvents {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        loop {
            if let Some(chunk) = this.chunk() {
                return Poll::Ready(Some(Ok(Frame::data(chunk))));
            }
            let mut changes = ready!(this.changes.as_mut().poll(context));
            changes.mark_unchanged();
            this.changes = Box::pin(changed(changes));
        }
    }
}
