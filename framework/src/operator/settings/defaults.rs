use std::collections::BTreeSet;

use clap::{Arg, Command, value_parser};

use crate::{
    election::ElectionSettings,
    operator::{Serving, WebhookServing},
    server::Address,
};

/// The options that the program sets itself. The command line has priority.
#[derive(Clone, Debug, Default)]
pub(in crate::operator) struct Defaults {
    pub(in crate::operator) version: Option<String>,
    pub(in crate::operator) metrics_address: Option<Address>,
    pub(in crate::operator) namespaces: BTreeSet<String>,
    /// Whether the program elects a leader; `None` if it does not say.
    pub(in crate::operator) elects: Option<bool>,
    pub(in crate::operator) election: Option<ElectionSettings>,
    pub(in crate::operator) serving: Serving,
    pub(in crate::operator) debug_page: bool,
    pub(in crate::operator) debug_hosts: Vec<String>,
    /// How webhooks are served. `None` if the program has none.
    pub(in crate::operator) webhooks: Option<WebhookServing>,
    /// The program's own subcommands.
    pub(in crate::operator) subcommands: Vec<Command>,
}

/// A flag that is on or off: `--name` turns it on, `--name=false` turns it off.
pub(super) fn switch(name: &'static str, default: bool, heading: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("true|false")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .default_value(if default { "true" } else { "false" })
        .value_parser(value_parser!(bool))
        .hide_possible_values(true)
        .help_heading(heading)
}
