//! The plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook: they ask webhooks whether they admit a request.
//!
//! The webhooks of all configurations are asked in the order of the configurations' names. Mutating ones are asked one after the other, and each sees what
//! those before it have changed. If one changes the object, the plugins of the server run again, and those webhooks that want it are asked once more.
//! Validating ones are asked at the same time, about the object as it will be stored; the first denial in their order is the answer.
//!
//! | file | what it does |
//! | --- | --- |
//! | `hook.rs` | a webhook of a configuration, and whether it wants a request |
//! | `review.rs` | writes an AdmissionReview, and reads the answer |
//! | `ask.rs` | asks one webhook |
//! | `mutate.rs`, `validate.rs` | ask all of them |

mod ask;
mod hook;
mod mutate;
mod review;
#[cfg(test)]
mod tests;
mod validate;

pub(super) use mutate::mutate;
pub(super) use review::request;
pub(super) use validate::validate;
