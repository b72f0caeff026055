//! Read-your-writes (R5), over the whole client and the sandbox, in memory. A test holds back the events of a cache and
//! checks what the controller does meanwhile. There is one test per clause of the promise.

mod backwards;
mod deletions;
mod missing;
mod object_requests;
mod opaque;
mod rewriting;
mod scope;
mod status;
mod takeover;
mod waiting;
mod world;
