//! A Helm chart.
//!
//! The objects are made in variants: for all namespaces and for some, for one replica and for several, with and without monitoring.
//! A [`template`] is the merge of them: what differs gets a condition. So what a value of the chart changes is decided
//! only where the objects are made.
//!
//! | file | holds |
//! | --- | --- |
//! | `chart.rs` | [`Chart`]: the files of a chart |
//! | `checks.rs` | a template that refuses flags and variables which the objects would not follow |
//! | `template.rs` | a YAML text with conditions, made from variants of an object |
//! | `values.rs` | the values of the chart, and their schema |
//! | `webhooks.rs` | the configurations of webhooks, limited to namespaces |

mod chart;
mod checks;
mod template;
mod values;
mod webhooks;

pub(crate) use chart::Chart;
