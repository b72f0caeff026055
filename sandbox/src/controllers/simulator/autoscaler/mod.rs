//! HorizontalPodAutoscalers: they scale by the figures that a test sets ([`Figures`](crate::Figures)), every 15 s, with the algorithm of a
//! real controller.
//!
//! A figure counts from the moment at which it is set and its Pod is ready: there is no window over which a metrics server measures.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `autoscaler.rs` | the steps of one round |
//! | `metrics.rs` | how many replicas each metric asks for |
//! | `usage.rs` | how many replicas the metrics of Pods ask for |
//! | `limits.rs` | stabilisation, and the bounds and policies of a change |

mod autoscaler;
mod limits;
mod metrics;
#[cfg(test)]
mod tests;
mod usage;

pub(super) use autoscaler::{Autoscalers, autoscalers};
